#!/usr/bin/env python3
"""A job is cancelled while 32 stubborn cases run: complete reports within 5 s, an artifact, and no process.

    github_cancel.py host|container

On the host the cancel reaches proctor, because run-proctor becomes it. In a job container nothing reaches it, since
`docker exec` forwards no signal: there finish-proctor ends it.
"""

import signal
import sys
import threading

from github import FINISH, SETUP, GithubSandbox, run_step
from harness import (check, check_sums, misbehaving, new_token, of_type, records, report, skip, survivors, wait_until,
                     write_config)

from github_runner.container import Container  # after `github`, which knows where it is

RUNNING = 32
BUDGET_MS = 5000
MODES = ("ignore-term", "child-ignores-term", "setsid", "sleep-forever")


def cancelled_job(sandbox, **more):
    """The job after its cancel, and the token of its cases."""
    token, config = new_token(), sandbox.workspace / "cancel.toml"
    write_config(config, {f"s{index:02}": {"kind": "command", "command": misbehaving(MODES[index % len(MODES)], token)}
                          for index in range(RUNNING)}, {"timeout": "300s", "grace": "10s"})
    job = sandbox.job(**more)
    thread = threading.Thread(target=job.run, args=([SETUP, run_step("--config", config, "--jobs", RUNNING), FINISH],))
    thread.start()
    out = sandbox.run_directory()
    wait_until(lambda: len(of_type(records(out), "attempt_started")) == RUNNING, 60, "32 started cases")
    wait_until(lambda: len(survivors(token)) >= RUNNING, 60, "32 living cases")
    job.cancel()
    thread.join()
    return job, token


def check_reports(job, directory):
    journal = records(directory)
    stop, end = of_type(journal, "stop_requested")[0], of_type(journal, "run_ended")[0]
    took = end["at_ms"] - stop["at_ms"]
    check(took <= BUDGET_MS, f"took {took} ms")
    document = report(directory)
    check_sums(document)
    check(document["summary"]["notrun"] == RUNNING, document["summary"])
    check(all(case["reason"] == "interrupted" for case in document["cases"]), "a reason is not `interrupted`")
    for name in ("junit.xml", "summary.md"):
        check((directory / name).exists(), "no", name)
    outputs = job.record("finish").outputs
    check((outputs["verdict"], outputs["retry"]) == ("interrupted", "false"), outputs, job.text)
    check("interrupted" in job.record("finish/report").summary.lower(), "no summary")
    return took


def check_end(sandbox, job, token):
    check(job.status == "cancelled" and job.record("run").outcome == "cancelled", job.text)
    check(job.record("finish").outcome == "success", job.text)
    check(job.orphans == [], "the runner had to end:", job.orphans)
    check(not survivors(token), "alive:", survivors(token))
    return check_reports(job, sandbox.artifacts.directory / "proctor-gpu-0")


def host(sandbox):
    job, token = cancelled_job(sandbox)
    check(job.record("run/run").signals == [signal.SIGINT], "INT was not enough:", job.record("run/run").signals)
    check(job.record("run/report").outcome == "skipped", "a step of a cancelled composite action:", job.text)
    return check_end(sandbox, job, token)


def container(sandbox):
    if reason := Container.why_not():
        skip(f"no container here: {reason}")
    job, token = cancelled_job(sandbox, container=Container(sandbox.path))
    return check_end(sandbox, job, token)


def main():
    scenarios = {scenario.__name__: scenario for scenario in (host, container)}
    for name in sys.argv[1:] or scenarios:
        with GithubSandbox() as sandbox:
            print(f"ok {name}: {scenarios[name](sandbox)} ms from the signal to the end", flush=True)


if __name__ == "__main__":
    main()
