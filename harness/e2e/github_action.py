#!/usr/bin/env python3
"""Proctor's action, and finish-proctor: what a workflow gets of a run that passes, fails, fails by the machine or is refused.

    github_action.py [SCENARIO...]
"""

import json
import sys
import threading

from github import FINISH, UPLOAD, GithubSandbox, documented, require_node, run_step
from harness import ROOT, check, report, wait_until

from github_runner import yaml12  # after `github`, which sets its path
from github_runner.workflow import Workflow

RESULTS = ("verdict", "exit-code", "retry")
COUNTS = ("total", "passed", "failed", "skipped", "flaky")


def outputs(job, name="run", names=RESULTS):
    return tuple(job.record(name).outputs.get(key) for key in names)


def run_job(sandbox, *steps, **more):
    job = sandbox.job(**more)
    job.run(steps)
    return job


def expect(job, status, *results):
    check((job.status, outputs(job)) == (status, results), job.status, outputs(job), job.text)


def summaries(job):
    return [record.summary for record in job.records if record.summary]


def passing(sandbox):
    """Everything is there when the step ends; neither `post` nor finish-proctor repeats anything."""
    job = run_job(sandbox, run_step("--", "/bin/true"), FINISH,
                  {"run": "test $(command -v proctor) = ${{ steps.run.outputs.directory }}/proctor"})
    expect(job, "success", "passed", "0", "false")
    check(outputs(job, names=COUNTS) == ("1", "1", "0", "0", "0"), outputs(job, names=COUNTS))
    given = job.record("run").outputs
    directory = "proctor-out/77-1-proctor-gpu-0"
    check(outputs(job, names=("report", "junit", "page")) == (
        directory, f"{directory}/junit.xml", f"{directory}/index.html"), given)
    check(all((sandbox.workspace / given[name]).is_file() for name in ("junit", "page")), "no files:", given)
    check({**given, "directory": ""} == {**job.record("finish").outputs, "directory": ""},
          "finish-proctor says something else:", job.record("finish").outputs)
    check(len(summaries(job)) == 1 and "# Proctor: PASSED" in job.record("run").summary, "not exactly one summary:", summaries(job))
    check(job.record("post run").outcome == "success" and job.text.count("reports in ") == 1, "repeated:", job.text)
    check(report(sandbox.run_directory())["summary"]["pass"] == 1, job.text)


def failing(sandbox):
    job = run_job(sandbox, run_step("--", "/bin/false", name="failing"), FINISH)
    expect(job, "failure", "failed", "1", "false")
    check(outputs(job, names=COUNTS) == ("1", "0", "1", "0", "0"), outputs(job, names=COUNTS))
    errors = job.record("run").annotations.messages("error")
    check(any("owner:         code" in error for error in errors), errors)
    check(report(sandbox.run_directory("failing"))["summary"]["fail"] == 1, "no report of a failed run")
    check(job.record("post run").annotations.messages("error") == [], "annotated twice")


def machine(sandbox):
    """A card is lost: the output says that another machine may do better."""
    job = run_job(sandbox, run_step("memory", "--sim=xpu:1x1", "--filter=*HostToDeviceIsByteExact"),
                  environment={"PROCTOR_SIM_FAULTS": "state.card_lost"})
    expect(job, "failure", "machine_failed", "75", "true")


def bad_input(sandbox):
    """Refused with exit code 2 and one error, and nothing of it is ever read by a shell."""
    token = sandbox.path / "injected"
    hostile = f"$(touch {token}) `touch {token}` ; touch {token} #"
    table = [(run_step("--no-such-option"), "--no-such-option"), (run_step(hostile), "touch"),
             (run_step("-"), "exit code 2"), (run_step("--out=elsewhere", "--", "/bin/true"), "--out"),
             (run_step("visibility", shard="4/3"), "4/3"), (run_step("--", "/bin/true", deadline="soon"), "soon"),
             (run_step("--", "/bin/true", name=hostile), "must consist of letters"),
             (run_step("--", "/bin/true", name="../../out"), "must consist of letters"),
             (run_step("--", "/bin/true", name="a\n::error::forged"), "must consist of letters"),
             (run_step("--", "/bin/true", run="yes"), "run must be true or false (got 'yes')"),
             (run_step("--", "/bin/true", **{"working-directory": "absent"}), "'absent' is not a directory")]
    for step, message in table:
        job = run_job(sandbox, step, FINISH)
        check(job.status == "failure" and message in job.text, message, job.text)
        check([job.record(name).outcome for name in ("finish", "post run")] == ["success"] * 2, job.text)
        errors = job.record("run").annotations.messages("error")
        check(len(errors) == 1 and not errors[0].startswith("forged"), "not one error:", errors, job.text)
        check(outputs(job, names=("verdict", "retry", "report")) in (("incomplete", "false", None), (None,) * 3),
              job.record("run").outputs)
        check("no run was started" in job.text, job.text)
    check(not token.exists(), "input was read as shell")


