#!/usr/bin/env python3
"""A rerun is the same run, whatever option of `proctor run` it had: a case that fails on the second of two cards is run
again by `proctor rerun` and by the printed line, and the journals say the same. An option without a row is an error.

    rerun_options.py [SCENARIO...]
"""

import re
import subprocess

from harness import BIN, CUDA_SIMULATOR, check, of_type, records, run_scenarios, skip
from manual import commands

# The first case holds the first card until the second has begun, so that the second gets the other one.
CONFIG = """
[suite.first]
kind = "command"
command = ["sh", "-c", "i=0; until [ -e begun ] || [ $i -ge 40 ]; do i=$((i+1)); sleep 0.05; done"]
backend = "xpu"
gpus = 1
labels = ["of_all"]
[suite.card]
kind = "command"
command = ["sh", "-c", "touch begun; echo from the case; exit 1"]
backend = "xpu"
gpus = 1
labels = ["of_all"]
[suite.left]
kind = "command"
command = ["true"]
[profile.longer]
timeout = "77s"
"""
BAD = "card/sh"
SIM = ["--sim", "xpu:2x1"]

POINT = "from=host,to=device,bytes=2097152,from_offset=13,to_offset=1"

# What a run had and its rerun does not, on purpose.
LEFT_OUT = {"--shard", "--deadline", "--min-executed"}
# Where reports go, what is shown, what is tested; and what starts nothing.
NOT_REPEATED = {"--out", "--junit", "--history", "--subject", "--show-output", "--verbose", "--quiet", "--durations",
                "--color", "--dry-run", "--resume"}
# Where the run itself cannot fail at a case on a second card.
ELSEWHERE = {"--debugger": "a case on a terminal, as --no-capture",
             "--require-card-per-rank": "rerun.py", "--allow-no-device": "there is no case that could fail on a device",
             "--suite-arg": "of_our_suites", "--kind": "of_a_program", "--name": "of_a_program",
             "--process": "of_a_program and batch.py", "--plan": "of_a_plan",
             "--hierarchy": "of_tiles", "--mask": "variables", "--known-failures": "with_a_list"}
ROWS = {
    "--backend": ["--backend", "xpu"], "--filter": ["--filter", "*"], "--case": ["--case", "card", "--case", "first"],
    "--exclude": ["--exclude", "left*"], "--label": ["--label", "of_all"], "--config": ["--config", "other.toml"],
    "--profile": ["--profile", "longer"], "--shard": ["--shard", "1/1"], "--env": ["--env", "A=b c"], "--gpus": ["--gpus", "1"],
    "--devices": ["--devices", "xpu-sim:0,xpu-sim:1"], "--mem-cap": ["--mem-cap", "1G"], "--sim": [],
    "--lease-wait": ["--lease-wait", "7m"], "--probe-devices": ["--probe-devices"],
    "--each-device": ["--each-device"], "--timeout": ["--timeout", "7s"], "--grace": ["--grace", "3s"],
    "--stall": ["--stall", "44s"], "--deadline": ["--deadline", "5m"], "--jobs": ["--jobs", "2"],
    "--containment": ["--containment", ">=subreaper"],
    "--host-pids": ["--host-pids"], "--retries": ["--retries", "2"], "--repeat": ["--repeat", "3"],
    "--flaky": ["--flaky", "pass:7%"], "--fail-fast": ["--fail-fast"],
    "--leaks": ["--leaks", "fail"], "--strict": ["--strict"], "--fail-on-skip": ["--fail-on-skip"],
    "--min-executed": ["--min-executed", "2"],
    "--no-capture": ["--no-capture", "--case", BAD], "--tag": ["--case", BAD, "--tag", "none"],
}
PLANNED = ("strict", "each_device", "flaky_passes", "max_flaky_percent", "allow_no_device", "size", "seed", "profile",
           "sim", "containment", "inputs", "directory", "exec", "known_failures", "stack", "suites")


