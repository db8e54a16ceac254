#!/usr/bin/env python3
"""Compares what `churn --json` printed with answers that were computed otherwise.

usage: compare-answers.py CHURN.json ANSWERS.json

Every key of the answers must be equal in what churn printed. Names each difference, and exits with 1
if there is any. A count of zero may be left out on either side.
"""

import json
import sys

SHOWN = 5


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def without_zeros(counts):
    return {key: value for key, value in counts.items() if value != 0}


def differences(key, printed, expected):
    """Yields a line for each difference of one key."""
    if not isinstance(expected, dict):
        if printed != expected:
            yield f"{key}: {printed!r} instead of {expected!r}"
        return
    if not isinstance(printed, dict):
        yield f"{key}: {type(printed).__name__} instead of an object"
        return
    if key not in ("linesByFile", "lastAuthorByFile"):
        printed, expected = without_zeros(printed), without_zeros(expected)
    for name in sorted(printed.keys() | expected.keys()):
        here = printed.get(name, "nothing")
        there = expected.get(name, "nothing")
        if here != there:
            yield f"{key}: {name!r}: {here!r} instead of {there!r}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    printed, answers = load(sys.argv[1]), load(sys.argv[2])
    differing = 0
    for key, expected in answers.items():
        lines = list(differences(key, printed.get(key), expected))
        for line in lines[:SHOWN]:
            print(line)
        if len(lines) > SHOWN:
            print(f"{key}: and {len(lines) - SHOWN} more")
        differing += bool(lines)
    print(f"{len(answers) - differing} of {len(answers)} keys equal")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