def words(sandbox):
    """Each line is one argument, whatever it contains."""
    given = ["a b", "--", "$(x)", "-x", "", "'", '"', "é", "\\", "%0A", "--out=x"]
    show = "import sys; assert sys.argv[1:] == " + repr([word for word in given if word]) + ", sys.argv"
    job = run_job(sandbox, run_step("--", sys.executable, "-c", show, *given))
    expect(job, "success", "passed", "0", "false")


def environment(sandbox):
    """Tests get neither the files of the step nor its inputs, state and tokens."""
    show = ("import os, re; found = [name for name in os.environ if re.match("
            "'INPUT_|STATE_|ACTIONS_RUNTIME|GITHUB_(OUTPUT|ENV|PATH|STATE|STEP_SUMMARY)$', name)]; assert not found, found")
    job = run_job(sandbox, run_step("--", sys.executable, "-c", show, token="hush"),
                  environment={"ACTIONS_RUNTIME_TOKEN": "hush"})
    expect(job, "success", "passed", "0", "false")


def lost_tool(sandbox):
    """A proctor that dies before it writes a journal."""
    directory = sandbox.path / "bin"
    directory.mkdir()
    (directory / "proctor").write_text("#!/bin/sh\n[ $1 = --version ] || kill -KILL $$\n")
    (directory / "proctor").chmod(0o755)
    job = run_job(sandbox, run_step("--", "/bin/true", path=str(directory)))
    expect(job, "failure", "incomplete", "137", "false")
    check("exit code 137" in job.record("run").annotations.messages("error")[0], job.text)
    check(job.record("post run").outcome == "success", job.text)


def twice(sandbox):
    """Two steps in one job, with the same name: two runs, each with its outputs, summary and end."""
    second = {**run_step("--", "/bin/false"), "id": "second", "if": "always()"}
    job = run_job(sandbox, run_step("--", "/bin/true"), second, FINISH)
    expect(job, "failure", "passed", "0", "false")
    check(outputs(job, "second") == ("failed", "1", "false") == outputs(job, "finish"), job.text)
    check(job.record("second").outputs["report"].endswith("-proctor-gpu-0+2"), job.record("second").outputs)
    check(len(summaries(job)) == 2, summaries(job))
    check([record.name for record in job.records[-2:]] == ["post second", "post run"], job.text)


def before_main(sandbox):
    """The job is cancelled in the step, while Proctor is installed."""
    directory = sandbox.path / "slow"
    directory.mkdir()
    (directory / "proctor").write_text(f"#!/bin/sh\necho >{directory}/begun\nexec sleep 60\n")
    (directory / "proctor").chmod(0o755)
    job = sandbox.job(scale=0.1)
    thread = threading.Thread(target=job.run, args=([run_step("--", "/bin/true", path=str(directory))],))
    thread.start()
    wait_until((directory / "begun").exists, 60, "installation")
    job.cancel()
    thread.join()
    check([(record.name, record.outcome) for record in job.records] == [("run", "cancelled"), ("post run", "success")],
          job.text)
    check("no run was started" in job.text and len(job.orphans) == 1, job.orphans, job.text)


def read_only(sandbox):
    """A workspace into which nobody can write: one error, no run, and the end of the job."""
    sub = sandbox.workspace / "sub"
    sub.mkdir()
    (sub / "proctor-out").write_text("not a directory: also for root")
    job = run_job(sandbox, run_step("--", "/bin/true", **{"working-directory": "sub"}))
    check(job.status == "failure" and outputs(job, names=("verdict", "report")) == ("incomplete", None), job.text)
    check("proctor-out" in job.text and job.record("post run").outcome == "success", job.text)


def elsewhere(sandbox):
    """In another working directory the paths of the outputs are still those of the workspace."""
    (sandbox.workspace / "sub").mkdir()
    job = run_job(sandbox, run_step("--", "test", "-d", "../sub", **{"working-directory": "sub"}))
    expect(job, "success", "passed", "0", "false")
    check((sandbox.workspace / job.record("run").outputs["junit"]).is_file(), job.record("run").outputs)


HOSTILE = ["::error::forged", "##[error]forged", "text ##[set-output name=retry]true", "::add-mask::passed",
           "::stop-commands::x", "::save-state name=a::b", "::set-env name=PATH::/x", "::warning file=a.c,line=1::forged",
           "::add-path::/x", "::set-output name=a::b"]


def hostile_output(sandbox):
    """A failing test prints workflow commands, many of them: the job takes no notice."""
    lines = "\n".join(["", *HOSTILE, ""])
    show = f"import sys\nfor file in sys.stdout, sys.stderr: print({lines!r} * 9999, file=file)\nsys.exit(1)"
    (sandbox.workspace / "hostile.py").write_text(show)
    job = run_job(sandbox, run_step("--show-output=all", "--", sys.executable, "hostile.py"), FINISH)
    expect(job, "failure", "failed", "1", "false")
    for record in job.records:
        messages = [message for kind in ("error", "warning", "notice") for message in record.annotations.messages(kind)]
        check(not [message for message in messages if message.startswith("forged")], record.name, messages)
        check(not record.failed_by_command and "a" not in {**record.state, **record.outputs}, record.name, job.text)
    check(not job.masks, "a test masked text:", job.masks)


