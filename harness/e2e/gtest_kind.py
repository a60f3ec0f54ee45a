#!/usr/bin/env python3
"""GoogleTest programs of another project: in one process each case is judged as in a process of its own, and a crash
or a hang is blamed on exactly the case that did it."""

import json
import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

from harness import BIN, Sandbox, check, check_sums, of_type, records, report, skip

CRASH, HANG = "Many/Plain.Case/17", "Many/Plain.Case/31"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(other LANGUAGES CXX)
find_package(GTest REQUIRED)
find_package(Proctor REQUIRED)
add_executable(told told.cc)
target_compile_options(told PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
target_link_libraries(told PRIVATE GTest::gtest_main Proctor::gtest_listener)
add_executable(untold told.cc)
target_link_libraries(untold PRIVATE GTest::gtest_main)
add_executable(own_told own.cc)
target_link_libraries(own_told PRIVATE GTest::gtest Proctor::gtest_listener)
add_executable(own_untold own.cc)
target_link_libraries(own_untold PRIVATE GTest::gtest)
"""
OWN_MAIN = """#include <gtest/gtest.h>
#include <stdlib.h>

TEST(Own, One) {}
TEST(Own, Two) {}
TEST(Own, Three) {}

// Its own idea of what is to run, and words that look like a result.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!GTEST_FLAG_GET(list_tests)) {
    GTEST_FLAG_SET(filter, getenv("OWN_FILTER"));
    puts("[       OK ] Own.Two (0 ms)\\n[  PASSED  ] 1 test.");
    puts("{\\"v\\":1,\\"case\\":\\"Own.Two\\",\\"event\\":\\"end\\",\\"result\\":\\"pass\\"}");
  }
  return RUN_ALL_TESTS();
}
"""
PROGRAM = """#include <gtest/gtest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <string>

static void began() {  // how many processes there were
  static const bool once = [] {
    const char* file = getenv("PROCESSES");
    return file && system(("echo x >> " + std::string(file)).c_str()) == 0;
  }();
  (void)once;
}
class Plain : public testing::TestWithParam<int> {};
TEST_P(Plain, Case) {
  began();
  if (GetParam() == 17) raise(SIGSEGV);
  if (GetParam() == 31) for (;;) pause();
}
INSTANTIATE_TEST_SUITE_P(Many, Plain, testing::Range(0, 50));

