#!/usr/bin/env python3
"""The verdict of conformance.yml with a policy: `proctor gate` judges the reports of all shards.

The verdict is `passed` only if the gate passes, each job has passed, and each shard has a report. This is needed because
GitHub counts a skipped job as passed, and a journal does not contain the result of its job. Input: the environment.
Output: gate/ with gate.json, gate.md, the statement and the page; the history with these runs; `verdict` and
`keep-history` in GITHUB_OUTPUT; the job's summary.
"""

import json
import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

VERDICTS = {0: "passed", 1: "failed", 2: "refused"}
SUMMARY_LIMIT = 1_000_000  # GitHub drops the whole summary of a step above 1 MiB, without an error
KEPT = "90d"  # the default retention of an artifact
HISTORY_SECONDS = 600  # time limit: the file is not trusted, and must not delay the verdict
DAYS_WITHOUT_HIT = 14  # as in `proctor gate --history`
DAMAGED = ("it is damaged", "it is not an SQLite file", "it belongs to another program")  # no Proctor can use it
WHAT_BECAME = {"skipped": "was skipped, which GitHub counts as good", "cancelled": "was cancelled", "failure": "failed"}


def escaped(text):
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def error(title, text, kind="error"):
    print(f"::{kind} title={title}::{escaped(text)}", flush=True)


def proctor(*words, log=True, timeout=None):
    """(exit code, stderr). The log contains its output too."""
    try:
        done = subprocess.run(["proctor", *map(str, words)], stderr=subprocess.PIPE, text=True, errors="replace",
                              stdout=None if log else subprocess.DEVNULL, check=False, timeout=timeout)
    except OSError as failure:
        return 2, f"proctor does not start here: {failure}"
    except subprocess.TimeoutExpired:
        return 2, f"proctor {words[0]} takes longer than {timeout} s"
    print(done.stderr, end="", file=sys.stderr, flush=True)
    return done.returncode, done.stderr


def stacks_of(matrix):
    """{stack: [shard]}"""
    stacks = {}
    for row in json.loads(matrix or '{"include": []}')["include"]:
        stacks.setdefault(row["stack"], []).append(row["shard"])
    return stacks


def directories_of(stack, shards):
    """(the run directories of the shards, [the shard that has no report])"""
    found, missing = [], []
    for shard in shards:
        directory = Path(os.environ["RUNNER_TEMP"]) / "shards" / f"{os.environ['NAME']}-shard-{stack}-{shard}"
        if (directory / "journal.jsonl").exists():
            found.append(directory)
        else:
            missing.append(f"{stack} shard {shard.replace('of', '/')}")
    return found, missing


def check_policy(policy):
    """Why the policy cannot be used, or ""."""
    path = PurePosixPath(policy)
    if path.is_absolute() or ".." in path.parts:
        return f"policy '{policy}' is no path in the repository"
    code, said = proctor("gate", "--check", policy, log=False)
    return said or f"proctor gate --check {policy} exits with {code}" if code else ""


def bad_jobs():
    """What is wrong besides the reports: a line each."""
    if os.environ["PLAN_RESULT"] == "skipped":
        yield "nothing was run: code of a fork never reaches the machines"
    for job in ("runner", "plan", "shard"):
        result = os.environ[f"{job.upper()}_RESULT"]
        if result != "success":
            yield f"a job `{job}` {WHAT_BECAME.get(result, f'ended as {result!r}')}"


def reports():
    """(the run directories of the shards, what is missing of them: a line each)"""
    there, missing, proven = [], [], os.environ["PROVEN"].split()
    try:
        stacks = stacks_of(os.environ["MATRIX"])
    except (ValueError, LookupError, TypeError) as failure:
        raise ValueError(f"the matrix of the plan cannot be read: {failure!r}") from failure
    for stack, shards in stacks.items():
        if stack not in proven:
            missing.append(f"{stack}: no case ran on a real device, and the input allow-simulated is not set")
        found, absent = directories_of(stack, shards)
        there += found
        missing += [f"{shard} has no report" for shard in absent]
    return there, missing


