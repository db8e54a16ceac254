#!/usr/bin/env python3
"""Applies the lines that `churn --follow` wrote, and compares what they give with answers that were computed otherwise.

usage: check-followed.py FOLLOWED.jsonl ANSWERS.json

Every replay of the file must have its end, and the answers; in the mode async without the figures that depend on the
order of changes. A replay that was cut has no end. Names each figure that differs, and exits with 1 if there is any.
"""

import json
import sys

ORDERED = {"takeoversByAuthor", "lastAuthorByFile"}
FIGURES = {
    "commitsByAuthor": ("authors", "commits"),
    "addedByAuthor": ("authors", "added"),
    "deletedByAuthor": ("authors", "deleted"),
    "takeoversByAuthor": ("authors", "takeovers"),
    "linesByFile": ("files", "lines"),
    "lastAuthorByFile": ("files", "lastAuthor"),
    "churnByFolder": ("folders", None),
    "commitsByDay": ("days", None),
}


def replays(path):
    """Yields the mode and the answers of each replay; the answers of one that was interrupted are None."""
    mode, stores = None, {}
    with open(path, encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            if "replay" in line:
                if mode:
                    yield mode, None
                if line["copies"] != 1:
                    sys.exit(f"'{path}' has several copies of the history; the answers are those of one")
                mode, stores = line["replay"], {}
            elif "end" in line:
                answers = {"commits": line["commits"], "changes": line["changes"]}
                for figure, (store, member) in FIGURES.items():
                    values = stores.get(store, {})
                    answers[figure] = {k: v[member] if member else v for k, v in values.items()}
                yield mode, answers
                mode = None
            elif "cut" in line:
                yield mode, None
                mode = None
            else:
                apply(line, stores.setdefault(line["store"], {}))
    if mode:
        yield mode, None


def apply(line, values):
    if line["change"] == "reset":
        values.clear()
    elif line["change"] == "removed":
        del values[line["key"]]
    elif (line["change"] == "changed") != (line["key"] in values):
        sys.exit(f"'{line['key']}' of {line['store']} is {line['change']} in version {line['version']}, wrongly")
    else:
        values[line["key"]] = line["value"]


def comparable(figure, value):
    if figure.endswith("ByFile") or not isinstance(value, dict):
        return value
    return {key: count for key, count in value.items() if count != 0}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = json.load(file)
    wrong = count = 0
    for mode, answers in replays(sys.argv[1]):
        count += 1
        if answers is None:
            differing = ["no end"]
        else:
            differing = [
                figure
                for figure, value in expected.items()
                if not (mode == "async" and figure in ORDERED)
                and comparable(figure, answers.get(figure)) != comparable(figure, value)
            ]
        wrong += bool(differing)
        print(f"{mode}: {', '.join(differing) or 'the lines give the answers'}")
    sys.exit(1 if wrong or not count else 0)


if __name__ == "__main__":
    main()
