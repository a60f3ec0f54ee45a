#!/usr/bin/env python3
"""Whose problem a limit is that runs out: the code's, unless the case waited for a processor and got next to none.

    starved.py [SCENARIO...]
"""

import sys

from busy_loops import loops
from harness import check, check_sums, report, run_scenarios

STARVING = 16  # loops for each processor: a case gets a seventeenth of one, which is less than half
SPIN = "import time\nwhile time.process_time() < {}: pass"
THREADS = """
import hashlib, threading
spin = lambda: hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # without the interpreter's lock
threads = [threading.Thread(target=spin) for _ in range(64)]
for thread in threads: thread.start()
"""
FSYNC = """
import os
file = os.open("written", os.O_WRONLY | os.O_CREAT, 0o600)
while True:
    os.pwrite(file, b"x" * 4096, 0)
    os.fsync(file)
"""


def timed_out(sandbox, reason, code, limit, *command):
    """Runs the command to its limit."""
    out = sandbox.out()
    done = sandbox.proctor("run", "--timeout", limit, "--grace", "500ms", "--out", out, "--", *command)
    document = report(out)
    check_sums(document)
    [case] = document["cases"]
    seen = (case["outcome"], case["reason"] or "")
    check(seen == ("timeout", reason), command[0], "became", seen, "instead of timeout", reason, done.stdout[-2000:],
          done.stderr[-2000:])
    check(done.returncode == code == document["run"]["exit_code"], "exit", done.returncode, "instead of", code)
    problem = "code" if code == 1 else "machine"
    check(case["owner"] == problem, "a problem of", case["owner"], "instead of", problem)


def python(text):
    return sys.executable, "-c", text


def a_sleeper(sandbox):
    """It waits for nobody, however busy the machine is."""
    timed_out(sandbox, "", 1, "2s", "sleep", "60")
    with loops(STARVING):
        timed_out(sandbox, "", 1, "3s", "sleep", "60")


def threads_that_spin(sandbox):
    """Each waits for a processor, for most of its time; together they get more than half of one."""
    timed_out(sandbox, "", 1, "3s", *python(THREADS))


def writes_that_wait_for_the_disk(sandbox):
    timed_out(sandbox, "", 1, "3s", *python(FSYNC))


def work_on_a_busy_machine(sandbox):
    """Two seconds of work within five: it passes where it may run, and is starved where it may not."""
    out = sandbox.out()
    done = sandbox.proctor("run", "--timeout", "60s", "--out", out, "--", *python(SPIN.format(2)))
    check(done.returncode == 0, "exit", done.returncode, done.stdout[-2000:])
    with loops(STARVING):
        timed_out(sandbox, "starved", 75, "5s", *python(SPIN.format(2)))


if __name__ == "__main__":
    run_scenarios([a_sleeper, threads_that_spin, writes_that_wait_for_the_disk, work_on_a_busy_machine])
