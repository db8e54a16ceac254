#!/usr/bin/env python3
"""Compares two shops: requests per second and p99 of three mixes, in memory and with a database.

    load/compare.py --a .build/release/shop --b .build/release/plain-shop

Prints a Markdown table. Runs alternate between the shops, each with fresh processes and files.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from harness import address, call, made_database, make_gateway, make_shop

HERE = os.path.dirname(os.path.abspath(__file__))
MIXES = ["read-mostly", "write-heavy", "mixed"]
STATES = ["memory", "SQLite", "PostgreSQL"]
SEEDED_ORDERS, SKUS = 200, 20  # as mixes/common.lua says


def seed(port):
    for number in range(1, SKUS + 1):
        status, _ = call(port, "POST", f"/stock/sku-{number}", {"add": 100_000_000, "price": 250})
        assert status == 200, status
    for number in range(SEEDED_ORDERS):
        order = {"customer": "ann", "sku": f"sku-{number % SKUS + 1}", "count": 1}
        status, _ = call(port, "POST", "/orders", order)
        assert status == 201, status
    end = time.monotonic() + 20
    while call(port, "GET", f"/orders/{SEEDED_ORDERS}")[1]["state"] != "paid":
        assert time.monotonic() < end, "the seeded orders were not paid in 20 s"
        time.sleep(0.05)


def require_wrk():
    if not shutil.which("wrk"):
        sys.exit("wrk, which makes the load, is not installed. On Debian: apt-get install wrk")


def wrk(port, mix, connections, seconds, threads=2, run=1):
    """One run of wrk. Returns requests per second, and p50 and p99 in milliseconds."""
    output = subprocess.run(
        ["wrk", f"-t{min(threads, connections)}", f"-c{connections}", f"-d{seconds}s", "--latency",
         "-s", f"mixes/{mix}.lua", f"http://127.0.0.1:{port}", "--", str(run)],
        cwd=HERE, capture_output=True, text=True, timeout=seconds + 30, check=True).stdout
    result = json.loads(output.strip().split("\n")[-1])
    if result["socket"] or (result["status"] and mix != "mixed"):
        print(f"<!-- {mix}: {result['status']} errors by status, {result['socket']} by socket -->")
    return {
        "rate": result["requests"] / result["micros"] * 1e6,
        "p50": result["p50"] / 1000, "p99": result["p99"] / 1000,
    }


def with_shop(gateway_binary, shop_binary, state, folder, measure, **environment):
    """Starts a gateway and a shop with fresh files, and measures them."""
    with tempfile.TemporaryDirectory(dir=folder) as files, made_database(state, files) as database:
        gateway = make_gateway(gateway_binary, files)
        shop = make_shop(shop_binary, files, gateway, address(database), **environment)
        try:
            gateway.start()
            gateway.wait_until_ready()
            shop.start()
            shop.wait_until_ready()
            seed(shop.port)
            return measure(shop)
        finally:
            shop.stop()
            gateway.stop()


def cell(values, digits):
    return (f"{statistics.median(values):,.{digits}f} "
            f"({min(values):,.{digits}f}–{max(values):,.{digits}f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--a", default=".build/release/shop")
    parser.add_argument("--b", default=".build/release/plain-shop")
    parser.add_argument("--gateway", default=".build/release/gateway")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--mixes", nargs="+", default=MIXES, choices=MIXES)
    parser.add_argument("--states", nargs="+", default=STATES, choices=STATES)
    parser.add_argument("--folder", help="where the databases are; a temporary folder by default")
    options = parser.parse_args()
    require_wrk()

    names = {"a": os.path.basename(options.a), "b": os.path.basename(options.b)}
    print(f"Median of {options.runs} runs of {options.seconds} s with {options.connections} "
          f"connections (lowest–highest). The ratio is {names['a']} to {names['b']}.\n")
    print(f"| mix | state | {names['a']}, requests/s | {names['b']}, requests/s | ratio "
          f"| {names['a']}, p99 ms | {names['b']}, p99 ms | ratio |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for mix in options.mixes:
        for state in options.states:
            results = {"a": [], "b": []}
            for run in range(1, options.runs + 1):
                for side in ("ab", "ba")[run % 2]:
                    results[side].append(with_shop(
                        options.gateway, getattr(options, side), state, options.folder,
                        lambda shop: wrk(shop.port, mix, options.connections, options.seconds,
                                         options.threads, run)))
            row = [mix, state]
            for value, digits in (("rate", 0), ("p99", 1)):
                a, b = ([result[value] for result in results[side]] for side in "ab")
                ratio = statistics.median(a) / statistics.median(b)
                row += [cell(a, digits), cell(b, digits), f"{ratio:.2f}"]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
