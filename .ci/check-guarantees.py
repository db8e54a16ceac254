#!/usr/bin/env python3
"""Checks that every promise of docs/Guarantees.md names tests, and that these exist.

usage: check-guarantees.py

A promise is a row of a table whose header ends in "Kept by". Its last cell names tests as
`name()`, or as `Suite.name()` where the name alone would not do. A test is a function with @Test in a
file under Tests/; the suite is a type, or an extension of one, in the same file.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "Guarantees.md"
TEST = re.compile(r"@Test\b(?:(?!@Test\b|\bfunc\b).)*\bfunc\s+`?(\w+)`?\s*[(<]", re.DOTALL)
TYPE = re.compile(r"\b(?:struct|class|actor|enum|extension)\s+(\w+)")
NAME = re.compile(r"`(?:(\w+)\.)?(\w+)\(\)`")
CELLS = re.compile(r"(?<!\\)\|")


def tests():
    """All tests, as name and as suite.name."""
    names = set()
    for path in sorted((ROOT / "Tests").rglob("*.swift")):
        if any(part.startswith(".build") for part in path.parts):
            continue
        text = path.read_text(encoding="utf-8")
        suites = set(TYPE.findall(text))
        for name in TEST.findall(text):
            names.add(name)
            names.update(f"{suite}.{name}" for suite in suites)
    return names


def promises():
    """Yields (line number, last cell) of each promise."""
    in_table = False
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").split("\n"), 1):
        if not line.startswith("|"):
            in_table = False
            continue
        last = CELLS.split(line.strip().strip("|"))[-1].strip()
        if last == "Kept by":
            in_table = True
        elif in_table and not re.fullmatch(r":?-+:?", last):
            yield number, last


def main():
    known, count, named, errors = tests(), 0, set(), 0
    for number, cell in promises():
        count += 1
        found = NAME.findall(cell)
        if not found:
            print(f"docs/Guarantees.md:{number}: error: this promise names no test")
            errors += 1
        for suite, name in found:
            full = f"{suite}.{name}" if suite else name
            named.add(full)
            if full not in known:
                print(f"docs/Guarantees.md:{number}: error: there is no test {full}()")
                errors += 1
    if not count:
        print("docs/Guarantees.md: error: no promise was found")
        errors += 1
    print(f"{count} promises, {len(named)} tests named, {errors} errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