TEST(Special, Fails) { EXPECT_EQ(1, 2) << "\\xff odd \\"words\\""; }
TEST(Special, Skips) { GTEST_SKIP() << "no such card\\nin this machine"; }
TEST(Special, DISABLED_Never) { FAIL(); }
TEST(Special, EndsTheProcess) { exit(0); }
TEST(Special, DiesAsItShould) { EXPECT_DEATH(abort(), ""); }
TEST(Special, DiesAsItShouldInAFreshProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(abort(), "");
}
static void at_the_end() { _exit(atoi(getenv("EXIT_WITH"))); }
TEST(Special, Passes) {
  if (getenv("EXIT_WITH")) atexit(at_the_end);
  EXPECT_EQ(getenv("PROCTOR_EVENTS_FD"), nullptr);
}
class Surroundings : public testing::Environment {
  void SetUp() override {
    if (getenv("NO_CARD")) GTEST_SKIP() << "no card at all";
    if (getenv("NO_LICENCE")) FAIL() << "no licence";
  }
};
static testing::Environment* const surroundings = testing::AddGlobalTestEnvironment(new Surroundings);
class Torn : public testing::Test {
 public:
  static void TearDownTestSuite() { if (getenv("TORN")) ADD_FAILURE() << "torn down"; }
};
TEST_F(Torn, One) {}
TEST_F(Torn, Two) {}
template <typename T> class Typed : public testing::Test {};
using Types = testing::Types<int, char>;
TYPED_TEST_SUITE(Typed, Types);
TYPED_TEST(Typed, Holds) {}
TEST(Flaky, OnlyTheFirstTime) {
  if (!getenv("FLAKY")) return;
  if (access(getenv("FLAKY"), F_OK) != 0) { close(creat(getenv("FLAKY"), 0600)); FAIL(); }
}
"""


def build(directory):
    if not (shutil.which("cmake") and shutil.which("ninja")):
        skip("needs cmake and ninja")
    directory.mkdir()
    (directory / "CMakeLists.txt").write_text(PROJECT)
    (directory / "told.cc").write_text(PROGRAM)
    (directory / "own.cc").write_text(OWN_MAIN)
    for command in (["cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DProctor_DIR={BIN.parent}"],
                    ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600)
        check(done.returncode == 0, command, done.stdout, done.stderr)


class Suite:
    """A proctor.toml for one of the programs."""

    def __init__(self, sandbox, name, process, program="told", env=None, options=(), **keys):
        self.sandbox = sandbox
        self.processes = sandbox.path / f"{name}.processes"
        keys = {"kind": "gtest", "command": [f"{sandbox.path}/other/build/{program}", *options], "process": f"{process},verify:off",
                "timeout": "60s", **keys}
        lines = ["[suite.t]"] + [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        lines += ["[suite.t.env]", f'PROCESSES = "{self.processes}"']
        lines += [f"{key} = {json.dumps(str(value))}" for key, value in (env or {}).items()]
        lines += ["[[override]]", f'match = "t/{HANG}"', 'timeout = "2s"']
        self.config = sandbox.path / f"{name}.toml"
        self.config.write_text("\n".join(lines) + "\n")

    def run(self, *more, code=1, env=None):
        out = self.sandbox.out()
        run = self.sandbox.start("run", "--config", self.config, "--out", out, *more, env=env)
        self.errors = self.sandbox.finish(run, seconds=300)
        check(run.returncode == code, "exit", run.returncode, "instead of", code, self.errors)
        document = report(out)
        check_sums(document)
        return out, {case["id"].partition("/")[2]: case for case in document["cases"]}


def verdict(case):
    return f"{case['outcome']}({case['reason']})" if case["reason"] else case["outcome"]


def verdicts(cases):
    return {id: verdict(case) for id, case in cases.items()}


def failures(out):
    """{case: [(place, message)]} of its last attempt."""
    return {record["case"]: [(failure.get("file", ""), failure.get("line", 0), failure.get("message", ""))
                             for failure in record.get("failures", [])]
            for record in of_type(records(out), "attempt_ended")}


def junit(out):
    """What is said of each case; a process has one output, which is in its log."""
    words = ("failure", "error", "skipped")
    return {(case.get("classname"), case.get("name")): [child.tag for child in case if child.tag in words]
            for case in ElementTree.parse(out / "junit.xml").iter("testcase")}


def exactly_those_blamed(sandbox):
    alone_out, alone = Suite(sandbox, "alone", "case").run()
    suite = Suite(sandbox, "shared", "suite")
    shared_out, shared = suite.run()
    said = verdicts(shared)
    check(len(said) == 62, "planned", len(said))
    check(said == verdicts(alone), "differs:", set(said.items()) ^ set(verdicts(alone).items()))
    one, other = junit(shared_out), junit(alone_out)
    check(one == other, "JUnit differs:", {key: (one.get(key), other.get(key)) for key in {**one, **other}})
    special = {id: text for id, text in said.items() if text != "pass"}
    check(special == {CRASH: "crash(signal:11)", HANG: "timeout", "Special.Fails": "fail",
                      "Special.Skips": "skip(no such card)", "Special.DISABLED_Never": "skip(disabled)",
                      "Special.EndsTheProcess": "error(no_result)"}, special)
    count = len(suite.processes.read_text().split())
    check(count == 5, "processes that came to the parametrised cases:", count)
    told = failures(shared_out)["t/Special.Fails"]
    check(len(told) == 1 and told[0][0].endswith("told.cc") and "odd" in told[0][2] and "\\xff" in told[0][2], told)
    for id in (CRASH, HANG):
        check(len(shared[id]["attempts"]) == 2, "not once with others and once alone:", id, shared[id]["attempts"])
    check(shared[HANG]["attempts"][0]["evidence"]["lines"], "no evidence of the hang")
    print(f"ok {len(said)} cases: those that crash, hang, fail and end the process are blamed, all as one by one")


def retried_alone(sandbox):
    marker = sandbox.path / "flaky.marker"
    options = ["--gtest_filter=Flaky.*:Torn.*:Typed*", "--gtest_fail_fast", "--gtest_repeat=3"]
    suite = Suite(sandbox, "retries", "suite", env={"FLAKY": marker, "GTEST_TOTAL_SHARDS": 1, "GTEST_SHARD_INDEX": 0},
                  options=options, retries=1)
    out, cases = suite.run(code=1)  # flaky
    check(verdicts(cases)["Flaky.OnlyTheFirstTime"] == "pass", verdicts(cases))
    attempts = {id: [attempt["outcome"] for attempt in case["attempts"]] for id, case in cases.items()}
    tried = attempts.pop("Flaky.OnlyTheFirstTime")  # behind others it also runs alone again, and in the same order
    check(tried in (["fail", "pass"], ["fail", "pass", "pass", "pass"]), tried)
    check(cases["Flaky.OnlyTheFirstTime"]["marks"] == ["flaky"], cases["Flaky.OnlyTheFirstTime"])
    check(set(map(tuple, attempts.values())) == {("pass",)}, attempts)
    logs = {record["case"] + str(record["attempt"]): record["output"]["log"]
            for record in of_type(records(out), "attempt_ended")}
    check(len(set(logs.values())) == len(tried), "the retry had no process of its own:", logs)
    print("ok what failed is tried again alone")


def ends_badly(sandbox):
    """All cases passed, and yet the process did not."""
    options = ["--gtest_filter=Torn.*:Typed*:Special.Passes"]
    _, cases = Suite(sandbox, "exit", "suite", env={"EXIT_WITH": 9}, options=options).run()
    bad = {id: text for id, text in verdicts(cases).items() if text != "pass"}
    check(bad == {"Special.Passes": "fail(exit:9)"}, bad, "who ended the process badly is blamed:", cases)
    attempts = {id: [attempt["outcome"] for attempt in case["attempts"]] for id, case in cases.items()}
    check((attempts.pop("Special.Passes"), attempts.pop("Typed/1.Holds")) == (["pass", "fail"], ["fail", "pass"]), attempts)
    check(set(map(tuple, attempts.values())) == {("pass", "pass")}, attempts)
    check(cases["Typed/1.Holds"]["marks"] == [], "its process was unproven:", cases["Typed/1.Holds"])
    _, cases = Suite(sandbox, "torn", "suite", env={"TORN": 1}, options=options).run()
    bad = {id: text for id, text in verdicts(cases).items() if text != "pass"}
    check(bad == {"Torn.Two": "fail"}, verdicts(cases))
    print("ok a process that ends badly is not green")


def skipped_by_its_environment(sandbox):
    for process in ("case", "suite"):
        suite = Suite(sandbox, f"skip_{process}", process, env={"NO_CARD": 1}, options=["--gtest_filter=Torn.*"])
        _, cases = suite.run(code=3)  # nothing was executed
        check(set(verdicts(cases).values()) == {"skip(no card at all)"}, process, verdicts(cases))
    print("ok what the environment of a program skips is no pass")


def failed_by_its_environment(sandbox):
    for process in ("case", "suite"):
        suite = Suite(sandbox, f"failed_{process}", process, program="untold", env={"NO_LICENCE": 1},
                      options=["--gtest_filter=Torn.*"])
        out, cases = suite.run(code=1)
        check(set(verdicts(cases).values()) == {"fail"}, process, verdicts(cases))
        told = failures(out)
        check(told and all(any("no licence" in message for _, _, message in told[id]) for id in told), process, told)
    print("ok what fails in the environment of a program fails its cases, in its words")


def passes_are_of_their_own_case(sandbox):
    """A main() that filters by itself makes one pass at most, and none where more runs than was asked for."""
    names = ["Own.One", "Own.Two", "Own.Three"]
    mismatch = "error(result_mismatch)"
    for filter, passed in (("Own.One", ["Own.One"]), ("*", []), ("None.*", []), ("Own.T*", [])):
        suite = Suite(sandbox, "own", "case", program="own_untold", env={"OWN_FILTER": filter})
        out, cases = suite.run(code=1)
        check(verdicts(cases) == {name: "pass" if name in passed else mismatch for name in names}, filter, verdicts(cases))
        told = failures(out)["t/Own.Two"]
        check(any("also ran Own.One" in message for _, _, message in told) == (filter in ("Own.One", "*")), filter, told)
    # In a process that they share, each runs once, as the listener tells.
    suite = Suite(sandbox, "own", "suite", program="own_told", env={"OWN_FILTER": "Own.One"})
    _, cases = suite.run(code=1)
    missing = "error(no_result)"
    check(verdicts(cases) == {"Own.One": "pass", "Own.Two": missing, "Own.Three": missing}, verdicts(cases))
    _, cases = Suite(sandbox, "own", "suite", program="own_told", env={"OWN_FILTER": "*"}).run(code=0)
    check(set(verdicts(cases).values()) == {"pass"}, "all of them were asked for:", verdicts(cases))
    _, cases = Suite(sandbox, "own", "suite", program="own_told", env={"OWN_FILTER": "*"}).run("--case", "t/Own.Two", code=1)
    check(verdicts(cases) == {"Own.Two": mismatch}, verdicts(cases))
    print("ok a pass is a pass of that case, whatever a main() runs")


def filters_of_the_caller(sandbox):
    """A caller's environment leaves out no case, and each variable that would is named."""
    caller = {"GTEST_FILTER": "Own.One", "TESTBRIDGE_TEST_ONLY": "Own.One", "GTEST_TOTAL_SHARDS": "3",
              "GTEST_SHARD_INDEX": "1", "GTEST_REPEAT": "0", "GTEST_LIST_TESTS": "1", "GTEST_FAIL_FAST": "1",
              "GTEST_FLAGFILE": "/nowhere"}
    for process in ("case", "suite"):
        suite = Suite(sandbox, "callers", process, options=["--gtest_filter=Torn.*:Typed*:Flaky.*"], kind="gtest")
        out, cases = suite.run(code=0, env=caller)
        check(len(cases) == 5 and set(verdicts(cases).values()) == {"pass"}, process, verdicts(cases))
        told = json.dumps(report(out)["warnings"])
        check(all(f"{name}={value}" in told for name, value in caller.items()), told)
    program = f"{sandbox.path}/other/build/own_untold"
    done = sandbox.proctor("run", "--env", "GTEST_TOTAL_SHARDS=2", "--env", "GTEST_SHARD_INDEX=0", "--", program)
    check(done.returncode == 2 and "GTEST_TOTAL_SHARDS=2" in done.stderr and "Use --shard" in done.stderr, done.stderr)
    done = sandbox.proctor("list", "--", program, env={**sandbox.env, **caller})
    check(all(f"Own.{name}" in done.stdout for name in ("One", "Two", "Three")), done.stdout, done.stderr)
    if (BIN / "libproctor_ze_sim.so").exists():  # nor while it is recognised with a device
        done = sandbox.proctor("list", "--sim", "xpu:1x1", "--backend", "xpu", "--gpus", "1", "--", program,
                               env={**sandbox.env, **caller})
        check(all(f"Own.{name}" in done.stdout for name in ("One", "Two", "Three")), done.stdout, done.stderr)
    print("ok a caller's environment leaves out no case")


