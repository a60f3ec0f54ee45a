#!/usr/bin/env python3
"""SIGKILL to the runner at random moments while eight misbehaving cases run.

    runner_killed.py --layer LAYER      (PROCTOR_KILL_MOMENTS=N, default 20; PROCTOR_SEED=N repeats a run)

Each time: one second later nothing of the run is alive; the reports can be rendered; `planned` is the sum of the
outcomes; no more cases were cut short than ran at once; every case with an end record keeps its verdict.
"""

import argparse
import os
import random
import time

from harness import (LAYERS, Sandbox, check, check_sums, misbehaving, new_token, of_type, records, report, skip,
                     survivors, wait_until, write_config)

SLOTS = 8
BOUND = 1.0  # seconds
TRIES = 3  # a busy machine stretches one measurement: the best of the same moment counts
SPREAD = 1.2  # seconds after the plan is on disk
MODES = ("ignore-term", "child-ignores-term", "setsid", "double-fork", "hopper", "hopper-setsid", "leak-chatty", "stop")


def write_suites(path, token):
    """Cases of all phases at any time: starting, running, in their grace, being killed, draining, ended."""
    suites = {}
    for index in range(4 * len(MODES)):
        mode = MODES[index % len(MODES)]
        suites[f"s{index:02}-{mode}"] = {"kind": "command", "command": misbehaving(mode, token)}
    write_config(path, suites, {"timeout": "300ms", "grace": "100ms"})
    return len(suites)


def one_moment(sandbox, layer, delay):
    token = new_token()
    config = sandbox.path / "killed.toml"
    planned = write_suites(config, token)
    out = sandbox.out()
    process = sandbox.start("run", "--config", config, "--containment", layer, "--jobs", SLOTS, "--out", out)
    wait_until(lambda: of_type(records(out), "run_planned") or process.poll() is not None, 30, "plan on disk")
    check(process.poll() is None, "proctor ended by itself:", process.stderr.read() if process.poll() else "")
    time.sleep(delay)
    process.kill()
    shot = time.monotonic()
    process.communicate()
    wait_until(lambda: not survivors(token), 30, f"end of {survivors(token)}")
    took = time.monotonic() - shot

    ended = {record["case"]: record["verdict"] for record in of_type(records(out), "case_ended")}
    rendered = sandbox.proctor("report", "render", out)
    check(rendered.returncode == 0, "report render:", rendered.returncode, rendered.stderr)
    document = report(out)
    check_sums(document)
    check(document["summary"]["planned"] == planned, "planned", document["summary"], "of", planned)
    check((out / "junit.xml").exists() and (out / "summary.md").exists(), "reports are missing")
    cut_short = [case for case in document["cases"]
                 if (case["outcome"], case["reason"]) == ("notrun", "interrupted") and case["attempts"]]
    check(len(cut_short) <= SLOTS, f"{len(cut_short)} cases cut short, {SLOTS} slots")
    for case in document["cases"]:
        want = ended.get(case["id"])
        if want:
            check((case["outcome"], case["reason"]) == (want["outcome"], want["reason"]), case["id"], case, want)
    finished = sandbox.proctor("finish", out)
    check(finished.returncode == 0, "finish:", finished.returncode, finished.stderr)
    return took, len(ended)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layer", choices=LAYERS[:-1], required=True)
    layer = parser.parse_args().layer
    moments = int(os.environ.get("PROCTOR_KILL_MOMENTS", "20"))
    seed = int(os.environ.get("PROCTOR_SEED", time.time_ns() % 1_000_000))
    print(f"{layer}: {moments} moments, PROCTOR_SEED={seed}", flush=True)
    dice = random.Random(seed)
    slowest, with_end = 0.0, 0
    with Sandbox() as sandbox:
        if why := sandbox.why_not(layer):
            skip(f"layer {layer}: {why}")
        for number in range(1, moments + 1):
            delay = dice.uniform(0, SPREAD)
            tries = []
            while not tries or (tries[-1] > BOUND and len(tries) < TRIES):
                took, ended = one_moment(sandbox, layer, delay)
                tries.append(took)
                with_end += ended
            slowest = max(slowest, min(tries))
            check(min(tries) <= BOUND, f"moment {number} ({delay:.3f} s): all dead only {tries} s after SIGKILL")
    check(with_end > 0, "no case ever ended before the kill: the moments are vacuous")
    print(f"all dead at most {slowest * 1000:.0f} ms after SIGKILL; {with_end} ended cases kept")


if __name__ == "__main__":
    main()
