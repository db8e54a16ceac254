#!/usr/bin/env python3
"""Checks how `.ci/run` judges steps that fail, hang, are killed or are stopped, by stand-ins that take seconds.

usage: check-run.py
"""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parent / "run"
STEPS = {
    "good": "echo fine", "bad": "false", "killed": "bash -c 'kill -9 $$'", "hung": "sleep 1000 & sleep 1000",
    "busy": "while :; do :; done", "issue": "echo 'a test recorded an issue'; while :; do :; done",
    "stubborn": "trap '' TERM; while :; do sleep 0.1; done", "lost": "echo never", "late": "echo never",
}


def begin(folder, first, second):
    """Starts a copy whose minute is a second, with these steps in its lanes; each as NAME or NAME:LIMIT."""
    text = SCRIPT.read_text(encoding="utf-8")
    lanes = [" ".join(f'"{name} {limit or 30}"' for name, _, limit in (step.partition(":") for step in lane.split()))
             for lane in (first, second)]
    head, rest = re.split(r"(?m)^first_lane=[\s\S]*?^second_lane=.*$", text)
    text = f"{head}first_lane=({lanes[0]})\nsecond_lane=({lanes[1]}){rest}"
    stand_ins = "".join(f"step_{name}() {{ {body}; }}\n" for name, body in STEPS.items())
    text = re.sub(r"(?m)^# --- Steps[\s\S]*?(?=^# --- The machine)", lambda _: stand_ins, text)
    text = re.sub(r"(?m)^needed_steps=.*$", 'needed_steps=" good stubborn "', text)
    text = re.sub(r"(?m)^prepare$", "", text)
    for long, short in ("* 60", "* 1"), ("/ 60", "/ 1"), ("-lt 60", "-lt 1"), ("-lt 10", "-lt 1"), ("{1..30}", "{1..2}"):
        text = text.replace(long, short)
    if "lost" in second:
        text = text.replace("\nlanes=()\n", '\nmkdir "$folder/lost.output"\nlanes=()\n')
    (folder / ".ci").mkdir(parents=True)
    (folder / ".ci" / "run").write_text(text, encoding="utf-8")
    return subprocess.Popen(
        ["bash", ".ci/run"], cwd=folder, text=True, env={"PATH": "/usr/bin:/bin", "DISPATCHSTORE_CI_MINUTES": "6"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)


def processes(session):
    """The processes of a session that have not ended."""
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        state, _, _, its_session = text.rpartition(") ")[2].split()[:4]
        if int(its_session) == session and state != "Z":
            yield int(file.parent.name)


RUNS = [
    # First lane, second lane, exit code, and the beginning of each step's result.
    ("good", "good", 0, {"good": "passed"}),
    ("good bad killed", "late", 1, {"bad": "FAILED (exit code 1)", "killed": "FAILED (exit code 137)"}),
    ("good hung", "late", 1, {"hung": "FAILED (it hung", "late": "passed"}),
    ("good busy late", "good", 0, {"busy": "NOT DONE", "late": "NOT DONE"}),
    ("issue", "good", 1, {"issue": "FAILED (stopped"}),
    ("good", "lost late", 1, {"lost": "FAILED (its lane", "late": "FAILED (its lane"}),
    ("stubborn:1", "late", 1, {"stubborn": "FAILED (above", "late": "passed"}),
]


def main():
    errors = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        started = [begin(folder / str(index), first, second) for index, (first, second, _, _) in enumerate(RUNS)]
        stopped = begin(folder / "stopped", "good", "hung")
        while "fine" not in (stopped.stdout.readline() or "fine"):
            pass
        stopped.send_signal(signal.SIGTERM)
        stopped.wait(timeout=100)
        left = list(processes(stopped.pid))
        if left or stopped.returncode == 0:
            errors.append(f"a stopped run ends with {stopped.returncode}, and leaves these processes: {left}")
        for run, (first, second, code, results) in zip(started, RUNS):
            output = run.communicate(timeout=100)[0]
            summary = output[output.find("=== Summary"):]
            for step, result in results.items():
                if not re.search(rf"(?m)^{step} .*  ?{re.escape(result)}", summary):
                    errors.append(f"{step} is not '{result}' in:\n{output}")
            if run.returncode != code:
                errors.append(f"exit code {run.returncode}, not {code}, of:\n{output}")
    for error in errors:
        print(f"error: {error}")
    print(f"{len(RUNS) + 1} runs, {len(errors)} errors")
    sys.exit(bool(errors))


main()
