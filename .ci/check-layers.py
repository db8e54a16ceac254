#!/usr/bin/env python3
"""Checks which rooms of Sources/DispatchStore name types of which others.

usage: check-layers.py [--write]

A room is a folder below a floor, such as Core/Runs. A floor knows only those below it: State and Control know Core,
Extras knows State and Core. Inside Core and inside a floor, each arrow between two rooms is listed below. A new arrow is
an error, and so is a listed arrow that no longer exists: the list only shrinks, unless a reviewer accepts a longer one.
--write prints the list as it is now.
"""

import collections
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "Sources" / "DispatchStore"
BELOW = {
    "Core": {"Simulation"}, "Simulation": {"Core"}, "State": {"Core", "Simulation"},
    "Control": {"Core", "Simulation"}, "Extras": {"Core", "State", "Control", "Simulation"},
    "Persistence": {"Core", "State", "Control", "Extras", "Simulation"},
}
ARROWS = """
Control/Diagnosis: Lifecycle Limits Work
Control/Effects: Options Rows
Control/Keys: Rows
Control/Lifecycle: Groups
Control/Limits: Options
Control/Options: Delays Keys Limits Pacing Schedule
Control/Pacing: Delays Options
Control/Schedule: Delays Keys Rows
Control/Work: Effects Options Schedule
Core/Atomic: Base Middleware Observers Results Routing Runs Stores
Core/Base: Atomic Middleware Operations Routing Runs Scheduling Stores
Core/Dispatcher: Base Middleware Results Routing Runs Scheduling Stores
Core/Middleware: Base Dispatcher Results Routing Runs Stores
Core/Observers: Base Runs Scheduling Stores
Core/Operations: Base Results Runs Scheduling Stores Waits
Core/Results: Base Middleware
Core/Routing: Atomic Base Middleware Results Runs Stores
Core/Runs: Atomic Base Dispatcher Middleware Operations Results Routing Scheduling Stores Waits
Core/Scheduling: Base Dispatcher Results Runs
Core/Stores: Atomic Base Dispatcher Observers Operations Results Routing Runs Scheduling
Core/Waits: Base Results Runs Scheduling
Extras/Recording: Serialization Templates
State/Elements: Sources
State/Handlers: Sources
State/Hooks: Handlers
State/Observation: Sources
State/Selectors: Sources
State/Streams: Sources
State/Undo: Elements Handlers
State/Views: Handlers Sources"""
TYPE = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|final|open|indirect|nonisolated)\s+)*"
    r"(?:struct|class|enum|protocol|actor|typealias)\s+(\w+)", re.MULTILINE)
NAME = re.compile(r"\b[A-Z]\w+\b")


def code(path):
    """The text of a file without comments and strings."""
    text = re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))
    lines = (re.sub(r'"(?:\\.|[^"\\])*"', '""', line).split("//")[0] for line in text.split("\n"))
    return "\n".join(lines)


def room(path):
    parts = path.relative_to(SOURCES).parts
    return parts[0] if len(parts) < 3 else "/".join(parts[:2])


def arrows():
    """By arrow: the files that draw it, each with a type that it names."""
    texts = {path: code(path) for path in sorted(SOURCES.rglob("*.swift"))}
    owners = {}
    for path, text in texts.items():
        for name in TYPE.findall(text):
            owners.setdefault(name, room(path))
    found = collections.defaultdict(list)
    for path, text in texts.items():
        for name in sorted(set(NAME.findall(text))):
            if owners.get(name, room(path)) != room(path):
                found[room(path), owners[name]].append((path, name))
    return found


def main():
    found = arrows()
    inside = {
        (origin, target) for origin, target in found
        if origin.split("/")[0] == target.split("/")[0] and origin != target}
    if sys.argv[1:] == ["--write"]:
        targets = collections.defaultdict(list)
        for origin, target in sorted(inside):
            targets[origin].append(target.split("/")[1])
        for origin in targets:
            print(f"{origin}: {' '.join(targets[origin])}")
        return
    listed = set()
    for line in ARROWS.split("\n"):
        origin, _, targets = line.partition(": ")
        listed |= {(origin, f"{origin.split('/')[0]}/{target}") for target in targets.split()}
    errors = 0
    for origin, target in sorted(found):
        floor, other = origin.split("/")[0], target.split("/")[0]
        if (origin, target) in listed or floor != other and other in BELOW[floor]:
            continue
        errors += 1
        for path, name in found[origin, target]:
            print(f"{path.relative_to(SOURCES.parent.parent)}: error: {origin} must not know {target}: {name}")
    for origin, target in sorted(listed - inside):
        errors += 1
        print(f"error: {origin} no longer knows {target}: take that arrow out of the list of check-layers.py")
    core = sum(origin.startswith("Core/") for origin, _ in inside)
    print(f"{len(inside)} arrows between rooms of one floor, {core} of them in Core; {errors} errors")
    sys.exit(errors > 0)


main()
