#!/usr/bin/env python3
"""Job control as a person at a terminal has it: bash on a pty, Ctrl-Z, `fg`, a window that changes, SIGUSR1.

    jobs.py [SCENARIO...]
"""

import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time

from harness import LAYERS, check, of_type, records, report, run_scenarios, wait_until, write_config

LIMIT = 8  # seconds, of a case that is suspended for longer
# One process. A shell that starts programs by vfork() does not stop while such a child is stopped before its exec, and
# nobody hears of the Ctrl-Z.
COUNTS = """
import os, sys, time
counts, go = sys.argv[1:]
while not os.path.exists(go):
    print("+", flush=True)
    with open(counts, "a") as file:
        file.write("+")
    time.sleep(0.02)
"""


class Terminal:
    """bash with job control on a pty of its own."""

    def __init__(self, sandbox):
        self.master, slave = pty.openpty()
        self.text = ""

        def lead():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        env = {**sandbox.env, "PS1": "$ ", "TERM": "dumb"}
        self.bash = subprocess.Popen(["bash", "--norc", "--noediting", "-i"], stdin=slave, stdout=slave, stderr=slave,
                                     cwd=sandbox.path, env=env, preexec_fn=lead)
        os.close(slave)

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self):
        while select.select([self.master], [], [], 0.01)[0]:
            try:
                self.text += os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # nobody has the other end any more
                return

    def expect(self, pattern, seconds=60):
        def there():
            self.read()
            return re.search(pattern, self.text)
        try:
            wait_until(there, seconds, repr(pattern))
        except SystemExit:
            print(self.text)
            raise
        found = re.search(pattern, self.text)
        self.text = self.text[found.end():]
        return found

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self):
        self.type("exit\n")
        wait_until(lambda: (self.read(), self.bash.poll() is not None)[1], 60, "end of bash")
        os.close(self.master)


def has_settled(path):
    """What is in it once nothing more is written to it."""
    while True:
        before = path.read_text()
        time.sleep(0.3)
        if path.read_text() == before:
            return before


class Job:
    """A run in the foreground whose case counts until it may end."""

    def __init__(self, sandbox, layer, options):
        self.layer, self.out = layer, sandbox.out()
        self.counts, self.go = sandbox.path / f"counts{sandbox.runs}", sandbox.path / f"go{sandbox.runs}"
        config = sandbox.path / f"jobs{sandbox.runs}.toml"
        write_config(config, {"counts": {"kind": "command", "command": [sys.executable, "-c", COUNTS, str(self.counts), str(self.go)],
                                         "timeout": f"{LIMIT}s", "stall": f"{LIMIT}s"}})
        self.terminal = Terminal(sandbox)
        self.terminal.type(shlex.join(sandbox.command("run", "--config", config, "--containment", layer, "--out",
                                                      self.out, *options)) + "\n")
        wait_until(self.counts.exists, 60, "begun case")

    def suspend(self):
        self.terminal.type("\x1a")
        self.terminal.expect("Stopped")
        self.held = has_settled(self.counts)

    def go_on(self):
        check(self.counts.read_text() == self.held, self.layer, "it went on while it was suspended")
        self.terminal.type("fg\n")
        wait_until(lambda: self.counts.read_text() != self.held, 60, "case that goes on")
        self.go.touch()
        wait_until(lambda: (self.terminal.read(), of_type(records(self.out), "run_ended"))[1], 60, "end of the run")
        self.terminal.close()
        case, = report(self.out)["cases"]
        check(case["outcome"] == "pass", self.layer, case["outcome"], case["reason"])


def suspended_for_long(sandbox, *options):
    """Each layer that works here, all at once."""
    jobs = []
    for layer in [layer for layer in LAYERS if sandbox.why_not(layer) is None]:
        jobs.append(Job(sandbox, layer, options))
        jobs[-1].suspend()
    time.sleep(LIMIT + 1)  # longer than their limits
    for job in jobs:
        job.go_on()
        print("ok", job.layer, *options)


def ctrl_z(sandbox):
    suspended_for_long(sandbox)


def ctrl_z_of_the_case(sandbox):
    """It has the terminal: its own group gets the signal, and nobody else."""
    suspended_for_long(sandbox, "--no-capture")


def window(sandbox):
    """The case has the terminal and hears of its size."""
    terminal = Terminal(sandbox)
    terminal.resize(24, 80)
    script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done"
    terminal.type(shlex.join(sandbox.command("run", "--no-capture", "--out", sandbox.out(), "--", "sh", "-c", script)) + "\n")
    terminal.expect("ready\r")
    terminal.resize(33, 123)
    terminal.expect("33 123")
    terminal.close()


def usr1(sandbox):
    """As `proctor dump`, and the run goes on."""
    config, out, go = sandbox.path / "dump.toml", sandbox.out(), sandbox.path / "go"
    script = f"while ! [ -e {go} ]; do sleep 0.05; done"
    write_config(config, {"waits": {"kind": "command", "command": ["sh", "-c", script], "timeout": "300s"}})
    process = sandbox.start("run", "--config", config, "--out", out)
    wait_until(lambda: of_type(records(out), "attempt_started"), 60, "begun case")
    try:
        process.send_signal(signal.SIGUSR1)
        said = ""
        while "all of it: " not in said:
            check(select.select([process.stderr], [], [], 60)[0], "no dump on stderr:", said)
            part = os.read(process.stderr.fileno(), 65536).decode()
            check(part, "the run has ended:", said)
            said += part
    finally:
        go.touch()
    check(process.wait(60) == 0, "exit", process.returncode)
    check("waits" in said and "(pid " in said, "it does not name what runs:", said)  # the shell, or its sleep


if __name__ == "__main__":
    run_scenarios([ctrl_z, ctrl_z_of_the_case, window, usr1])
