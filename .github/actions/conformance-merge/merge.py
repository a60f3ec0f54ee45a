#!/usr/bin/env python3
"""The last job of conformance.yml: one report per stack from the artifacts of its shards, and one verdict.

It reads artifacts, not the results of jobs, because GitHub counts a skipped job as passed. Input through the environment:
MATRIX from plan.py, NAME (the prefix of the artifacts), SHARDS_AT (the directory of the artifacts), ALLOW_SIMULATED, and
RUNNER_RESULT (of the job that reads the versions of the runners). Output: merged/STACK/, and in GITHUB_OUTPUT `verdict`
and `proven`.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WORST = ("green", "incomplete", "interrupted", "machine", "red")


def escaped(text):
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def error(title, text):
    print(f"::error title={title}::{escaped(text)}")


def shards_of(matrix):
    """{stack: [shard]}"""
    stacks = {}
    for row in matrix["include"]:
        stacks.setdefault(row["stack"], []).append(row["shard"])
    return stacks


def ran_on_device(case):
    return bool(case["devices"]) and not case["simulated"] and case["outcome"] not in ("skip", "notrun")


def proves_device(stack, report):
    """Whether a case of the stack ran on a real device. Only a run with such a case says something about the stack."""
    cases = json.loads(report.read_text(encoding="utf-8"))["cases"]
    if any(map(ran_on_device, cases)):
        return True
    ran = [case for case in cases if case["outcome"] not in ("skip", "notrun")]
    simulated = sum(case["simulated"] for case in ran)
    error("No real device", f"{stack}: no case ran on a real device. {simulated} ran on simulated devices, "
                            f"{len(ran) - simulated} ran without a device, {len(cases) - len(ran)} did not run. "
                            "The input allow-simulated accepts this.")
    return False


def merge(stack, directories, out):
    """The verdict of one stack with all its shards."""
    code = subprocess.run(["proctor", "report", "merge", *directories, "--out", out], check=False).returncode
    if code == 2 or not (out / "report.json").exists():
        error("Not merged", f"{stack}: proctor report merge exits with {code}")
        return "incomplete"
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as outputs:
        subprocess.run(["proctor", "report", "github", out], check=True,
                       env={**os.environ, "GITHUB_OUTPUT": outputs.name})
        found = dict(line.split("=", 1) for line in outputs.read().splitlines())
    print(f"{stack}: {found['verdict']}")
    return found["verdict"]


def main():
    """(verdict, [stack that the devices of its cases prove])"""
    if not os.environ["MATRIX"]:
        error("No plan", "the plan job made no plan, so nothing was run. A pull request of a fork never reaches the "
                         "machines: push its commit to a branch here after a review.")
        return "incomplete", []
    at, verdicts, proven = Path(os.environ["SHARDS_AT"]), [], []
    if os.environ["RUNNER_RESULT"] != "success":
        error("Runner version", "the job `runner` did not pass for each machine: see its first step")
        verdicts.append("incomplete")
    for stack, shards in shards_of(json.loads(os.environ["MATRIX"])).items():
        directories = {shard: at / f"{os.environ['NAME']}-shard-{stack}-{shard}" for shard in shards}
        missing = [shard for shard, path in directories.items() if not (path / "journal.jsonl").exists()]
        for shard in missing:
            error("Shard missing", f"{stack} shard {shard.replace('of', '/')} has no report: its job was skipped or "
                                   "cancelled, never found a machine, lost it, or its runner is too old")
        out = Path(os.environ["MERGED_AT"]) / stack
        verdicts.append("incomplete" if missing else merge(stack, list(directories.values()), out))
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
    sys.exit(verdict != "green")
