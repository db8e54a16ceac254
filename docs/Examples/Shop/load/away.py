#!/usr/bin/env python3
"""Stops the PostgreSQL server of a shop under load for a while, and draws what clients and memory do meanwhile.

    load/away.py --shop .build/release/shop --folder /tmp/shop-away --seconds 60 --svg away.svg

Everything that was acknowledged has to be there afterwards. Then the shop gets SIGTERM while the server is silent, and has to
end within the grace period of an orchestrator.
"""

import asyncio
import math
import signal
import sys
import time

from workload import drive, make_workload_parser

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 360, 64, 64, 40, 48


def resident(process):
    """The memory of a process in MB."""
    with open(f"/proc/{process.pid}/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def svg(answers, memory, away):
    """Shortest to longest latency in each half second, logarithmic, and memory, over the time in seconds."""
    ranges = {}
    for seconds, latency, status in answers:
        shortest, longest = ranges.get((int(2 * seconds), status >= 500), (latency, latency))
        ranges[int(2 * seconds), status >= 500] = (min(shortest, latency), max(longest, latency))
    end = max(point[0] for point in memory)
    most = 1.2 * max(point[1] for point in memory)

    def x(seconds):
        return LEFT + seconds / end * (WIDTH - LEFT - RIGHT)

    def y(part):
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    def height(milliseconds):
        return y((math.log10(max(milliseconds, 0.1)) + 1) / 6)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<rect x="{x(away[0]):.1f}" y="{TOP}" width="{x(away[1]) - x(away[0]):.1f}" '
        f'height="{HEIGHT - TOP - BOTTOM}" fill="#eee"/>',
        f'<text x="{LEFT}" y="20" font-size="14">The database is away (grey): latency of each answer, '
        'and memory</text>',
    ]
    for power in range(-1, 6):
        lines.append(f'<path d="M{LEFT} {height(10 ** power):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{height(10 ** power) + 4:.1f}" text-anchor="end">'
                     f'{10 ** power:g} ms</text>')
    for seconds in range(0, int(end) + 1, 10):
        lines.append(f'<text x="{x(seconds):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{seconds} s</text>')
    for (place, is_refused), (shortest, longest) in ranges.items():
        color = "#c30" if is_refused else "#0a7"
        lines.append(f'<path d="M{x(place / 2 + 0.25):.1f} {height(shortest) + 1:.1f}V{height(longest) - 1:.1f}" '
                     f'stroke="{color}" stroke-width="2"/>')
    path = " ".join(f"{x(seconds):.1f},{y(value / most):.1f}" for seconds, value in memory)
    lines.append(f'<polyline points="{path}" fill="none" stroke="#36c" stroke-width="2"/>')
    lines.append(f'<text x="{WIDTH - RIGHT + 6}" y="{y(memory[-1][1] / most):.1f}" fill="#36c">'
                 f'{memory[-1][1]:.0f} MB</text>')
    lines.append(f'<text x="{LEFT + 8}" y="{TOP + 14}" fill="#0a7">answers</text>')
    lines.append(f'<text x="{LEFT + 64}" y="{TOP + 14}" fill="#c30">503 and 504</text>')
    return "\n".join(lines + ["</svg>\n"])


async def rounds(options, gateway, shop, workload, database):
    begin, memory, answers = time.monotonic(), [], []

    def now():
        return time.monotonic() - begin

    workload.note = lambda latency, status: answers.append((now(), 1000 * latency, status))

    async def watch():
        while True:
            memory.append((now(), resident(shop.process)))
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    workload.start()
    await asyncio.sleep(options.before)
    gone = now()
    await asyncio.to_thread(database.stop, "immediate")
    await asyncio.sleep(options.seconds)
    await asyncio.to_thread(database.start)
    back = now()
    await asyncio.sleep(options.before)
    await workload.finish()
    watching.cancel()
    with open(options.svg, "w") as file:
        file.write(svg(answers, memory, (gone, back)))

    def largest(since, until):
        return max(value for seconds, value in memory if since <= seconds <= until)

    first = next((seconds for seconds, _, status in answers if seconds > back and status < 500), back)
    print(f"memory: {largest(0, gone):.0f} MB before, {largest(gone, back):.0f} MB while the server was away, "
          f"{memory[-1][1]:.0f} MB in the end; first answer {first - back:.2f} s after its return")
    await asyncio.to_thread(end_beside_silent_server, shop, workload, database)


def end_beside_silent_server(shop, workload, database):
    begin = time.monotonic()
    database.signal(signal.SIGSTOP)
    try:
        if shop.stop(signal.SIGTERM, 30) is None:
            workload.fault("beside a silent server, the shop has not ended in 30 s")
    finally:
        database.signal(signal.SIGCONT)
    print(f"beside a silent server, the shop has ended in {time.monotonic() - begin:.1f} s")
    shop.start()
    shop.wait_until_ready(40)


def main():
    parser = make_workload_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long the server is away")
    parser.add_argument("--before", type=float, default=10, help="seconds of load before it, and after it")
    parser.add_argument("--svg", default="away.svg")
    options = parser.parse_args()
    options.postgresql = True
    sys.exit(drive(options, rounds, f"server away for {options.seconds:g} s", clients=64, pause=0.05))


if __name__ == "__main__":
    main()
