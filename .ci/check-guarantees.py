#!/usr/bin/env python3
"""Checks that every promise of docs/Guarantees.md has tests in Tests/guarantees.txt, and that these exist.

usage: check-guarantees.py

A promise is a row of a table whose header begins with "#"; its ID is the first cell. Tests/guarantees.txt has a line for
each: the ID, a tab, and the tests with a space between two. A test is a function with @Test in a file under Tests/, as
`name`, or as `Suite.name` where the name alone would not do; the suite is a type, or an extension of one, in the same
file. A path names a program that the compiler has to reject. Lines that begin with "#" are comments.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "Guarantees.md"
LIST = ROOT / "Tests" / "guarantees.txt"
REJECTED = "Tests/Consumer/Rejected/"
TEST = re.compile(r"@Test\b(?:(?!@Test\b|\bfunc\b).)*\bfunc\s+`?(\w+)`?\s*[(<]", re.DOTALL)
TYPE = re.compile(r"\b(?:struct|class|actor|enum|extension)\s+(\w+)")
ID = re.compile(r"[A-Z]+[0-9]+[a-z]?")
NAME = re.compile(r"(?:\w+\.)?\w+")
CELLS = re.compile(r"(?<!\\)\|")


def tests():
    """All tests, as name and as suite.name, and the programs to reject, as paths."""
    names = set()
    for path in sorted((ROOT / "Tests").rglob("*.swift")):
        if any(part.startswith(".build") for part in path.parts):
            continue
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(REJECTED):
            names.add(name)
            continue
        text = path.read_text(encoding="utf-8")
        suites = set(TYPE.findall(text))
        for name in TEST.findall(text):
            names.add(name)
            names.update(f"{suite}.{name}" for suite in suites)
    return names


def promises():
    """Yields (line number, ID) of each promise."""
    in_table = False
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").split("\n"), 1):
        if not line.startswith("|"):
            in_table = False
            continue
        first = CELLS.split(line.strip().strip("|"))[0].strip()
        if first == "#":
            in_table = True
        elif in_table and not re.fullmatch(r":?-+:?", first):
            yield number, first


def lists():
    """Yields (line number, ID, names of tests) of each line of the list."""
    for number, line in enumerate(LIST.read_text(encoding="utf-8").split("\n"), 1):
        if line and not line.startswith("#"):
            identifier, _, names = line.partition("\t")
            yield number, identifier, names.split()


def main():
    errors = 0

    def error(path, number, text):
        nonlocal errors
        errors += 1
        print(f"{path.relative_to(ROOT)}:{number}: error: {text}")

    known, listed, named = tests(), {}, set()
    for number, identifier, names in lists():
        if identifier in listed:
            error(LIST, number, f"{identifier} was in a line before")
        listed[identifier] = number
        if not names:
            error(LIST, number, f"{identifier} names no test")
        for name in names:
            named.add(name)
            if not NAME.fullmatch(name) and not name.startswith(REJECTED):
                error(LIST, number, f"{name} is no name of a test: write name or Suite.name")
            elif name not in known:
                error(LIST, number, f"there is no test {name}")

    promised = {}
    for number, identifier in promises():
        if not ID.fullmatch(identifier):
            error(PAGE, number, f"'{identifier}' is no ID of a promise")
        if identifier in promised:
            error(PAGE, number, f"{identifier} was promised before")
        promised[identifier] = number
        if identifier not in listed:
            error(PAGE, number, f"{identifier} has no tests in {LIST.relative_to(ROOT)}")
    for identifier, number in listed.items():
        if identifier not in promised:
            error(LIST, number, f"{PAGE.relative_to(ROOT)} has no promise {identifier}")
    if not promised:
        error(PAGE, 1, "no promise was found")

    print(f"{len(promised)} promises, {len(named)} tests named, {errors} errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
