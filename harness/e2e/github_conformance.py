#!/usr/bin/env python3
"""conformance.yml, and gpu.yml above it, on simulated runners: stacks x shards become one report each, and whatever is
missing is red, also a real device.

    github_conformance.py [SCENARIO...]
"""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading

from github import Api, GithubSandbox, documented, require_node
from harness import BIN, ROOT, check, check_sums, report, wait_until

from github_runner.artifacts import Artifacts, checkout_of
from github_runner.container import Container
from github_runner.workflow import Workflow

WORKFLOW = Workflow(ROOT / ".github" / "workflows" / "conformance.yml")
GPU = Workflow(ROOT / ".github" / "workflows" / "gpu.yml")
PLAN = ROOT / ".github" / "actions" / "conformance" / "plan.py"
MACHINES = ["self-hosted", "linux", "gpu"]
IMAGE = "registry.example/cpu-sim@sha256:" + "0" * 64
SIMULATED = {"plan": ["memory", "--sim=xpu:1x1", "--filter=memory.xpu/Copy.*ToDeviceIsByteExact"], "run": ["--sim=xpu:1x1"]}
HOST = {"stack": "on-the-host", "labels": MACHINES, **SIMULATED}
BOXED = {"stack": "cpu-sim", "labels": MACHINES, "image": IMAGE, "options": ["--volume=/a:/b:ro"],
         **SIMULATED}
PUSH = {"event_name": "push", "event": {}, "repository": "o/r", "run_id": "9", "workflow": "w"}
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
    """A journal: each record ends with the digest of all bytes before it (harness/journal/journal_chain.h)."""
    text = ""
    for record in records:
        text += json.dumps(record)[:-1] + ',"sum":"'
        text += hashlib.sha256(text.encode()).hexdigest()[:32] + '"}\n'
    return text


class WorkflowSandbox(GithubSandbox):
    """Each job has a runner of its own; artifacts are what they share."""

    def __init__(self):
        super().__init__()
        require_node()
        self.runs = 0
        self.version = lambda name: "2.336.0"  # of the runner of a job

    def new_job(self, name, github, contexts, environment, container):
        self.workspace = self.path / f"work{self.jobs}"
        self.workspace.mkdir()
        box = Container(self.path / f"job{self.jobs + 1}") if container and not Container.why_not() else None
        stand_ins = {"actions/checkout": checkout_of(self.project()), "actions/upload-artifact": self.shared.upload,
                     "actions/download-artifact": self.shared.download}
        return self.job(github=github, contexts=contexts, environment=environment, container=box, repository=ROOT,
                        stand_ins=stand_ins, version=self.version(name))

    def project(self):
        """The repository that calls the workflow."""
        path = self.path / "project"
        path.mkdir(exist_ok=True)
        return path

    def run(self, fate=None, github=None, shared=None, kept=None, **given):
        self.runs += 1
        self.shared = shared or Artifacts(self.path / f"artifacts{self.runs}")
        given = {"stacks": json.dumps([HOST]), "shards": 2, "path": str(BIN), "allow-simulated": True, **given}
        return WORKFLOW.run(self.new_job, given, github or PUSH, fate=fate, kept=kept)


def errors(result):
    """Annotations of the merge job."""
    return [message for record in result["merge"].instances[0].job.records for message in record.annotations.messages("error")]


def text(result):
    return "\n".join(instance.job.text for job in result.values() for instance in job.instances if instance.job)


