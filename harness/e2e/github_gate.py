#!/usr/bin/env python3
"""conformance.yml with a policy: the verdict is that of `proctor gate`, and no job that is missing makes it green.

    github_gate.py [SCENARIO...]

The shards run once; each scenario plans and merges anew, with what is left of their reports.
"""

import datetime
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import types

from github import Api, documented
from github_conformance import HOST, MACHINES, PUSH, WORKFLOW, WorkflowSandbox, text
from harness import BIN, ROOT, check

from github_runner.artifacts import Artifacts
from github_runner.workflow import JobResult

GATE = ROOT / ".github" / "actions" / "conformance"
EXAMPLE = ROOT / "docs" / "examples" / "conformance-gate.toml"
SHARD = "proctor-shard-on-the-host-"
CARDS = "--sim=xpu:2x1"
# On the word of actions/checkout: the simulated one makes links.
STACK = {**HOST, "plan": ["memory", CARDS, "--filter=memory.xpu/Copy.*IsByteExact", "--exclude=*FourDevices*"], "run": [CARDS, "--subject=dirty=false"]}
STACK_LIST = json.dumps([STACK])
SIMULATED = EXAMPLE.read_text().replace('device  = "*B580*"', 'hardware = false')
ASKED = '\n[gate]\nbaseline = "required"\n'


class GatedSandbox(WorkflowSandbox):
    """A repository with a policy, and the reports of its shards."""

    def __init__(self):
        super().__init__()
        self.begin()
        planned = self.proctor("plan", *STACK["plan"], "-o", "ci/memory-xpu.json", cwd=self.project())
        check(planned.returncode == 0, planned)

        self.first, self.reports = self.gated(), self.shared

    def begin(self):
        """Of a scenario."""
        self.api = Api()
        self.policy(SIMULATED)

    def policy(self, content):
        directory = self.project() / "ci"
        directory.mkdir(exist_ok=True)
        (directory / "gate.toml").write_text(content)

    def gated(self, policy="ci/gate.toml", shared=None, stacks=STACK_LIST, kept=None, allow_simulated=True, **github):
        event = {"repository": {"default_branch": "main"}}
        return self.run(None, {**PUSH, "event": event, "ref_name": "main", "token": "secret", **github,
                               "api_url": self.api.address},
                        shared, kept, policy=policy, stacks=stacks, **{"allow-simulated": allow_simulated})

    def again(self, became="success", without=(), earlier=None, **more):
        """The last job, with the shards' reports of the first run but for those `without`. `became`: of their jobs."""
        shared = Artifacts(self.path / f"artifacts-again{self.runs}", earlier)
        for path in self.reports.directory.glob("proctor-shard-*"):
            if path.name.removeprefix(SHARD) not in without:
                shutil.copytree(path, shared.directory / path.name)
        kept = {"runner": JobResult("success"), "plan": self.first["plan"], "shard": JobResult(became)}
        return self.gated(shared=shared, kept=kept, **more)


def merge_job(result):
    return result["merge"].instances[0].job


def summary(result):
    """Of the last job."""
    return "\n".join(record.summary for record in merge_job(result).records)


def is_green(result):
    check(result["merge"].result == "success" and result["merge"].outputs["verdict"] == "passed", text(result))
    check("# Gate: PASSED" in summary(result) and "FAILED" not in summary(result), summary(result))


def is_failed(result, *reasons, verdict="failed", code=1):
    """And says why, to those who look at the job's summary."""
    check(result["merge"].result == "failure" and result["merge"].outputs["verdict"] == verdict, text(result))
    for reason in reasons:
        check(reason in summary(result), reason, "is not in", summary(result), text(result))
    check(merge_job(result).record("gate").code == code, text(result))


def kept(sandbox, name):
    return sandbox.shared.directory / name


