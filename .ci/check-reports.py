#!/usr/bin/env python3
"""Exits with 1 where a log of Thread Sanitizer has a report other than that of a task's resumption.

usage: check-reports.py LOG

Swift's runtime orders the resumption of a continuation before the task's next step by means that the sanitizer does not
know: where a task is resumed before it has suspended, it reports the resumption's read of the task's frame, in memory of
the task's allocator, and the task's next write there.
"""

import re
import sys

RESUMPTION = re.compile(r"^ +#0 \$sScc6resume", re.MULTILINE)


def is_resumption(report):
    return RESUMPTION.search(report) and "swift::StackAllocator" in report


def main():
    with open(sys.argv[1], errors="replace") as log:
        reports = log.read().split("WARNING: ThreadSanitizer")[1:]
    others = [report for report in reports if not is_resumption(report)]
    for report in others:
        print("WARNING: ThreadSanitizer" + report[:6_000])
    print(f"{len(reports)} reports, {len(others)} of them not of a task's resumption")
    return 1 if others or not reports else 0


if __name__ == "__main__":
    sys.exit(main())
