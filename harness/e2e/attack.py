#!/usr/bin/env python3
"""Every attack of fixtures/misbehaving/table.toml under one containment layer.

    attack.py --layer LAYER [--uid N] [--without-landlock] [ATTACK...]

With Landlock's signal scope the guard ends each. The table says what becomes of it without, by seccomp alone.

Each is a run of its own, with a case beside it that attacks nobody and must pass. What the layer holds leaves nothing
behind; what it does not guarantee is said by the run, and `finish` answers 75 until it is gone.
Exit 0: each as the table says; 1: not; 77: the layer does not work here (with its reason).
"""

import argparse
import os
import signal
import tomllib

from harness import (LAYERS, Sandbox, become, cgroups_of, enter_pid_namespace, hide_landlock, misbehaving, new_token,
                     of_type, reason_of, records, report, set_uid_copy, skip, survivors, wait_until, write_config)
from torture import TABLE

LIMITS = {"timeout": "2s", "grace": "300ms"}
BYSTANDER = ["sh", "-c", "sleep 4"]  # from before the attack until after its end


def start(sandbox, layer, name, row, token):
    args = [set_uid_copy() if word == "SET_UID_COPY" else word for word in row.get("args", [])]
    config = sandbox.path / "attack.toml"
    write_config(config, {"bystander": {"kind": "command", "command": BYSTANDER, "timeout": "60s"},
                          "attack": {"kind": "command", "command": misbehaving(name, token, *args), **LIMITS}})
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--containment", layer, "--jobs", 2, "--out", out)
    return done, out


def faults_of_run(row, out, *keys):
    """What is wrong with what the run says, as sentences."""
    cases = {case["suite"]: case for case in report(out)["cases"]}
    case, bystander = cases["attack"], cases["bystander"]
    faults = []
    want, got = (row["outcome"], row.get("reason", "")), (case["outcome"], reason_of(case))
    if got != want:
        faults.append(f"outcome {got[0]}({got[1]}), expected {want[0]}({want[1]})")
    if row.get("leaky", False) != ("leaky" in case["marks"]):
        faults.append(f"marks {case['marks']}")
    for words in (row["log"][key] for key in keys if key in row.get("log", {})):
        log = (out / case["attempts"][-1]["output"]["log"]).read_text()
        if words not in log:
            faults.append(f"its log does not have {words!r}: {log}")
    if row.get("forced", False) != case["attempts"][-1]["termination"]["forced"]:
        faults.append("forced is not as expected")
    if bystander["outcome"] != "pass" or bystander["marks"]:
        faults.append(f"the case beside it: {bystander['outcome']}({bystander['reason']}), {bystander['marks']}")
    return faults


def is_starved(out):
    """An attack that spins waits for a CPU where other tests spin as well, and its limit says so."""
    return any(case["reason"] == "starved" for case in report(out)["cases"])


def who_ended_it(out):
    """-> guard | runner | said, and what is wrong with how the run says so"""
    case = next(case for case in report(out)["cases"] if case["suite"] == "attack")
    termination = case["attempts"][-1]["termination"]
    lost = termination.get("guard_lost", "")
    warned = [warning for warning in records(out) if warning.get("type") == "warning" and warning["code"] == "guard_lost"]
    faults = []
    if bool(lost) != ("guard_lost" in case["marks"]) or bool(lost) != bool(warned):
        faults.append(f"the guard: {lost!r}, marks {case['marks']}, warnings {warned}")
    if lost and not any(case["id"] in warning["text"] and lost in warning["text"] for warning in warned):
        faults.append(f"no warning names the case and says why: {warned}")
    if termination["unkillable"]:
        return "said", faults
    return ("runner" if lost else "guard"), faults


