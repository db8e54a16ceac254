#!/usr/bin/env python3
"""Works out from a log what `churn --json` must say of it; a program of its own, for compare-answers.py.

usage: history-answers.py HISTORY.log ANSWERS.json
"""

import collections
import datetime
import json
import sys


def commits(fields):
    """Yields author, time and changes of each commit; a change is a path, a status, and added and deleted lines."""
    index = 0
    while index < len(fields):
        assert fields[index] == b"" and fields[index + 1][:1] == b"\1", f"field {index} begins no commit"
        author, time = text(fields[index + 2]), int(fields[index + 3])
        index += 4
        statuses, changes = {}, []
        while index < len(fields) and fields[index].lstrip(b"\n")[:1] == b":":
            statuses[fields[index + 1]] = fields[index][-1:]
            index += 2
        while index < len(fields) and fields[index]:
            added, deleted, path = fields[index].split(b"\t", 2)
            changes.append((path, statuses[path], None if added == b"-" else (int(added), int(deleted))))
            index += 1
        yield author, time, changes


def text(name):
    return name.decode("utf-8", "replace")


def answers(fields):
    count = collections.defaultdict(collections.Counter)
    commit_count = change_count = 0
    existence, lines, last = collections.Counter(), {}, {}
    for author, time, changes in commits(fields):
        commit_count += 1
        count["commitsByAuthor"][author] += 1
        count["commitsByDay"][str(datetime.datetime.fromtimestamp(time, datetime.timezone.utc).date())] += 1
        for path, status, counted in changes:
            change_count += 1
            added, deleted = counted or (0, 0)
            folder = path.split(b"/")[0] if b"/" in path else b"."
            count["addedByAuthor"][author] += added
            count["deletedByAuthor"][author] += deleted
            count["churnByFolder"][text(folder)] += added + deleted
            count["takeoversByAuthor"][author] += last.get(path, author) != author
            existence[path] += {b"A": 1, b"D": -1}.get(status, 0)
            last[path] = author
            # Once binary, the lines of a path stay unknown.
            known = lines.get(path, 0)
            lines[path] = None if known is None or counted is None else known + added - deleted
    present = [path for path in lines if existence[path] > 0]
    return {
        "commits": commit_count, "changes": change_count, **count,
        "linesByFile": {text(path): lines[path] for path in present},
        "lastAuthorByFile": {text(path): last[path] for path in present},
    }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], "rb") as file:
        fields = file.read().split(b"\0")[:-1]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(answers(fields), file)


main()
