#!/usr/bin/env python3
"""The collectives suite in real runs: a rank that is killed in mid-operation, again and again; stray variables of the
caller; too few cards.

    collectives_lost.py [KILLS]    10 when not given
"""

import json
import os
import sys
from pathlib import Path

from harness import BIN, Sandbox, cgroups_of, check, report, skip

KILLED = "collectives.none/LostRank.RunningOperationFailsAfterKill"
SAME = "*/Collective.EveryCountGivesExactResult/*"


def processes_of(run_id):
    variable = f"PROCTOR_RUN_ID={run_id}".encode()
    found = []
    for directory in Path("/proc").iterdir():
        try:
            if directory.name.isdigit() and variable in (directory / "environ").read_bytes().split(b"\0"):
                found.append(directory.name)
        except OSError:
            pass
    return found


def kills(sandbox, count):
    """Every time all survivors say that a rank is lost, or that time is over; and nothing of it is left."""
    out = sandbox.out()
    process = sandbox.start("run", "collectives", "--backend", "none", "--case", KILLED, "--repeat", count, "--out", out)
    check(sandbox.finish(process, 600) == "" and process.returncode == 0, "exit", process.returncode)
    [case] = report(out)["cases"]
    attempts = case["attempts"]
    check(case["outcome"] == "pass" and len(attempts) == count, case["outcome"], len(attempts))
    for attempt in attempts:
        ranks = attempt["ranks"]
        check([rank["exit"]["signal"] for rank in ranks] == [None, 9, None, None], ranks)
        check(all(rank["last_step"] in ("all_reduce: peer_lost", "all_reduce: timeout") for rank in ranks if rank["rank"] != 1), ranks)
    run_id = report(out)["run"]["id"]
    check(not processes_of(run_id), "processes are left:", processes_of(run_id))
    check(not cgroups_of(run_id), "its cgroups are left:", cgroups_of(run_id))
    durations = sorted(attempt["duration_ms"] for attempt in attempts)
    print(f"ok {count} kills, {durations[len(durations) // 2]} ms each at the median, {durations[-1]} ms at most")


def the_callers_ranks_change_nothing(sandbox):
    seen = []
    for stray in ({}, {"WORLD_SIZE": "8", "RANK": "3", "LOCAL_RANK": "3", "MASTER_ADDR": "192.0.2.1", "MASTER_PORT": "1"}):
        out = sandbox.out()
        done = sandbox.proctor("run", "collectives", "--backend", "none", "--filter", SAME, "--out", out, env={**sandbox.env, **stray})
        check(done.returncode == 0, done.stdout, done.stderr)
        seen.append({case["id"]: (case["outcome"], [rank["outcome"] for rank in case["attempts"][0]["ranks"]])
                     for case in report(out)["cases"]})
    check(seen[0] == seen[1] and len(seen[0]) >= 8, seen)
    print("ok", len(seen[0]), "cases with and without the caller's")


def cards_are_counted(sandbox):
    """Of cards of two tiles each, too: there are as many ranks as cards."""
    if not (BIN / "libproctor_ze_sim.so").exists():
        return print("not checked: the simulator was not built")
    out = sandbox.out()
    done = sandbox.proctor("run", "collectives", "--sim", "xpu:2x2", "--backend", "xpu", "--filter", SAME, "--filter", "*/PointToPoint.*",
                           "--out", out)
    check(done.returncode == 0, done.stdout, done.stderr)
    listed = json.loads(sandbox.proctor("list", "collectives", "--backend", "xpu", "--json").stdout)["cases"]
    ranks = {case["id"]: case["ranks"] for case in listed}
    for case in report(out)["cases"]:
        fits = ranks[case["id"]] <= 2
        check(case["outcome"] == ("pass" if fits else "skip"), case["id"], case["outcome"], case["reason"])
        check(fits or case["reason"] == f"needs:cards>={ranks[case['id']]}", case["reason"])
        own = [tuple(rank["devices"]) for attempt in case["attempts"] for rank in attempt["ranks"]]
        check(len(set(own)) == len(own) and all(len(devices) == 1 for devices in own), own)
    print("ok", sorted(set(ranks.values())))


def main():
    if not (BIN / "libproctor_gloo.so").exists():
        skip("library_missing:libgloo.so")
    os.environ.pop("PROCTOR_SIZE", None)
    with Sandbox() as sandbox:
        kills(sandbox, int(sys.argv[1]) if len(sys.argv) > 1 else 10)
        the_callers_ranks_change_nothing(sandbox)
        cards_are_counted(sandbox)


if __name__ == "__main__":
    sys.exit(main())
