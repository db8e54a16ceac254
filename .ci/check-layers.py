#!/usr/bin/env python3
"""Checks that the core's folders of Sources/DispatchStore name no type of the folders built on them.

usage: check-layers.py

The core is what an action passes on its way: these folders, and the files beside them. Every other folder is a
feature on top, which may use the core, and which the core does not know.
"""

import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "Sources" / "DispatchStore"
CORE = {
    "Completion", "Dispatch", "Middleware", "Observers", "Operation", "Registry", "Scheduling",
    "Simulation", "Store", "Support",
}
TYPE = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|private|fileprivate|final|open|indirect|nonisolated)\s+)*"
    r"(?:struct|class|enum|protocol|actor|typealias)\s+(\w+)", re.MULTILINE)
NAME = re.compile(r"\b[A-Z]\w+\b")


def code(path):
    """The text of a file, with what stands in comments and strings left out, line by line."""
    text = re.sub(r'"""[\s\S]*?"""', lambda match: "\n" * match[0].count("\n"),
                  path.read_text(encoding="utf-8"))
    return [re.sub(r'"(?:\\.|[^"\\])*"', '""', line).split("//")[0] for line in text.split("\n")]


def main():
    files = {True: [], False: []}
    for path in sorted(SOURCES.rglob("*.swift")):
        top = path.relative_to(SOURCES).parts[0]
        files[top in CORE or top.endswith(".swift")].append(path)
    core = {name for path in files[True] for name in TYPE.findall("\n".join(code(path)))}
    above = {name for path in files[False] for name in TYPE.findall("\n".join(code(path)))} - core
    errors = 0
    for path in files[True]:
        for number, line in enumerate(code(path), 1):
            for name in sorted(set(NAME.findall(line)) & above):
                print(f"{path.relative_to(SOURCES.parent.parent)}:{number}: error: {name} is above the core")
                errors += 1
    print(f"{len(files[True])} files of the core, {len(files[False])} above, {len(above)} types, {errors} errors")
    sys.exit(errors > 0)


main()
