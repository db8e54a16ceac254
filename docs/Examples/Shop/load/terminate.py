#!/usr/bin/env python3
"""Ends a shop with SIGTERM under load, again and again: no accepted request is lost, none repeated.

    load/terminate.py --shop .build/release/shop --folder /tmp/shop-terminate

A request was accepted if it had an effect. So while the clients are held back, no order may be there
whose client got no answer.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import sys
import time

from harness import call, make_gateway, make_shop
from workload import AUDIT, Workload, report


async def rounds(options, gateway, shop, workload):
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
        begin = time.monotonic()
        code = await asyncio.to_thread(shop.stop, signal.SIGTERM, options.grace)
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
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shop", default=".build/release/shop")
    parser.add_argument("--gateway", default=".build/release/gateway")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--grace", type=float, default=10, help="seconds that the shop has to end")
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
        workload = Workload(shop.port, options.seed, clients=24, pause=0.3)
        workload.begin()
        try:
            asyncio.run(rounds(options, gateway, shop, workload))
        except TimeoutError:
            workload.fault("the shop has not settled in time")
        workload.check(gateway.port, f"{options.folder}/shop.sqlite", options.audit)
        sys.exit(report(workload, f"seed {options.seed}, {options.rounds} rounds: "))
    finally:
        shop.stop()
        gateway.stop()


if __name__ == "__main__":
    main()
