#!/usr/bin/env python3
"""Checks a trace as strictly as the Trace Event Format and Perfetto read it.

    check-trace.py TRACE.json
    check-trace.py --self-test

Perfetto drops slices that overlap on a track and arrows that begin or end outside of slices, without a word. This says
where they are. Ends with status 1 after the first ten mistakes. Numbers are read as decimals, so that no nanosecond is
lost.
"""

import argparse
import collections
import copy
import decimal
import json
import pathlib
import sys

PHASES = {"M": (), "X": ("ts", "dur"), "B": ("ts",), "E": ("ts",), "C": ("ts",), "i": ("ts",), "s": ("ts", "id", "cat"), "f": ("ts", "id", "cat")}
METADATA = {"process_name", "thread_name"}


def is_number(value):
    return isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool)


def read(text):
    """The trace, without the numbers that Python reads and JSON does not have, and without two members of a name."""
    def unique(pairs):
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError(f"two members of {dict(pairs)} have the same name")
        return dict(pairs)

    def reject(name):
        raise ValueError(f"{name} is no number")
    return json.loads(text, parse_float=decimal.Decimal, parse_constant=reject, object_pairs_hook=unique)


def shape_mistakes(event):
    """What an event lacks of what its phase demands."""
    if not isinstance(event, dict):
        return ["is no object"]
    phase = event.get("ph")
    if phase not in PHASES:
        return [f"has the phase {phase!r}"]
    mistakes = [] if isinstance(event.get("name"), str) and event["name"] else ["has no name"]
    mistakes += [f"has no integer {field}" for field in ("pid", "tid") if not isinstance(event.get(field), int) or isinstance(event[field], bool)]
    for field in PHASES[phase]:
        if field in ("ts", "dur"):
            if not is_number(event.get(field)) or event[field] < 0:
                mistakes.append(f"has the {field} {event.get(field)!r}")
        elif not isinstance(event.get(field), (str, int)) or event[field] == "":
            mistakes.append(f"has the {field} {event.get(field)!r}")
    args = event.get("args", {})
    if not isinstance(args, dict):
        mistakes.append("has args that are no object")
    elif phase == "C" and (not args or not all(map(is_number, args.values()))):
        mistakes.append("is a counter without numbers")
    elif phase == "M" and (event["name"] not in METADATA or not isinstance(args.get("name"), str) or not args["name"]):
        mistakes.append("is metadata without a name")
    return mistakes


class Tracks:
    """The open slices of each track, closed by the same rule as Perfetto's: an interval does not contain its end."""

    def __init__(self):
        self.open = collections.defaultdict(list)

    def take(self, event):
        """Takes the next event in the order of time; returns a mistake or nothing."""
        stack, time, phase = self.open[event["pid"], event["tid"]], event["ts"], event["ph"]
        if phase == "E":
            return None if stack and stack.pop().get("dur") is None else "ends a slice that has not begun"
        if phase not in "XB":
            return None
        duration = event.get("dur")
        while stack and stack[-1].get("dur") is not None:
            end = self.end(stack[-1])
            if end > time or end == time and duration == 0 and stack[-1]["dur"] == 0:
                break
            stack.pop()
        if duration is not None and stack and stack[-1].get("dur") is not None and time + duration > self.end(stack[-1]):
            return f"overlaps {stack[-1]['name']!r}, which ends at {self.end(stack[-1])}"
        stack.append(event)
        return None

    def slice_at(self, event):
        """The slice to which an arrow's end is bound."""
        stack = self.open[event["pid"], event["tid"]]
        if stack and (stack[-1].get("dur") is None or event["ts"] <= self.end(stack[-1])):
            return stack[-1]
        return None

    @staticmethod
    def end(slice_):
        return slice_["ts"] + slice_["dur"]


class Arrows:
    """The arrows under way, by the three fields that make a start and an end one arrow."""

    def __init__(self):
        self.starts, self.ended = {}, set()

    def take(self, event, slice_):
        key = event["cat"], event["name"], event["id"]
        if slice_ is None:
            return "is outside of any slice"
        arguments = slice_.get("args", {})
        if event["ph"] == "s":
            if key in self.starts or key in self.ended:
                return "starts an arrow a second time"
            self.starts[key] = arguments.get("id")
            return None
        if key not in self.starts:
            return "ends an arrow that has not started"
        parent = self.starts.pop(key)
        self.ended.add(key)
        if event.get("bp") != "e":
            return "is bound to the next slice, not to its own"
        if (arguments.get("id"), arguments.get("parent")) != (event["id"], parent):
            return f"leads from {parent} to {arguments.get('id')}, whose parent is {arguments.get('parent')}"
        return None