def faults_of_gap(sandbox, layer, row, out, token):
    """It is not held: the layer says so, the record stays, and finish does not call it clean while it lives."""
    planned = of_type(records(out), "run_planned")[0]
    faults = []
    if row.get("says", "it") not in " ".join(planned["containment"]["not_guaranteed"]):
        faults.append(f"not among what {layer} does not guarantee: {row['says']}")
    if not (out / "run.json").exists():
        faults.append("the record of the run is gone")
        return faults
    mine = [pid for pid, _ in survivors(token) if os.stat(f"/proc/{pid}").st_uid == os.geteuid()]
    for number in (1, 2):
        done = sandbox.proctor("finish", out, "--limit", "8s")
        left = survivors(token)
        if done.returncode != (75 if left else 0):
            faults.append(f"finish {number} gave {done.returncode} with {left}: {done.stdout}{done.stderr}")
        if left and not all(str(pid) in done.stdout for pid, _ in left):
            faults.append(f"finish does not name {left}: {done.stdout}")
    still = [pid for pid, _ in survivors(token) if pid in mine]
    if still:
        faults.append(f"finish did not kill {still}, which are this user's")
    return faults


def one_attack(sandbox, layer, name, row, kill):
    """-> (what happened, what is wrong)"""
    token = new_token()
    done, out = start(sandbox, layer, name, row, token)
    planned = of_type(records(out), "run_planned")[0]
    run_id = planned["run_id"]
    confined = planned["containment"]["signals"] == "landlock"
    expected = "guard" if confined else row["root" if os.geteuid() == 0 else "user"][layer]
    faults = []
    if done.returncode == -signal.SIGKILL:
        happened = "said"
    else:
        happened, faults = who_ended_it(out)
        faults += faults_of_run(row, out, layer, happened)
    wanted = {"either": ("guard", "runner")}.get(expected, (expected,))
    if happened not in wanted:
        faults.append(f"{happened}, expected {expected}")
    exit_code = row.get("exit", {}).get(happened, 1)
    starved = exit_code == 1 and done.returncode == 75 and happened != "said" and is_starved(out)
    if done.returncode != exit_code and not starved:
        faults.append(f"exit {done.returncode}, expected {exit_code}: {done.stderr}")
    if happened == "said":
        faults += faults_of_gap(sandbox, layer, row, out, token)
    else:
        if alive := survivors(token):
            faults.append(f"survivors: {alive}")
        if (out / "run.json").exists():
            faults.append("the record of the run stays")
    end_survivors(token, kill)
    finished = sandbox.proctor("finish", out)
    if finished.returncode != 0 or (out / "run.json").exists():
        faults.append(f"finish at the end gave {finished.returncode}: {finished.stdout}{finished.stderr}")
    if left := cgroups_of(run_id):
        faults.append(f"cgroups of the run are left: {left}")
    return happened, faults


def end_survivors(token, kill):
    for pid, _ in survivors(token):
        try:
            kill(pid)
        except ProcessLookupError:
            pass
    wait_until(lambda: not survivors(token), 30, f"end of {survivors(token)}")


def prepare(parser):
    """-> the options, and a function that kills a process of this user"""
    parser.add_argument("--layer", choices=LAYERS, required=True)
    parser.add_argument("--uid", type=int, help="as this user; needs root")
    parser.add_argument("--without-landlock", action="store_true", help="as on Linux before 6.12; needs root")
    options = parser.parse_args()
    enter_pid_namespace()
    if options.without_landlock:
        hide_landlock()
    return options, become(options.uid) if options.uid else lambda pid: os.kill(pid, signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attacks", nargs="*", help="default: all")
    options, kill = prepare(parser)
    table = tomllib.loads(TABLE.read_text())["attack"]
    results = {}
    red = 0
    with Sandbox() as sandbox:
        if why := sandbox.why_not(options.layer):
            skip(f"layer {options.layer}: {why}")
        for name in options.attacks or table:
            if options.without_landlock and options.layer not in table[name]["user" if options.uid else "root"]:
                continue
            results[name], faults = one_attack(sandbox, options.layer, name, table[name], kill)
            print(f"{'FAILED' if faults else 'ok':7}{name:16} {results[name]:8}{'; '.join(faults)}", flush=True)
            red += bool(faults)
    print(f"{options.layer} as uid {os.geteuid()}: {len(results)} attacks, {red} red")
    return 1 if red else 0


if __name__ == "__main__":
    raise SystemExit(main())