class History:
    """The history of earlier runs. It is a cache: an error in it is reported, and never improves a verdict."""

    def __init__(self):
        self.file = Path(os.environ["RUNNER_TEMP"]) / "history" / "history.sqlite"
        self.state, self.said = os.environ["HISTORY_STATE"], os.environ["HISTORY_SAID"]
        if not self.state:
            self.state, self.said = "unknown", "no step looked for one"
        elif self.state == "found" and not self.file.exists():
            self.state, self.said = "unknown", "the newest one was found, and could not be downloaded"
        elif self.state == "found":
            code, why = self.tool("prune", "--keep", KEPT)
            if code and any(word in why for word in DAMAGED):
                self.state, self.said = "damaged", "the newest one cannot be read; this run begins another one"
                self.file.unlink()
            elif code:  # it may be of a newer Proctor, which can still use it
                why = (why.strip() or f"proctor history prune exits with {code}").splitlines()[0]
                self.state, self.said = "unknown", f"the newest one cannot be used: {why}"
        self.options = ["--history", self.file] if self.state == "found" else []

    def tool(self, command, *words):
        return proctor("history", command, self.file, *words, log=False, timeout=HISTORY_SECONDS)

    def unproven(self, out):
        """Entries of the list that may no longer occur: this run did not hit them, and there is no history to check."""
        entries = (json.loads((out / "gate.json").read_text())["known_failures"] or {"entries": []})["entries"]
        lost = self.state in ("unknown", "damaged")
        return [entry["location"] for entry in entries if lost or (
            self.state == "none" and not entry["hits"] and (entry["days_known"] or 0) >= DAYS_WITHOUT_HIT)]

    def remember(self, directories):
        """Whether to keep the history. A new one would hide an earlier one that could not be downloaded."""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as failure:
            error("No history", f"this run is not added to the history: {failure}", "warning")
            return False
        added = [not self.tool("add", directory)[0] for directory in directories]
        if any(added):
            self.tool("prune", "--keep", KEPT)
        return any(added) and self.state != "unknown" and not os.environ.get("GITHUB_BASE_REF")


def judge(policy, directories, history, out):
    """(the gate's exit code, its message about unreadable input)"""
    outputs = [f"--json={out / 'gate.json'}", f"--markdown={out / 'gate.md'}",
               f"--statement={out / 'gate.statement.json'}"]
    subject = f"commit={os.environ['GITHUB_SHA']}"
    code, said = proctor("gate", "--policy", policy, "--subject", subject, *history.options, *outputs, *directories)
    return (code, "") if code in (0, 1) else (2, said or f"proctor gate exits with {code}")


def make_page(directories, history, out):
    """The page of the judged runs. The merged run is a different run, without the verdict."""
    return proctor("report", "render", "--format", "page", *directories, "--gate", out / "gate.json", *history.options,
                   "--out", out / "index.html", log=False)[0] == 0


def write_summary(problems, refusal, history, out):
    parts = ["# Gate: FAILED, whatever else this page says\n\n" + "".join(f"* {problem}\n" for problem in problems)] if problems else []
    if refusal:
        parts.append("# Gate: refused\n\n" + "".join(f"    {line}\n" for line in refusal.splitlines()))
    if history and (out / "gate.md").exists():
        parts.append((out / "gate.md").read_text(encoding="utf-8"))
    if history and history.said:
        parts.append(f"No history: {history.said}.\n")
    text = "\n".join(parts).encode()
    if len(text) > SUMMARY_LIMIT:
        text = text[:text.rindex(b"\n", 0, SUMMARY_LIMIT) + 1] + b"\nToo long: all of it is in gate.md of the artifact.\n"
    try:
        with open(os.environ["GITHUB_STEP_SUMMARY"], "ab") as summary:
            summary.write(text)
    except (KeyError, OSError) as failure:
        error("No summary", repr(failure), "warning")


def judge_all(out):
    """(exit code, the history, the run directories)"""
    out.mkdir(parents=True, exist_ok=True)
    policy, history = os.environ["POLICY"], History()
    directories, missing = reports()
    problems = [*bad_jobs(), *missing]
    if not directories and not missing:
        problems.append("there is no plan, so nothing is judged")
    refusal, code = check_policy(policy) if os.environ["PLAN_RESULT"] != "skipped" else "", 1
    if not refusal and directories:
        code, refusal = judge(policy, directories, history, out)
    if not refusal and directories:
        if entries := history.unproven(out):
            problems.append("without a history it is unknown whether each known failure is still one: " + ", ".join(entries))
        if not make_page(directories, history, out):
            problems.append("the page of this verdict could not be made")
    if refusal:
        error("Gate refused", refusal)
    elif code and not problems:
        error("Gate failed", f"{policy} is not satisfied: the summary of this job says by which rule, cell and case")
    for problem in problems:
        error("Not released", problem)
    if history.said:
        error("No history", history.said, "warning")
    write_summary(problems, refusal, history, out)
    return 2 if refusal else max(code, 1) if problems else code, history, directories


def say(name, value):
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as output:
        output.write(f"{name}={value}\n")


def main():
    out, history = Path(os.environ["RUNNER_TEMP"]) / "gate", None
    try:
        code, history, directories = judge_all(out)
    except Exception as failure:  # pylint: disable=broad-exception-caught # any error: no verdict
        code, refusal = 2, f"the gate could not do its work: {failure}"
        error("Gate refused", refusal)
        write_summary([], refusal, None, out)
    say("verdict", VERDICTS[code])
    keep = history is not None and history.remember(directories)
    say("keep-history", "true" if keep else "false")
    return code


if __name__ == "__main__":
    sys.exit(main())