def all_good(sandbox):
    """Two stacks, one in a container, in two shards each: one report each, with every case once. Each machine is asked for
    the version of its runner."""
    result = sandbox.run(stacks=json.dumps([HOST, BOXED]))
    check([instance.labels for instance in result["runner"].instances] == [MACHINES, MACHINES, ["ubuntu-24.04"]], result)
    check("version is unknown" not in text(result), text(result))
    check([job.result for job in result.values()] == ["success"] * 4, text(result))
    check(result["merge"].outputs["verdict"] == "passed", text(result))
    shards = result["shard"].instances
    check([instance.labels for instance in shards] == [MACHINES] * 4 and shards[0].timeout == 60, shards)
    check([bool(instance.container) for instance in shards] == [False, False, True, True], shards)
    box = shards[2].container
    check(box["image"] == IMAGE and "--init" in box["options"] and "--volume=/a:/b:ro" in box["options"], box)
    ids = {}
    for stack in ("on-the-host", "cpu-sim"):
        document = report(sandbox.shared.directory / "proctor-conformance" / stack)
        check_sums(document)
        ids[stack] = [case["id"] for case in document["cases"]]
    check(ids["on-the-host"] == ids["cpu-sim"] and len(ids["cpu-sim"]) > 1, ids)
    second_call(sandbox, result)


def second_call(sandbox, first):
    """Of the workflow in one run of its caller, with a name of its own: neither overwrites, merges or cancels the other's."""
    (sandbox.project() / "proctor.toml").write_text('[suite.other]\ncommand = ["true"]\n')
    second = sandbox.run(name="other", shards=1, shared=sandbox.shared,
                         stacks=json.dumps([{"stack": "on-the-host", "labels": MACHINES}]))
    check(second["merge"].outputs["verdict"] == "passed", text(second))
    kept = sorted(path.name for path in sandbox.shared.directory.glob("other-*"))
    check(kept == ["other-conformance", "other-plans", "other-shard-on-the-host-1of1"], kept)
    ids = [{case["id"].split("/")[0] for case in report(sandbox.shared.directory / f"{name}-conformance" / "on-the-host")["cases"]}
           for name in ("proctor", "other")]
    check(ids == [{"memory.xpu"}, {"other"}], ids)
    groups = [{instance.concurrency["group"] for instance in result["shard"].instances} for result in (first, second)]
    check(not groups[0] & groups[1], "one cancels the other:", groups)


def missing(sandbox):
    """Shards whose jobs were cancelled, skipped or lost their machine: red, each is named, and no other. So is a red
    job `runner`."""
    fates = {"2of4": "cancelled", "3of4": "skipped", "4of4": "failure", "runner": "failure"}
    result = sandbox.run(lambda name: next((fate for shard, fate in fates.items() if shard in name), None), shards=4)
    check(result["merge"].result == "failure" and result["merge"].outputs["verdict"] == "incomplete", text(result))
    said = [message.split(" has no report")[0] for message in errors(result) if "has no report" in message]
    check(said == [f"on-the-host shard {number}/4" for number in (2, 3, 4)], errors(result))
    check(any("the job `runner` did not pass" in message for message in errors(result)), errors(result))


def fork(sandbox):
    """A pull request of a fork reaches no self-hosted machine, and is not green for it."""
    event = {"pull_request": {"number": 7, "head": {"repo": {"full_name": "stranger/r"}}}}
    for github in ({**PUSH, "event_name": "pull_request", "event": event},
                   {**PUSH, "event_name": "pull_request_target", "event": event},
                   {**PUSH, "event_name": "workflow_run",
                    "event": {"workflow_run": {"head_repository": {"full_name": "stranger/r"}}}}):
        result = sandbox.run(github=github, hosts=json.dumps(MACHINES), path="/only/on/our/machines")
        check([result[name].result for name in ("runner", "plan", "shard", "merge")] == ["skipped"] * 3 + ["failure"],
              text(result))
        check(any("fork" in message for message in errors(result)), errors(result))
        check(result["merge"].instances[0].labels == ["ubuntu-24.04"], "it reaches", result["merge"].instances[0].labels)
    event["pull_request"]["head"]["repo"]["full_name"] = "o/r"
    result = sandbox.run(lambda name: "cancelled" if name.startswith("shard") else None,
                         {**PUSH, "event_name": "pull_request", "event": event}, shards=1, hosts=json.dumps(MACHINES))
    check(result["merge"].instances[0].labels == MACHINES, result["merge"].instances[0].labels)
    check("-7-" in result["shard"].instances[0].concurrency["group"], result["shard"].instances[0].concurrency)