def good(sandbox):
    """Green, with the verdict, its page and the history; the runs are those of the commit that the job is of."""
    is_green(sandbox.again())
    said = json.loads((kept(sandbox, "proctor-gate") / "gate.json").read_text())
    check(said["verdict"] == "passed" and said["subject"] == {"commit": "0" * 40}, said)
    check(len(said["cells"][0]["runs"]) == 2, said["cells"])
    page = (kept(sandbox, "proctor-gate") / "index.html").read_text()
    check('<section id="gate"' in page and "copies, B580" in page and "It is not of" not in page, "no verdict of its runs")
    check((kept(sandbox, "proctor-gate") / "gate.statement.json").exists(), "no statement")
    shown = sandbox.proctor("history", "show", kept(sandbox, "proctor-history") / "history.sqlite", "--case", "memory*")
    check(shown.stdout.count("memory.xpu/Copy.") == 10, shown)
    is_failed(sandbox.again(sha="1" * 40), "subject", "1" * 40)


def missing(sandbox):
    """A shard whose job was good and left nothing; all of them."""
    is_failed(sandbox.again(without=["2of2"]), "shard 2/2 is missing", "on-the-host shard 2/2 has no report")
    is_failed(sandbox.again(without=["1of2", "2of2"]), *[f"on-the-host shard {shard}/2 has no report" for shard in (1, 2)])


def jobs(sandbox):
    """What became of a job counts even where all reports are there, as those of an earlier attempt are."""
    for became, words, without in (("skipped", "was skipped, which GitHub counts as good", []),
                                   ("failure", "failed", []), ("cancelled", "was cancelled", ["2of2"])):
        result = sandbox.again(became, without)
        is_failed(result, f"a job `shard` {words}", "shard 2/2 is missing" if without else "# Gate: PASSED")
    stranger = {"pull_request": {"number": 7, "head": {"repo": {"full_name": "stranger/r"}}}}
    is_failed(sandbox.gated(event=stranger), "code of a fork never reaches the machines", "a job `shard` was skipped")


def hardware(sandbox):
    """A simulated run is no card, whatever it calls itself."""
    sandbox.policy(SIMULATED.replace("hardware = false", ""))
    is_failed(sandbox.again(), "# Gate: FAILED", "rule `hardware`")
    said = json.loads((kept(sandbox, "proctor-gate") / "gate.json").read_text())
    broken = {rule["rule"] for rule in said["cells"][0]["rules"] if rule["verdict"] != "passed"}
    check((said["verdict"], broken) == ("failed", {"hardware"}), said)
    is_failed(sandbox.again(allow_simulated=False), "on-the-host: no case ran on a real device")
    verdict_of(alone(sandbox), "failed", "ci/gate.toml is not satisfied", keep="true")
    sandbox.policy(SIMULATED)  # nothing proves a device, also if the merge has no result
    verdict_of(alone(sandbox, PROVEN=""), "failed", "on-the-host: no case ran on a real device", keep="true")
    verdict_of(alone(sandbox, RUNNER_RESULT="failure"), "failed", "a job `runner` failed", keep="true")


def policies(sandbox):
    """What is no policy is found before anything runs, and where it goes wrong later."""
    sandbox.policy(SIMULATED.replace("suite ", "suit "))
    result = sandbox.gated()
    check([result[name].result for name in ("plan", "shard")] == ["failure", "skipped"], text(result))
    is_failed(result, "# Gate: refused", "`suit`", "Did you mean `suite`?", verdict="refused", code=2)
    check("`suit`" in result["plan"].instances[0].job.text, text(result))
    for policy, reason in (("ci/gat.toml", "ci/gat.toml"), ("ci/../../gate.toml", "no path in the repository")):
        result = sandbox.again(policy=policy)
        is_failed(result, reason, verdict="refused", code=2)
        check(reason in merge_job(result).text, text(result))


def history(sandbox):
    """The newest of the branch that is of this repository. It is no past of the runs that it has itself."""
    sandbox.policy(SIMULATED + ASKED)
    is_failed(sandbox.again(), "rule `baseline`", "--baseline or --history")
    earlier = {"7": sandbox.shared}
    sandbox.policy(SIMULATED)
    for run, created, more in ((5, "2026-01-01T00:00:00Z", {}), (7, "2026-01-02T00:00:00Z", {}),
                               (8, "2026-01-03T00:00:00Z", {"repository": 2}), (9, "2026-01-03T00:00:00Z", {"branch": "x"}),
                               (10, "2026-01-03T00:00:00Z", {"expired": True})):
        sandbox.api.artifact(run, created, **more)
    result = sandbox.again(earlier=earlier)
    is_green(result)
    check("No history" not in summary(result) and (kept(sandbox, "proctor-history") / "history.sqlite").exists(), text(result))
    path, token = sandbox.api.asked[-1]
    check("/repos/o/r/actions/artifacts?name=proctor-history" in path and token == "Bearer secret", path, token)

    is_green(sandbox.again(earlier=earlier, base_ref="main", ref_name="12/merge"))
    check(not kept(sandbox, "proctor-history").exists(), "the history of a pull request")

    sandbox.policy(SIMULATED + ASKED)
    is_failed(sandbox.again(earlier=earlier), "rule `baseline`", "the history holds no older run")