def annotations_of_a_run(sandbox):
    """Of 15 causes, none is dropped in silence."""
    suites = "\n".join(f'[suite.s{word}]\ncommand = ["sh", "-c", "exit {code}"]\n'
                       for code, word in enumerate("abcdefghijklmnop", 1))
    (sandbox.workspace / "proctor.toml").write_text(suites)
    job = run_job(sandbox, run_step())
    expect(job, "failure", "failed", "1", "false")
    annotations = job.record("run").annotations
    check(annotations.dropped["error"] == 0, annotations.dropped, annotations.messages("error"))


def as_documented(sandbox):
    """The first workflow of docs/how-to/github.md, step by step."""
    script = sandbox.workspace / "run-gpu-tests.sh"
    script.write_text('#!/bin/sh\ntest -e second && exit 0\ntouch second\nmkdir -p "$PROCTOR_RUN_DIR/evidence"\n'
                      'touch "$PROCTOR_RUN_DIR/evidence/sh.1.core"\nexit 1\n')
    script.chmod(0o755)
    stand_ins = {"actions/checkout": lambda job, given, record: {}}
    job = sandbox.job(stand_ins=stand_ins)
    stand_ins[UPLOAD] = sandbox.artifacts.upload
    job.run(documented("gpu.yml")["jobs"]["test"]["steps"])
    check(outputs(job, "proctor") == ("failed", "1", "false") and job.status == "failure", "flaky fails:", job.text)
    check("1 flaky" in job.text and outputs(job, "proctor", COUNTS) == ("1", "1", "0", "0", "1"), job.text)
    artifact = sandbox.artifacts.directory / "proctor-gpu-0"
    check(report(artifact)["summary"]["pass"] == 1, "no artifact of a failed run")
    check(not list(artifact.rglob("*.core")), "a core is in the artifact")


def readme(sandbox):
    """The step of the README: the deadline is the only limit of the script."""
    script = sandbox.workspace / "run-gpu-tests.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    job = run_job(sandbox, *documented("run-gpu-tests.sh", "README.md"))
    check(job.status == "success", job.text)
    journal = (sandbox.run_directory() / "journal.jsonl").read_text()
    plan = next(json.loads(line) for line in journal.splitlines() if "run_planned" in line)
    check([case["timeout_ms"] for case in plan["cases"]] == [0] and "--deadline" in " ".join(plan["command_line"]), plan)


def retried(sandbox):
    """With the jobs that github.md adds, another machine is tried only if the first one failed; the verdict is of both."""
    added, workflow = documented("gpu.yml, under `jobs`"), documented("gpu.yml")
    steps = [{**run_step("memory", "--sim=xpu:1x1", "--filter=*HostToDeviceIsByteExact"), "id": "proctor"}]
    test = {**workflow["jobs"]["test"], **added["test"], "steps": steps}
    file = sandbox.path / "gpu.yml"
    file.write_text(json.dumps({**workflow, "jobs": {**added, "test": test, "again": {**added["again"], "steps": steps}}}))
    lost, wrong = "state.card_lost", "copy.short:min=65537"
    for faults, expected in (({}, ("success", "skipped", "success")), ({"test": wrong}, ("failure", "skipped", "failure")),
                             ({"test": lost}, ("failure", "success", "success")),
                             ({"test": lost, "again": lost}, ("failure", "failure", "failure"))):
        def new_job(name, github, contexts, environment, _, faults=faults):
            return sandbox.job(github=github, contexts=contexts,
                               environment={**environment, "PROCTOR_SIM_FAULTS": faults.get(name, "")})
        results = Workflow(file).run(new_job, github={"job": "gpu"})
        check(tuple(results[name].result for name in ("test", "again", "verdict")) == expected, faults, expected, results)


def interfaces(_):
    """conformance.yml uses inputs that the action has, and each input has a reader."""
    action, copy, finish = (yaml12.load(ROOT / path / "action.yml") for path in (
        ".", ".github/actions/run-proctor", ".github/actions/finish-proctor"))
    check(set(copy["inputs"]) <= set(action["inputs"]), "run-proctor has an input of its own:", copy["inputs"])
    check(set(finish["outputs"]) == set(action["outputs"]) - {"directory"}, "outputs of finish-proctor:", finish["outputs"])
    code = "".join(path.read_text() for path in sorted((ROOT / ".github" / "action").glob("*.js")))
    check([name for name in action["inputs"] if f"'{name}'" not in code] == [], "an input that nothing reads")


SCENARIOS = {scenario.__name__: scenario for scenario in
             (passing, failing, machine, bad_input, words, environment, lost_tool, read_only, twice, before_main, elsewhere,
              annotations_of_a_run, as_documented, readme, retried, hostile_output, interfaces)}


def main():
    require_node()
    for name in sys.argv[1:] or SCENARIOS:
        with GithubSandbox() as sandbox:
            SCENARIOS[name](sandbox)
            print(f"ok {name}", flush=True)


if __name__ == "__main__":
    main()
