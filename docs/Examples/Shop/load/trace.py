#!/usr/bin/env python3
"""Draws a trace from files of finished spans, as JSON lines.

    load/trace.py spans.jsonl bank-spans.jsonl --name /orders --svg trace.svg

Prints the trace as a tree, too. Without --name it takes the trace with the most spans.
"""

import argparse
import html
import json

ROW, LEFT, WIDTH = 22, 260, 700
KINDS = {1: "#4c78a8", 2: "#54a24b", 3: "#f58518"}  # internal, server, client


def read(paths, name):
    traces = {}
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                span = json.loads(line)
                traces.setdefault(span["traceId"], []).append(span)
    named = [spans for spans in traces.values() if not name or any(s["name"] == name for s in spans)]
    if not named:
        raise SystemExit(f"No trace has a span named {name}.")
    return max(named, key=len)


def rows(spans):
    """Yields each span with its depth: parents before children, in order of time."""
    known = {span["spanId"] for span in spans}
    children = {}
    for span in sorted(spans, key=lambda span: int(span["startTimeUnixNano"])):
        parent = span.get("parentSpanId")
        children.setdefault(parent if parent in known else None, []).append(span)

    def walk(parent, depth):
        for span in children.get(parent, []):
            yield span, depth
            yield from walk(span["spanId"], depth + 1)

    return list(walk(None, 0))


def draw(rows, begin, end):
    def x(time):
        return LEFT + WIDTH * (time - begin) / max(end - begin, 1)

    height = ROW * (len(rows) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 90}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="100%" height="{height}" fill="white"/>']
    for step in range(5):
        time = begin + (end - begin) * step / 4
        parts.append(
            f'<line x1="{x(time):.1f}" y1="18" x2="{x(time):.1f}" y2="{height}" stroke="#ddd"/>'
            f'<text x="{x(time):.1f}" y="12" text-anchor="middle">{(time - begin) / 1e6:.1f} ms</text>')
    for number, (span, depth) in enumerate(rows):
        start, stop = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        y = ROW * (number + 1)
        parts.append(
            f'<text x="{8 + 14 * depth}" y="{y + 14}">{html.escape(span["name"])}</text>'
            f'<rect x="{x(start):.1f}" y="{y + 3}" width="{max(x(stop) - x(start), 1.5):.1f}" height="14" '
            f'rx="2" fill="{KINDS.get(span["kind"], "#999")}"/>'
            f'<text x="{x(stop) + 4:.1f}" y="{y + 14}" fill="#555">{(stop - start) / 1e6:.2f} ms</text>')
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("spans", nargs="+")
    parser.add_argument("--name", help="a span that the trace has to have, such as /orders")
    parser.add_argument("--svg", help="the file for the picture")
    options = parser.parse_args()
    found = rows(read(options.spans, options.name))
    begin = min(int(span["startTimeUnixNano"]) for span, _ in found)
    end = max(int(span["endTimeUnixNano"]) for span, _ in found)
    print("trace", found[0][0]["traceId"])
    for span, depth in found:
        start, stop = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        print(f'{(start - begin) / 1e6:9.2f} ms {"  " * depth}{span["name"]}: {(stop - start) / 1e6:.2f} ms')
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(draw(found, begin, end))


if __name__ == "__main__":
    main()
