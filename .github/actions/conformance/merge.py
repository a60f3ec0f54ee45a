#!/usr/bin/env python3
"""Makes one report per stack from the artifacts of its shards, and one verdict (conformance.yml).

It reads artifacts, not the results of jobs, because GitHub counts a skipped job as passed. Input through the environment:
MATRIX from plan.py, NAME (the prefix of the artifacts), ALLOW_SIMULATED, and RUNNER_RESULT (of the job that reads the
versions of the runners). Output: merged/STACK/, and in GITHUB_OUTPUT `verdict` and `proven`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from gate import directories_of, error, stacks_of

WORST = ("passed", "incomplete", "interrupted", "machine_failed", "failed")
VERDICTS = {0: "passed", 1: "failed", 2: "incomplete", 3: "incomplete", 75: "machine_failed"}  # of exit codes


def proves_device(stack, report):
    """Whether a case of the stack ran on a real device. Only a run with such a case says something about the stack."""
    cases = json.loads(report.read_text(encoding="utf-8"))["cases"]
    ran = [case for case in cases if case["outcome"] not in ("skip", "notrun")]
    if any(case["devices"] and not case["simulated"] for case in ran):
        return True
    simulated = sum(case["simulated"] for case in ran)
    error("No real device", f"{stack}: no case ran on a real device. {simulated} ran on simulated devices, "
                            f"{len(ran) - simulated} ran without a device, {len(cases) - len(ran)} did not run. "
                            "The input allow-simulated accepts this.")
    return False


def merge(stack, directories, out):
    """The verdict of one stack with all its shards. Its summary and annotations are those of the step."""
    code = subprocess.run(["proctor", "report", "merge", *directories, "--out", out], check=False).returncode
    if not (out / "report.json").exists():
        error("Not merged", f"{stack}: proctor report merge exits with {code}")
        return "incomplete"
    environment = {name: value for name, value in os.environ.items() if name != "GITHUB_OUTPUT"}
    subprocess.run(["proctor", "report", "render", "--format", "github", out], check=True, env=environment)
    return VERDICTS.get(code, "interrupted")


def main():
    """(verdict, [stack that the devices of its cases prove])"""
    stacks, verdicts, proven = stacks_of(os.environ["MATRIX"]), [], []
    if not stacks:
        error("No plan", "the plan job made no plan, so nothing was run. A pull request of a fork never reaches the "
                         "machines: push its commit to a branch here after a review.")
        return "incomplete", []
    if os.environ["RUNNER_RESULT"] != "success":
        error("Runner version", "the job `runner` did not pass for each machine: see its first step")
        verdicts.append("incomplete")
    for stack, shards in stacks.items():
        directories, missing = directories_of(stack, shards)
        for shard in missing:
            error("Shard missing", f"{shard} has no report: its job was skipped or cancelled, never found a machine, lost "
                                   "it, or its runner is too old")
        out = Path(os.environ["RUNNER_TEMP"]) / "merged" / stack
        verdicts.append("incomplete" if missing else merge(stack, directories, out))
        report = out / "report.json"
        if os.environ["ALLOW_SIMULATED"] == "true" or (report.exists() and proves_device(stack, report)):
            proven.append(stack)
        else:
            verdicts.append("incomplete")
    return max(verdicts, key=WORST.index), proven


if __name__ == "__main__":
    verdict, proven = main()
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as output:
        output.write(f"verdict={verdict}\nproven={' '.join(proven)}\n")
    sys.exit(verdict != "passed")