def told(out, case=BAD):
    """What the journal says of the case, and of how the run was made; not when, and not of the cases beside it."""
    journal = records(out)
    plan = of_type(journal, "run_planned")[0]
    said = {key: plan[key] for key in PLANNED}
    said["suites"] = [suite for suite in plan["suites"] if suite["name"] == case.split("/")[0]]
    said["variables"] = [one for one in plan["restrictions"]["variables"] if one["suite"] == case.split("/")[0]]
    said["case"] = [one for one in plan["cases"] if one["id"] == case]
    attempts = [one for one in of_type(journal, "attempt_started") if one["case"] == case]
    ends = [one for one in of_type(journal, "attempt_ended") if one["case"] == case]
    said["devices"] = sorted((one["attempt"], one["repeat"], one["devices"], one["environment"]) for one in attempts)
    said["verdicts"] = sorted((one["attempt"], one["repeat"], one["verdict"]["outcome"], one["verdict"]["reason"])
                              for one in ends)
    said["end"] = [(one["verdict"], one["marks"], one["known_failure"]) for one in of_type(journal, "case_ended")
                   if one["case"] == case]
    said["points"] = [one["failures"] and one["failures"][0]["message"] for one in ends]
    return said


def differences(one, other):
    return {key: (one[key], other[key]) for key in one if one[key] != other[key]}


def start(sandbox, *words, env=None):
    """A run in the sandbox, which is red: its directory and what it printed."""
    (sandbox.path / "begun").unlink(missing_ok=True)
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, *words, env={**sandbox.env, **(env or {})})
    check(done.returncode == 1, *words, "gave", done.returncode, done.stdout, done.stderr)
    return out, done


def printed_line(done, case=BAD):
    """The line below the block of the case."""
    block = re.split(rf"(?m)^\S+  {re.escape(case)}\n(?=  )", done.stdout)[-1]
    lines = re.findall(r"^rerun: +(.*)$", block, re.MULTILINE)
    check(lines, "no line of rerun:", done.stdout)
    return lines[0]


def check_again(sandbox, *words, case=BAD, env=None, left_out=()):
    """The rerun of the case, and the line that the run printed, are the run again."""
    first, done = start(sandbox, *words, env=env)
    want = told(first, case)
    out = sandbox.out()
    again = sandbox.proctor("rerun", first, "--case", case, "--out", out)
    check(again.returncode == 1, words, "again gave", again.returncode, again.stdout, again.stderr)
    wrong = differences(want, told(out, case))
    check(not wrong, words, "again differs:", wrong, again.stderr)
    for option in left_out:
        check(re.search(rf"left out:.*{option}", again.stderr), words, "is left out and not told:", again.stderr)
        check(re.search(rf"^ +without .*{option}", done.stdout, re.MULTILINE), words, "is not told:", done.stdout)
    line = printed_line(done, case)
    by_line = subprocess.run(["sh", "-c", line], cwd=sandbox.path, env=sandbox.env, capture_output=True, text=True,
                             timeout=120, stdin=subprocess.DEVNULL)
    check(by_line.returncode == 1, line, "gave", by_line.returncode, by_line.stdout, by_line.stderr)
    wrong = differences(want, told(sandbox.path / "proctor-out" / "latest", case))
    check(not wrong, line, "differs:", wrong)
    return first, again


def config(sandbox):
    for name in ("proctor.toml", "other.toml"):
        (sandbox.path / name).write_text(CONFIG)


def every_option(sandbox):
    config(sandbox)
    options = commands("run")[("run",)]
    known = {*ROWS, *ELSEWHERE, *NOT_REPEATED}
    check(options == known, "options without a row, and rows without an option:", options ^ known)
    check(LEFT_OUT <= set(ROWS), LEFT_OUT - set(ROWS))
    for option, words in ROWS.items():
        if option == "--tag":
            continue  # a selection by what frameworks say, dropped as --label is
        check_again(sandbox, *SIM, *words, left_out={option} & LEFT_OUT)
    check_again(sandbox, *SIM, "--repeat", "90%:50%")