def variables_of_plan(given):
    """Of the step that starts plan.py, with these inputs."""
    given = {"shards": 1, "deadline": "50m", "timeout-minutes": 60, "name": "proctor", **given}
    return {"PLAN": "", "RUN": "", "RENDER_GROUP": "", "POLICY": "",
            **{key.upper().replace("-", "_"): str(value) for key, value in given.items()}}


def planned(sandbox, given):
    """plan.py by itself, with these inputs."""
    return subprocess.run([sys.executable, "-B", PLAN], cwd=sandbox.project(), text=True, capture_output=True, check=False,
                          env={**sandbox.env, "PATH": f"{BIN}:/usr/bin:/bin", "GITHUB_OUTPUT": str(sandbox.path / "output"),
                               **variables_of_plan(given)})


LISTS = {"stack": "on-the-host", "labels": MACHINES}


def program_that_lists(sandbox, script):
    """A checkout with a suite whose list of tests is this script of sh."""
    program = sandbox.project() / "lists"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    (sandbox.project() / "proctor.toml").write_text(f'[suite.lists]\nkind = "gtest"\ncommand = ["{program}"]\n')


def environment(sandbox):
    """`proctor plan` and the programs that it starts get neither the files of the step nor its inputs and tokens."""
    seen, directory = sandbox.path / "seen", sandbox.path / "bin"
    program_that_lists(sandbox, f"env >>{seen}\necho listed= >>{seen}\nprintf 'Unit.\\n  One\\n'")
    directory.mkdir()
    (directory / "proctor").write_text(f'#!/bin/sh\n[ "$1" != plan ] || env >>{seen}\nexec {BIN}/proctor "$@"\n')
    (directory / "proctor").chmod(0o755)
    only_actions = ("ACTIONS_RUNTIME_TOKEN", "ACTIONS_RESULTS_URL", "ACTIONS_CACHE_URL", "ACTIONS_ID_TOKEN_REQUEST_URL")
    os.environ.update(dict.fromkeys(only_actions, "hush"), STATE_mine="hush")
    result = sandbox.run(lambda name: None if name == "plan" else "cancelled", stacks=json.dumps([LISTS]), shards=1,
                         path=str(directory))
    check(result["plan"].result == "success", text(result))
    names = [line.partition("=")[0] for line in seen.read_text().splitlines()]
    found = [name for name in names if re.match(
        "INPUT_|STATE_|ACTIONS_(RUNTIME|RESULTS|CACHE|ID_TOKEN)_|GITHUB_(OUTPUT|ENV|PATH|STATE|STEP_SUMMARY)$", name)]
    check({"GITHUB_SHA", "listed"} <= set(names) and not found, found, names)


def cancelled(sandbox):
    """A cancel ends the plan at its first signal, with the programs that list tests. The runner has nothing to end."""
    begun = sandbox.path / "begun"
    program_that_lists(sandbox, f"echo >{begun}\nexec sleep 600")
    sandbox.workspace = sandbox.project()
    os.environ["PATH"] = f"{BIN}:{os.environ['PATH']}"
    job = sandbox.job(repository=ROOT)
    step = {"id": "plan", "uses": "$/.github/actions/conformance", "with": {"program": "plan.py"},
            "env": variables_of_plan({"stacks": json.dumps([LISTS])})}
    thread = threading.Thread(target=job.run, args=([step],))
    thread.start()
    wait_until(begun.exists, 60, "list of tests")
    job.cancel()
    thread.join()
    record = job.record("plan")
    check((record.outcome, record.signals, job.orphans) == ("cancelled", [signal.SIGINT], []), record, job.orphans, job.text)


