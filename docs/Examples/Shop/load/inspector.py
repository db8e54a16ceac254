#!/usr/bin/env python3
"""Drives the inspector's live page under load in a headless browser, or measures what the inspector costs.

    load/inspector.py
    load/inspector.py --cost --runs 5 --seconds 4

The first one needs Chromium, and prints what it saw. The load puts goods on the shelf, so the shop's state stays as large
as it is, and all growth of its memory is the inspector's.
"""

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from compare import HERE, MIXES, cell, require_wrk, seed, with_shop, wrk
from harness import address, call, free_port, made_database, make_gateway, make_shop

DRIVE = os.path.join(HERE, "../../../../Tests/Inspector/drive.py")
READERS = 8                 # as in InspectorService
CUSTOMER = "Annabelle"
MOST_GROWTH = 64            # MB: eight events of at most 2,000 entries, and what malloc keeps


def expect(condition, text):
    if not condition:
        raise SystemExit(f"FAIL  {text}")
    print(f"ok    {text}", flush=True)


def resident(process):
    """The memory of a process in MB."""
    with open(f"/proc/{process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def connect(port, path, host=None):
    """A connection on which a GET was sent, and the status of its answer."""
    connection = socket.create_connection(("127.0.0.1", port), 5)
    connection.settimeout(5)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{port}'}\r\n\r\n".encode())
    return connection, int(connection.recv(12).split()[1])


def status(port, path, host=None):
    connection, number = connect(port, path, host)
    connection.close()
    return number


def events(port, seconds):
    """What the events have within some seconds."""
    connection, number = connect(port, "/events")
    while number == 503:    # A page that has left is found out by the next event.
        connection.close()
        time.sleep(0.2)
        connection, number = connect(port, "/events")
    end, data = time.monotonic() + seconds, b""
    with connection, contextlib.suppress(TimeoutError):
        while time.monotonic() < end:
            data += connection.recv(1 << 20)
    return data.decode(errors="replace")


def listening_addresses(port):
    """The addresses at which a port is bound, as /proc has them."""
    found = []
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        found += [row[1].split(":")[0] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port]
    return found


@contextlib.contextmanager
def load(port, seconds=120):
    process = subprocess.Popen(["wrk", "-t1", "-c32", f"-d{seconds}s", "-s", "mixes/stock.lua", f"http://127.0.0.1:{port}"],
                               cwd=HERE, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


class Memory(threading.Thread):
    """Samples the memory of a process until it is stopped."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.samples, self.is_stopped = process, [], threading.Event()

    def run(self):
        while not self.is_stopped.wait(0.25):
            self.samples.append(resident(self.process))

    def stop(self):
        self.is_stopped.set()
        self.join()
        return self.samples


def check_refusals(inspector):
    expect(listening_addresses(inspector) == ["0100007F"], "the page is bound to 127.0.0.1 alone")
    expect(status(inspector, "/") == 200, "the page is served")
    expect(status(inspector, "/events", "evil.example") == 403, "another host gets 403")
    opened = [connect(inspector, "/events") for _ in range(READERS)]
    expect([number for _, number in opened] == [200] * READERS, f"{READERS} pages follow")
    expect(status(inspector, "/events") == 503, "one more gets 503")
    for connection, _ in opened[1:]:
        connection.close()
    return opened[0][0]     # it is never read


def check_masks(shop, inspector):
    def order():
        for _ in range(5):
            call(shop.port, "POST", "/orders", {"customer": CUSTOMER, "sku": "sku-1", "count": 1})
            time.sleep(0.2)
    threading.Thread(target=order, daemon=True).start()
    text = events(inspector, 3)
    for action in ("Place", "Charge", "Paid"):
        expect(f'"{action}"' in text, f"the events have {action}")
    expect("customer" in text and CUSTOMER not in text, "the events have no name of a customer")


def check_page(shop, inspector, screenshots):
    with load(shop.port):
        time.sleep(3)       # so that buffers have the size that they need, and the recorder is full
        memory = Memory(shop.process)
        memory.start()
        more = ["--screenshots", screenshots] if screenshots else []
        code = subprocess.run([sys.executable, DRIVE, "--live", f"http://127.0.0.1:{inspector}/", "--expect-losses", *more]).returncode
        samples = memory.stop()
    expect(code == 0, "the page passes its checks under load")
    growth = max(samples) - samples[0]
    expect(growth < MOST_GROWTH, f"memory: {samples[0]:.0f} MB under load without a page, at most {max(samples):.0f} MB with one "
           f"and with one that reads nothing")


def check_taken_port(options, folder, gateway, inspector):
    other = make_shop(options.shop, folder, gateway, LOG_LEVEL="warning", INSPECTOR=f"127.0.0.1:{inspector}")
    other.log = f"{folder}/other.log"
    other.start()
    other.wait_until_ready()
    expect(other.stop() == 0, "a shop whose port of the inspector is taken serves all the same")
    with open(other.log) as log:
        warning = [line.strip() for line in log if "not served" in line]
    expect(len(warning) == 1 and "INSPECTOR" in warning[0] and str(inspector) in warning[0], f"it warns: {warning}")


def check(options, state):
    print(f"--    {state}", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, made_database(state, folder) as database:
        inspector = free_port()
        gateway = make_gateway(options.gateway, folder)
        shop = make_shop(options.shop, folder, gateway, address(database), INSPECTOR=f"127.0.0.1:{inspector}")
        try:
            for server in (gateway, shop):
                server.start()
                server.wait_until_ready()
            seed(shop.port)
            check_taken_port(options, folder, gateway, inspector)
            reader = check_refusals(inspector)
            check_masks(shop, inspector)
            check_page(shop, inspector, options.screenshots)
            begin = time.monotonic()
            code = shop.stop()
            expect(code == 0, f"SIGTERM with a page that reads nothing: exit code {code} after {time.monotonic() - begin:.1f} s")
            reader.close()
        finally:
            shop.stop()
            gateway.stop()


@contextlib.contextmanager
def reading(port):
    """A reader that reads all that comes."""
    connection, _ = connect(port, "/events")

    def read():
        with contextlib.suppress(OSError):
            while connection.recv(1 << 20):
                pass
    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield
    finally:
        connection.shutdown(socket.SHUT_RDWR)
        thread.join()
        connection.close()


def measure_cost(options):
    print(f"Median of {options.runs} runs of {options.seconds} s (lowest–highest).\n")
    print("| mix | state | inspector | requests/s | p99 ms | processor time of a request, µs | more |")
    print("|---|---|---|--:|--:|--:|--:|")
    sides = ("off", "on, no page", "on, a page")
    for mix in options.mixes:
        for state in options.states:
            results = {side: [] for side in sides}
            for run in range(1, options.runs + 1):
                for side in sides if run % 2 else reversed(sides):
                    port = free_port()

                    def measure(shop):
                        begin = processor_seconds(shop.process)
                        with reading(port) if side == "on, a page" else contextlib.nullcontext():
                            result = wrk(shop.port, mix, 64, options.seconds, 2, run)
                        used = processor_seconds(shop.process) - begin
                        return {**result, "used": used / (result["rate"] * options.seconds) * 1e6}
                    results[side].append(with_shop(
                        options.gateway, options.shop, state, options.folder, measure,
                        INSPECTOR="off" if side == "off" else f"127.0.0.1:{port}"))
            off = statistics.median(result["used"] for result in results["off"])
            for side in sides:
                rates, p99s, used = ([result[name] for result in results[side]] for name in ("rate", "p99", "used"))
                print(f"| {mix} | {state} | {side} | {cell(rates, 0)} | {cell(p99s, 1)} | {cell(used, 0)} "
                      f"| {statistics.median(used) - off:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shop", default=".build/release/shop")
    parser.add_argument("--gateway", default=".build/release/gateway")
    parser.add_argument("--folder", help="where databases and logs are; a temporary folder by default")
    parser.add_argument("--states", nargs="+", default=["memory", "SQLite"], choices=["memory", "SQLite"])
    parser.add_argument("--screenshots", help="a folder for pictures of the page")
    parser.add_argument("--cost", action="store_true", help="measure instead")
    parser.add_argument("--mixes", nargs="+", default=["mixed"], choices=MIXES)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    options = parser.parse_args()
    require_wrk()
    if options.cost:
        return measure_cost(options)
    for state in options.states:
        check(options, state)
    print("all checks passed")


if __name__ == "__main__":
    main()
