#!/usr/bin/env python3
"""Draws the latency of two shops over their load, as an SVG.

    load/latency.py --a .build/release/shop --b .build/release/plain-shop --svg latency.svg

The number of connections rises; each point is one run of wrk.
"""

import argparse
import math
import os
import statistics

from compare import MIXES, STATES, require_wrk, with_shop, wrk

CONNECTIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
COLORS = {"a": "#0a7", "b": "#c50"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 64, 16, 40, 48


def nice_step(span):
    step = 10 ** math.floor(math.log10(span / 4))
    return next(step * factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 6)


def svg(title, names, points):
    """Latency (logarithmic) over requests per second: p50 dashed, p99 solid."""
    everything = [point for side in points.values() for point in side]
    most = max(point["rate"] for point in everything) * 1.05
    low = math.floor(math.log10(max(min(point["p50"] for point in everything), 0.001)))
    high = math.ceil(math.log10(max(point["p99"] for point in everything)))

    def x(rate):
        return LEFT + rate / most * (WIDTH - LEFT - RIGHT)

    def y(milliseconds):
        part = (math.log10(max(milliseconds, 0.001)) - low) / max(high - low, 1)
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{title}</text>',
    ]
    for power in range(low, high + 1):
        lines.append(f'<path d="M{LEFT} {y(10 ** power):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y(10 ** power) + 4:.1f}" text-anchor="end">'
                     f'{10 ** power:g} ms</text>')
    step = nice_step(most)
    for number in range(int(most / step) + 1):
        lines.append(f'<text x="{x(number * step):.1f}" y="{HEIGHT - BOTTOM + 18}" '
                     f'text-anchor="middle">{number * step:,.0f}</text>')
    lines.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
                 'requests per second</text>')
    for row, (side, series) in enumerate(points.items()):
        color = COLORS[side]
        for value, dash in (("p99", ""), ("p50", ' stroke-dasharray="4 3"')):
            path = " ".join(f"{x(point['rate']):.1f},{y(point[value]):.1f}" for point in series)
            lines.append(f'<polyline points="{path}" fill="none" stroke="{color}" '
                         f'stroke-width="2"{dash}/>')
        for point in series:
            lines.append(f'<circle cx="{x(point["rate"]):.1f}" cy="{y(point["p99"]):.1f}" r="3" '
                         f'fill="{color}"><title>{point["connections"]} connections</title></circle>')
        lines.append(f'<text x="{LEFT + 8}" y="{TOP + 12 + 16 * row}" fill="{color}">'
                     f'{names[side]}: p99 (p50 dashed)</text>')
    return "\n".join(lines + ["</svg>\n"])


def median_point(runs, connections):
    return {"connections": connections,
            **{value: statistics.median(run[value] for run in runs) for value in runs[0]}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--a", default=".build/release/shop")
    parser.add_argument("--b", default=".build/release/plain-shop")
    parser.add_argument("--gateway", default=".build/release/gateway")
    parser.add_argument("--mix", default="write-heavy", choices=MIXES)
    parser.add_argument("--state", default="SQLite", choices=STATES)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    parser.add_argument("--folder")
    parser.add_argument("--svg", default="latency.svg")
    options = parser.parse_args()
    require_wrk()

    names = {"a": os.path.basename(options.a), "b": os.path.basename(options.b)}
    points = {"a": [], "b": []}
    print("| connections | shop | requests/s | p50 ms | p99 ms |\n|--:|---|--:|--:|--:|")
    for connections in options.connections:
        runs = {"a": [], "b": []}
        for run in range(options.runs):
            for side in ("ab", "ba")[run % 2]:
                runs[side].append(with_shop(
                    options.gateway, getattr(options, side), options.state, options.folder,
                    lambda shop: wrk(shop.port, options.mix, connections, options.seconds)))
        for side in "ab":
            point = median_point(runs[side], connections)
            points[side].append(point)
            print(f"| {connections} | {names[side]} | {point['rate']:,.0f} | {point['p50']:.2f} "
                  f"| {point['p99']:.2f} |", flush=True)
    with open(options.svg, "w") as file:
        file.write(svg(f"{options.mix}, {options.state}", names, points))


if __name__ == "__main__":
    main()