def bad_input(sandbox):
    """Each refused by the plan job, in words; the merge job is red for it."""
    def stacks(**change):
        return {"stacks": json.dumps([{**HOST, **change}])}

    table = [
        ({"stacks": ""}, "the input stacks is empty"), ({"stacks": "[{"}, "stacks is no JSON"),
        ({"stacks": "[]"}, "at least one entry"),
        (stacks(label="x"), "unknown key 'label'; did you mean 'labels'?"), (stacks(labels=[]), "no labels"),
        (stacks(labels="gpu"), "not a list of strings"), (stacks(stack="A b"), "small letters"),
        (stacks(options=["--x"]), "there is no image"),
        (stacks(image="cuda:latest"), "'cuda:latest' is not named by its digest"),
        (stacks(image=IMAGE, stack="cuda-31"), "no stack 'cuda-31'; did you mean 'cuda-13'?"),
        (stacks(image=IMAGE, stack="xpu-lts"), "RENDER_GROUP '' is not the number"),
        (stacks(plan=["--no-such-option"]), "proctor plan exits with 2"),
        ({"stacks": json.dumps([HOST, HOST])}, "is there twice"), ({"shards": 0}, "shards '0'"),
        ({"deadline": "56m"}, "does not end 5 minutes before timeout-minutes 60"),
        ({"name": "My runs"}, "name 'My runs' may have small letters"), ({"deadline": "late"}, "no duration"),
        ({"stacks": json.dumps([HOST]), "shards": 257}, "more than 256 jobs"),
    ]
    for given, message in table:
        done = planned(sandbox, {"stacks": json.dumps([HOST]), **given})
        check(done.returncode == 1 and message in done.stdout and "::error" in done.stdout, given, done)
    check(not (sandbox.path / "output").exists(), "a refused plan has an output")
    result = sandbox.run(stacks="")
    check([job.result for job in result.values()] == ["skipped", "failure", "skipped", "failure"], text(result))
    check("the input stacks is empty" in text(result), text(result))
    result = sandbox.run(**stacks(labels=[]))
    check([result[name].result for name in ("plan", "shard", "merge")] == ["failure", "skipped", "failure"], text(result))
    check("no labels" in text(result) and any("made no plan" in error for error in errors(result)), text(result))


def containers(sandbox):
    """The options of each stack are those of docker/STACK/job-container.yaml, with the Proctor and the group of the machines."""
    stacks = [{**BOXED, "stack": name} for name in ("cuda-13", "cuda-12", "xpu-rolling", "xpu-lts")]
    done = planned(sandbox, {"stacks": json.dumps(stacks), "RENDER_GROUP": "109", "PROCTOR_PATH": str(BIN)})
    rows = json.loads((sandbox.path / "output").read_text().removeprefix("matrix="))["include"]
    check(done.returncode == 0 and len(rows) == 4, done)
    for row in rows:
        options = row["container"]["options"]
        check(f"=seccomp={BIN.parent}/share/proctor/seccomp.json" in options and options.endswith(" --volume=/a:/b:ro"), options)
        check(("--group-add=109" in options) == row["stack"].startswith("xpu-"), options)


def as_documented(sandbox):
    """The second workflow of docs/how-to/github.md: its inputs are accepted and become these jobs."""
    given = documented("conformance.yml")["jobs"]["conformance"]["with"]
    check(WORKFLOW.read_inputs(given)["shards"] == 2, given)
    stacks = json.loads(given["stacks"].replace("DIGEST", "0" * 64))
    for stack in stacks:
        stack.update(SIMULATED)
    done = planned(sandbox, {**given, "stacks": json.dumps(stacks)})
    check(done.returncode == 0 and "4 jobs: cuda-13 1/2, cuda-13 2/2, bare-xpu 1/2, bare-xpu 2/2" in done.stdout, done)


