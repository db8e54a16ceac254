#!/usr/bin/env python3
"""Checks that each comment of Sources/DispatchStore begins with a verb or the name of its thing.

usage: check-comments.py

Quick Help and editors show a comment alone: one that begins with "The same", "It" or "What" says nothing there.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = re.compile(r"^(The same|It|Its|Those|These|They|One|As|What|Of|Where)\b")
COMMENT = re.compile(r"\s*///?(?!/)\s?(.*)")


def main():
    errors = count = 0
    for path in sorted((ROOT / "Sources" / "DispatchStore").rglob("*.swift")):
        isInside = False
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            comment = COMMENT.match(line)
            if comment and not isInside:
                count += 1
                if WORDS.match(comment[1]):
                    errors += 1
                    print(f"{path.relative_to(ROOT)}:{number}: error: begins with '{comment[1].split()[0]}'")
            isInside = comment is not None
    print(f"{count} comments, {errors} errors")
    sys.exit(errors > 0 or count == 0)


main()
