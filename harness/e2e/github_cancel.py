#!/usr/bin/env python3
"""A job is cancelled while 32 stubborn cases run: complete reports within 5 s, outputs, and no process.

    github_cancel.py [host|time_out|container|container_without_finish|deaf]

On the host the action passes the signals on. In a job container none reaches it, since `docker exec` forwards no signal:
there finish-proctor ends the run, or the end of the action, and so it is where the tool itself is deaf.
"""

import shlex
import signal
import sys
import threading

from github import FINISH, GithubSandbox, require_node, run_step
from harness import (BIN, check, check_sums, misbehaving, new_token, of_type, records, report, skip, survivors, wait_until,
                     write_config)

from github_runner.container import Container  # after `github`, which knows where it is

RUNNING = 32
BUDGET_MS = 5000
MODES = ("ignore-term", "child-ignores-term", "setsid", "sleep-forever")


def cancelled_job(sandbox, *steps, running=RUNNING, end=lambda job: job.cancel(), path=BIN, **more):
    """The job after its cancel, and the token of its cases. `steps` follow the action."""
    token, config = new_token(), sandbox.workspace / "cancel.toml"
    write_config(config, {f"s{index:02}": {"kind": "command", "command": misbehaving(MODES[index % len(MODES)], token)}
                          for index in range(running)}, {"timeout": "300s", "grace": "10s"})
    job = sandbox.job(**more)
    step = run_step("--config", config, "--jobs", running, path=str(path))
    thread = threading.Thread(target=job.run, args=([step, *steps],))
    thread.start()
    out = sandbox.run_directory()
    wait_until(lambda: len(of_type(records(out), "attempt_started")) == running, 60, f"{running} started cases")
    wait_until(lambda: len(survivors(token)) >= running, 60, f"{running} living cases")
    end(job)
    thread.join()
    check(job.status == "cancelled" and job.record("run").outcome == "cancelled", job.text)
    check(job.record("post run").outcome == "success" and job.record("post run").signals == [], job.text)
    check(not survivors(token), "alive:", survivors(token))
    check_reports(out, running)
    return job


def check_reports(directory, running):
    document = report(directory)
    check_sums(document)
    check(document["summary"]["notrun"] == running, document["summary"])
    check(all(case["reason"] == "interrupted" for case in document["cases"]), "a reason is not `interrupted`")
    for name in ("junit.xml", "summary.md"):
        check((directory / name).exists(), "no", name)


def check_shown_once(job, by):
    """The summary, and the outputs where GitHub takes them."""
    summaries = {record.name: record.summary for record in job.records if record.summary}
    check(list(summaries) == [by] and "interrupted" in summaries[by].lower(), "not one summary:", summaries, job.text)


def check_outputs(job, name, running):
    outputs = job.record(name).outputs
    check((outputs["verdict"], outputs["retry"], outputs["total"]) == ("interrupted", "false", str(running)), outputs, job.text)


def took(sandbox):
    journal = records(sandbox.run_directory())
    stop, end = of_type(journal, "stop_requested")[0], of_type(journal, "run_ended")[0]
    check(end["at_ms"] - stop["at_ms"] <= BUDGET_MS, f"took {end['at_ms'] - stop['at_ms']} ms")
    return f"{end['at_ms'] - stop['at_ms']} ms from the signal to the end"


def host(sandbox, running=RUNNING, **more):
    job = cancelled_job(sandbox, running=running, **more)
    check(job.record("run").signals == [signal.SIGINT], "INT was not enough:", job.record("run").signals)
    check(job.orphans == [], "the runner had to end:", job.orphans)
    check_outputs(job, "run", running)
    check_shown_once(job, "run")
    return took(sandbox)


def time_out(sandbox):
    return host(sandbox, running=4, end=lambda job: job.time_out())


def container(sandbox):
    """finish-proctor ends the run, so that a later step can upload complete reports."""
    if reason := Container.why_not():
        skip(f"no container here: {reason}")
    complete = {"id": "upload", "if": "always()", "run": "test -f '${{ steps.finish.outputs.junit }}'"}
    job = cancelled_job(sandbox, FINISH, complete, container=Container(sandbox.path))
    check([job.record(name).outcome for name in ("finish", "upload")] == ["success"] * 2, job.text)
    check(job.orphans == [], "the runner had to end:", job.orphans)
    check_outputs(job, "finish", RUNNING)
    check_shown_once(job, "finish")
    return took(sandbox)


def container_without_finish(sandbox):
    """Without finish-proctor the reports are complete only after the steps."""
    if reason := Container.why_not():
        skip(f"no container here: {reason}")
    job = cancelled_job(sandbox, running=4, container=Container(sandbox.path), scale=0.1)
    check_shown_once(job, "post run")
    return took(sandbox)


def deaf(sandbox):
    """A tool that ignores INT and TERM: GitHub kills the action, and its `post` ends the tool."""
    directory = sandbox.path / "bin"
    directory.mkdir()
    (directory / "proctor").write_text(f"""#!/bin/sh
[ "$1" = run ] || exec {shlex.quote(str(BIN / 'proctor'))} "$@"
trap '' INT TERM
{shlex.quote(str(BIN / 'proctor'))} "$@" &
while ! wait; do :; done
""")
    (directory / "proctor").chmod(0o755)
    job = cancelled_job(sandbox, running=4, path=directory, scale=0.1)
    check(job.record("run").signals == [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], job.record("run").signals)
    check_shown_once(job, "post run")
    return took(sandbox)


def main():
    require_node()
    scenarios = {scenario.__name__: scenario for scenario in (host, time_out, container, container_without_finish, deaf)}
    for name in sys.argv[1:] or scenarios:
        with GithubSandbox() as sandbox:
            print(f"ok {name}: {scenarios[name](sandbox)}", flush=True)


if __name__ == "__main__":
    main()