def on_hardware(sandbox):
    """gpu.yml on a schedule, with a policy: pages, JUnit files, the gate and its history. Without GPU_STACKS no test runs:
    a scheduled run is skipped, a dispatched one fails at once, and the title of both is the reason."""
    directory = sandbox.project() / "ci"
    directory.mkdir()
    (directory / "policy.toml").write_text(POLICY)
    check(sandbox.proctor("plan", *HOST["plan"], "-o", directory / "plan.json").returncode == 0, "plan")
    variables = {"GPU_PROCTOR": str(BIN), "GPU_POLICY": "ci/policy.toml",
                 "GPU_STACKS": json.dumps([{**HOST, "run": [*HOST["run"], "--subject=dirty=false"]}])}
    github = {**PUSH, "event_name": "schedule", "event": {"repository": {"default_branch": "main"}}, "token": "secret",
              "ref_name": "main", "api_url": Api().address}
    sandbox.shared = OnHardware(sandbox.path / "hardware")
    result = GPU.run(sandbox.new_job, {}, github, variables)["conformance"]
    check((result.outputs["verdict"], result.result, errors(result.called)) == ("passed", "success", []), text(result.called))
    kept = sorted(path.name for path in sandbox.shared.directory.iterdir())
    check(kept == [f"gpu-{what}" for what in ("conformance", "gate", "history", "plans", "shard-on-the-host-1of1")], kept)
    merged = sandbox.shared.directory / "gpu-conformance" / "on-the-host"
    check(all((merged / name).exists() for name in ("index.html", "junit.xml", "report.json")), list(merged.iterdir()))
    why = "no test runs because the variable GPU_STACKS is not set"
    check(GPU.title(variables) == "gpu" and why in GPU.title({}), GPU.title({}))
    for event, expected in (("schedule", "skipped"), ("workflow_dispatch", "failure")):
        without = GPU.run(sandbox.new_job, {}, {**github, "event_name": event})
        check([job.result for job in without.values()] == [expected, "skipped"], event, text(without))
        check((why in text(without)) == (expected == "failure"), event, text(without))
    dispatched = GPU.run(sandbox.new_job, {}, {**github, "event_name": "workflow_dispatch"}, variables)
    check([job.result for job in dispatched.values()] == ["skipped", "success"], text(dispatched["conformance"].called))


def without_device(sandbox):
    """A run on a simulated device is red, with the stack, if the input does not allow it."""
    result = sandbox.run(shards=1, **{"allow-simulated": False})
    check((result["merge"].outputs["verdict"], result["merge"].result) == ("incomplete", "failure"), text(result))
    check(any("on-the-host: no case ran on a real device." in message and "2 ran on simulated devices" in message
              for message in errors(result)), errors(result))


def planted_fault(sandbox):
    """Copies that leave out bytes, on a device that counts as real: red, with the case."""
    os.environ["PROCTOR_SIM_FAULTS"] = "copy.short:min=65537"
    try:
        result = sandbox.run(shared=OnHardware(sandbox.path / "hardware"), shards=1, **{"allow-simulated": False})
    finally:
        del os.environ["PROCTOR_SIM_FAULTS"]
    check((result["merge"].outputs["verdict"], result["merge"].result) == ("failed", "failure"), text(result))
    check(any("Copy.HostToDeviceIsByteExact" in message for message in errors(result)), errors(result))
    check(not any("real device" in message for message in errors(result)), errors(result))


def too_old(sandbox):
    """The first step of the first job says so, for the machines of every stack. Without it the jobs with actions of this
    repository fail before their first step."""
    for version, results in (("2.335.1", ["failure", "failure", "skipped", "failure"]), ("2.1000.0", ["success"]), (None, ["success"])):
        sandbox.version = lambda name, version=version: version
        result = sandbox.run(lambda name, version=version: "failure" if version != "2.335.1" and name != "runner" else None)
        check([job.result for job in result.values()][:len(results)] == results, version, text(result))
        check(("cannot be read, so it is unknown" in text(result)) == (version is None), text(result))
        for instance in result["runner"].instances if version == "2.335.1" else ():
            check("simulated has version 2.335.1 of GitHub's runner. This workflow needs 2.336.0 or later: update the runner."
                  in instance.job.records[0].annotations.messages("error"), instance.job.text)


SCENARIOS = {scenario.__name__: scenario for scenario in (
    all_good, missing, fork, environment, cancelled, bad_input, containers, as_documented, on_hardware, without_device,
    planted_fault, too_old)}


def main():
    for name in sys.argv[1:] or SCENARIOS:
        with WorkflowSandbox() as sandbox:
            SCENARIOS[name](sandbox)
            print(f"ok {name}", flush=True)


if __name__ == "__main__":
    main()
