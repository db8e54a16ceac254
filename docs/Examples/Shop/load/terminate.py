#!/usr/bin/env python3
"""Ends a shop with SIGTERM under load, again and again: no accepted request is lost, none repeated.

    load/terminate.py --shop .build/release/shop --folder /tmp/shop-terminate

A request was accepted if it had an effect. So while the clients are held back, no order may be there
whose client got no answer. A client that sends without end and reads nothing must not hold up the end.
"""

import asyncio
import random
import signal
import socket
import sys
import time

from harness import call
from workload import drive, make_workload_parser


def connect_mute(port):
    """A connection with many requests, whose answers nobody reads."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.setblocking(False)
    requests = 20_000 * b"GET /metrics HTTP/1.1\r\nHost: shop\r\n\r\n"
    try:
        while requests:
            requests = requests[connection.send(requests):]
    except BlockingIOError:
        pass  # all buffers on the way are full
    return connection


async def rounds(options, gateway, shop, workload, _):
    draw = random.Random(options.seed)
    workload.start()
    for number in range(1, options.rounds + 1):
        mode = "mixed" if draw.random() < 0.3 else "none"
        await asyncio.to_thread(call, gateway.port, "PUT", "/fault", {"mode": mode})
        await asyncio.sleep(draw.uniform(0.3, 1))
        # A burst, so that many requests are in flight. It is short, since the gateway takes 200 a second.
        pause, workload.pause = workload.pause, 0
        await asyncio.sleep(draw.uniform(0.4, 0.7))
        highest = max((order["id"] for order in workload.orders.values()), default=1)
        workload.unanswered.clear()
        mute = await asyncio.to_thread(connect_mute, shop.port)
        begin = time.monotonic()
        code = await asyncio.to_thread(shop.stop, signal.SIGTERM, options.grace)
        mute.close()
        print(f"round {number}: exit code {code} after {time.monotonic() - begin:.2f} s, fault {mode}, "
              f"{workload.counts['orders']} orders", flush=True)
        if code != 0:
            workload.fault(f"round {number}: exit code {code} (none: not within {options.grace} s)")
        workload.may_ask.clear()
        workload.pause = pause
        await asyncio.sleep(0.1)  # requests under way fail
        shop.start()
        await asyncio.to_thread(shop.wait_until_ready)
        for order in (await workload.scan(max(1, highest - 500))).values():
            if order["customer"] in workload.unanswered - workload.orders.keys():
                workload.fault(f"round {number}: {order} was accepted, but not answered")
        workload.may_ask.set()
    await asyncio.to_thread(call, gateway.port, "PUT", "/fault", {"mode": "none"})
    await asyncio.sleep(1)
    await workload.finish()


def main():
    parser = make_workload_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--grace", type=float, default=10, help="seconds that the shop has to end")
    options = parser.parse_args()
    sys.exit(drive(options, rounds, f"{options.rounds} rounds", clients=24, pause=0.3))


if __name__ == "__main__":
    main()
