#!/usr/bin/env python3
"""`proctor init && proctor run`: what it finds in small projects is what runs, and what it cannot use is said by name."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

from harness import BIN, check, is_sanitized, report, run_scenarios, skip

GTEST = """#include <gtest/gtest.h>
#include <fstream>
TEST(Copy, Small) {}
TEST(Copy, ReadsAFileOfItsDirectory) { EXPECT_TRUE(std::ifstream("data.txt").good()); }
"""
GTEST_PROJECT = """cmake_minimum_required(VERSION 3.20)
project(copies CXX)
enable_testing()
find_package(GTest REQUIRED)
include(GoogleTest)
add_executable(copy_test copy_test.cc)
target_link_libraries(copy_test PRIVATE GTest::gtest_main)
gtest_discover_tests(copy_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/data PROPERTIES ENVIRONMENT SIZE=small)
"""
CTEST_PROJECT = """cmake_minimum_required(VERSION 3.20)
project(scripts NONE)
enable_testing()
add_test(NAME "one.two (a|b)" COMMAND sh -c "exit 0")
add_test(NAME fails COMMAND sh -c "exit 1")
set_tests_properties(fails PROPERTIES WILL_FAIL TRUE)
"""
# Knows the option of a framework, and never answers it.
HANGS = """#include <unistd.h>
const char* volatile option = "--gtest_list_tests";
int main() { for (;;) pause(); }
"""


def tool(*command, cwd):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=300)
    check(done.returncode == 0, *command, done.stdout, done.stderr)


def project(sandbox, files):
    top = sandbox.path / "project"
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


def cmake(top, *words):
    tool("cmake", "-S", ".", "-B", "build", *words, cwd=top)


def add_samples(top, *kinds):
    """The programs of the tests of our kinds, where they are built."""
    found = [kind for kind in kinds if (BIN / f"plan_sample_{kind}").exists()]
    (top / "build").mkdir(parents=True, exist_ok=True)
    for kind in found:
        shutil.copy2(BIN / f"plan_sample_{kind}", top / "build" / f"{kind}_test")
    return found


def init(sandbox, top, *words, code=0):
    """-> (what it says, {name: suite} of the file)"""
    done = sandbox.proctor("init", *words, cwd=top)
    check(done.returncode == code, "init exits with", done.returncode, done.stdout, done.stderr)
    file = top / "proctor.toml"
    return done.stdout + done.stderr, tomllib.loads(file.read_text())["suite"] if file.is_file() else {}


def planned(sandbox, top, quiet=True):
    """The cases of the file, in which there is nothing to warn of."""
    done = sandbox.proctor("list", cwd=top)
    check(done.returncode == 0 and not (quiet and done.stderr), done.stdout, done.stderr)
    return done.stdout.splitlines()


def run(sandbox, top, code, *words, quiet=True):
    """{id: outcome} of `proctor run`, without the cases of samples that hang."""
    cases = planned(sandbox, top, quiet)
    words = [*words, "--exclude", "*hang*"] if any("hang" in case for case in cases) else words
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, *words, cwd=top)
    check(done.returncode == code, "run exits with", done.returncode, done.stdout, done.stderr)
    ran = {case["id"]: case["outcome"] for case in report(out)["cases"]}
    check(set(ran) == {case for case in cases if "hang" not in case}, "planned:", cases, "run:", ran)
    return ran


def listed(sandbox, program):
    return sandbox.proctor("list", "--name", "x", "--", program).stdout.splitlines()


def gtest_by_cmake(sandbox):
    if is_sanitized():
        skip("a build of another project has no sanitizers")
    top = project(sandbox, {"CMakeLists.txt": GTEST_PROJECT, "copy_test.cc": GTEST, "data/data.txt": "x"})
    cmake(top)
    tool("cmake", "--build", "build", cwd=top)
    said, suites = init(sandbox, top)
    check("build/copy_test: 2 tests of kind gtest, suite `copy_test`" in said and "left out" not in said, said)
    check("proctor run\n" in said, "the next command:", said)
    check(suites == {"copy_test": {"kind": "gtest", "command": ["../build/copy_test"], "directory": "data", "env": {"SIZE": "small"}}}, suites)
    check(run(sandbox, top, 0) == {"copy_test/Copy.Small": "pass", "copy_test/Copy.ReadsAFileOfItsDirectory": "pass"}, "as CTest")
    schema = (top / "proctor.toml").read_text().splitlines()[0]
    check(schema == f"#:schema file://{(BIN / 'share/proctor/schema/proctor.schema.json').resolve()}", schema)


def pytest(sandbox):
    top = project(sandbox, {"tests/test_copy.py": "import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test_copy(n):\n    pass\n",
                            "other/test_sum.py": "def test_sum():\n    pass\n"})
    said, suites = init(sandbox, top)
    check("other/test_sum.py: 3 tests of kind pytest" in said, said)
    check(suites["pytest"] == {"kind": "pytest", "command": ["pytest", "other", "tests"], "process": "file"}, suites)
    check(set(run(sandbox, top, 0).values()) == {"pass"}, "three tests")
    for name, text in {"pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n', "tox.ini": "[pytest]\ntestpaths = tests\n",
                       "setup.cfg": "[tool:pytest]\ntestpaths = tests\n", "pytest.ini": "[pytest]\ntestpaths = tests\n"}.items():
        (top / name).write_text(text)
        (top / "proctor.toml").unlink()
        said, suites = init(sandbox, top)
        check(f"{name}: 2 tests of kind pytest" in said and suites["pytest"]["command"] == ["pytest"], said, suites)
        (top / name).unlink()


def ctest(sandbox):
    top = project(sandbox, {"CMakeLists.txt": CTEST_PROJECT})
    cmake(top)
    said, suites = init(sandbox, top)
    check("build: 2 tests of CTest, as one case, suite `ctest`" in said, said)
    check(suites["ctest"]["command"] == ["ctest", "--test-dir", "build", "--output-on-failure"], suites)
    check(list(run(sandbox, top, 0).values()) == ["pass"], "CTest knows that one is to fail")


def catch2(sandbox):
    top = sandbox.path / "project"
    if not add_samples(top, "catch2"):
        skip("needs the framework of catch2 when Proctor is configured (./dev packages)")
    said, suites = init(sandbox, top)
    check(suites == {"catch2_test": {"kind": "catch2", "command": ["build/catch2_test"]}}, suites)
    run(sandbox, top, 1)
    check(f": {len(listed(sandbox, top / 'build/catch2_test'))} tests of kind catch2" in said, said)


def mixture(sandbox):
    """Programs of every framework that is here, of which CTest has some, beside pytest, scripts and what is no test."""
    lists = CTEST_PROJECT + "add_test(NAME boost COMMAND ${CMAKE_BINARY_DIR}/boost_test)\nadd_test(NAME missing COMMAND not_built)\n"
    top = project(sandbox, {"CMakeLists.txt": lists, "test_top.py": "def test_top():\n    pass\n",
                            "hangs.c": HANGS})
    kinds = add_samples(top, "gtest", "catch2", "doctest", "boost", "benchmark")
    cmake(top)
    tool("cc", "-o", "build/hangs_test", "hangs.c", cwd=top)
    shutil.copy2(BIN / "proctor", top / "build/proctor")
    (top / "build/libgtest_main.so").symlink_to(top / "build/gtest_test")
    (top / "build/script_test").write_text("#!/bin/sh\necho --gtest_list_tests\n")
    (top / "build/script_test").chmod(0o755)
    said, suites = init(sandbox, top, "--timeout", "2s")
    check({name: suite["kind"] for name, suite in suites.items()} ==
          {**{f"{kind}_test": kind for kind in kinds}, "pytest": "pytest", "ctest": "command"}, said, suites)
    check("left out build: 1 test of CTest without a program" in said, said)
    check(re.search(r"left out build/hangs_test: .*did not exit in time", said), "what hangs:", said)
    check("script_test" not in said and "build/proctor" not in said and "libgtest" not in said, said)
    pattern = suites["ctest"]["command"][-1]
    check(re.fullmatch(pattern, "one.two (a|b)") and not re.fullmatch(pattern, "oneXtwo (a|b)"), pattern)
    check(bool(re.fullmatch(pattern, "boost")) == ("boost" not in kinds), pattern)
    ran = run(sandbox, top, 1, quiet=False)  # the sample of benchmarks lists other lines too
    check({id.partition("/")[0] for id in ran} == set(suites), ran)
    check({ran[id] for id in ran if id.startswith("ctest")} == {"pass"} and ran["pytest/test_top.py::test_top"] == "pass", ran)
    for kind in kinds:
        count = len([case for case in planned(sandbox, top, quiet=False) if case.startswith(f"{kind}_test/")])
        check(f"build/{kind}_test: {count} tests of kind {kind}" in said, kind, count, said)


def a_file_that_is_there(sandbox):
    top = project(sandbox, {"test_a.py": "def test_a():\n    pass\n", "proctor.toml": "[suite.mine]\ncommand = ['true']\n"})
    said, suites = init(sandbox, top, code=2)
    check("exists already" in said and list(suites) == ["mine"], said, suites)
    said, suites = init(sandbox, top, "--dry-run")
    check("[suite.pytest]" in said and list(suites) == ["mine"], said, suites)
    (top / "proctor.toml").unlink()
    (top / "proctor.toml").symlink_to(top / "nowhere")
    said, _ = init(sandbox, top, code=2)
    check("exists already" in said and not (top / "nowhere").exists(), said)
    (top / "proctor.toml").unlink()
    done = sandbox.proctor("init", top)
    check(done.returncode == 0 and f"proctor run --config {top}/proctor.toml" in done.stdout, done.stdout, done.stderr)
    check(sandbox.proctor("run", "--config", top / "proctor.toml").returncode == 0, "from elsewhere")


def nothing(sandbox):
    top = project(sandbox, {"src/a.cc": "", "build/app.sh": "#!/bin/sh\n"})
    said, _ = init(sandbox, top, code=2)
    check("No tests were found" in said and "pytest" in said and not (top / "proctor.toml").exists(), said)
    for place in ("nowhere", "src/a.cc"):
        said, _ = init(sandbox, top, place, code=2)
        check(place in said, said)
    (top / "test_none.py").write_text("")
    said, _ = init(sandbox, top, code=2)
    check("left out test_none.py" in said, said)
    said, _ = init(sandbox, top, "--timeout", "soon", code=2)
    check("--timeout" in said and "soon" in said, said)


def hostile_trees(sandbox):
    top = sandbox.path / "project"
    if not add_samples(top, "gtest"):
        skip("needs plan_sample_gtest")
    sample = top / "build/gtest_test"
    deep = top / "/".join(["deep"] * 14)
    for place in ('quo"te\'s', "new\nline", "semi;$(touch x)", os.fsdecode(b"latin\xe9"), "esc\x1b[31m", "memory"):
        (top / place).mkdir(parents=True)
        shutil.copy2(sample, top / place / "a test")
    deep.mkdir(parents=True)
    shutil.copy2(sample, deep / "deep_test")
    (top / "loop").symlink_to(top)
    os.mkfifo(top / "fifo")
    closed = top / "closed"
    closed.mkdir(mode=0)
    shutil.copy2(sample, top / "memory/memory")  # a name of ours
    said, suites = init(sandbox, top)
    commands = [suite["command"] for suite in suites.values()]
    check(['quo"te\'s/a test'] in commands and ["new\nline/a test"] in commands and ["semi;$(touch x)/a test"] in commands, commands)
    check(len(suites) == 6 and "memory" not in suites and ["memory/memory"] in commands, suites)
    check(said.count("not clean UTF-8") == 2, "names that TOML cannot hold:", said)
    check(re.search(r"left out deep/.*: is more than 12 directories deep", said) and "loop" not in said, said)
    check(os.geteuid() == 0 or "left out closed: cannot be read: Permission denied" in said, said)
    check("\x1b" not in said and not (top / "x").exists(), said)
    closed.chmod(0o700)
    ran = run(sandbox, top, 1)
    check(len(ran) == 6 * len(listed(sandbox, sample)), len(ran))


def an_older_build(sandbox):
    top = project(sandbox, {"CMakeLists.txt": CTEST_PROJECT})
    for build, seconds in (("new", 2_000_000_000), ("old", 1_000_000_000)):
        tool("cmake", "-S", ".", "-B", build, cwd=top)
        os.utime(top / build / "CMakeCache.txt", (seconds, seconds))
    said, suites = init(sandbox, top)
    check("left out old: is an older build of the project that new builds" in said, said)
    check(json.dumps(suites).count("--test-dir") == 1 and "new" in suites["ctest"]["command"], suites)


if __name__ == "__main__":
    sys.exit(run_scenarios([pytest, ctest, a_file_that_is_there, nothing, hostile_trees, an_older_build, mixture],
                           [gtest_by_cmake, catch2]))
