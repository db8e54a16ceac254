#!/usr/bin/env python3
"""Drives the inspector's page in headless Chromium and checks it.

    drive.py PAGE.html [--screenshots FOLDER] [--expect-entries N] [--picture-within SECONDS]
    drive.py --live URL [--screenshots FOLDER] [--expect-losses]

Prints a line for each check; the first failure ends it with status 1. Only Python's standard library is used: the
DevTools protocol goes through a pipe (file descriptors 3 and 4 of the browser, JSON that ends with NUL).
"""

import argparse
import base64
import fcntl
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
OUTCOMES = ["finished", "vetoed", "cancelled", "failed", "timed out"]   # as the page grades them


class Failure(Exception):
    """A check has failed; the text says what."""


class DevTools:
    """A headless Chromium and its DevTools pipe."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="inspector-", ignore_cleanup_errors=True)
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        command = [CHROMIUM, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--disable-extensions",
                   "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", f"--user-data-dir={self.profile.name}", "about:blank"]
        # The browser reads at 3 and writes at 4. Copies beyond 10 first, since 3 or 4 may be one of the pipes' own ends.
        def place():
            reading, writing = fcntl.fcntl(to_browser, fcntl.F_DUPFD, 10), fcntl.fcntl(from_browser, fcntl.F_DUPFD, 10)
            os.dup2(reading, 3)
            os.dup2(writing, 4)
        self.process = subprocess.Popen(command, preexec_fn=place, close_fds=False, start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.events = b"", 0, []

    def close(self):
        try:
            self.call("Browser.close", timeout=5)
        except (Failure, OSError):
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.input)
        os.close(self.output)
        self.profile.cleanup()

    def call(self, method, session=None, timeout=60, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        end, number = time.monotonic() + timeout, self.number
        while True:
            answer = self.receive(end - time.monotonic())
            if answer is None:
                raise Failure(f"Chromium did not answer {method} within {timeout} s")
            if answer.get("id") == number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error'].get('message')}")
                return answer["result"]

    def receive(self, timeout):
        """The next message, which is also kept if it is an event; None after the timeout."""
        end = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            if not select.select([self.input], [], [], max(0, end - time.monotonic()))[0]:
                return None
            data = os.read(self.input, 1 << 20)
            if not data:
                raise Failure("Chromium ended")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, url, width=1280, height=800):
        return Page(self, url, width, height)


class Page:
    """A tab."""

    def __init__(self, tools, url, width, height):
        self.tools = tools
        self.target = tools.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = tools.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.url = url
        self.call("Page.navigate", url=url)
        self.wait("performance.getEntriesByName('first-picture').length > 0", "the first picture", 60)

    def call(self, method, **parameters):
        return self.tools.call(method, self.session, **parameters)

    def close(self):
        self.tools.call("Target.closeTarget", targetId=self.target)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def run(self, script):
        """The value of a JavaScript expression; the page's scripts have top-level names in reach."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise Failure(f"script {script[:200]!r}: {details.get('exception', {}).get('description', details['text'])}")
        return result["result"].get("value")

    def wait(self, condition, what, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(condition):
                return
            time.sleep(0.05)
        raise Failure(f"waited {seconds} s in vain for {what}")

    def settle(self):
        """Waits for delayed filters and for the next pictures."""
        self.run("new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 350))")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def click(self, selector):
        if not self.run(f"(element => {{ element?.click(); return Boolean(element); }})(document.querySelector({json.dumps(selector)}))"):
            raise Failure(f"nothing to click at {selector}")
        self.settle()

    def enter(self, selector, value):
        event = "change" if selector in ("#type", "#store") else "input"
        self.run(f"{{ const field = document.querySelector({json.dumps(selector)}); field.value = {json.dumps(value)};"
                 f" field.dispatchEvent(new Event('{event}', {{bubbles: true}})); }}")
        self.settle()

    def press(self, key, code=None):
        printable = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code or key, **printable)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key)
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def screenshot(self, folder, name, selector="html"):
        """Takes a picture of an element, the whole page by default."""
        if folder:
            box = self.run(f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().toJSON()")
            clip = {"scale": 1} | {side: box[side] for side in ("x", "y", "width", "height")}
            data = self.call("Page.captureScreenshot", format="png", clip=clip)["data"]
            (folder / f"{name}.png").write_bytes(base64.b64decode(data))

    def events(self, method):
        return [event["params"] for event in self.tools.events if event["method"] == method and event.get("sessionId") == self.session]


class Texts:
    """Reads the codes of texts in their order: 0 for none, 1 for the next that is new, or the index and 2."""

    def __init__(self, texts):
        self.texts, self.used = texts, 0

    def index(self, code):
        """The index of a text, -1 for none."""
        if code != 1:
            return code - 2 if code else -1
        self.used += 1
        return self.used - 1

    def text(self, code):
        index = self.index(code)
        return self.texts[index] if index >= 0 else None


class Decoder:
    """Reads a chunk as PageChunk.swift writes it, into rows as the page has them; see `decode` in Inspector.html."""

    def __init__(self, chunk):
        self.strings, self.values = Texts(chunk["strings"]), Texts(chunk["values"])
        self.tables = [self.rows(**chunk[name]) for name in ("entries", "runs", "changes")]
        self.element, self.versions, self.last = None, {}, {}

    @staticmethod
    def rows(count, **columns):
        """The rows of a table, whose columns are lists, or a number if it is the same in each row."""
        return zip(*(column if isinstance(column, list) else [column] * count for column in columns.values()), strict=True)

    def entries(self):
        id_, began = 0, 0
        for row in self.tables[0]:
            entry = list(row)
            id_ = entry[0] = id_ + entry[0]
            began = entry[7] = began + entry[7]
            entry[1] = id_ - entry[1] if entry[1] else -1
            for field in (3, 4, 5, 6, 10, 11, 13):
                entry[field] = self.strings.index(entry[field])
            entry[12] = [self.run(entry[8]) for _ in range(entry[12])]
            yield entry
        for table in self.tables:
            expect(next(table, None) is None, "the chunk has rows that belong to no entry")
        for texts in (self.strings, self.values):
            expect(texts.used == len(texts.texts), f"of {len(texts.texts)} texts {texts.used} are used")

    def run(self, queued):
        run = list(next(self.tables[1]))
        for field in (0, 1, 2, 9):
            run[field] = self.strings.index(run[field])
        run[3] += queued
        run[5] += self.versions.get(run[0], 0)
        if run[6]:
            self.versions[run[0]] = run[5] + run[6]
        run[6] += run[5]
        run[7] = [self.change(*next(self.tables[2])) for _ in range(run[7])]
        return run

    def change(self, element, field, old, new):
        if element:
            self.element = self.values.text(element)
        path = self.element + self.values.text(field)
        old = self.values.text(old - 1) if old else self.last.get(path)
        new = self.last[path] = self.values.text(new)
        return path, old, new


class Data:
    """The page's data as the file has it, for counts that don't rely on the page's own script."""

    def __init__(self, path):
        match = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
        if not match:
            raise Failure("the page has no data block")
        try:
            self.data = json.loads(match[1])
        except ValueError:
            self.data = None
            return
        self.strings, self.entries = self.data["chunk"]["strings"], list(Decoder(self.data["chunk"]).entries())
        self.by_id = {entry[0]: entry for entry in self.entries}

    def text(self, index):
        return self.strings[index] if index >= 0 else None

    def outcome(self, entry):
        names = [self.text(store[1]) for store in entry[12]] + ([self.text(entry[13])] if entry[13] >= 0 else [])
        worst = max(names, key=OUTCOMES.index, default="finished")
        return "failed" if worst == "finished" and entry[11] >= 0 else worst

    def most_common(self, values):
        counts = {}
        for value in values:
            if value:
                counts[value] = counts.get(value, 0) + 1
        return max(counts, key=counts.get, default=None)

    def parent_and_child(self):
        for entry in self.entries:
            if entry[1] != -1 and entry[1] in self.by_id:
                return self.by_id[entry[1]], entry
        return None, None

    def first_child(self, parent):
        children = [(entry[7], place, entry[0]) for place, entry in enumerate(self.entries) if entry[1] == parent[0] and entry[0] != parent[0]]
        return min(children)[2]

    def with_change(self):
        for entry in reversed(self.entries):
            for store in entry[12]:
                for path, old, new in store[7]:
                    if old is not None and new is not None:
                        return entry, path, old, new
        return None


def passed(what):
    print(f"ok    {what}", flush=True)


def expect(condition, message):
    if not condition:
        raise Failure(message)


def expect_hits(page, wanted, total, what):
    shown = page.text("#count")
    expect(shown == f"{wanted:,} of {total:,}", f"filter by {what}: the page shows {shown!r}, its data has {wanted:,} of {total:,}")
    passed(f"filter by {what}: {shown}")


def select_by_id(page, id_):
    """Selects through the address, as a colleague would who has got it."""
    page.run(f"location.hash = '#selected={id_}'")
    page.wait(f"document.querySelector('#detail-head').textContent.includes('#{id_}')", f"the detail of {id_}")
    page.settle()


def check_first_picture(page, path, most_seconds):
    milliseconds = page.run("performance.getEntriesByName('first-picture')[0].startTime")
    passed(f"first picture after {milliseconds:.0f} ms; the file has {path.stat().st_size / 1e6:.2f} MB")
    expect(milliseconds < most_seconds * 1000, f"the first picture took {milliseconds:.0f} ms, more than {most_seconds} s")
    box = page.run("(({width, height}) => [width, height])(document.querySelector('#plot'))")
    expect(min(box) > 0, f"the timeline's canvas has the size {box}")


def check_entries(page, data, expected):
    total = len(data.entries)
    if expected is not None:
        expect(total == expected, f"the data has {total} entries, not {expected}")
    expect(page.text("#count") == f"{total:,} of {total:,}", f"the page shows {page.text('#count')!r} for {total:,} entries")
    rows = page.run("document.querySelectorAll('#rows .row').length")
    expect((rows > 0) == (total > 0) and rows < 200, f"the list has {rows} elements for {total} entries")
    passed(f"entries: {total:,}, of which {rows} are elements of the list")


def check_many_entries(page):
    """A file has all entries that it was written with."""
    count, dropped = page.run("""(() => {
      const {chunk} = readData(), many = new Log();
      for (let day = 0; many.count + many.droppedByPage <= MOST_ENTRIES; day++) many.append([{...chunk, base: day * 86400e3}]);
      return [many.count, many.droppedByPage];
    })()""")
    expect(dropped == 0, f"of {count + dropped} entries a page that is not live has dropped {dropped}")
    passed(f"a page that is not live keeps {count:,} entries")


def check_chunks_together(page, data):
    """What takes as long as the log is, is done once for all chunks that wait, or a live page falls behind."""
    count, indexed, repeated = page.run("""(() => {
      const {chunk} = readData(), live = new Log(), chunks = Array.from({length: 20}, (_, day) => ({...chunk, base: day * 86400e3}));
      let indexed = 0;
      live.live = "events";
      live.index = () => { indexed++; Log.prototype.index.call(live); };
      live.append(chunks);
      return [live.count, indexed, live.append([chunks[19], chunks[19]])];
    })()""")
    expect((count, indexed) == (20 * len(data.entries), 1), f"of 20 chunks {count} entries are there, and were indexed {indexed} times")
    expect(repeated == 0, f"{repeated} entries were added again")
    count, indexed, says = page.run("""(() => {
      const {chunk} = readData(), live = new Log(), message = byId("message");
      live.append([chunk, {...chunk, base: 86400e3, runs: null}, {...chunk, base: 2 * 86400e3}]);
      const says = !message.hidden;
      message.hidden = true;
      return [live.count, live.byBegin.length, says];
    })()""")
    expect((count, indexed, says) == (2 * len(data.entries), count, True), f"beside a chunk that can't be read {count} entries are there, {indexed} of them indexed; it is {'said' if says else 'kept secret'}")
    passed("chunks that wait are indexed once, what is sent again or can't be read is left out")


def check_text_is_bounded(page):
    """Entries may be of any size, so a page that stays open counts their text, too."""
    kept, text, dropped, counted = page.run("""(() => {
      const {chunk} = readData(), live = new Log();
      live.live = "events";
      for (let day = 0; day < 300; day++) live.append([{...chunk, base: day * 86400e3, size: 1e6}]);
      return [live.count, new Set(live.tables).size * 1e6, live.droppedByPage, live.textSize];
    })()""")
    expect(0 < text <= 200e6 and text == counted, f"{text} characters are kept, and {counted} counted")
    expect(kept > 0 and dropped > 0, f"{kept} entries are kept, {dropped} dropped")
    passed(f"a live page keeps {text / 1e6:.0f} million characters of 300")


def check_late_times(page, data):
    """A server may have run for longer than a number has bits for nanoseconds."""
    count, unreadable, wrong, marks = page.run("""(() => {
      const {chunk} = readData(), late = new Log(), size = log.count;
      for (const day of [120, 400, 4000]) late.append([{...chunk, base: day * 86400e3}]);
      const off = i => Math.abs(late.begin[size + i] - late.begin[i] - 280 * 86400e9);
      const wrong = Array.from({length: size}, (_, i) => i).filter(i => off(i) > 8).length;
      return [late.count, late.unreadable, wrong, [...marks({from: 2 ** 60 - 5000, to: 2 ** 60}, 100)].length];
    })()""")
    total = 3 * len(data.entries)
    expect((count, unreadable) == (total, 0), f"of {total} entries on three days of ten years the page has {count}, {unreadable} are unreadable")
    expect(wrong == 0 and marks < 100, f"after 400 days {wrong} times are wrong; an axis after 36 years has {marks} marks")
    passed("entries of a dispatcher that has run for ten years are read")


def check_empty(page):
    expect("empty" in (page.text("#rows") or "") or "No dispatch" in (page.text("#rows") or ""), "an empty log does not explain itself")
    passed("an empty log explains itself")


def check_filters(page, data):
    total = len(data.entries)
    type_ = data.most_common(data.text(entry[3]) for entry in data.entries)
    store = data.most_common(data.text(store[0]) for entry in data.entries for store in entry[12])
    outcome = data.most_common(name if (name := data.outcome(entry)) != "finished" else None for entry in data.entries) or "finished"
    duration = sorted(entry[9] for entry in data.entries)[total * 9 // 10] // 1000
    if type_:
        page.enter("#type", "=" + type_)
        expect_hits(page, sum(data.text(entry[3]) == type_ for entry in data.entries), total, "type")
        page.click("#clear")
    if store:
        page.enter("#store", "=" + store)
        expect_hits(page, sum(any(data.text(run[0]) == store for run in entry[12]) for entry in data.entries), total, "store")
        page.click("#clear")
    page.click(f"#outcomes [data-rank='{OUTCOMES.index(outcome)}']")
    expect_hits(page, sum(data.outcome(entry) == outcome for entry in data.entries), total, f"outcome {outcome}")
    page.click("#clear")
    if duration:
        page.enter("#minimum", f"{duration} us")
        expect_hits(page, sum(entry[9] >= duration * 1000 for entry in data.entries), total, f"duration of {duration} µs")
        page.click("#clear")
    check_lane_and_search(page, data)


def check_lane_and_search(page, data):
    total = len(data.entries)
    lane = data.most_common(name for entry in data.entries if (name := data.text(entry[6])) and name.isprintable() and name == name.strip())
    if lane:
        page.enter("#lane", lane)
        expect_hits(page, sum(data.text(entry[6]) == lane for entry in data.entries), total, "lane")
        page.click("#clear")
    word = re.search(r"\w{3,}", data.text(data.entries[total // 2][10]) or data.text(data.entries[total // 2][3]) or "")
    if word:
        fields = lambda entry: [entry[3], entry[4], entry[10], entry[11]] + [index for store in entry[12] for index in (store[2], store[9])]
        wanted = word[0].lower()
        page.enter("#search", word[0])
        expect_hits(page, sum(any(wanted in (data.text(index) or "").lower() for index in fields(entry)) for entry in data.entries), total, f"text {word[0]!r}")
        page.click("#clear")
    expect(page.text("#count") == f"{total:,} of {total:,}", "after clearing the filters not all are shown")


def check_selection(page, data):
    page.run("location.hash = ''")
    page.settle()
    page.click("#rows .row")
    first = page.run("document.querySelector('#rows .row').dataset.id")
    expect(f"selected={first}" in page.run("location.hash"), "a click in the list does not select")
    if len(data.entries) > 1:
        page.press("j")
        second = re.search(r"selected=(-?\d+)", page.run("location.hash"))[1]
        expect(second != first, "the key j does not move the selection")
        page.press("k")
        expect(f"selected={first}" in page.run("location.hash"), "the key k does not move the selection back")
    text = data.text(data.by_id[int(first)][4])
    if text is not None:
        expect(page.text("#detail-text") == text, "the detail pane does not show the action's whole text")
    page.resize(400, 800)
    page.click("#rows .row")
    top = page.run("document.querySelector('#detail').getBoundingClientRect().top")
    expect(0 <= top < 700, f"on a narrow screen a click leaves the detail at {top} px")
    page.resize(1280, 800)
    page.settle()
    passed("selection by click and by keys; the action's whole text is shown")


def check_timeline(page):
    """Zooms to the selected dispatch and finds it again by clicking into the middle of the rows."""
    page.press("z")
    selected = re.search(r"selected=(-?\d+)", page.run("location.hash"))[1]
    expect("time=" in page.run("location.hash"), "zooming to the selected dispatch does not change the visible time")
    page.press("Escape")
    expect("selected=" not in page.run("location.hash"), "Escape does not end the selection")
    box = page.run("document.querySelector('#plot').getBoundingClientRect().toJSON()")
    gutter = page.run("gutter()")
    x, found = box["left"] + gutter + (box["width"] - gutter) / 2, set()
    for y in range(int(box["top"]) + 28, int(box["top"] + box["height"]), 8):
        page.mouse("mouseMoved", x, y)
        page.mouse("mousePressed", x, y, button="left", clickCount=1)
        page.mouse("mouseReleased", x, y, button="left", clickCount=1)
        found.update(re.findall(r"selected=(-?\d+)", page.run("location.hash")))
        if selected in found:
            break
    # Of many that overlap in the same row another one may lie above it.
    expect(found, f"no click into the timeline selects a dispatch, though {selected} is in its middle")
    before = page.run("shownRange()")
    page.mouse("mouseWheel", x, box["top"] + 60, deltaX=0, deltaY=400)
    page.settle()
    after = page.run("shownRange()")
    expect(after[1] - after[0] > before[1] - before[0], "the wheel does not zoom")
    passed("timeline: zoom to the selected, click selects, wheel zooms")


def check_speed(page):
    """The time of a picture when everything is in sight, the slowest case."""
    page.press("f")
    milliseconds = page.run("(() => { const began = performance.now(); for (let k = 0; k < 5; k++) { drawTimeline(); plot.getContext('2d').getImageData(0, 0, 1, 1); }"
                            " return (performance.now() - began) / 5; })()")
    passed(f"a picture of the whole timeline takes {milliseconds:.1f} ms")
    expect(milliseconds < 200, "panning and zooming can't be fluid")


def check_tree(page, data):
    parent, child = data.parent_and_child()
    if child is None:
        passed("causal tree: no dispatch of this page has its parent in the log")
        return
    select_by_id(page, parent[0])
    find = f"document.querySelector('#tree-body [data-id=\"{child[0]}\"]')"
    for _ in range(30):
        if page.run(f"Boolean({find})") or not page.run("Boolean(document.querySelector('#tree-body .note button'))"):
            break
        page.run("[...document.querySelectorAll('#tree-body .note button')].at(-1).click()")
    page.click(f"#tree-body [data-id=\"{child[0]}\"]")
    expect(f"selected={child[0]}" in page.run("location.hash"), "walking to a child does not select it")
    page.click(f"#tree-body [data-id=\"{parent[0]}\"]")
    expect(f"selected={parent[0]}" in page.run("location.hash"), "walking back to the parent does not select it")
    page.run("document.querySelector('#tree-body').focus()")
    page.press("ArrowRight")
    page.press("Enter")
    expect(f"selected={data.first_child(parent)}" in page.run("location.hash"), "the keys → and Enter do not walk to the first child")
    page.press("p")
    expect(f"selected={parent[0]}" in page.run("location.hash"), "the key p does not walk to the parent")
    missing = next((entry for entry in data.entries if entry[1] != -1 and entry[1] not in data.by_id), None)
    if missing:
        select_by_id(page, missing[0])
        expect(f"#{missing[1]}" in page.text("#tree-body"), "a parent that is not in the log is not mentioned")
    nodes = page.run("document.querySelectorAll('#tree-body .node').length")
    expect(nodes < 5000, f"the tree has {nodes} elements")
    passed(f"causal tree: from {parent[0]} to its child {child[0]} and back" + ("; a missing parent is mentioned" if missing else ""))


def check_difference(page, data, folder):
    found = data.with_change()
    if not found:
        passed("difference: this page has none with an old and a new value")
        return
    entry, path, old, new = found
    select_by_id(page, entry[0])
    change = page.run("[...document.querySelectorAll('#detail .change')].map(change => "
                      "['.path bdi', '.old bdi', '.new bdi'].map(part => change.querySelector(part)?.textContent ?? null))")
    expect([path, old, new] in change, f"the difference of dispatch {entry[0]} at {path[:80]!r} is not shown")
    page.run("document.querySelector('#detail .store').scrollIntoView()")
    page.screenshot(folder, "difference", "#detail-body")
    passed(f"difference: dispatch {entry[0]}, {path[:40]!r}: {old[:20]!r} → {new[:20]!r}")


def check_hostile(page, scripts_in_file, title):
    """No text of the data has become an element or a script."""
    expect(page.run("document.scripts.length") == scripts_in_file, "there are more scripts than the file has")
    strange = page.run("[...document.querySelectorAll('img, iframe, object, embed, base, form:not(#filters, dialog form), a, [onerror], [onclick], [onload], #hostile')]"
                       ".map(element => element.outerHTML.slice(0, 200))")
    expect(not strange, f"text has become an element: {strange}")
    expect(page.text("#name") == title, f"the name is shown as {page.text('#name')!r}")
    dialogs = page.events("Page.javascriptDialogOpening")
    expect(not dialogs, f"a dialog opened: {dialogs}")
    passed("hostile text stays text: no extra script, no extra element, no dialog")


def check_every_text(page, data):
    """Shows the dispatches with the strangest texts, so that the check of hostile text has seen them."""
    marks = re.compile(r"[<>&\"'\u202e\u0000]")
    strange = [entry for entry in data.entries if any(marks.search(data.text(entry[field]) or "") for field in (3, 6, 10, 11))][:8]
    for entry in strange:
        select_by_id(page, entry[0])
        if entry[11] >= 0:
            expect(page.text("#detail-error") == data.text(entry[11]), f"the error of dispatch {entry[0]} is not shown as it is")
    page.run("location.hash = ''")
    page.settle()
    return len(strange)


def check_hash(page, tools):
    row = page.run("[...document.querySelectorAll('#rows .row')].at(-1)?.dataset.id ?? null")
    if row is None:
        return
    page.click(f"#rows .row[data-id=\"{row}\"]")
    page.enter("#minimum", "0.001 ms")
    page.click("#by-store")
    page.click("#zoom-in")
    state = "[location.hash, document.querySelector('#count').textContent, document.querySelector('#detail-head').textContent, shownRange().map(Math.round).join(), view.by]"
    before = page.run(state)
    other = tools.open(page.url.split("#")[0] + before[0])
    after = other.run(state)
    expect(before == after, f"the address does not open the same view: {before} and {after}")
    other.close()
    page.run("history.back()")
    page.settle()
    expect(page.run("view.by") == "lane" and page.run("document.querySelector('#by-lane').ariaPressed") == "true", "back does not bring the view before")
    passed(f"the address restores the view in a new tab: {urllib.parse.unquote(before[0])[:100]}")


def check_network(page):
    """Nothing but the page itself, or its own origin when it is live, was asked for."""
    wanted = urllib.parse.urlsplit(page.url)
    own = wanted._replace(fragment="").geturl()
    requests = [event["request"]["url"] for event in page.events("Network.requestWillBeSent")]
    foreign = []
    for url in requests:
        parts = urllib.parse.urlsplit(url)
        is_own = parts.netloc == wanted.netloc and parts.scheme == wanted.scheme if wanted.scheme.startswith("http") else parts._replace(fragment="").geturl() == own
        if not is_own and parts.scheme != "data":
            foreign.append(url)
    expect(requests, "the requests of the page were not seen")
    expect(not foreign, f"the page asks for {foreign}")
    passed(f"no request leaves the page ({len(requests)} of its own)")


def check_console(page):
    """Errors of the network are left out: the server of a live page may come and go."""
    problems = [event["entry"]["text"] for event in page.events("Log.entryAdded") if event["entry"]["level"] == "error" and event["entry"]["source"] != "network"]
    problems += [event["exceptionDetails"].get("exception", {}).get("description", "?") for event in page.events("Runtime.exceptionThrown")]
    expect(not problems, f"the console has errors: {problems[:3]}")
    passed("no error in the console")


def check_status(page, data, folder):
    page.click("#tab-now")
    text = page.text("#now") or ""
    status = data.data.get("status") if data else None
    if data and not status:
        expect("Nothing was recorded" in text, "the view Now does not say that nothing was recorded")
        passed("Now: says that nothing was recorded")
    elif status:
        for dispatch in status["inFlight"][:20]:
            expect(f"#{dispatch['id']}" in text, f"dispatch {dispatch['id']} in flight is not shown")
        for limit in status["limits"][:20]:
            expect(f"{limit['inUse']} of {limit['limit']}" in text, f"the limit {limit['name']} is not shown")
        expect((status["text"] or "")[:2000] in text, "the diagnosis is not shown")
        if any(edge["ring"] for edge in status["edges"]):
            expect(page.run("document.querySelectorAll('#now svg path.ring').length") > 0, "the ring is not drawn")
        passed(f"Now: {len(status['inFlight'])} in flight, {len(status['edges'])} edges, {len(status['limits'])} limits, the diagnosis")
    screenshots(page, folder, "now")
    check_cycles(page)
    if not page.run("log.live"):
        check_status_keeps_what_is_used(page)
    page.settle()


def check_cycles(page):
    """A cycle that is suspected is not called certain, and what is not known is not called nothing."""
    banners, tab, text = page.run("""(() => {
      const kept = current;
      current = {count: 0, tracked: false, inFlight: [], edges: [], lanes: [], limits: [], text: "", cycles: [{size: 2, probable: true}, {size: 3, probable: false}]};
      showTab("now");
      drawNow();
      const shown = [[...document.querySelectorAll("#now .banner")].map(banner => banner.textContent), byId("tab-now").textContent, byId("now").textContent];
      current = kept;
      showTab("log");
      return shown;
    })()""")
    expect(banners == ["Probable deadlock: 2 dispatches wait for each other in a cycle.", "Deadlock: 3 dispatches wait for each other in a cycle."],
           f"cycles are shown as {banners}")
    expect(tab == "Now" and "not known" in text and "Nothing is in flight" not in text, f"what is not known is shown as {tab!r}, {text[:200]!r}")
    passed("Now: a cycle is certain or probable, and what is in flight may be not known")


def check_status_keeps_what_is_used(page):
    """A live page gets a status each second: the focus stays, and a click that has begun gets through."""
    box = page.run("""(() => {
      const flight = number => ({number, id: number, parent: -1, type: "A", mode: "sync", site: "", age: 0, unmoved: 0, waiting: false, states: []});
      window.kept = current;
      window.flightStatus = inFlight => ({count: inFlight.length, tracked: true, inFlight, edges: [], lanes: [], limits: [], text: "", cycles: [], origin: 0});
      window.flights = Array.from({length: 300}, (_, number) => flight(number));
      showTab("now");
      useStatus(flightStatus(flights));
      drawNow();
      byId("more-flights").focus();
      useStatus(flightStatus(flights));
      drawNow();
      byId("more-flights").scrollIntoView();
      return byId("more-flights").getBoundingClientRect().toJSON();
    })()""")
    expect(page.run("document.activeElement.id") == "more-flights", "a status takes the focus away")
    x, y, count = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, "document.querySelectorAll('#now .flight').length"
    before = page.run(count)
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.run("useStatus(flightStatus(flights)); drawNow()")
    page.mouse("mouseReleased", x, y, button="left", clickCount=1)
    page.settle()
    expect(page.run(count) > before, "a status between press and release takes a click away")
    page.run("byId('now').dispatchEvent(new PointerEvent('pointerdown', {button: 2}))")
    page.run("useStatus(flightStatus([])); drawNow()")
    expect(page.run(count) == 0, "the view stands still after a press of the right button, whose menu takes the release")
    top = page.run("""(() => {
      useStatus(flightStatus(Array.from({length: 700}, (_, number) => ({...flights[0], number, id: number}))));
      drawNow();
      byId("more-flights").focus();
      byId("now").scrollTop = 0;
      drawNow();
      return byId("now").scrollTop;
    })()""")
    expect(top == 0, f"a status scrolls to what has the focus, by {top} px")
    page.run("current = kept; partsShown = {}; showTab('log')")
    passed("Now: focus and clicks outlast a status")


def screenshots(page, folder, name):
    """Light and dark, at the widths of a desk and of a phone."""
    if not folder:
        return
    for scheme in ("light", "dark"):
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for width, height in ((1280, 720), (400, 800)):
            page.resize(width, height)
            page.settle()
            page.screenshot(folder, f"{name}-{scheme}-{width}")
            overflow = page.run("document.documentElement.scrollWidth - innerWidth")
            expect(overflow <= 0, f"{name} at {width} px is {overflow} px wider than the window")
    page.call("Emulation.setEmulatedMedia", features=[])
    page.resize(1280, 800)
    page.settle()


def check_file(tools, path, folder, expected, most_seconds):
    data, page = Data(path), tools.open(path.resolve().as_uri())
    check_first_picture(page, path, most_seconds)
    scripts = 2
    if data.data is None:
        expect("can't be read" in (page.text("#message") or ""), "the page does not say that its data can't be read")
        passed(f"says: {page.text('#message')}")
        screenshots(page, folder, "broken")
    elif not data.entries:
        check_entries(page, data, expected)
        check_empty(page)
        check_status(page, data, folder)
        screenshots(page, folder, "log")
    else:
        check_entries(page, data, expected)
        check_late_times(page, data)
        if len(data.entries) > 10_000:
            check_many_entries(page)
        else:
            check_chunks_together(page, data)
            check_text_is_bounded(page)
        check_filters(page, data)
        check_selection(page, data)
        check_timeline(page)
        check_speed(page)
        check_tree(page, data)
        check_difference(page, data, folder)
        shown = check_every_text(page, data)
        check_hostile(page, scripts, data.data["name"])
        if shown:
            passed(f"{shown} dispatches with markup, quotes or overrides of direction were shown")
        check_status(page, data, folder)
        check_hash(page, tools)
        select_by_id(page, (data.parent_and_child()[1] or data.entries[len(data.entries) // 2])[0])
        screenshots(page, folder, "log")
    check_network(page)
    check_console(page)


def check_losses_of_connections(page):
    """Each connection counts what it does not send from zero."""
    shown = page.run("""(() => {
      const [former, live, sent] = [log, new Log(), []];
      const status = notSent => { useStatus({...current, origin: 0, notSent}); sent.push(log.notSent); };
      const [kept, Source] = [current, window.EventSource];
      let source;
      window.EventSource = function () { return source = new EventTarget(); };
      log = live;
      try {
        listenToEvents();
        source.onopen(); status(5); status(7);
        source.onopen(); status(0); status(2);
      } finally { [log, current, window.EventSource] = [former, kept, Source]; }
      return sent;
    })()""")
    expect(shown == [5, 7, 7, 9], f"over two connections the page counts {shown} as not sent")
    passed("entries not sent are counted over all connections")


def check_dropped_before(page):
    """What the recorder had dropped before the page opened is no loss of the page, and said apart."""
    shown = page.run("""(() => {
      const [former, kept, live] = [log, current, new Log()];
      live.live = "events";
      log = live;
      try {
        useStatus({...kept, origin: 0, dropped: 7, notSent: 0});
        drawFilters();
        const opened = byId("losses").textContent;
        live.count = 1;
        useStatus({...kept, origin: 0, dropped: 9, notSent: 2});
        drawFilters();
        return [opened, byId("losses").textContent];
      } finally { [log, current] = [former, kept]; }
    })()""")
    expect(shown == ["dropped 7", "dropped 7 · not sent 2"], f"of dropped entries the page says {shown}")
    passed("what was dropped before a page opened is counted apart")


def check_refused_events(page):
    """The browser comes back after a lost connection, but not after an answer such as 503: then the page does."""
    urls, shown = page.run("""(() => {
      const [former, live, kept, Source, later, urls] = [log, new Log(), current, window.EventSource, window.setTimeout, []];
      let source;
      window.EventSource = function (url) { urls.push(String(url)); return source = Object.assign(new EventTarget(), {readyState: 1}); };
      window.EventSource.CLOSED = 2;
      window.setTimeout = run => run();
      live.live = "events?of=shop";
      log = live;
      try {
        listenToEvents();
        source.dispatchEvent(new MessageEvent("unknown", {data: "{}", lastEventId: "12-2"}));
        source.dispatchEvent(new MessageEvent("status", {data: '{"origin": 0, "dropped": 0, "notSent": 0}', lastEventId: "12-3"}));
        source.onerror();
        source.readyState = 2;
        source.onerror();
      } finally { [log, current, window.EventSource, window.setTimeout] = [former, kept, Source, later]; }
      return [urls.map(url => url.split("/").at(-1)), byId("connection").textContent];
    })()""")
    expect(urls == ["events?of=shop", "events?of=shop&after=12-3"], f"after a refusal the page asks for {urls}")
    expect("trying again" in shown, f"after a refusal the page says {shown!r}")
    passed("a page that was refused asks again, for what it has missed")


def check_selection_before_entries(page, tools, url):
    """A page that is loaded with a selection in its address has no entries yet."""
    id_ = page.run("log.id[log.count - 1]")
    other = tools.open(f"{url}#selected={id_:.0f}")
    other.wait("log.find(view.selected) >= 0", f"the selected dispatch {id_}", 30)
    other.settle()
    expect("is not in the log" not in other.text("#detail-body"), "the detail of a selected dispatch that came later is not shown")
    expect(f"#{id_:.0f}" in other.text("#detail-head"), f"the detail is not that of the selected dispatch {id_}")
    other.close()
    passed("a page that is loaded with a selection shows it once it has come")


def check_addresses(page, tools, url):
    """What an address says of another log is left out; what it says of this one's means the same, whichever entry came first."""
    view = "[view.selected, view.range, view.follow]"
    other = tools.open(f"{url}#log=12_0&selected=1&time=1_2")
    shown = other.run(view)
    expect(shown == [None, None, True], f"an address of another log is shown as {shown}")
    other.close()
    shown = page.run(f"""(() => {{
      const {{hash}} = location;
      location.hash = `#log=${{log.origin}}_${{log.base + 1000}}&selected=1&time=0_5`;
      readHash();
      const shown = {view};
      location.hash = hash;
      readHash();
      return shown;
    }})()""")
    expect(shown == [1, [1e9, 1e9 + 5], False], f"an address with another base of its times is shown as {shown}")
    other = tools.open(f"{url}#time=1_2")
    shown = other.run(view)
    expect(shown == [None, None, True], f"an address that does not say from when its times count is shown as {shown}")
    other.close()
    passed("an address says which log it is about, and from when its times count")


def check_live(tools, url, folder, expects_losses):
    page = tools.open(url)
    number = lambda: int((page.text("#count") or "0").split(" of ")[-1].replace(",", ""))
    page.wait("document.querySelector('#connection').dataset.state === 'open'", "the event stream")
    passed("the event stream is open")
    first = number()
    page.wait(f"log.count > {first}", "entries", 30)
    page.settle()
    expect(number() > first, "the count does not grow")
    passed(f"entries arrive: {first:,}, then {number():,}")
    expect(page.run("view.follow") is True, "a live page does not follow the newest at first")
    page.click("#follow")
    page.press("f")
    page.press("+")
    before, selected = page.run("shownRange()"), number()
    page.wait(f"log.count > {selected}", "more entries", 30)
    page.settle()
    expect(page.run("shownRange()") == before, "without Follow new entries move the timeline")
    passed("without Follow the view stays where it is")
    other = tools.open(page.run("location.href"))
    expect(other.run("view.follow") is False, "a page whose address has a time follows the newest")
    other.close()
    page.press("f")
    other = tools.open(page.run("location.href"))
    expect(other.run("[view.follow, view.range]") == [False, None], "the address does not say that the page does not follow")
    other.close()
    page.wait("current !== null", "a status", 15)
    check_addresses(page, tools, url)
    if not expects_losses:
        check_selection_before_entries(page, tools, url)
    else:
        page.wait("/not sent [\\d,]+/.test(document.querySelector('#losses').textContent)", "the number of entries not sent", 30)
        passed(f"the page says what it lacks: {page.text('#losses')}")
    screenshots(page, folder, "live")
    check_status(page, None, folder)
    check_losses_of_connections(page)
    check_refused_events(page)
    check_dropped_before(page)
    check_network(page)
    check_console(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="?", type=pathlib.Path)
    parser.add_argument("--live", metavar="URL")
    parser.add_argument("--expect-losses", action="store_true", help="the live page is slower than the dispatcher, and has to say so")
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--expect-entries", type=int, metavar="N")
    parser.add_argument("--picture-within", type=float, default=2, metavar="SECONDS")
    options = parser.parse_args()
    if bool(options.page) == bool(options.live):
        parser.error("either PAGE.html or --live URL is needed")
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    tools = DevTools()
    try:
        if options.live:
            check_live(tools, options.live, options.screenshots, options.expect_losses)
        else:
            check_file(tools, options.page, options.screenshots, options.expect_entries, options.picture_within)
    except Failure as failure:
        print(f"FAIL  {failure}", flush=True)
        return 1
    finally:
        tools.close()
    print("all checks passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
