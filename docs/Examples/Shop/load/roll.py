#!/usr/bin/env python3
"""Replaces a shop on PostgreSQL by another one under load, again and again: no request fails, no order comes twice.

    load/roll.py --shop .build/release/shop --folder /tmp/shop-roll

The next shop waits for the partition; the present one gets SIGTERM. A small balancer holds new connections until one of
them accepts, as that of an orchestrator would.
"""

import asyncio
import contextlib
import signal
import sys
import time

from harness import address, make_shop
from workload import drive, make_workload_parser


class Balancer:
    """Passes connections on to the first of its ports that accepts one."""

    def __init__(self):
        self.ports, self.pauses = [], []

    async def listen(self, port=0):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", port)
        return self.server.sockets[0].getsockname()[1]

    async def accept(self, reader, writer):
        begin = time.monotonic()
        other = None
        while other is None:
            for port in self.ports:
                try:
                    other = await asyncio.open_connection("127.0.0.1", port)
                    break
                except OSError:
                    pass
            else:
                await asyncio.sleep(0.005)
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
    balancer.ports = [shop.port]
    workload.port = await balancer.listen()
    workload.start()
    present = shop
    for number in range(1, options.rounds + 1):
        following = make_shop(options.shop, options.folder, gateway, address(database))
        following.start()
        balancer.ports = [present.port, following.port]
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
    # A request on a connection that is kept alive can come while the server closes it: that one is unanswered, and
    # the client repeats it with its key.
    for name in ("refused", "status 500", "status 503", "status 504"):
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
