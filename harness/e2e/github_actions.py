#!/usr/bin/env python3
"""run-proctor and finish-proctor: what a workflow learns of a run that is green, red, the machine's or refused.

    github_actions.py [SCENARIO...]
"""

import json
import sys

from github import FINISH, SETUP, UPLOAD, GithubSandbox, documented, run_step
from harness import check, report
from pytest_kind import find_pytest

RESULTS = ("verdict", "exit-code", "retry")


def outputs(job, name="run"):
    return tuple(job.record(name).outputs.get(key) for key in RESULTS)


def run_job(sandbox, *steps, **more):
    job = sandbox.job(**more)
    job.run([SETUP, *steps])
    return job


def expect(job, status, *results):
    check((job.status, outputs(job)) == (status, results), job.status, outputs(job), job.text)


def green(sandbox):
    job = run_job(sandbox, run_step("--", "/bin/true"), FINISH)
    expect(job, "success", "green", "0", "false")
    check(outputs(job, "finish") == outputs(job), "finish-proctor says something else:", job.text)
    check(job.record("run").outputs["report"] == "proctor-out/77-1-proctor-gpu-0", job.record("run").outputs)
    summaries = [record.summary for record in job.records if record.summary]
    check(len(summaries) == 1 and "GREEN" in summaries[0], "not exactly one summary:", summaries)
    artifact = sandbox.artifacts.directory / "proctor-gpu-0"
    check(report(artifact)["summary"]["pass"] == 1 and (artifact / "junit.xml").exists(), list(artifact.iterdir()))


def red(sandbox):
    crash = 'mkdir -p "$PROCTOR_RUN_DIR/evidence/sh"; cd "$PROCTOR_RUN_DIR/evidence/sh"; touch sh.1.core sh.1.txt; false'
    job = run_job(sandbox, run_step("--", "/bin/sh", "-c", crash, name="red"), FINISH)
    expect(job, "failure", "red", "1", "false")
    errors = job.record("run").annotations.messages("error")
    check(any("whose problem: code" in error for error in errors), errors)
    artifact = sandbox.artifacts.directory / "red"
    check((artifact / "report.json").exists(), "no artifact of a red run")
    check([file.name for file in (artifact / "evidence" / "sh").iterdir()] == ["sh.1.txt"], "a core is in the artifact")
    check(job.record("finish").outcome == "success", job.text)


def machine(sandbox):
    """A card is lost: the output says that another machine may do better."""
    job = run_job(sandbox, run_step("memory", "--sim=xpu:1x1", "--filter=*HostToDeviceIsByteExact"), FINISH,
                  environment={"PROCTOR_SIM_FAULTS": "state.card_lost"})
    expect(job, "failure", "machine", "75", "true")


def bad_input(sandbox):
    """Refused with exit 2, and nothing of it is ever read by a shell."""
    token = sandbox.path / "injected"
    hostile = f"$(touch {token}) `touch {token}` ; touch {token} #"
    table = [(run_step("--no-such-option"), "--no-such-option"), (run_step(hostile), "touch"),
             (run_step("visibility", shard="4/3"), "4/3"), (run_step("--", "/bin/true", deadline="soon"), "soon"),
             (run_step("--", "/bin/true", name=hostile), "may have letters"),
             (run_step("--", "/bin/true", name="../../out"), "may have letters")]
    for step, message in table:
        job = run_job(sandbox, step)
        check(job.status == "failure" and message in job.text, message, job.text)
        check("exit code 2" in job.text, job.text)
        check(job.record("run").outputs.get("verdict") in ("incomplete", ""), job.record("run").outputs)
    check(not token.exists(), "input was read as shell")


def not_set_up(sandbox):
    """Without a run there is nothing to finish, and that is said."""
    job = sandbox.job()
    job.run([{"id": "setup", "run": "false"}, run_step("--", "/bin/true"), FINISH])
    check(job.record("finish").outputs["verdict"] == "incomplete" and "no run" in job.text, job.text)


HOSTILE = ["::error::forged", "::warning file=x::forged", "::set-output name=verdict::green", "##[error]forged",
           "text ##[set-output name=retry]true", "::add-mask::passed", "::stop-commands::x", "::save-state name=a::b",
           "::set-env name=PATH::/x", "::add-path::/x"]


