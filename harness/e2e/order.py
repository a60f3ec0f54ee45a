#!/usr/bin/env python3
"""Which case starts first: by the durations of earlier runs, by those of a history, or as planned.

    order.py [SCENARIO...]
"""

import contextlib
import json
import os
import random
import re
import shutil
import sqlite3

from harness import check, of_type, records, run_scenarios, write_config

CARDS = 4
# Not what the cases take here, but what a run says that they took: a busy machine cannot change it.
TOOK_MS = {"card0/sh": 2_000, "card1/sh": 4_000_000, "card2/sh": 30_000, "card3/sh": 400_000}
LONGEST_FIRST = ["card1/sh", "card3/sh", "card2/sh", "card0/sh"]
PLANNED = sorted(TOOK_MS)


def configure(sandbox):
    """Cases that have the only card one after the other, and one beside them."""
    suites = {case.split("/")[0]: {"kind": "command", "command": ["sh", "-c", "true"], "backend": "xpu", "gpus": 1}
              for case in TOOK_MS}
    suites["host"] = {"kind": "command", "command": ["sh", "-c", "true"], "backend": "none"}
    write_config(sandbox.path / "proctor.toml", suites)


def run(sandbox, *words, cards=1, code=0):
    """In proctor-out/."""
    done = sandbox.proctor("run", "--sim", f"xpu:{cards}x1,state={sandbox.path}/machine", *words)
    check(done.returncode == code, *words, "gave", done.returncode, done.stdout, done.stderr)
    return (sandbox.path / "proctor-out" / "latest").resolve()


def starts(out):
    cases = [record["case"] for record in of_type(records(out), "attempt_started")]
    return [case for case in cases if case in TOOK_MS]