def of_a_program(sandbox):
    program = sandbox.path / "bad.sh"
    program.write_text("#!/bin/sh\n# what it was told\necho \"$A\"; exit 1\n")
    program.chmod(0o755)
    check_again(sandbox, *SIM, "--backend", "xpu", "--gpus", "1", "--devices", "xpu-sim:1", "--env", "A=b", "--name", "mine",
                "--kind", "command", "--process", "case", "--", "./bad.sh", "--case", "x", case="mine/bad.sh")


def of_a_plan(sandbox):
    config(sandbox)
    sandbox.proctor("plan", "-o", "plan.json", *SIM)
    check_again(sandbox, *SIM, "--plan", "plan.json")


def of_a_shared_machine(sandbox):
    config(sandbox)
    check_again(sandbox, "--sim", "xpu:2x1,state=machine")


def of_tiles(sandbox):
    config(sandbox)
    check_again(sandbox, "--sim", "xpu:2x2", "--hierarchy", "flat")


def pinned(sandbox):
    config(sandbox)
    first, _ = check_again(sandbox, *SIM, "--pin", f"{BAD}=xpu-sim:1", "--filter", "card*")
    check(told(first)["devices"][0][2] == ["xpu-sim:1"], told(first)["devices"])


def with_a_list(sandbox):
    config(sandbox)
    (sandbox.path / "known.toml").write_text('[[known_failure]]\ncase = "nothing/*"\nreason = "exit:*"\nsource = "seen"\n'
                                             "expires = 2099-01-01\n")
    check_again(sandbox, *SIM, "--known-failures", "known.toml")


def needs_an_end(sandbox):
    """What repeats until it fails has no other end than its deadline, which stays."""
    config(sandbox)
    check_again(sandbox, *SIM, "--case", BAD, "--repeat", "until-fail", "--deadline", "5m")
    check_again(sandbox, *SIM, "--case", BAD, "--repeat", "3,until-fail", "--deadline", "5m", left_out=["--deadline"])


def of_our_suites(sandbox):
    """With the faults of the caller, and each of what our checks are tried with."""
    case = "memory.xpu/Copy.UnalignedCopyIsByteExact"
    faults = {"PROCTOR_SIM_FAULTS": "memory.corrupt_copy:at=17,min=65537"}
    for words in (["--suite-arg", "size=smoke"], ["--suite-arg", "seed=7"], ["--suite-arg", f"point={POINT}"]):
        check_again(sandbox, "memory", *SIM, "--devices", "xpu-sim:1", "--case", case, *words, case=case, env=faults)


def variables(sandbox):
    """What the caller had in its environment, and what hid a card."""
    config(sandbox)
    check_again(sandbox, *SIM, env={"LD_BIND_NOW": "1", "BASH_ENV": "/dev/null"})
    check_again(sandbox, *SIM, "--filter", "card*", env={"ZE_AFFINITY_MASK": "1"})
    check_again(sandbox, "--sim", "xpu:3x2", "--filter", "card*",
                env={"ZE_AFFINITY_MASK": "3", "ZE_FLAT_DEVICE_HIERARCHY": "FLAT", "ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"})
    if CUDA_SIMULATOR.exists():
        check_again(sandbox, "--sim", "cuda:4", "--backend", "cuda", "--mask", "index", "--name", "mine", "--", "false",
                    case="mine/false", env={"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})


SCENARIOS = (every_option, of_a_program, of_a_plan, of_a_shared_machine, of_tiles, pinned, with_a_list, needs_an_end,
             of_our_suites, variables)

if __name__ == "__main__":
    if not (BIN / "libproctor_ze_sim.so").exists():
        skip("library_missing:libproctor_ze_sim.so")
    run_scenarios(SCENARIOS)