def order_mistakes(events):
    """What is wrong among the events of a trace that are right by themselves, in the order of time."""
    tracks, arrows = Tracks(), Arrows()
    named = {(event["pid"], event["tid"]) for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
    for event in sorted((event for event in events if event["ph"] != "M"), key=lambda event: event["ts"]):
        mistake = tracks.take(event)
        if event["ph"] in "sf":
            mistake = arrows.take(event, tracks.slice_at(event))
        elif event["ph"] in "XBEi" and (event["pid"], event["tid"]) not in named:
            mistake = mistake or "is on a track without thread_name"
        if mistake:
            yield f"{json.dumps(event, default=str)[:300]} {mistake}"
    for stack in tracks.open.values():
        yield from (f"{slice_['name']!r} has no end" for slice_ in stack if slice_.get("dur") is None)
    yield from (f"the arrow {key} has no end" for key in arrows.starts)


def mistakes(text):
    try:
        trace = read(text)
    except ValueError as error:
        return [f"no JSON: {error}"]
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list) or not events:
        return ["no traceEvents"]
    found = [f"{json.dumps(event, default=str)[:300]} {mistake}" for event in events for mistake in shape_mistakes(event)]
    return found or list(order_mistakes(events))


# --- The self-test -------------------------------------------------------------------------------

def slice_(name, time, duration, track=1, **args):
    return {"ph": "X", "name": name, "pid": 1, "tid": track, "ts": time, "dur": duration, "args": args}


def arrow(phase, time, track):
    return {"ph": phase, "name": "dispatch", "cat": "cause", "id": 2, "bp": "e", "pid": 1, "tid": track, "ts": time}


GOOD = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "bank"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "one"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "two"}},
        slice_("outer", 0, 10, id=1), slice_("inner", 2, 3), slice_("next", 10, 0),
        slice_("child", 4, 2, track=2, id=2, parent=1), arrow("s", 3, 1), arrow("f", 4, 2),
        {"ph": "C", "name": "in flight", "pid": 1, "tid": 0, "ts": 0, "args": {"dispatches": 1}},
        {"ph": "B", "name": "pair", "pid": 1, "tid": 2, "ts": 20}, {"ph": "E", "name": "pair", "pid": 1, "tid": 2, "ts": 21}]
# The inner slice holds the arrow's start, so it is the one whose number counts.
GOOD[4]["args"]["id"] = 1

PLANTED = {"overlaps": lambda events: events[4].update(dur=9), "has the ts": lambda events: events[3].update(ts=-1),
           "has the dur": lambda events: events[3].update(dur=None), "has no name": lambda events: events[3].update(name=""),
           "has no integer pid": lambda events: events[3].pop("pid"), "has no integer tid": lambda events: events[3].update(tid="1"),
           "has the phase": lambda events: events[3].update(ph="Z"), "is a counter without": lambda events: events[9]["args"].update(dispatches="1"),
           "is metadata without": lambda events: events[1].update(args={}), "without thread_name": lambda events: events.pop(2),
           "has no end": lambda events: events.pop(8), "has not started": lambda events: events[7].update(id=3),
           "outside of any slice": lambda events: events[8].update(ts=7), "a second time": lambda events: events.append(arrow("s", 3, 1)),
           "has the cat": lambda events: events[7].pop("cat"), "has not begun": lambda events: events.pop(10),
           "'pair' has no end": lambda events: events.pop(11), "bound to the next": lambda events: events[8].pop("bp"),
           "whose parent is": lambda events: events[6]["args"].update(parent=7),
           "ends an arrow that": lambda events: events[7].update(ts=5)}


def self_test():
    wrong = [f"a good trace: {mistake}" for mistake in mistakes(json.dumps({"traceEvents": GOOD}))]
    for text in ("{", "[]", '{"traceEvents": []}', '{"traceEvents": [], "traceEvents": []}', '{"traceEvents": [NaN]}'):
        if not mistakes(text):
            wrong.append(f"takes {text}")
    for expected, plant in PLANTED.items():
        events = copy.deepcopy(GOOD)
        plant(events)
        found = mistakes(json.dumps({"traceEvents": events}))
        if not any(expected in mistake for mistake in found):
            wrong.append(f"planted {expected!r}, found {found}")
    print("\n".join(wrong) or f"The self-test has found all {len(PLANTED) + 5} planted mistakes.")
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=pathlib.Path)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if not options.trace:
        parser.error("TRACE.json or --self-test is needed")
    text = options.trace.read_text(encoding="utf-8")
    found = mistakes(text)
    if found:
        print("\n".join(found[:10]) + f"\n{options.trace}: {len(found)} mistakes")
        return 1
    phases = collections.Counter(event["ph"] for event in read(text)["traceEvents"])
    print(f"{options.trace.name}: {phases['X']:,} slices, {phases['s']:,} arrows, {phases['C']:,} counts and {phases['M']:,} names are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