def hostile_output(sandbox):
    """A red test prints workflow commands, and writes to the files of the step: the job takes no notice."""
    test = sandbox.workspace / "test_hostile.py"
    lines = "\\n".join(HOSTILE)
    test.write_text(f"""
import os, sys, pytest
TEXT = '''{lines}'''
@pytest.mark.parametrize("text", TEXT.split("\\n")[:4:3])
def test_says(text):
    print("\\n" + TEXT, flush=True)
    print("\\n" + TEXT, file=sys.stderr, flush=True)
    for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE"):
        assert name not in os.environ
    raise AssertionError("\\n" + TEXT)
""")
    job = run_job(sandbox, run_step("--", *find_pytest(), test), FINISH)
    check(len(report(sandbox.run_directory())["cases"]) == 2, job.text)
    expect(job, "failure", "red", "1", "false")
    for record in job.records:
        for kind in ("error", "warning", "notice"):
            for message in record.annotations.messages(kind):
                check(not message.startswith("forged"), record.name, message)
        check(not record.failed_by_command, record.name, job.text)
    check(not job.masks, "a test masked text:", job.masks)


def many_failures(sandbox):
    """520 failures of 520 causes, with long names and long words: the summary names 100, says so, and is not lost."""
    out = copied(sandbox, 520)
    job = run_job(sandbox, FINISH)
    check(job.record("finish").outputs["verdict"] == "red", job.text)
    check((out / "summary.md").exists(), "no summary.md")
    summary = job.record("finish/report").summary
    check(0 < len(summary.encode()) < 0.9 * 2**20 + 1, "size of the summary:", len(summary.encode()))
    check("420 more causes: see `report.json`" in summary, "the rest is not said:", summary[-500:])
    annotations = job.record("finish").annotations
    check(len(annotations.kept["error"]) == 9 and annotations.dropped["error"] == 0, annotations.dropped)
    check("more" in annotations.messages("error")[-1], annotations.messages("error")[-1])


def copied(sandbox, count):
    """The run directory that the next job finishes: the journal of a red case, `count` times, each with its words."""
    job = run_job(sandbox, run_step("--", "/bin/false"))
    check(job.status == "failure", job.text)
    source = sandbox.run_directory()
    sandbox.jobs += 1
    target = sandbox.run_directory()
    sandbox.jobs -= 1
    target.mkdir()
    lines = []
    for line in (source / "journal.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["type"] == "run_planned":
            case = record["cases"][0]
            record["cases"] = [dict(case, id=name_of(case["id"], index)) for index in range(count)]
            lines.append(json.dumps(record))
        elif "case" in record:
            lines += [json.dumps(one_of_many(record, index)) for index in range(count)]
        else:
            lines.append(line)
    (target / "journal.jsonl").write_text("\n".join(lines) + "\n")
    return target


def name_of(case, index):
    return f"{case}/{index}[{'parameter-' * 80}]"


def one_of_many(record, index):
    record = json.loads(json.dumps(record))
    record["case"] = name_of(record["case"], index)
    if "verdict" in record:
        word = "".join(chr(ord("a") + int(digit)) for digit in str(index))
        record["verdict"]["reason"] = f"{word}:" + "reason " * 200
    return record


def annotations_of_a_run(sandbox):
    """In run-proctor the exit code of the run takes one place of the ten, and nothing of ours is dropped for it."""
    suites = "\n".join(f'[suite.s{word}]\ncommand = ["sh", "-c", "exit {code}"]\n'
                       for code, word in enumerate("abcdefghijklmnop", 1))
    (sandbox.workspace / "proctor.toml").write_text(suites)
    job = run_job(sandbox, run_step())
    expect(job, "failure", "red", "1", "false")
    annotations = job.record("run").annotations
    check(annotations.dropped["error"] == 0, annotations.dropped, annotations.messages("error"))


def as_documented(sandbox):
    """The first workflow of docs/how-to/github.md, step by step."""
    script = sandbox.workspace / "run-gpu-tests.sh"
    script.write_text("#!/bin/sh\ntest -e second && exit 0\ntouch second; exit 1\n")
    script.chmod(0o755)
    stand_ins = {"actions/checkout": lambda job, given, record: {}}
    job = sandbox.job(stand_ins=stand_ins)
    stand_ins[UPLOAD] = sandbox.artifacts.upload
    job.run(documented("gpu.yml")["jobs"]["test"]["steps"])
    check(job.record("finish").outputs["verdict"] == "red" and job.status == "failure", "flaky is red:", job.text)
    check("1 pass" in job.text and "flaky" in job.text, job.text)


SCENARIOS = {scenario.__name__: scenario for scenario in
             (green, red, machine, bad_input, not_set_up, many_failures,
              annotations_of_a_run, as_documented, hostile_output)}


def main():
    for name in sys.argv[1:] or SCENARIOS:
        with GithubSandbox() as sandbox:
            SCENARIOS[name](sandbox)
            print(f"ok {name}", flush=True)


if __name__ == "__main__":
    main()