def history_lost(sandbox):
    """Nobody answers, what was found does not come, or is no history: said, and the verdict is there."""
    sandbox.api.status = 403
    result = sandbox.again()
    is_green(result)
    check("GitHub answers 403" in summary(result) and "actions: read" in summary(result), summary(result))
    check(not kept(sandbox, "proctor-history").exists(), "a history that hides the one which could not be had")
    sandbox.api.status = 200
    sandbox.api.artifact(7, "2026-01-02T00:00:00Z")
    result = sandbox.again()
    is_green(result)
    check("could not be downloaded" in summary(result), summary(result))
    sick = Artifacts(sandbox.path / "sick")
    (sick.directory / "proctor-history").mkdir()
    (sick.directory / "proctor-history" / "history.sqlite").write_text("no history")
    result = sandbox.again(earlier={"7": sick})
    is_green(result)
    check("cannot be read" in summary(result), summary(result))
    new = kept(sandbox, "proctor-history") / "history.sqlite"
    check(sandbox.proctor("history", "show", new).returncode == 0, "it does not begin anew")


KNOWN = """[[known_failure]]
case    = ["bad/sh"]
owner   = "me"
issue   = "https://example.org/1"
reason  = "*"
added   = {added}
expires = {expires}
"""


def known_failures(sandbox):
    """A list is as good as its history: red without one that could not be had, whatever the gate says."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    (sandbox.project() / "proctor.toml").write_text("".join(
        f'[suite.{name}]\ncommand = ["sh", "-c", "{command}"]\n' for name, command in (("bad", "false"), ("fine", "true"))))
    ci = sandbox.project() / "ci"
    (ci / "known.toml").write_text(KNOWN.format(added=today, expires=today + datetime.timedelta(days=30)))
    check(sandbox.proctor("plan", "-o", "ci/memory-xpu.json", cwd=sandbox.project()).returncode == 0, "plan")
    sandbox.policy('[gate]\nknown_failures = "known.toml"\nbaseline = "required"\n' + "".join(
        f'[[cell]]\nsuite = "{name}"\nbackend = "none"\nhardware = false\nplan = "memory-xpu.json"\n'
        for name in ("bad", "fine")))
    stacks = json.dumps([{"stack": "on-the-host", "labels": MACHINES,
                          "run": ["--known-failures=ci/known.toml", "--subject=dirty=false"]}])
    sandbox.api.artifact(7, "2026-01-02T00:00:00Z")
    before = Artifacts(sandbox.path / "before")
    added = sandbox.proctor("history", "add", "history.sqlite", *sandbox.reports.directory.glob("proctor-shard-*"),
                            cwd=sandbox.path)
    check(added.returncode == 0, added)
    (before.directory / "proctor-history").mkdir()
    (sandbox.path / "history.sqlite").rename(before.directory / "proctor-history" / "history.sqlite")
    first = sandbox.gated(stacks=stacks, shared=Artifacts(sandbox.path / "known", {"7": before}))
    is_green(first)
    [entry] = json.loads((kept(sandbox, "proctor-gate") / "gate.json").read_text())["known_failures"]["entries"]
    check((entry["days_known"], entry["hits"]) == (0, 1), entry)
    sandbox.policy((ci / "gate.toml").read_text().replace('baseline = "required"', ""))
    sandbox.api.status = 500
    shared = Artifacts(sandbox.path / "known")
    for name in ("gate", "history", "conformance"):
        shutil.rmtree(shared.directory / f"proctor-{name}")
    result = sandbox.gated(stacks=stacks, shared=shared, kept={name: first[name] for name in ("plan", "shard")})
    is_failed(result, "# Gate: PASSED", "it is unknown whether each known failure is still one", "GitHub answers 500")


def alone(sandbox, history_state="none", journal=None, **environment):
    """(exit code, outputs, log) of gate.py itself. None takes a variable away. journal: the text of that of a shard."""
    at = sandbox.path / "alone"
    shutil.rmtree(at, ignore_errors=True)
    for name in ("shards", "history"):
        (at / name).mkdir(parents=True)
    for index in (1, 2):
        shard = f"{SHARD}{index}of2"
        (at / "shards" / shard).symlink_to(sandbox.reports.directory / shard)
    if journal is not None:
        (at / "shards" / shard).unlink()
        (at / "shards" / shard).mkdir()
        (at / "shards" / shard / "journal.jsonl").write_text(journal)
    matrix = json.dumps({"include": [{"stack": "on-the-host", "shard": f"{index}of2"} for index in (1, 2)]})
    variables = {**os.environ, "PATH": f"{BIN}:/usr/bin:/bin", "NAME": "proctor", "MATRIX": matrix, "POLICY": "ci/gate.toml",
                 "PLAN_RESULT": "success", "RUNNER_RESULT": "success", "PROVEN": "on-the-host", "SHARD_RESULT": "success", "HISTORY_STATE": history_state, "HISTORY_SAID": "",
                 "RUNNER_TEMP": at, "GITHUB_SHA": "0" * 40,
                 "GITHUB_OUTPUT": at / "output", "GITHUB_STEP_SUMMARY": at / "summary", **environment}
    prepare = variables.pop("PREPARE", None)
    variables = {name: str(value) for name, value in variables.items() if value is not None}
    if prepare and prepare.is_file():
        (at / "history").rmdir()
        shutil.copy(prepare, at / "history")
    elif prepare:
        shutil.copytree(prepare, at / "history", dirs_exist_ok=True)
    done = subprocess.run([sys.executable, "-B", GATE / "gate.py"], cwd=sandbox.project(), env=variables, check=False,
                          capture_output=True, text=True, timeout=60)
    outputs = dict(line.split("=", 1) for line in (at / "output").read_text().splitlines())
    said = (at / "summary").read_text() if (at / "summary").exists() else ""
    return done.returncode, outputs, said + done.stdout + done.stderr


def verdict_of(ended, verdict, *reasons, keep="false"):
    code, outputs, said = ended
    check(outputs == {"verdict": verdict, "keep-history": keep}, outputs, said)
    check(code == {"passed": 0, "failed": 1, "refused": 2}[verdict], code, said)
    for reason in reasons:
        check(reason in said, reason, "is not in", said)


def unforeseen(sandbox):
    """Whatever is wrong around the gate, its verdict is written, with a reason, and no history is lost by it."""
    verdict_of(alone(sandbox), "passed", keep="true")
    for matrix in ("{", "[]", '"x"', '{"include": [7]}'):
        verdict_of(alone(sandbox, MATRIX=matrix), "refused", "# Gate: refused", "the matrix of the plan cannot be read")
    verdict_of(alone(sandbox, GITHUB_STEP_SUMMARY=None), "passed", "No summary", keep="true")
    verdict_of(alone(sandbox, GITHUB_SHA=None), "refused", "the gate could not do its work")
    for journal in ("", "no journal\n"):
        verdict_of(alone(sandbox, journal=journal), "refused", "# Gate: refused", f"{SHARD}2of2", keep="true")

    histories = sandbox.path / "histories"
    shutil.rmtree(histories, ignore_errors=True)
    (histories / "directory" / "history.sqlite").mkdir(parents=True)
    for name in ("newer", "trigger"):
        (histories / name).mkdir()
        file = histories / name / "history.sqlite"
        added = sandbox.proctor("history", "add", file, sandbox.reports.directory / f"{SHARD}1of2")
        check(added.returncode == 0, added)
    sqlite3.connect(histories / "newer" / "history.sqlite").execute("PRAGMA user_version = 99").close()
    with sqlite3.connect(histories / "trigger" / "history.sqlite") as database:
        database.execute("CREATE TRIGGER t AFTER INSERT ON run BEGIN INSERT INTO merged_part SELECT n, 'b' FROM (WITH RECURSIVE c(x)"
                         " AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS n FROM c); END")
    for name, reason in (("directory", "it is a directory"), ("newer", "a newer Proctor wrote it")):
        ended = alone(sandbox, "found", PREPARE=histories / name)
        verdict_of(ended, "passed", "No history: the newest one cannot be used", reason)
    verdict_of(alone(sandbox, "found", PREPARE=histories / "trigger"), "passed", "this run begins another one", keep="true")
    killed = histories / "killed"
    killed.mkdir()
    (killed / "proctor").write_text(f'#!/bin/sh\n[ "$1 $2" != "history prune" ] || kill -KILL $$\nexec {BIN}/proctor "$@"\n')
    (killed / "proctor").chmod(0o755)
    verdict_of(alone(sandbox, "found", PREPARE=histories / "newer", PATH=f"{killed}:/usr/bin:/bin"), "passed",
               "the newest one cannot be used: proctor history prune exits with -9")
    verdict_of(alone(sandbox, PREPARE=killed / "proctor"), "passed", "this run is not added to the history")
    verdict_of(alone(sandbox, "found", PREPARE=histories / "newer", PATH="/nowhere", PLAN_RESULT="skipped", MATRIX=""),
               "failed", "proctor does not start here", "code of a fork never reaches the machines")


def known_without_history(sandbox):
    """A known failure that is new, or that this run hit, needs no history; an older one does."""
    sys.path.insert(0, str(GATE))
    from gate import History
    entries = [{"location": f"known.toml:{days}", "days_known": days, "hits": hits} for days, hits in ((13, 0), (14, 0), (20, 3))]
    (sandbox.path / "gate.json").write_text(json.dumps({"known_failures": {"entries": entries}}))
    for state, wanted in (("none", ["known.toml:14"]), ("found", []), ("damaged", [entry["location"] for entry in entries])):
        found = History.unproven(types.SimpleNamespace(state=state), sandbox.path)
        check(found == wanted, state, found)


def long_summary(sandbox):
    """GitHub drops a summary of more than 1 MiB, and the step stays as it is: the beginning of this one is kept."""
    sys.path.insert(0, str(GATE))
    from gate import write_summary
    (sandbox.path / "gate.md").write_text("* a case that failed\n" * 100_000)
    os.environ["GITHUB_STEP_SUMMARY"] = str(sandbox.path / "summary")
    write_summary(["the reason"], "", types.SimpleNamespace(said=""), sandbox.path)
    text = (sandbox.path / "summary").read_text()
    check(500_000 < len(text) < 1 << 20 and "* the reason\n" in text, len(text), text[:200])
    check(text.endswith("failed\n\nToo long: all of it is in gate.md of the artifact.\n"), text[-200:])


def as_documented(_):
    """The workflow of docs/how-to/github.md with a policy, and its policy, are those that are tested here."""
    page = (ROOT / "docs/how-to/github.md").read_text()
    check(EXAMPLE.read_text() in page, EXAMPLE, "is not what docs/how-to/github.md shows")
    workflow = documented("release.yml")
    job = workflow["jobs"]["conformance"]
    check(job["with"]["policy"] == "ci/gate.toml" and WORKFLOW.read_inputs(job["with"]), job)
    check({**workflow["permissions"], **job.get("permissions", {})}["actions"] == "read", "no history without it")
    asks = [name for name, table in WORKFLOW.document["jobs"].items() if "permissions" not in table]
    check(asks == ["merge"] and "permissions" not in WORKFLOW.document, "merge has what its caller has, and the others less")


SCENARIOS = {scenario.__name__: scenario for scenario in (
    good, unforeseen, known_without_history, missing, jobs, hardware, policies, history, history_lost, long_summary, as_documented,
    known_failures)}


def main():
    with GatedSandbox() as sandbox:
        for name in sys.argv[1:] or SCENARIOS:
            sandbox.begin()
            SCENARIOS[name](sandbox)
            print(f"ok {name}", flush=True)


if __name__ == "__main__":
    main()
