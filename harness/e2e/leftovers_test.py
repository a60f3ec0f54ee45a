#!/usr/bin/env python3
"""What leftovers.py names and what it does not, on tests that are not there: ctest's lines, and what a test would leave.

Other tests run beside this one: the places, the mark and the names are of this one alone.
"""

import contextlib
import io
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import leftovers

RESULT = re.compile(r"leftovers \.+ +(Passed|\*\*\*Failed: \d+ left) +\d+\.\d\d sec")


def ctest_lines(name, what, code=0):
    """A shell that prints what ctest prints, and does `what` in between."""
    return ["sh", "-c", f"echo '    Start 1: before'; echo '1/2 Test #1: before ....   Passed    0.00 sec'\n"
                        f"sleep 0.2; echo '    Start 2: {name}'; {what}\n"
                        f"echo '2/2 Test #2: {name} ....   Passed    0.00 sec'; sleep 0.2; exit {code}"]


class LeftoversTest(unittest.TestCase):
    def setUp(self):
        self.token = secrets.token_hex(4)
        self.directory = Path(tempfile.mkdtemp(prefix="proctor-leftovers-")).resolve()
        self.memory = Path(tempfile.mkdtemp(prefix="proctor-leftovers-", dir="/dev/shm"))
        self.locks = self.directory / "locks"
        self.tmp = self.directory / "tmp"
        self.locks.mkdir()
        self.tmp.mkdir()
        self.addCleanup(shutil.rmtree, self.directory)
        self.addCleanup(shutil.rmtree, self.memory)
        self.variable = f"PROCTOR_TEST_MARK_{self.token}"
        changes = {"places": lambda: {self.tmp: None, self.memory: None, self.locks: leftovers.OUR_LOCK},
                   "MARK": f"{self.variable}=".encode(), "OUR_CGROUP": re.compile(f"e2e-{self.token}"),
                   "SECONDS_TO_GO": 0.5}
        for name, value in changes.items():
            self.addCleanup(setattr, leftovers, name, getattr(leftovers, name))
            setattr(leftovers, name, value)
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        self.addCleanup(lambda: [signal.signal(*pair) for pair in handlers.items()])

    def run_it(self, command, *options):
        """-> exit code, what it printed, the lines about what was left"""
        raw = io.BytesIO()
        out = io.TextIOWrapper(raw, write_through=True)
        with contextlib.redirect_stdout(out):
            code = leftovers.main([*options, "--", *command])
        text = raw.getvalue().decode()
        self.assertRegex(text.splitlines()[-1], RESULT)
        return code, text, [line.strip() for line in text.splitlines() if line.startswith("  ") and ": made " in line]

    def left_by(self, what, *options):
        code, text, lines = self.run_it(ctest_lines("culprit", what), *options)
        self.assertEqual(code, 1, text)
        self.assertEqual(len(lines), 1, text)
        self.assertRegex(lines[0], r" made at \d\d:\d\d:\d\d by culprit$")
        return lines[0]

    def test_nothing_is_left(self):
        code, text, lines = self.run_it(ctest_lines("tidy", f"mkdir {self.tmp}/a; rmdir {self.tmp}/a"))
        self.assertEqual((code, lines), (0, []), text)

    def test_the_output_of_the_command_passes_through(self):
        command = ctest_lines("tidy", "printf 'no\\0line\\377 end'")
        raw = io.BytesIO()
        out = io.TextIOWrapper(raw, write_through=True)
        with contextlib.redirect_stdout(out):
            leftovers.main(["--", *command])
        direct = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        self.assertTrue(raw.getvalue().startswith(direct), raw.getvalue())

    def test_the_exit_code_of_the_command_comes_first(self):
        self.assertEqual(self.run_it(ctest_lines("bad", ":", code=8))[0], 8)
        self.assertEqual(self.run_it(ctest_lines("bad", f"mkdir {self.tmp}/a", code=8))[0], 8)
        self.assertEqual(self.run_it(["sh", "-c", "kill -TERM $$"])[0], 128 + signal.SIGTERM)

    def test_what_was_there_before_counts_for_nothing(self):
        (self.tmp / "old").mkdir()
        self.assertEqual(self.run_it(ctest_lines("tidy", f"touch {self.tmp}/old/new"))[0], 0)

    def test_a_directory(self):
        self.assertIn(f"file {self.tmp}/prp-a1B2c3:", self.left_by(f"mkdir {self.tmp}/prp-a1B2c3"))

    def test_a_name_of_somebody_else_is_no_failure(self):
        code, text, lines = self.run_it(ctest_lines("tidy", f"mkdir {self.tmp}/any-name"))
        self.assertEqual((code, len(lines)), (0, 1), text)

    def test_a_file_in_memory(self):
        self.assertIn(f"file {self.memory}/pr-a1B2c3:", self.left_by(f"mkdir {self.memory}/pr-a1B2c3"))

    def test_a_lease(self):
        line = self.left_by(f"touch '{self.locks}/xpu:0000:03:00.0.lease' {self.locks}/of_another_program")
        self.assertIn("xpu:0000:03:00.0.lease", line)

    def test_a_process_with_the_mark(self):
        started = f"{self.variable}=run/1 setsid sleep 600 >/dev/null 2>&1 & echo $! >{self.directory}/pid"
        try:
            line = self.left_by(f"{started}; sleep 0.1")
        finally:
            os.kill(int((self.directory / "pid").read_text()), signal.SIGKILL)
        self.assertIn("(sleep 600)", line)

    def test_a_process_of_another_terminal_is_not_of_a_test(self):
        script = f"while [ ! -e {self.directory}/go ]; do sleep 0.05; done; {self.variable}=run/1 sleep 600 & echo $! " \
                 f">{self.directory}/pid; wait"
        terminal = subprocess.Popen(["sh", "-c", script], start_new_session=True)
        try:
            started = leftovers.STARTED
            self.addCleanup(setattr, leftovers, "STARTED", started)
            leftovers.STARTED = time.clock_gettime(time.CLOCK_BOOTTIME) + 0.1
            wait = f"touch {self.directory}/go; until [ -s {self.directory}/pid ]; do sleep 0.05; done"
            code, text, _ = self.run_it(ctest_lines("tidy", wait))
            os.kill(int((self.directory / "pid").read_text()), signal.SIGKILL)
        finally:
            terminal.kill()
            terminal.wait()
        self.assertEqual(code, 0, text)

    def test_a_process_of_the_build_and_what_it_holds(self):
        build = self.directory / "build"
        build.mkdir()
        shutil.copy2(shutil.which("sleep"), build / "program")
        started = f"cd {self.tmp}/held && {build}/program 600 >/dev/null 2>&1 & echo $! >{self.directory}/pid"
        try:
            code, text, lines = self.run_it(ctest_lines("culprit", f"mkdir {self.tmp}/held; ({started}); sleep 0.1"),
                                            "--build", str(build))
        finally:
            os.kill(int((self.directory / "pid").read_text()), signal.SIGKILL)
        self.assertEqual(code, 1, text)
        self.assertEqual(sorted(line.split()[0] for line in lines), ["file", "process"], text)

    def test_a_cgroup(self):
        mount = leftovers.cgroup2_mount()
        group = Path(mount or "/nonexistent") / f"e2e-{self.token}"
        try:
            group.mkdir()
            group.rmdir()
        except OSError as error:
            self.skipTest(f"no cgroup can be made: {error}")
        began = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + 1))
        of_run = group.with_name(f"{group.name}-{began}")
        try:
            code, text, _ = self.run_it(ctest_lines("culprit", f"mkdir {group} {of_run}; sleep 2"))
        finally:
            group.rmdir()
            of_run.rmdir()
        self.assertEqual(code, 1)
        self.assertIn(f"cgroup {group}: made during this run", text)
        self.assertRegex(text, f"cgroup {of_run}: made at .* culprit\n")

    def test_what_a_living_process_holds_is_its_own(self):
        ways = {"fd": f"sleep 600 3>{self.tmp}/fd", "cwd": f"cd {self.tmp}/cwd && sleep 600",
                "below": f"sleep 600 3>{self.tmp}/below/file"}
        for name, command in ways.items():
            with self.subTest(name):
                make = f"mkdir -p {self.tmp}/{name}" if name != "fd" else ":"
                holder = f"{make}; ({command}) >/dev/null 2>&1 & echo $! >{self.directory}/pid; sleep 0.2"
                try:
                    code, text, _ = self.run_it(ctest_lines("tidy", f"{make}; {holder}"))
                finally:
                    subprocess.run(["pkill", "-KILL", "-P", (self.directory / "pid").read_text().strip()], check=False)
                self.assertEqual(code, 0, text)

    def test_several_tests_at_once_are_candidates(self):
        tests = leftovers.Tests()
        tests.feed(b"    Start 1: a\n    Start 2: b\n    Sta")
        tests.feed(b"rt 3: c\n1/3 Test #2: b ....   Passed    0.00 sec\n")
        now = time.time()
        self.assertEqual(tests.at((now, now)), ["a", "b", "c"])
        tests.feed(b"2/3 Test  #1: a ....***Failed    0.00 sec\n")
        self.assertEqual(tests.at((now - 10, now - 9)), [])
        thing = leftovers.Thing("file", "/tmp/x", (1, 2), (now, now))
        self.assertTrue(leftovers.describe(thing, tests).endswith("by one of a, b, c"))


if __name__ == "__main__":
    sys.exit(unittest.main())
