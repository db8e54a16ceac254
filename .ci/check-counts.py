#!/usr/bin/env python3
"""Compares what `churn --json` printed of a repository with what git says of it.

usage: check-counts.py CHURN.json REPOSITORY
"""

import collections
import datetime
import json
import subprocess
import sys


def git(repository, *arguments):
    run = subprocess.run(["git", "-C", repository, *arguments], stdout=subprocess.PIPE, check=True)
    return run.stdout.decode("utf-8", "replace")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        churn = json.load(file)
    repository = sys.argv[2]
    log = [line for line in git(
        repository, "log", "--first-parent", "--format=%ct %aN <%aE>").split("\n") if line]
    days, authors = collections.Counter(), collections.Counter()
    for line in log:
        time, author = line.split(" ", 1)
        day = datetime.datetime.fromtimestamp(int(time), datetime.timezone.utc)
        days[day.strftime("%Y-%m-%d")] += 1
        authors[author] += 1
    paths = git(repository, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")[:-1]
    expected = {
        "commits": len(log),
        "commitsByDay": dict(days),
        "commitsByAuthor": dict(authors),
        "paths": sorted(paths),
        "head": git(repository, "rev-parse", "HEAD").strip(),
        "rejectedRecords": 0,
    }
    printed = {key: churn.get(key) for key in expected}
    printed["paths"] = sorted(churn["linesByFile"])
    different = [key for key in expected if printed[key] != expected[key]]
    for key in different:
        print(f"{key}: {printed[key]!r} instead of {expected[key]!r}")
    print(f"{len(expected) - len(different)} of {len(expected)} figures equal to git's")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
