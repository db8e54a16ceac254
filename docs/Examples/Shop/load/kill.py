#!/usr/bin/env python3
"""Kills a shop under load, again and again, and checks that nothing was lost or done twice.

    load/kill.py --shop .build/release/shop --kills 20 --seed 1 --folder /tmp/shop-kill

The gateway survives; in some rounds it has faults. Clients repeat with the same idempotency key,
and readers of events reconnect with Last-Event-ID.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import sys

from harness import call, make_gateway, make_shop
from workload import AUDIT, Workload, report


async def rounds(options, gateway, shop, workload):
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
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shop", default=".build/release/shop")
    parser.add_argument("--gateway", default=".build/release/gateway")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", required=True, help="for databases and logs; it is emptied")
    parser.add_argument("--audit", default=AUDIT, help="SQL for (order, number, state); '' for none")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)

    gateway = make_gateway(options.gateway, options.folder)
    shop = make_shop(options.shop, options.folder, gateway)
    try:
        gateway.start()
        gateway.wait_until_ready()
        shop.start()
        shop.wait_until_ready()
        workload = Workload(shop.port, options.seed)
        workload.begin()
        try:
            asyncio.run(rounds(options, gateway, shop, workload))
        except TimeoutError:
            workload.fault("the shop has not settled in time")
        workload.check(gateway.port, f"{options.folder}/shop.sqlite", options.audit)
        sys.exit(report(workload, f"seed {options.seed}, {options.kills} kills: "))
    finally:
        shop.stop()
        gateway.stop()


if __name__ == "__main__":
    main()
