#!/usr/bin/env python3
"""Every row of fixtures/misbehaving/table.toml under one containment layer.

    torture.py --layer LAYER [--uid N] [--rounds N]

Exit 0: every row as the table says; 1: not; 77: the layer does not work here (with its reason).
"""

import argparse
import os
import tomllib
from pathlib import Path

from harness import (LAYERS, Sandbox, become, cgroups_of, check, check_sums, misbehaving, new_token, records,
                     report, skip, survivors, write_config)

TABLE = Path(os.environ.get("PROCTOR_TABLE", Path(__file__).resolve().parents[2] / "fixtures/misbehaving/table.toml"))
JOBS = 8
ALONE = 3  # measurements of a bound that a busy machine has stretched: the best one counts


def rows(table):
    """The rows that can be done by this user, and what is left out."""
    done, left_out = {}, []
    for mode, row in table["mode"].items():
        if row.get("needs") == "root" and os.geteuid() != 0:
            left_out.append(f"{mode}: needs root")
        else:
            done[mode] = row
    return done, left_out


def suite(mode, row, token):
    kind = row.get("kind", "command")
    return {"kind": kind, "command": misbehaving(mode, token, *row.get("args", [])),
            "timeout": row.get("timeout", "2s"),
            "grace": "300ms" if row.get("forced", True) else "10s"}  # who ends by itself has time for it


def run_rows(sandbox, layer, chosen, jobs):
    """-> ({mode: (case of report.json, its last attempt)}, containment as the journal has it, survivors by mode)"""
    tokens = {mode: new_token() for mode in chosen}
    config = sandbox.path / "torture.toml"
    write_config(config, {mode: suite(mode, row, tokens[mode]) for mode, row in chosen.items()})
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--containment", layer, "--jobs", jobs, "--out", out)
    alive = {mode: survivors(token) for mode, token in tokens.items()}
    if not (out / "report.json").exists():
        raise SystemExit(f"no report; exit {done.returncode}\n{done.stdout}{done.stderr}")
    document = report(out)
    check_sums(document)
    check(document["run"]["containment_layer"] == layer, "ran under", document["run"]["containment_layer"], "instead of", layer)
    left = cgroups_of(document["run"]["id"])
    check(not left, "cgroups of the run are left:", left)
    cases = {case["suite"]: (case, case["attempts"][-1] if case["attempts"] else None) for case in document["cases"]}
    return cases, records(out)[0]["containment"], alive


def has_pids_limit(containment):
    return containment["layer"].startswith("cgroup") and "number of processes" not in " ".join(containment["not_guaranteed"])


def faults_of(row, case, attempt, alive, containment):
    """What is wrong with one row, as sentences."""
    faults = []
    if alive:
        faults.append(f"survivors: {alive}")
    if row.get("or_skip") and case["outcome"] == "skip":
        if case["reason"] != row["or_skip"] or has_pids_limit(containment):
            faults.append(f"skip({case['reason']}) though the limit can be had")
        return faults
    want = (row["outcome"], row.get("reason", ""))
    got = (case["outcome"], case["reason"] or "")
    if got != want:
        faults.append(f"outcome {got[0]}({got[1]}), expected {want[0]}({want[1]})")
    if attempt is None:
        return faults + ["no attempt in the report"]
    termination = attempt["termination"]
    if "forced" in row and termination["forced"] != row["forced"]:
        faults.append(f"forced is {termination['forced']}")
    if row.get("leaky", False) != ("leaky" in case["marks"]):
        faults.append(f"marks {case['marks']}")
    if row.get("leaky") and not termination["leaked_processes"]:
        faults.append("leaked processes are not named")
    if termination["unkillable"]:
        faults.append("unkillable")
    return faults


def kill_ms(attempt):
    return attempt["termination"]["kill_duration_ms"] if attempt else 0


def one_round(sandbox, layer, table, chosen):
    """-> [{mode, verdict, kill_duration_ms, faults}]"""
    bound = table["layer"][layer]["kill_duration_ms"]
    cases, containment, alive = run_rows(sandbox, layer, chosen, JOBS)
    results = []
    for mode, row in chosen.items():
        if mode not in cases:
            results.append({"mode": mode, "verdict": "missing", "faults": ["not in the report"]})
            continue
        case, attempt = cases[mode]
        faults = faults_of(row, case, attempt, alive[mode], containment)
        took = kill_ms(attempt)
        for _ in range(ALONE):
            if took <= bound or faults:
                break
            again, _, _ = run_rows(sandbox, layer, {mode: row}, 1)
            took = min(took, kill_ms(again[mode][1]))
        if took > bound:
            faults.append(f"empty {took} ms after SIGKILL, bound {bound} ms")
        verdict = case["outcome"] + (f"({case['reason']})" if case["reason"] else "")
        results.append({"mode": mode, "verdict": verdict, "kill_duration_ms": took, "faults": faults})
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layer", choices=LAYERS, required=True)
    parser.add_argument("--uid", type=int, help="as this user; needs root")
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("PROCTOR_TORTURE_ROUNDS", "1")))
    options = parser.parse_args()
    if options.uid:
        become(options.uid)
    table = tomllib.loads(TABLE.read_text())
    chosen, left_out = rows(table)
    red = 0
    with Sandbox() as sandbox:
        if why := sandbox.why_not(options.layer):
            skip(f"layer {options.layer}: {why}")
        for number in range(1, options.rounds + 1):
            results = one_round(sandbox, options.layer, table, chosen)
            for row in results:
                if row["faults"] or number == 1:
                    print(f"{'FAILED' if row['faults'] else 'ok':7}{row['mode']:20} {row['verdict']:24}"
                          f"{row.get('kill_duration_ms', 0):5} ms  {'; '.join(row['faults'])}", flush=True)
                red += bool(row["faults"])
    for sentence in left_out:
        print(f"left out {sentence}")
    print(f"{options.layer} as uid {os.geteuid()}: {len(chosen)} rows, {options.rounds} rounds, {red} red")
    return 1 if red else 0


if __name__ == "__main__":
    raise SystemExit(main())
