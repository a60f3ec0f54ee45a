#!/usr/bin/env python3
"""A duration that the page does not list is found, and a row without its place, in a small tree that is made for it."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECKER = Path(__file__).with_name("durations.py")

PAGE = """# Made up

| where | how long | what it bounds | on a starved machine | test |
| --- | --- | --- | --- | --- |
| `harness/run/run.cc` `kGrace` `milliseconds(20 \\| 1)` | 10 s, 21 ms | the end | nothing | `run_test.cc` |
| `harness/plan/defaults.toml` `timeout` | 60 s | a case | nothing | `run_test.cc` |

| where | what for |
| --- | --- |
| `suites/main/wait.h` `usleep(10)` | between two looks |
"""

FILES = {
    "harness/run/run.cc": '#include <chrono>\nconstexpr Milliseconds kGrace{10\'000};\n'
                          "void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20 | 1)); }\n",
    "harness/run/run_test.cc": "constexpr Milliseconds kLimit{5'000};\n",
    "harness/testing/wait.cc": "void wait() { usleep(100); }\n",
    "harness/plan/defaults.toml": '[defaults]\ntimeout = "60s"\nstall = "off"\n# grace = "10s"\n',
    "suites/main/wait.h": "inline void wait() { usleep(10); }\n",
    "fixtures/bad/bad.cc": "// usleep(5), 10 s\nconst char* kText = \"sleep_for(std::chrono::seconds(5)) 20ms\";\n"
                           "constexpr Milliseconds kNone{0};\nauto converted = std::chrono::seconds(count);\n",
}

# What is added to a file, and what the page must name it.
MORE = {
    "constexpr std::chrono::seconds kDeadline{20};": "kDeadline",
    "constexpr auto kTick = std::chrono::milliseconds(200);": "kTick",
    "constexpr int kLookAgainMs = 200;": "kLookAgainMs",
    "int left_ms = 5;": "left_ms",
    "Milliseconds settle{60'000};": "settle",
    "auto at = now + 2 * std::chrono::minutes(1);": "minutes(1)",
    "wait(std::chrono::duration<double>(5));": "duration<double>(5)",
    "wait(15ms);": "15ms",
    "alarm(5);": "alarm(5)",
    "::poll(nullptr, 0, 100);": "poll(nullptr, 0, 100)",
    "epoll_wait(fd, events, 5, 1'000);": "epoll_wait(fd, events, 5, 1'000)",
    "const timespec pause{.tv_sec = 1, .tv_nsec = 0};": "pause",
    "itimerval timer = {{0, 0}, {1, 0}}; setitimer(ITIMER_REAL, &timer, nullptr);": "timer",
    "nanosleep(timespec{1, 0});": "nanosleep(timespec{1, 0})",
}
NONE = ["poll(&fds, 1, -1);", "poll(&fds, 1, 0);", "auto ms = std::chrono::milliseconds(left);", "int value = 100;",
        "const auto it = a.s5 + b1s;", "sleep_for(time);", "timespec now{};"]


class ATreeAndItsPage(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.write("docs/internals/durations.md", PAGE)
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def found(self):
        done = subprocess.run([sys.executable, "-B", CHECKER, "check", self.root], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 1 if done.stdout else 0)
        return done.stdout

    def test_all_of_it_is_listed(self):
        self.assertEqual(self.found(), "")

    def test_what_is_not_listed_is_named_with_its_place(self):
        for number, (line, name) in enumerate(MORE.items()):
            self.write(f"fixtures/bad/more{number}.cc", f"\n{line}\n")
        told = self.found()
        for number, name in enumerate(MORE.values()):
            self.assertIn(f"fixtures/bad/more{number}.cc:2: a duration", told)
            self.assertIn(f"| `fixtures/bad/more{number}.cc` `{name}` |", told)
        self.assertEqual(told.count("\n"), len(MORE))

    def test_what_is_no_duration_needs_no_row(self):
        self.write("fixtures/bad/none.cc", "\n".join(NONE))
        self.assertEqual(self.found(), "")

    def test_a_new_default_is_named(self):
        self.write("harness/plan/defaults.toml", FILES["harness/plan/defaults.toml"] + 'grace = "10s"\n')
        self.assertIn("`harness/plan/defaults.toml` `grace`", self.found())

    def test_a_row_without_its_place_is_named(self):
        self.write("suites/main/wait.h", "inline void wait() { usleep(20); }\n")
        told = self.found()
        self.assertIn("durations.md:10: suites/main/wait.h has no `usleep(10)` any more", told)
        self.assertIn("`suites/main/wait.h` `usleep(20)`", told)

    def test_a_row_of_a_file_that_is_gone_is_named(self):
        (self.root / "harness/run/run.cc").unlink()
        told = self.found()
        self.assertIn("durations.md:5: harness/run/run.cc has no `kGrace` any more", told)

    def test_a_test_that_is_not_there_is_named(self):
        self.write("docs/internals/durations.md", PAGE.replace("a case | nothing | `run_test.cc`", "a case | nothing | `walk_test.cc`"))
        self.assertIn("durations.md:6: there is no test walk_test.cc", self.found())


if __name__ == "__main__":
    unittest.main()