def more_than_an_argument(sandbox):
    """Filters of more than 128 KiB, Linux's limit for one argument."""
    source = sandbox.path / "other" / "told.cc"
    name = "N" * 900
    cases = "\n".join(f"TEST(Long, {name}{i}) {{}}" for i in range(200))
    source.write_text("#include <gtest/gtest.h>\n" + cases + "\n")
    done = subprocess.run(["cmake", "--build", "build", "--target", "told"], cwd=source.parent, capture_output=True)
    check(done.returncode == 0, done.stdout)
    out, found = Suite(sandbox, "long", "suite").run(code=0)
    check(len(found) == 200 and set(verdicts(found).values()) == {"pass"}, verdicts(found))
    logs = {record["output"]["log"] for record in of_type(records(out), "attempt_ended")}
    check(len(logs) == 1, "processes", logs)
    print("ok 200 names of 900 bytes in one process")


def without_listener(sandbox):
    """GoogleTest's result file has the cases (gtest_shared.py)."""
    suite = Suite(sandbox, "untold", "suite", program="untold", options=["--gtest_filter=Torn.*"])
    _, cases = suite.run(code=0)
    check(verdicts(cases) == {"Torn.One": "pass", "Torn.Two": "pass"}, verdicts(cases))
    for program, way in (("untold", "in GoogleTest's result file"), ("told", "by Proctor's listener")):
        suite = Suite(sandbox, program, "suite", program=program, options=["--gtest_filter=Torn.*"])
        done = sandbox.proctor("run", "--config", suite.config, "--dry-run", "-v")
        check(f"its program reports its cases {way}" in done.stdout, done.stdout, done.stderr)
    print("ok without the listener the cases share a process all the same")


def main():
    os.environ.pop("GTEST_FILTER", None)
    with Sandbox() as sandbox:
        build(sandbox.path / "other")
        exactly_those_blamed(sandbox)
        retried_alone(sandbox)
        ends_badly(sandbox)
        skipped_by_its_environment(sandbox)
        failed_by_its_environment(sandbox)
        without_listener(sandbox)
        passes_are_of_their_own_case(sandbox)
        filters_of_the_caller(sandbox)
        more_than_an_argument(sandbox)


if __name__ == "__main__":
    main()
