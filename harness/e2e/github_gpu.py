#!/usr/bin/env python3
"""gpu.yml as it stands in the repository, with conformance.yml below it: what GPU_STACKS says runs, and a run is green only
if a case of every stack ran on a real device.

    github_gpu.py [SCENARIO...]
"""

import hashlib
import json
import os
import sys

from github_conformance import HOST, WorkflowSandbox, text
from github_conformance import errors as errors_of_merge
from github_gate import Api
from harness import BIN, ROOT, check

from github_runner.artifacts import Artifacts
from github_runner.workflow import Workflow

GPU = Workflow(ROOT / ".github" / "workflows" / "gpu.yml")
SCHEDULE = {"event_name": "schedule", "event": {"repository": {"default_branch": "main"}}, "repository": "o/r", "run_id": "9",
            "workflow": "gpu", "api_url": "http://127.0.0.1:9", "token": "secret", "ref_name": "main"}
DISPATCH = {**SCHEDULE, "event_name": "workflow_dispatch"}
BARE = [{**HOST, "stack": "bare"}]
POLICY = """version = 1
[[cell]]
suite    = "memory"
backend  = "xpu"
hardware = false
plan     = "plan.json"
"""


class OnHardware(Artifacts):
    """A stand-in for a machine with a card, because none is here: the journals of its shards name a real device."""

    def upload(self, job, given, record):
        outputs = super().upload(job, given, record)
        if "-shard-" in given["name"]:
            journal = self.directory / given["name"] / "journal.jsonl"
            journal.write_text(_with_sums(map(_of_hardware, journal.read_text().splitlines())))
        return outputs


def _of_hardware(line):
    record = json.loads(line)
    del record["sum"]
    if record["type"] == "run_planned":
        record["sim"] = None
        for device in record["devices"]:
            device["simulated"] = False
    return record


def _with_sums(records):
    """A journal: each record ends with the digest of all bytes before it (harness/core/journal_chain.h)."""
    text = ""
    for record in records:
        text += json.dumps(record)[:-1] + ',"sum":"'
        text += hashlib.sha256(text.encode()).hexdigest()[:32] + '"}\n'
    return text


class GpuSandbox(WorkflowSandbox):
    """Runs of gpu.yml. Its repository is this one."""

    def project(self):
        path = super().project()
        if not (path / ".github").exists():
            (path / ".github").symlink_to(ROOT / ".github")
        return path

    def start(self, stacks, github=SCHEDULE, store=Artifacts, fate=None, **variables):
        """stacks: GPU_STACKS; None: it is not set."""
        self.runs += 1
        self.shared = store(self.path / f"artifacts{self.runs}")
        variables = {"GPU_PROCTOR": str(BIN), **({"GPU_STACKS": json.dumps(stacks)} if stacks else {}), **variables}
        self.title = GPU.title(variables)
        return GPU.run(self.new_job, {}, github, variables, fate)


def errors(result):
    """The annotations of the last job of conformance.yml, of its summary for people."""
    return errors_of_merge(result["conformance"].called)


def ended(result, verdict):
    conformance = result["conformance"]
    check((conformance.outputs["verdict"], conformance.result) == (verdict, "success" if verdict == "green" else "failure"),
          conformance.outputs, text(result))


def green(sandbox):
    """One stack on the host, on a schedule, with a policy: pages, JUnit files, the gate and its history."""
    directory = sandbox.project() / "ci"
    directory.mkdir()
    (directory / "policy.toml").write_text(POLICY)
    check(sandbox.proctor("plan", *HOST["plan"], "-o", directory / "plan.json").returncode == 0, "plan")
    result = sandbox.start([{**BARE[0], "run": [*HOST["run"], "--subject=dirty=false"]}], {**SCHEDULE, "api_url": Api().address}, OnHardware,
                           GPU_POLICY="ci/policy.toml")
    ended(result, "green")
    check(sandbox.title == "gpu" and not errors(result), sandbox.title, errors(result))
    kept = sorted(path.name for path in sandbox.shared.directory.iterdir())
    check(kept == [f"gpu-{what}" for what in ("conformance", "gate", "history", "plans", "shard-bare-1of1")], kept, text(result))
    merged = sandbox.shared.directory / "gpu-conformance" / "bare"
    check(all((merged / name).exists() for name in ("index.html", "junit.xml", "report.json")), list(merged.iterdir()))


def without_device(sandbox):
    """The same run on a simulated device is red, with the stack."""
    result = sandbox.start(BARE)
    ended(result, "incomplete")
    check(any("bare: no case ran on a real device." in message and "2 ran on simulated devices" in message
              for message in errors(result)), errors(result))


def planted_fault(sandbox):
    """Copies that leave out bytes, on a device that counts as real: red, with the case."""
    os.environ["PROCTOR_SIM_FAULTS"] = "copy.short:min=65537"
    try:
        result = sandbox.start(BARE, DISPATCH, OnHardware)
    finally:
        del os.environ["PROCTOR_SIM_FAULTS"]
    ended(result, "red")
    check(any("Copy.HostToDeviceIsByteExact" in message for message in errors(result)), errors(result))
    check(not any("real device" in message for message in errors(result)), errors(result))


def unset(sandbox):
    """Without GPU_STACKS the run is skipped, not green, and its title says why."""
    for github in (SCHEDULE, DISPATCH):
        result = sandbox.start(None, github)
        check(result["conformance"].result == "skipped", result)
        check("nothing is run because the variable GPU_STACKS is not set" in sandbox.title, sandbox.title)


def too_old(sandbox):
    """The first step of the first job says so, for the machines of every stack. Without it the jobs with actions of this
    repository fail before their first step."""
    sandbox.version = lambda name: "2.335.1"
    result = sandbox.start(BARE)
    called = result["conformance"].called
    check([called[name].result for name in ("runner", "plan", "shard", "merge")] == ["failure", "failure", "skipped", "failure"],
          text(result))
    for instance in called["runner"].instances:
        [record] = instance.job.records
        check("simulated has version 2.335.1 of GitHub's runner. This workflow needs 2.336.0 or later: update the runner."
              in record.annotations.messages("error"), record)
    for version, result in (("2.1000.0", "success"), (None, "success")):
        sandbox.version = lambda name, version=version: version
        found = sandbox.start(BARE, fate=lambda name: "failure" if "/ plan" in name or "/ merge" in name else None)
        runner = found["conformance"].called["runner"]
        check(runner.result == result, version, text(found))
        check(("cannot be read, so it is unknown" in text(found)) == (version is None), text(found))


SCENARIOS = {scenario.__name__: scenario for scenario in (green, without_device, planted_fault, unset, too_old)}


def main():
    for name in sys.argv[1:] or SCENARIOS:
        with GpuSandbox() as sandbox:
            SCENARIOS[name](sandbox)
            print(f"ok {name}", flush=True)


if __name__ == "__main__":
    main()
