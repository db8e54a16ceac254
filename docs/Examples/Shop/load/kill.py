#!/usr/bin/env python3
"""Kills a shop under load, again and again, and checks that nothing was lost or done twice.

    load/kill.py --shop .build/release/shop --kills 20 --seed 1 --folder /tmp/shop-kill

The gateway survives; in some rounds it has faults. Clients repeat with the same idempotency key,
and readers of events reconnect with Last-Event-ID.
"""

import asyncio
import random
import signal
import sys

from harness import call
from workload import drive, make_workload_parser


async def rounds(options, gateway, shop, workload, _):
    draw = random.Random(options.seed)
    workload.start()
    for number in range(options.kills):
        mode = "mixed" if draw.random() < 0.4 else "none"
        await asyncio.to_thread(call, gateway.port, "PUT", "/fault", {"mode": mode})
        # One kill in five comes at once, while the shop still takes up what it has saved.
        await asyncio.sleep(draw.uniform(0, 0.1) if draw.random() < 0.2 else draw.uniform(0.3, 2))
        await asyncio.to_thread(shop.stop, signal.SIGKILL)
        await asyncio.sleep(draw.uniform(0, 0.2))
        shop.start()
        print(f"kill {number + 1}: fault {mode}, {workload.counts['orders']} orders", flush=True)
        if draw.random() < 0.8:
            await asyncio.to_thread(shop.wait_until_ready)
    await asyncio.to_thread(call, gateway.port, "PUT", "/fault", {"mode": "none"})
    await asyncio.to_thread(shop.wait_until_ready)
    await asyncio.sleep(1)
    await workload.finish()


def main():
    parser = make_workload_parser(__doc__)
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    sys.exit(drive(options, rounds, f"{options.kills} kills"))


if __name__ == "__main__":
    main()
