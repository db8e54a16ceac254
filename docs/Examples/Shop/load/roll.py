#!/usr/bin/env python3
"""Replaces a shop on PostgreSQL by another one under load, again and again: no request fails, no order comes twice.

    load/roll.py --shop .build/release/shop --folder /tmp/shop-roll

The next shop waits for the partition; the present one gets SIGTERM. A small balancer holds new connections until one of
them is ready, as that of an orchestrator would.
"""

import asyncio
import contextlib
import signal
import sys
import time

from harness import address, make_shop
from workload import drive, make_workload_parser


class Balancer:
    """Passes connections on to the one of its shops that is ready, which it asks twenty times a second."""

    def __init__(self):
        self.shops, self.pauses = [], []
        self.ready = None

    async def listen(self, port=0):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", port)
        self.probing = asyncio.create_task(self.probe())
        return self.server.sockets[0].getsockname()[1]

    async def probe(self):
        while True:
            for shop in self.shops:
                if await asyncio.to_thread(shop.is_ready):
                    self.ready = shop
                    break
            else:
                self.ready = None
            await asyncio.sleep(0.05)

    async def accept(self, reader, writer):
        begin = time.monotonic()
        while not self.ready:
            await asyncio.sleep(0.005)
        other = await asyncio.open_connection("127.0.0.1", self.ready.port)
        self.pauses.append(time.monotonic() - begin)
        with contextlib.suppress(asyncio.CancelledError):  # the end of the script
            await asyncio.gather(self.copy(reader, other[1]), self.copy(other[0], writer))

    async def copy(self, reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()


async def rounds(options, gateway, shop, workload, database):
    balancer = Balancer()
    balancer.shops = [shop]
    workload.port = await balancer.listen()
    workload.start()
    present = shop
    for number in range(1, options.rounds + 1):
        following = make_shop(options.shop, options.folder, gateway, address(database))
        following.start()
        balancer.shops = [present, following]
        await asyncio.sleep(1.5)
        balancer.pauses.clear()
        code = await asyncio.to_thread(present.stop, signal.SIGTERM, 20)
        await asyncio.to_thread(following.wait_until_ready)
        await asyncio.sleep(0.5)
        print(f"round {number}: exit code {code}, longest wait for a connection "
              f"{max(balancer.pauses):.2f} s, {workload.counts['orders']} orders", flush=True)
        if code != 0:
            workload.fault(f"round {number}: exit code {code}")
        present = following
    # The end of the script ends this one.
    shop.process, shop.port = present.process, present.port
    await workload.finish()
    # The clients would repeat a request without an answer, with its key. But they should not need to.
    for name in ("unanswered", "refused", "status 500", "status 503", "status 504"):
        if workload.counts[name]:
            workload.fault(f"{workload.counts[name]} requests: {name}")
    workload.port = present.port


def main():
    parser = make_workload_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.postgresql = True
    sys.exit(drive(options, rounds, f"{options.rounds} rounds"))


if __name__ == "__main__":
    main()
