#!/usr/bin/env python3
"""Counts the public declarations of DispatchStore by folder, from its symbol graph. Build the package first.

usage: count-interface.py [--list]

The first column is the interface itself, the second the features that have come to it since: persistence, work that is
not lost, pacing, recording and undo. What the compiler writes is not counted. With --list, prints each declaration, too.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = "Sources/DispatchStore/"
# Persistent stores, work that is not lost, pacing, recording and undo came later, with names of their own.
LATER_FOLDERS = re.compile(
    r"Persistence/|Control/(Keys|Schedule|Work|Pacing)/|Control/Effects/DurableEffect|State/Undo/|Core/Atomic/"
    r"|Core/Base/PersistentKey|Control/Options/DispatchOptions\+Atomic|Extras/Recording/"
    r"|Control/Groups/UncompensatedGroup")
LATER_NAMES = re.compile(
    r"Code\.(circuitOpen|dispatcherPaused|idempotencyKeyReused|invalidIdempotencyKey|failedBefore|leftToAnotherProcess"
    r"|notAtomic|persistenceFailed|rateLimitExceeded|replyNotDecodable|replyNotEncodable|undone)$"
    r"|Kind\.(deadLetter|largeJournal|largeModelRow|notEncodable|savingDelayed|scheduleNotSaved|workNotResumed)$"
    r"|Diagnosis\.(deadLetters|pendingEffects|scheduledCount)$|EffectContext\.(attempt|key)$"
    r"|DispatchError\.retryAfter$|EffectRegistration\.restart")


def symbols():
    target = json.loads(subprocess.check_output(["swift", "-print-target-info"]))["target"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["swift-symbolgraph-extract", "-module-name", "DispatchStore", "-I", ROOT / ".build/debug/Modules",
             "-target", target["unversionedTriple"], "-minimum-access-level", "public", "-skip-synthesized-members",
             "-output-dir", folder], check=True)
        for graph in sorted(pathlib.Path(folder).glob("*.symbols.json")):
            yield from json.loads(graph.read_text())["symbols"]


def main():
    folders = collections.defaultdict(list)
    for symbol in symbols():
        place = symbol.get("location", {}).get("uri", "").partition(SOURCES)[2]
        # Without a place, the compiler has written it.
        if place:
            folders[place.rpartition("/")[0]].append((place, ".".join(symbol["pathComponents"])))
    totals = collections.Counter()
    for folder, found in sorted(folders.items()):
        later = [name for place, name in found if LATER_FOLDERS.match(place) or LATER_NAMES.search(name)]
        part = "Extras" if folder.startswith("Extras") else "outside of Extras"
        for key, count in (("interface", len(found) - len(later)), ("later", len(later))):
            totals[part, key] += count
        print(f"{folder:26} {len(found) - len(later):4} {len(later):4}")
        if "--list" in sys.argv[1:]:
            print("".join(f"    {name}\n" for name in sorted(name for _, name in found)), end="")
    for part in ("outside of Extras", "Extras"):
        print(f"{part:26} {totals[part, 'interface']:4} {totals[part, 'later']:4}")


if __name__ == "__main__":
    main()
