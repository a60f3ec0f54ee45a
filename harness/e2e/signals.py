#!/usr/bin/env python3
"""INT, TERM, HUP, a second INT, a signal to the group, a dead parent under CI: 32 stubborn cases run each time.

    signals.py [SCENARIO...]

Each time: the trees are gone, the reports are complete, the run ends by the same signal, and by its own clock no
more than the stop budget (5 s) lies between the first signal and the end.
"""

import os
import shlex
import signal
import sys

from harness import (Sandbox, check, check_sums, killed, misbehaving, new_token, of_type, records, report, survivors,
                     wait_until, write_config)

RUNNING = 32
BUDGET_MS = 5000
MODES = ("ignore-term", "child-ignores-term", "setsid", "sleep-forever")


class Run:
    """A run with all its cases started."""

    def __init__(self, sandbox, wrap=None, env=None):
        self.sandbox, self.token, self.out = sandbox, new_token(), sandbox.out()
        config = sandbox.path / "signals.toml"
        suites = {f"s{index:02}": {"kind": "command", "command": misbehaving(MODES[index % len(MODES)], self.token)}
                  for index in range(RUNNING)}
        write_config(config, suites, {"timeout": "60s", "grace": "10s"})
        self.process = sandbox.start("run", "--config", config, "--jobs", RUNNING, "--out", self.out, wrap=wrap,
                                     env=env, start_new_session=True)
        wait_until(lambda: len(of_type(records(self.out), "attempt_started")) == RUNNING, 60, "32 started cases")
        wait_until(lambda: len(survivors(self.token)) >= RUNNING, 60, "32 living cases")

    def check_end(self, number, reason="signal"):
        wait_until(lambda: of_type(records(self.out), "run_ended"), 60, "end of the run")
        wait_until(lambda: not survivors(self.token), 60, "end of the trees")
        for name in ("report.json", "junit.xml", "summary.md"):
            wait_until((self.out / name).exists, 60, name)
        journal = records(self.out)
        stop, end = of_type(journal, "stop_requested")[0], of_type(journal, "run_ended")[0]
        check((stop["signal"], stop["reason"]) == (number, reason), "stop record:", stop)
        took = end["at_ms"] - stop["at_ms"]
        check(took <= BUDGET_MS, f"took {took} ms")
        self.check_reports(number)
        return took

    def check_reports(self, number):
        document = report(self.out)
        check_sums(document)
        check(document["summary"]["notrun"] == RUNNING, "not all are notrun:", document["summary"])
        check(all(case["reason"] == "interrupted" for case in document["cases"]), "a reason is not `interrupted`")
        check(document["run"]["exit_code"] == 128 + number, "exit_code", document["run"]["exit_code"])

    def check_status(self, number):
        self.sandbox.finish(self.process)
        check(killed(self.process) == 128 + number, "exit", killed(self.process), "instead of", 128 + number)


def one_signal(number):
    def scenario(sandbox):
        run = Run(sandbox)
        run.process.send_signal(number)
        run.check_status(number)
        return run.check_end(number)
    return scenario


def second_int(sandbox):
    run = Run(sandbox)
    run.process.send_signal(signal.SIGINT)
    wait_until(lambda: of_type(records(run.out), "stop_requested"), 30, "stop record")
    run.process.send_signal(signal.SIGINT)
    run.check_status(signal.SIGINT)
    took = run.check_end(signal.SIGINT)
    check(took < BUDGET_MS, f"the second INT did not cut the budget short: {took} ms")
    return took


def exec_in_shell(sandbox):
    run = Run(sandbox, wrap=lambda command: ["bash", "-c", "exec " + shlex.join(command)])
    run.process.send_signal(signal.SIGTERM)
    run.check_status(signal.SIGTERM)
    return run.check_end(signal.SIGTERM)


def to_the_group(sandbox):
    run = Run(sandbox)
    os.killpg(run.process.pid, signal.SIGINT)
    run.check_status(signal.SIGINT)
    return run.check_end(signal.SIGINT)


def parent_dies(sandbox):
    run = Run(sandbox, wrap=lambda command: ["bash", "-c", shlex.join(command) + "; true"], env={"CI": "true"})
    run.process.send_signal(signal.SIGKILL)
    took = run.check_end(signal.SIGTERM, "parent_died")
    run.sandbox.finish(run.process)
    return took


SCENARIOS = {"int": one_signal(signal.SIGINT), "term": one_signal(signal.SIGTERM), "hup": one_signal(signal.SIGHUP),
             "second-int": second_int, "exec": exec_in_shell, "group": to_the_group, "parent": parent_dies}


def main():
    for name in sys.argv[1:] or SCENARIOS:
        with Sandbox() as sandbox:
            print(f"ok {name}: {SCENARIOS[name](sandbox)} ms from the signal to the end", flush=True)


if __name__ == "__main__":
    main()
