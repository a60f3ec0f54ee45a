#!/usr/bin/env python3
"""leftovers.py reports each kind of thing that a test leaves, with the name of the test, and nothing else.

The test is a shell that prints the lines of ctest. Other tests run beside it: its places, mark and names are its own.
"""

import contextlib
import io
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import unittest
from pathlib import Path

import leftovers


def ctest_lines(what, code=0):
    """A shell that prints what ctest prints, and does `what` in between."""
    return ["sh", "-c", f"echo '    Start 1: before'; echo '1/2 Test #1: before ....   Passed    0.00 sec'\n"
                        f"sleep 0.2; echo '    Start 2: culprit'; {what}\n"
                        f"echo '2/2 Test #2: culprit ....   Passed    0.00 sec'; sleep 0.2; exit {code}"]


class LeftoversTest(unittest.TestCase):
    def setUp(self):
        self.token = secrets.token_hex(4)
        self.directory = Path(tempfile.mkdtemp(prefix="proctor-leftovers-")).resolve()
        self.memory = Path(tempfile.mkdtemp(prefix="proctor-leftovers-", dir="/dev/shm"))
        self.locks, self.tmp, self.build = (self.directory / name for name in ("locks", "tmp", "build"))
        for directory in (self.locks, self.tmp, self.build):
            directory.mkdir()
        self.addCleanup(shutil.rmtree, self.directory)
        self.addCleanup(shutil.rmtree, self.memory)
        changes = {"places": lambda: {self.tmp: None, self.memory: None, self.locks: leftovers.OUR_LOCK},
                   "MARK": f"PROCTOR_TEST_MARK_{self.token}=".encode(), "OUR_CGROUP": re.compile(f"e2e-{self.token}"),
                   "SECONDS_TO_GO": 0.5}
        for name, value in changes.items():
            self.addCleanup(setattr, leftovers, name, getattr(leftovers, name))
            setattr(leftovers, name, value)
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        self.addCleanup(lambda: [signal.signal(*pair) for pair in handlers.items()])

    def run_it(self, what, code=0):
        """-> exit code, what it printed, the things that were left"""
        raw = io.BytesIO()
        out = io.TextIOWrapper(raw, write_through=True)
        with contextlib.redirect_stdout(out):
            code = leftovers.main(["--build", str(self.build), "--", *ctest_lines(what, code)])
        text = raw.getvalue().decode()
        return code, text, re.findall(r"^  (.+?): made (.*)$", text, re.MULTILINE)

    def start(self, command):
        """Shell words that start a process which outlives the test. The process ends with the test of Python."""
        pids = self.directory / "pids"

        def end():
            for pid in pids.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            pids.write_text("")
        self.addCleanup(end)
        return f"({command}) >/dev/null 2>&1 & echo $! >>{pids}; sleep 0.2"

    def test_each_kind_of_thing_is_named(self):
        shutil.copy2(shutil.which("sleep"), self.build / "program")
        mine = f"file {self.tmp}/prp-a1B2c3", f"file {self.memory}/pr-a1B2c3", f"file {self.locks}/xpu:0000:03:00.0.lease"
        what = (f"mkdir {self.tmp}/prp-a1B2c3 {self.memory}/pr-a1B2c3; touch '{self.locks}/xpu:0000:03:00.0.lease';"
                + self.start(f"PROCTOR_TEST_MARK_{self.token}=run/1 exec setsid sleep 600") + "; "
                + self.start(f"exec {self.build}/program 600"))
        code, text, left = self.run_it(what)
        self.assertEqual(code, 1, text)
        names = [name for name, _ in left]
        self.assertEqual([name for name in mine if name not in names], [], text)
        self.assertEqual(sorted(name.partition("(")[2] for name in names if name.startswith("process")),
                         [f"{self.build}/program 600)", "sleep 600)"], text)
        self.assertEqual(len(names), 5, text)
        self.assertEqual({when.rpartition(" by ")[2] for _, when in left}, {"culprit"}, text)

    def test_a_cgroup(self):
        group = Path(leftovers.cgroup2_mount() or "/nonexistent") / f"e2e-{self.token}"
        try:
            group.mkdir()
            group.rmdir()
        except OSError as error:
            self.skipTest(f"no cgroup can be made: {error}")
        self.addCleanup(group.rmdir)
        code, text, left = self.run_it(f"mkdir {group}")
        self.assertEqual((code, left), (1, [(f"cgroup {group}", "during this run")]), text)

    def test_what_is_no_failure(self):
        """What was there before, what a living process holds, and a name that is not Proctor's."""
        (self.tmp / "pr-oldOld").mkdir()
        code, text, left = self.run_it(f"touch {self.tmp}/pr-oldOld/new; mkdir {self.tmp}/any-name {self.tmp}/pr-heldIn; printf 'no\\0line';"
                                       + self.start(f"cd {self.tmp}/pr-heldIn && exec sleep 600"))
        self.assertEqual(([name for name, _ in left], code), ([f"file {self.tmp}/any-name"], 0), text)
        self.assertIn("no\0line", text)

    def test_the_exit_code_of_the_command_comes_first(self):
        self.assertEqual(self.run_it(f"mkdir {self.tmp}/pr-a1B2c3", code=8)[0], 8)
        self.assertEqual(self.run_it("kill -TERM $$")[0], 128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(unittest.main())
