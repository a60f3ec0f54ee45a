#!/usr/bin/env python3
"""Ten causes in programs of GoogleTest and pytest: the same words from two lines, other words from one line, long messages
that differ behind what is shown, two functions that hang and two that crash. Each is one cause: in report.json, on the page
and on the console, with its line in the sources."""

import json
import re
import resource
import shutil
import subprocess
from pathlib import Path

from harness import Sandbox, check, is_sanitized, report, skip
from pytest_kind import find_pytest

PROGRAM = r"""#include <gtest/gtest.h>
#include <unistd.h>
#include <condition_variable>
#include <mutex>
#include <string>

static int zero() { return getppid() < 0 ? 1 : 0; }
static void check_block(const std::string& words) {
  EXPECT_EQ(zero(), 1) << words;  // one line
}
static void check_long(int run) {
  EXPECT_EQ(zero(), 1) << std::string(180, 'x') << " run " << run << std::string(180, 'y') << run;  // long
}
__attribute__((noinline)) static void wait_for_copy() {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  never.wait(lock, [] { return zero() != 0; });  // hang 1
}
__attribute__((noinline)) static void wait_for_event() {
  while (zero() == 0) pause();  // hang 2
}
__attribute__((noinline)) static void write_to_nothing(volatile char* to) {
  *to = 1;  // crash 1
}
__attribute__((noinline)) static void give_up() {
  abort();  // crash 2
}

TEST(Same, One) { EXPECT_EQ(zero(), 1) << "the copy is damaged"; }  // same 1
TEST(Same, Two) { EXPECT_EQ(zero(), 1) << "the copy is damaged"; }  // same 2
TEST(Words, One) { check_block("the first block is damaged"); }
TEST(Words, Two) { check_block("no card answers"); }
TEST(Long, One) { check_long(1); }
TEST(Long, Two) { check_long(22); }
TEST(Long, Other) {
  EXPECT_EQ(zero(), 1) << std::string(180, 'x') << " run " << 1 << std::string(180, 'y') << " other";  // long 2
}
TEST(Hang, OfACopy) { wait_for_copy(); }
TEST(Hang, OfAnEvent) { wait_for_event(); }
TEST(Crash, OfAWrite) { write_to_nothing(nullptr); }
TEST(Crash, OfAnotherWrite) { write_to_nothing(nullptr); }
TEST(Crash, OnPurpose) { give_up(); }
"""
OF_PYTEST = """import pytest
def compare(words):
    assert words == "good"  # pytest
@pytest.mark.parametrize("words", ["bad", "worse"])
def test_words(words):
    compare(words)
"""
# Where each cause is, by the comment on its line, and its cases.
CAUSES = {
    "same 1": ["planted/Same.One"],
    "same 2": ["planted/Same.Two"],
    "one line": ["planted/Words.One", "planted/Words.Two"],
    "long": ["planted/Long.One", "planted/Long.Two"],
    "long 2": ["planted/Long.Other"],
    "hang 1": ["planted/Hang.OfACopy"],
    "hang 2": ["planted/Hang.OfAnEvent"],
    "crash 1": ["planted/Crash.OfAWrite", "planted/Crash.OfAnotherWrite"],
    "crash 2": ["planted/Crash.OnPurpose"],
    "pytest": ["of_pytest/tests/test_words.py::test_words[bad]", "of_pytest/tests/test_words.py::test_words[worse]"],
}
PATTERN = Path("/proc/sys/kernel/core_pattern").read_text().strip()


def needs():
    """What the stacks of hangs and crashes need; no core is asked for, which is Proctor's part."""
    if not shutil.which("gdb"):
        skip("needs gdb")
    if is_sanitized() or not PATTERN or PATTERN[0] in "|@" or resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        skip(f"needs cores that are files: kernel.core_pattern is {PATTERN}")
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def planted(sandbox):
    """The config of a program and of a directory of tests; -> {name: the place of the cause}"""
    compiler = shutil.which("c++") or skip("needs a compiler")
    (sandbox.path / "tests").mkdir()
    sources = {"planted.cc": PROGRAM, "tests/test_words.py": OF_PYTEST}
    places = {}
    for name, text in sources.items():
        (sandbox.path / name).write_text(text)
        for number, line in enumerate(text.splitlines(), 1):
            if mark := re.search(r"(?://|#) ([a-z]+(?: [a-z0-9]+)?)$", line):
                places[mark[1]] = f"{name}:{number}"
    build = subprocess.run([compiler, "-g", "-O0", "planted.cc", "-o", "planted", "-lgtest", "-lgtest_main", "-pthread"],
                           cwd=sandbox.path, capture_output=True, text=True)
    if build.returncode != 0:
        skip("needs GoogleTest: " + build.stderr)
    command = [*find_pytest(), "-q", "-p", "no:cacheprovider", "tests"]
    (sandbox.path / "proctor.toml").write_text(f"""
[suite.planted]
kind = "gtest"
command = ["{sandbox.path}/planted"]
timeout = "60s"
[suite.of_pytest]
kind = "pytest"
command = {json.dumps(command)}
[[override]]
match = "planted/Hang.*"
timeout = "2s"
""")
    return places


def place_of(case):
    """Of the first failure that has one, else the innermost frame of the program's own."""
    attempt = case["attempts"][-1]
    for failure in attempt["failures"]:
        if failure["file"]:
            return f"{failure['file']}:{failure['line']}"
    return attempt.get("evidence", {}).get("frame", {}).get("location", "")


def ten_causes(sandbox):
    needs()
    places = planted(sandbox)
    out = sandbox.out()
    # One after the other: where kernel.core_pattern has no pid, two that crash at once would have one core.
    done = sandbox.proctor("run", "--out", out, "--jobs", "1", "--grace", "200ms")
    check(done.returncode == 1, done.returncode, done.stdout, done.stderr)
    cases = {case["id"]: case for case in report(out)["cases"]}
    check(sorted(cases) == sorted(sum(CAUSES.values(), [])), sorted(cases))
    seen = {}
    for case in cases.values():
        seen.setdefault((case["outcome"], place_of(case)), []).append(case["id"])
    check(len(seen) == len(CAUSES), "causes in report.json:", seen)
    for name, ids in CAUSES.items():
        found = {place_of(cases[case]) for case in ids}
        check(len(found) == 1 and found.pop().endswith(places[name]), name, "is at", places[name], "and not at", found,
              cases[ids[0]]["attempts"][-1])
        check(places[name] in done.stdout, "not on the console:", name, places[name], done.stdout)
    for name, function in (("Hang.OfACopy", "wait_for_copy"), ("Hang.OfAnEvent", "wait_for_event"),
                           ("Crash.OfAWrite", "write_to_nothing"), ("Crash.OnPurpose", "give_up")):
        frame = cases[f"planted/{name}"]["attempts"][-1]["evidence"]["frame"]
        check(frame["function"] == function and Path(frame["location"].rpartition(":")[0]).is_file(), name, frame)
        check(re.search(rf"^where to look: {function} at /.*planted\.cc:\d+ · ", done.stdout, re.MULTILINE), name, done.stdout)
    on_page = set(re.findall(r"#cause=(\d+)", (out / "index.html").read_text()))
    check(len(on_page) == len(CAUSES), "causes on the page:", sorted(on_page))
    check(not list(sandbox.path.glob("core*")), "left behind:", list(sandbox.path.iterdir()))


if __name__ == "__main__":
    with Sandbox() as box:
        ten_causes(box)
    print(f"ok {len(CAUSES)} causes")