def pretend(out, took):
    """Writes these durations into the journal of a run."""
    lines = []
    for line in (out / "journal.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["type"] == "attempt_ended" and record["case"] in took:
            line = re.sub(r'"duration_ms":\d+', f'"duration_ms":{took[record["case"]]}', line, count=1)
        lines.append(line + "\n")
    (out / "journal.jsonl").write_text("".join(lines))


def the_last_runs(sandbox):
    configure(sandbox)
    first = run(sandbox)
    check(starts(first) == PLANNED, "without durations:", starts(first))
    pretend(first, TOOK_MS)
    few = run(sandbox, "--case", "card0")  # says too little
    pretend(few, TOOK_MS)
    check(starts(few) == ["card0/sh"], starts(few))
    second = run(sandbox)
    check(starts(second) == LONGEST_FIRST, "by the run before the last one:", starts(second))
    ids = [case["id"] for case in json.loads((second / "report.json").read_text())["cases"]]
    check(ids == [*PLANNED, "host/sh"], "the report has the planned order:", ids)
    pretend(second, TOOK_MS)
    sandbox.run_keys(order="planned")
    check(starts(run(sandbox)) == PLANNED, 'order = "planned"')
    sandbox.run_keys()
    shutil.rmtree(sandbox.path / "proctor-out")
    pretend(run(sandbox), TOOK_MS)
    check(starts(run(sandbox, "--jobs", "1")) == PLANNED, "one at a time")


def a_history(sandbox):
    configure(sandbox)
    database = sandbox.path / "history.sqlite"
    first = run(sandbox, "--history", database)
    check(starts(first) == PLANNED, "no history yet:", starts(first))
    done = sandbox.proctor("history", "add", database, first)
    check(done.returncode == 0, "history add", done.stdout, done.stderr)
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        for case, took in TOOK_MS.items():
            connection.execute("UPDATE result SET duration_ms = ? WHERE test = (SELECT id FROM test WHERE case_id = ?)",
                               (took, case))
    pretend(first, {case: 1_000_000_000 // took for case, took in TOOK_MS.items()})  # counts only without the history
    second = run(sandbox, "--history", database)
    check(starts(second) == LONGEST_FIRST, "by the history:", starts(second))


def runs_that_cannot_be_read(sandbox):
    """Each of them is no history, and the next run is as the first one was."""
    configure(sandbox)
    out = run(sandbox)
    pretend(out, TOOK_MS)
    journal = out / "journal.jsonl"
    whole = journal.read_bytes()
    first_end = whole.index(b'"attempt_ended"')

    def fifo():
        journal.unlink()
        os.mkfifo(journal)

    def directory():
        journal.unlink()
        journal.mkdir()
    for damage in (lambda: journal.write_bytes(whole[:first_end + 40]), lambda: journal.write_bytes(b"\0" * 100_000),
                   lambda: journal.write_bytes(b"[" * 100_000 + b"\n"), lambda: journal.write_bytes(b""), fifo, directory):
        damage()
        next_out = run(sandbox)
        check(starts(next_out) == PLANNED, "after damage:", starts(next_out))
        shutil.rmtree(next_out)


def side_by_side(sandbox):
    """A case with a device and one without end only when both have begun, whatever is planned before them."""
    meet = "echo > $0.$$; mv $0.$$ $0; until test -e $1; do sleep 0.02; done"
    here, there = sandbox.path / "on_a_core", sandbox.path / "on_a_card"
    suites = {"core": {"kind": "command", "command": ["sh", "-c", meet, str(here), str(there)], "backend": "none"},
              "more": {"kind": "command", "command": ["sh", "-c", f"until test -e {there}; do sleep 0.02; done"],
                       "backend": "none"},
              "card": {"kind": "command", "command": ["sh", "-c", meet, str(there), str(here)], "backend": "xpu",
                       "gpus": 1}}
    write_config(sandbox.path / "proctor.toml", suites)
    for words in ([], ["--jobs", "2"]):
        run(sandbox, *words, cards=2)
        here.unlink()
        there.unlink()


def trace():
    """As in harness/runner/schedule/trace_test.cc, at one hundredth: seconds of each case, and how many devices it has."""
    generator = random.Random(47)
    cases = [(1 / (0.02 + generator.random()), 2 if generator.random() < 0.03 else 1) for _ in range(239)]
    total = sum(seconds * devices for seconds, devices in cases)
    cases = [(seconds * 2.9 * 18 / total, devices) for seconds, devices in cases]
    cases[160] = (18.0, 1)
    return cases


def idle(out):
    """Share of the devices' time from the first start to the last end in which no case held them, and that time."""
    journal = records(out)
    held = {(one["case"], one["attempt"]): len(one["devices"]) for one in of_type(journal, "attempt_started")}
    ends = of_type(journal, "attempt_ended")
    first = min(one["at_ms"] for one in of_type(journal, "attempt_started"))
    last = max(one["at_ms"] for one in ends)
    used = sum(one["duration_ms"] * held[one["case"], one["attempt"]] for one in ends)
    return 1 - used / (CARDS * (last - first)), last - first


def half_an_hour_at_one_hundredth(sandbox):
    suites = {f"card{i:03}": {"kind": "command", "command": ["sleep", f"{seconds:.3f}"], "backend": "xpu", "gpus": devices}
              for i, (seconds, devices) in enumerate(trace())}
    write_config(sandbox.path / "proctor.toml", suites)
    words = ["run", "--sim", f"xpu:{CARDS}x1,state={sandbox.path}/machine"]
    found = {}
    for order in ("planned", "longest"):
        sandbox.run_keys(order=order, telemetry=0)
        done = sandbox.proctor(*words, timeout=600)
        check(done.returncode == 0, done.stdout[-2000:], done.stderr)
        found[order] = idle(sandbox.path / "proctor-out" / "latest")
        print(f"{order}: devices idle {found[order][0]:.1%} of {found[order][1] / 1000:.1f} s", flush=True)
    print(f"ratio: {found['longest'][1] / found['planned'][1]:.2f} of the time")
    check(found["longest"][0] < found["planned"][0] / 2, "idle", found)
    check(found["longest"][1] < found["planned"][1], "time", found)


if __name__ == "__main__":
    run_scenarios([the_last_runs, a_history, runs_that_cannot_be_read, side_by_side], [half_an_hour_at_one_hundredth])
