#!/usr/bin/env python3
"""What lies in proctor-out/ and how long; and what a case printed, also while it runs."""

import os
import shutil
import signal
import subprocess

from harness import check, of_type, records, report, run_scenarios, wait_until


def runs(sandbox):
    return sorted(path.name for path in (sandbox.path / "proctor-out").iterdir() if path.is_dir() and not path.is_symlink())


def the_oldest_go(sandbox):
    sandbox.run_keys(keep=3)
    for _ in range(4):
        check(sandbox.proctor("run", "--", "true").returncode == 0, "run")
    kept = runs(sandbox)
    check(len(kept) == 3, kept)
    check((sandbox.path / "proctor-out" / ".gitignore").read_text() == "*\n", "no .gitignore")
    check(os.readlink(sandbox.path / "proctor-out" / "latest") in kept, "the newest is gone")

    # Neither what is no run of ours, nor one that a finish has to come for, nor one that goes on.
    mine = sandbox.path / "proctor-out" / "20200101T000000Z-notes"
    mine.mkdir()
    sandbox.run_keys(keep=0)
    killed = sandbox.start("run", "--", "sleep", "600")
    wait_until(lambda: len(runs(sandbox)) == 5, 60, "run that will be killed")
    [in_use] = set(runs(sandbox)) - set(kept) - {mine.name}
    wait_until(lambda: (sandbox.path / "proctor-out" / in_use / "run.json").exists(), 60, "record")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    sandbox.run_keys(keep=1)
    for _ in range(2):
        check(sandbox.proctor("run", "--", "true").returncode == 0, "run")
    left = runs(sandbox)
    # The record is removed by the run that sweeps what the killed one left; until then the directory stays.
    check("20200101T000000Z-notes" in left and mine.exists(), "a directory of others was removed:", left)
    check(in_use in left, "a run that was killed has no reports yet, and is gone:", left)
    check(not set(kept) & set(left), "old runs stay:", left)


def only_beside_the_default(sandbox):
    sandbox.run_keys(keep=1)
    for number in range(3):
        check(sandbox.proctor("run", "--out", f"proctor-out/mine{number}", "--", "true").returncode == 0, "run")
    check(len(runs(sandbox)) == 3, "--out was taken for one of ours:", runs(sandbox))


def a_log_while_it_grows(sandbox):
    script = sandbox.path / "tells.sh"
    script.write_text("#!/bin/sh\nprintf 'one '\nprintf 'line\\n'\nprintf torn\nwhile ! [ -e go ]; do sleep 0.1; done\n"
                      "echo ' line'\necho last\n")
    script.chmod(0o755)
    running = sandbox.start("run", "--out", "out", "--", "./tells.sh")
    log = sandbox.path / "out" / "logs" / "tells_sh" / "tells.sh.1.log"
    wait_until(lambda: log.exists() and "line" in log.read_text(), 60, "first line")
    follow = subprocess.Popen(sandbox.command("log", "tells.sh", "out", "--follow"), cwd=sandbox.path, env=sandbox.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    check(follow.stdout.readline() == "one line\n", "not one line")
    (sandbox.path / "go").touch()
    check(follow.stdout.read() == "torn line\nlast\n", "the rest is missing")
    check(follow.wait(60) == 0 and running.wait(60) == 0, follow.returncode, running.returncode)
    [attempt] = report(sandbox.path / "out")["cases"][0]["attempts"]
    check(attempt["output"]["log"] == "logs/tells_sh/tells.sh.1.log", attempt["output"])

    for words, said in {("tells.s", "out"): "Did you mean `tells.sh`?", ("tells.sh", "out", "--attempt", "2"): "no such attempt",
                        ("tells.sh", "nowhere"): "does not exist", ("tells.sh", "."): "is not a Proctor run directory",
                        ("tells.sh", "out", "--rank", "1"): "has 0 ranks"}.items():
        done = sandbox.proctor("log", *words)
        check(done.returncode == 2 and said in done.stderr, words, done.returncode, done.stderr)


def a_runner_that_dies_ends_a_follow(sandbox):
    running = sandbox.start("run", "--out", "out", "--", "sh", "-c", "echo up; sleep 600")
    log = sandbox.path / "out" / "logs" / "sh" / "sh.1.log"
    wait_until(lambda: log.exists() and "up" in log.read_text(), 60, "line")
    follow = subprocess.Popen(sandbox.command("log", "sh/sh", "out", "--follow"), cwd=sandbox.path, env=sandbox.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    check(follow.stdout.readline() == "up\n", "no line")
    running.send_signal(signal.SIGKILL)
    running.wait()
    check(follow.wait(60) == 0, follow.returncode)
    shutil.rmtree(sandbox.path / "out")


def commands_without_suites_record_the_file(sandbox):
    """`exec`, `accept` and `run --plan` read [run] alone. The file is one of the inputs, so that a rerun names its change."""
    (sandbox.path / "proctor.toml").write_text('[run]\nflaky = "pass:50%"\n[suite.s]\nkind = "command"\ncommand = ["true"]\n')
    check(sandbox.proctor("plan", "-o", "plan.json").returncode == 0, "plan")
    for command, passes in ((["exec", "--", "true"], False), (["run", "--plan", "plan.json"], True),
                            (["accept", "--sim", "xpu:1x1", "--level", "1"], False)):
        out = sandbox.out()
        sandbox.proctor(command[0], "--out", out, *command[1:])
        [planned] = of_type(records(out), "run_planned")
        check(any(one["file"].endswith("proctor.toml") for one in planned["inputs"]), command, planned["inputs"])
        check(planned["flaky_passes"] == passes, command, planned["flaky_passes"])


run_scenarios([commands_without_suites_record_the_file, the_oldest_go, only_beside_the_default, a_log_while_it_grows, a_runner_that_dies_ends_a_follow])
