#!/usr/bin/env python3
"""A project with GoogleTest and Catch2 as its author writes it, on find_package(Proctor): what CTest and editors see of its
tests, what each argument does, and the one run that a call of ctest is."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

from harness import BIN, check, is_sanitized, report, run_scenarios, skip, wait_until

PLACE = """#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>
#include <fstream>
#include <string>
std::string words;
TEST(Place, IsWhereAddTestStarts) {
  char here[4096];
  ASSERT_NE(getcwd(here, sizeof here), nullptr);
  const char* wanted = getenv("WANTED_PLACE");
  if (wanted == nullptr) GTEST_SKIP() << "nobody said where";
  EXPECT_STREQ(here, wanted);
}
TEST(Place, HasItsArguments) { EXPECT_EQ(words, getenv("WANTED_WORDS")); }
TEST(Place, HasItsVariables) { EXPECT_STREQ(getenv("WITH_LIST"), "a;b \\"c\\" \\\\d"); }
TEST(Place, DISABLED_Never) { FAIL(); }
TEST(Other, Fails) { printf("these are my own words\\n"); EXPECT_EQ(1, 2) << "no good"; }
TEST(Other, FailsOnce) {
  const std::string file = std::string(getenv("TURNS")) + "/turn";
  const bool first = access(file.c_str(), F_OK) != 0;
  std::ofstream(file) << "x";
  EXPECT_FALSE(first);
}
TEST(Other, Passes) {
  if (const char* turns = getenv("TURNS")) std::ofstream(turns + std::string("/contained")) << getenv("PROCTOR_CONTAINMENT");
}
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) words += std::string(i > 1 ? " " : "") + argv[i];
  return RUN_ALL_TESTS();
}
"""
EMPTY = "#include <gtest/gtest.h>\n"
CATCH = """#if __has_include(<catch2/catch_all.hpp>)  // version 3
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
TEST_CASE("a list [of; things]", "[fast]") { CHECK(1 == 1); }
TEST_CASE("is wrong", "[slow]") { CHECK(1 == 2); }
"""
HEAD = """cmake_minimum_required(VERSION 3.25)
project(real LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
enable_testing()
find_package(Proctor REQUIRED)
find_package(GTest REQUIRED)
"""
PLACE_TARGET = """add_executable(place place.cc)
target_link_libraries(place PRIVATE GTest::gtest)
"""
PROJECT = HEAD + PLACE_TARGET + """
find_package(Catch2 REQUIRED)
add_executable(empty empty.cc)
target_link_libraries(empty PRIVATE GTest::gtest_main)
add_executable(list_test catch.cc)
target_link_libraries(list_test PRIVATE Catch2::$<IF:$<VERSION_LESS:${Catch2_VERSION},3>,Catch2,Catch2WithMain>)

proctor_discover_tests(place LABELS quick "two words" TEST_FILTER Place.*
  EXTRA_ARGS --flavour "a b" ENVIRONMENT "WITH_LIST=a;b \\"c\\" \\\\d" "WANTED_PLACE=${CMAKE_CURRENT_SOURCE_DIR}/data dir"
  "WANTED_WORDS=--flavour a b" WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/data dir"
  OPTIONS -v PROPERTIES COST 7 LABELS "more;labels" ENVIRONMENT "ONE=1;TWO=2" TIMEOUT 40 FIXTURES_REQUIRED database)
proctor_discover_tests(place TEST_PREFIX again. TEST_SUFFIX .x TEST_FILTER Other.Passes:Place.IsWhereAddTestStarts
  ENVIRONMENT WANTED_PLACE=${CMAKE_CURRENT_BINARY_DIR})
proctor_discover_tests(empty)
proctor_discover_tests(list_test TEST_PREFIX "")
add_test(NAME database COMMAND ${CMAKE_COMMAND} -E true)
set_tests_properties(database PROPERTIES FIXTURES_SETUP database)
proctor_add_suite(whole COMMAND place --gtest_filter=Place.Is* LABELS a b ENVIRONMENT WANTED_PLACE=${CMAKE_CURRENT_BINARY_DIR})
proctor_add_suite(moved KIND gtest COMMAND place EXTRA_ARGS --gtest_filter=Place.Is*
  WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/data dir" ENVIRONMENT "WANTED_PLACE=${CMAKE_CURRENT_SOURCE_DIR}")
add_subdirectory(below)
function(add_gpu_test target)
  proctor_discover_tests(${target} ${ARGN})
endfunction()
add_gpu_test(place TEST_PREFIX wrapped. TEST_FILTER Other.Passes)
"""
BELOW = """proctor_add_suite(place COMMAND ${CMAKE_COMMAND} -E true LABELS a b BACKEND xpu OPTIONS --sim xpu:2x1)
proctor_discover_tests(place TEST_PREFIX claimed. TEST_FILTER Other.Passes LABELS a b BACKEND xpu GPUS 2 OPTIONS --sim xpu:2x1)
"""
RUN = HEAD + PLACE_TARGET + """
proctor_discover_tests(place TEST_PREFIX "" TEST_FILTER Other.*:Place.Is* ENVIRONMENT TURNS=${CMAKE_BINARY_DIR})
proctor_add_suite(refused COMMAND no-such-program-at-all)
proctor_add_suite(works COMMAND ${CMAKE_COMMAND} -E echo hello LABELS quick)
add_test(NAME not_ours COMMAND ${CMAKE_COMMAND} -E true)
"""
FIXTURE = {"proctor.open": "Passed", "proctor.report": "Passed"}


def run(directory, *command, expect=None, env=None):
    done = subprocess.run([str(word) for word in command], cwd=directory, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **(env or {})})
    check(expect is None or done.returncode == expect, *command, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def results(text):
    """{test: result} of ctest's lines; of a repeated test, the last."""
    line = re.compile(r"Test +#\d+: (\S.*?) \.+ *(?:\*\*\*)?(Passed|Failed|Skipped|Not Run \(Disabled\))")
    return dict(match.groups() for match in line.finditer(text))


def project(sandbox, text, *options, files=None):
    """A built project; skipped where the distribution's packages are not there."""
    for package in ("GTest/GTestConfig.cmake", "Catch2/Catch2Config.cmake"):
        places = subprocess.run(["find", "/usr/lib", "/usr/share", "-path", f"*/{package}"], capture_output=True, text=True)
        if not places.stdout:
            skip(f"package_missing:{package}")
    source, build = sandbox.path / "source", sandbox.path / "build"
    source.mkdir()
    for name, content in {"CMakeLists.txt": text, "place.cc": PLACE, "empty.cc": EMPTY, "catch.cc": CATCH, **(files or {})}.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(content)
    (source / "data dir").mkdir()
    run(source, "cmake", "-S", source, "-B", build, f"-DProctor_DIR={BIN.parent}", "-G", "Ninja", *options, expect=0)
    run(source, "cmake", "--build", build, expect=0)
    return source, build


def tests_of(build, *options):
    """{name: {property: value}} as editors read it, each with the place it comes from."""
    found = json.loads(run(build, "ctest", "--show-only=json-v1", *options, expect=0))
    graph = found["backtraceGraph"]
    tests = {}
    for test in found["tests"]:
        check(test["name"] not in tests, "twice:", test["name"])
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        node = graph["nodes"][test["backtrace"]] if "backtrace" in test else None
        properties["place"] = node and (graph["files"][node["file"]], node.get("line"))
        properties["command"] = test.get("command")
        tests[test["name"]] = properties
    return tests


def arguments(sandbox):
    source, build = project(sandbox, PROJECT, files={"below/CMakeLists.txt": BELOW})
    tests = tests_of(build)
    check(set(tests) == {"proctor.open", "proctor.report", "database", "whole", "moved", "place",
                         *(f"place/Place.{name}" for name in
                           ("IsWhereAddTestStarts", "HasItsArguments", "HasItsVariables", "DISABLED_Never")),
                         "again.Other.Passes.x", "again.Place.IsWhereAddTestStarts.x", "claimed.Other.Passes",
                         "wrapped.Other.Passes", "a list [of; things]", "is wrong"}, sorted(tests))
    case = tests["place/Place.HasItsArguments"]
    check("-v" in case["command"] and "-q" not in case["command"], case["command"])
    check("-q" in tests["whole"]["command"], tests["whole"]["command"])
    check(case["LABELS"] == ["labels", "more", "quick", "two words"], case)
    check(case["COST"] == 7 and case["ENVIRONMENT"] == ["ONE=1", "TWO=2"], case)
    check(sorted(case["FIXTURES_REQUIRED"]) == ["database", "proctor.run"], case)
    check(case["WORKING_DIRECTORY"] == f"{source}/data dir", case)
    for name, file in {"place/Place.HasItsArguments": "CMakeLists.txt", "wrapped.Other.Passes": "CMakeLists.txt",
                       "claimed.Other.Passes": "below/CMakeLists.txt"}.items():
        check(tests[name]["place"] == (f"{source}/{file}", 1), name, tests[name]["place"])
    for name in ("place", "claimed.Other.Passes"):
        check(tests[name]["LABELS"] == ["a", "b"], tests[name])
        check(tests[name]["RESOURCE_GROUPS"][0]["requirements"][0][".type"] == "xpu_gpus", tests[name])
        check(tests[name]["WORKING_DIRECTORY"] == f"{build}/below", tests[name])
    check(tests["claimed.Other.Passes"]["RESOURCE_GROUPS"] == [{"requirements": [{".type": "xpu_gpus", "slots": 1}]}] * 2, tests)
    found = results(run(build, "ctest", "-j2", "-E", "claimed|^place$"))
    bad = {name for name, result in found.items() if result == "Failed"}
    check(bad == {"is wrong", "moved"}, found)  # `moved` says that another place is wanted
    check(found["place/Place.DISABLED_Never"] == "Not Run (Disabled)", found)
    check("timeout = \"40s\"" in (build / "proctor/place.toml").read_text(), "CTest's limit is not Proctor's")
    print(f"ok {len(found)} tests with every argument")
    only = results(run(build, "ctest", "-L", "^more$", expect=0))
    check(set(only) == {"database", *FIXTURE, *(name for name in tests if name.startswith("place/"))}, only)
    below = results(run(build / "below", "ctest", "-N"))
    check(set(tests_of(build / "below")) == {*FIXTURE, "place", "claimed.Other.Passes"}, below)
    print("ok the tests of a directory by themselves")


def wrong_words(sandbox):
    (sandbox.path / "x.cc").write_text("int main() {}\n")
    for call, why in (("proctor_discover_tests(x LABLES a)", "unknown argument 'LABLES;a'"),
                      ("proctor_discover_tests(y)", "there is no such target"),
                      ("proctor_discover_tests(x GPUS 2)", "GPUS needs a BACKEND"),
                      ("proctor_discover_tests(x TIMEOUT)", "no value for TIMEOUT"),
                      ("proctor_discover_tests(x KIND catch2 TEST_FILTER a)", "TEST_FILTER is GoogleTest's"),
                      ("proctor_discover_tests(x PROPERTIES COST)", "PROPERTIES takes names with values, and COST has none"),
                      ("proctor_discover_tests(x PROPERTIES LABELS a b)", "PROPERTIES takes names with values, not 'b'"),
                      ("proctor_discover_tests(x ENVIRONMENT A)", "ENVIRONMENT takes NAME=VALUE"),
                      ("proctor_discover_tests(x KIND command)", "a command lists no tests"),
                      ("proctor_add_suite(x)", "COMMAND is missing"),
                      ("proctor_add_suite(x COMMAND a SKIP_CODE x)", "SKIP_CODE takes an exit code, not 'x'"),
                      ('proctor_add_suite(x COMMAND "")', "COMMAND is missing"),
                      ("proctor_discover_tests(x off)", "unknown argument 'off'"),
                      *((f"proctor_add_suite(x COMMAND a PROPERTIES COST 1 {name} a)", f"{name} changes what CTest says")
                        for name in ("WILL_FAIL", "PASS_REGULAR_EXPRESSION", "FAIL_REGULAR_EXPRESSION",
                                     "SKIP_REGULAR_EXPRESSION", "SKIP_RETURN_CODE")),
                      ("set(PROCTOR_RUNS one)\nproctor_add_suite(x COMMAND a)\nset(PROCTOR_RUNS two)\n"
                       "proctor_add_suite(y COMMAND a)", "build/two', and was '")):
        (sandbox.path / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(x LANGUAGES NONE)\nenable_testing()\n"
            "find_package(Proctor REQUIRED)\nadd_executable(x IMPORTED)\n" + call + "\n")
        text = run(sandbox.path, "cmake", "-S", ".", "-B", "build", f"-DProctor_DIR={BIN.parent}", expect=1)
        check(why in " ".join(text.split()), call, text)
    print("ok what is refused when a project is configured")


NO_LANGUAGE = """cmake_minimum_required(VERSION 3.25)
project(words LANGUAGES NONE)
enable_testing()
find_package(Proctor REQUIRED)
"""
# Writes its words and some variables to a file.
SHOW = """import json, os, sys
json.dump([sys.argv[2:], {name: os.environ.get(name) for name in "ABCDE"}], open(sys.argv[1], "w"))
"""
# As CMakeLists.txt has them.
WORDS = [r'''"<%s>" a "" b''', r'''"[a" b c''', r'''a "b]" "]" "[" c''', r'''"" ""''', r'''"a;b" "[a;b]" ";"''',
         r'''"a\\" b "\\;" "\\" c''', r'''"say \"hi\"" "two words" "it's"''', r'''"\$HOME" "$HOME" "\${A}" "$" "a#b"''',
         r'''false OFF no 0 "a
b" "=" "]==]" "[==["''', r'''"$<1:a;b>" "$<0:a>" "100%" "*" "a\tb"''']
VARIABLES = r'''"A=[x" "B=2" "C=" "D=a;b\\" "E=off"'''


def words(sandbox):
    """Words arrive as add_test() gives them, whatever is in them."""
    text = NO_LANGUAGE + "add_executable(x IMPORTED)\nset_target_properties(x PROPERTIES IMPORTED_LOCATION /no/program)\n"
    for i, these in enumerate(WORDS):
        for name, call in (("theirs", "add_test(NAME theirs%d COMMAND"), ("ours", "proctor_add_suite(ours%d COMMAND")):
            text += f"{call % i} {sys.executable} ${{CMAKE_SOURCE_DIR}}/show.py ${{CMAKE_BINARY_DIR}}/{name}{i} {these})\n"
        text += f"proctor_add_suite(extra{i} COMMAND {sys.executable} ${{CMAKE_SOURCE_DIR}}/show.py\n"
        text += f"  EXTRA_ARGS ${{CMAKE_BINARY_DIR}}/extra{i} {these} ENVIRONMENT {VARIABLES})\n"
        text += f"add_test(NAME plain{i} COMMAND {sys.executable} {these})\nproctor_add_suite(options{i} COMMAND a OPTIONS {these})\n"
    text += f"proctor_discover_tests(x EXTRA_ARGS {WORDS[1]} OPTIONS {WORDS[0]})\n"
    text += f"proctor_discover_tests(x EXTRA_ARGS {WORDS[1]} OPTIONS {WORDS[0]})\n"
    (sandbox.path / "show.py").write_text(SHOW)
    (sandbox.path / "CMakeLists.txt").write_text(text)
    build = sandbox.path / "build"
    run(sandbox.path, "cmake", "-S", ".", "-B", build, f"-DProctor_DIR={BIN.parent}", expect=0)
    run(build, "ctest", "-j4", "-R", "^(theirs|ours|extra)", expect=0)
    variables = {"A": "[x", "B": "2", "C": "", "D": "a;b\\", "E": "off"}
    for i, these in enumerate(WORDS):
        theirs, ours, extra = (json.loads((build / f"{name}{i}").read_text()) for name in ("theirs", "ours", "extra"))
        check(theirs[0] == ours[0] == extra[0], these, theirs[0], ours[0], extra[0])
        check(extra[1] == variables, extra[1])
    found = json.loads(run(build, "ctest", "--show-only=json-v1", expect=0))
    commands = [(test["name"], test["command"]) for test in found["tests"] if "command" in test]
    for i in range(len(WORDS)):
        plain, ours = (dict(commands)[f"{kind}{i}"] for kind in ("plain", "options"))
        check(ours[-len(plain[1:]):] == plain[1:], plain, ours)
    missing = [command for name, command in commands if name == "x_NOT_DISCOVERED"]
    check([command[-4:] for command in missing] == [["<%s>", "a", "", "b"]] * 2, missing)
    for suite in ("x", "x-2"):
        config = (build / f"proctor/{suite}.toml").read_text()
        check('command = ["/no/program", "[a", "b", "c", ]' in config, config)
    print("ok words are as add_test() gives them")


def words_that_mean_no(sandbox):
    """`off` is a value as any other, and an empty one is none."""
    (sandbox.path / "CMakeLists.txt").write_text(NO_LANGUAGE + """add_executable(x IMPORTED)
set_target_properties(x PROPERTIES IMPORTED_LOCATION /no/program)
proctor_add_suite(off COMMAND off TIMEOUT no KIND false BACKEND off LABELS off PROPERTIES TIMEOUT 40)
proctor_add_suite(none COMMAND sh "" TIMEOUT "" KIND "" BACKEND "" GPUS "" LABELS "" WORKING_DIRECTORY ""
                  PROPERTIES COST "")
proctor_add_suite(pairs COMMAND sh LABELS "[a" b PROPERTIES ENVIRONMENT "A=[1" TIMEOUT 40 LABELS off)
proctor_add_suite(labels COMMAND sh LABELS "a;b" "" c)
proctor_discover_tests(x TEST_FILTER no)
proctor_discover_tests(x TEST_FILTER "")
""")
    build = sandbox.path / "build"
    run(sandbox.path, "cmake", "-S", ".", "-B", build, f"-DProctor_DIR={BIN.parent}", expect=0)
    off, none, first, second = ((build / f"proctor/{suite}.toml").read_text() for suite in ("off", "none", "x", "x-2"))
    for line in ('command = ["off", ]', 'timeout = "no"', 'kind = "false"', 'backend = "off"'):
        check(line in off, line, off)
    check(none == f'[suite.none]\nkind = "command"\ncommand = ["sh", "", ]\ndirectory = "{build}"\n', none)
    check("--gtest_filter=no" in first and "--gtest_filter" not in second, first, second)
    found = json.loads(run(build, "ctest", "--show-only=json-v1", "-R", "^(off|none|pairs|labels)$", expect=0))
    tests = {test["name"]: {entry["name"]: entry["value"] for entry in test["properties"]} for test in found["tests"]}
    check(tests["off"]["LABELS"] == ["off"] and "LABELS" not in tests["none"], tests)
    check(tests["labels"]["LABELS"] == ["a;b", "c"], tests["labels"])
    check(tests["pairs"]["ENVIRONMENT"] == ["A=[1"] and "off" in str(tests["pairs"]["LABELS"]), tests["pairs"])
    check('timeout = "40s"' in (build / "proctor/pairs.toml").read_text(), "CTest's limit is not Proctor's")
    print("ok `off` and empty values")


def changes(sandbox):
    """What the functions are told takes effect at the next ctest, whatever the clock says."""
    text = HEAD + PLACE_TARGET + "proctor_discover_tests(place TEST_FILTER Other.P* OPTIONS --sim xpu:1x1)\n"
    source, build = project(sandbox, text)
    def command():
        return " ".join(tests_of(build)["place/Other.Passes"]["command"])
    check("--sim xpu:1x1" in command(), command())
    (source / "CMakeLists.txt").write_text(text.replace("xpu:1x1", "xpu:2x1"))
    run(source, "cmake", "--build", build, expect=0)
    check("--sim xpu:2x1" in command(), command())
    (source / "CMakeLists.txt").write_text(text.replace("Other.P*", "Other.F*"))
    run(source, "cmake", "--build", build, expect=0)
    check({*tests_of(build)} == {*FIXTURE, "place/Other.Fails", "place/Other.FailsOnce"}, tests_of(build))
    (source / "place.cc").write_text(PLACE.replace("Other, Fails)", "Other, FailsNow)"))
    run(source, "cmake", "--build", build, expect=0)
    check("place/Other.FailsNow" in tests_of(build), "the new program's case is not there")
    (build / "place").unlink()
    found = run(build, "ctest", "--output-on-failure")
    check(results(found) == {**FIXTURE, "place_NOT_DISCOVERED": "Failed"} and "does not exist" in found, found)
    print("ok arguments, programs and their absence")


def multi_config(sandbox):
    text = HEAD + PLACE_TARGET + """
proctor_discover_tests(place TEST_FILTER $<IF:$<CONFIG:Debug>,Other.P*,Other.F*>)
proctor_add_suite(whole COMMAND place --gtest_filter=Other.P* ENVIRONMENT IN=$<CONFIG>)
"""
    source, build = project(sandbox, text, "-G", "Ninja Multi-Config", "-DCMAKE_CONFIGURATION_TYPES=Debug;Release")
    run(source, "cmake", "--build", build, "--config", "Release", expect=0)
    check(set(tests_of(build, "-C", "Debug")) == {*FIXTURE, "whole", "place/Other.Passes"}, "Debug")
    check(set(tests_of(build, "-C", "Release")) == {*FIXTURE, "whole", "place/Other.Fails", "place/Other.FailsOnce"}, "Release")
    for config in ("Debug", "Release"):
        found = results(run(build, "ctest", "-C", config, "-R", "whole", expect=0))
        check(found == {**FIXTURE, "whole": "Passed"}, found)
        check(f"/{config}/place" in (build / f"proctor/whole-{config}.toml").read_text(), config)
    text = run(build, "ctest")
    check("place" in text and "Not Run" in text, text)
    print("ok two configurations in one build")


def one_run(sandbox):
    _, build = project(sandbox, RUN)
    latest = build / "proctor-out/latest"
    text = run(build, "ctest", "-j8", "--output-on-failure")
    found = results(text)
    check("these are my own words" in text and "no good" in text, "not the test's own words:", text)
    check("containment" not in text and "suite  " not in text, "our header:", text)
    check(found == {**FIXTURE, "Other.Fails": "Failed", "Other.FailsOnce": "Failed", "Other.Passes": "Passed",
                    "Place.IsWhereAddTestStarts": "Skipped", "refused": "Failed", "works": "Passed",
                    "not_ours": "Passed"}, found)
    document = report(latest)
    outcomes = {case["id"]: case["outcome"] for case in document["cases"]}
    check(outcomes == {"place/Other.Fails": "fail", "place/Other.FailsOnce": "fail", "place/Other.Passes": "pass",
                       "place/Place.IsWhereAddTestStarts": "skip", "works/cmake": "pass"}, outcomes)
    check(any("no-such-program-at-all" in warning["text"] for warning in document["warnings"]), document["warnings"])
    check(document["run"]["exit_code"] == 1, document["run"])
    junit = ET.parse(latest / "junit.xml").getroot()
    check({case.get("name") for case in junit.iter("testcase")} >= {"Fails", "FailsOnce", "Passes", "cmake"}, "junit.xml")
    check("no-such-program-at-all" in (latest / "junit.xml").read_text(), "junit.xml does not say what was refused")
    check("Other.Fails" in (latest / "summary.md").read_text(), "summary.md")
    for case in document["cases"]:
        for attempt in case["attempts"]:
            check((latest / attempt["output"]["log"]).is_file(), "no log", attempt["output"])
    check(len(list((latest / "parts").iterdir())) == 6, "parts")
    check(len(list((build / "proctor-out").glob("2*"))) == 1, "more than one run")
    print("ok one run of nine tests")

    (build / "turn").unlink()
    found = results(run(build, "ctest", "--rerun-failed", "--repeat", "until-pass:3"))
    check(found == {**FIXTURE, "Other.FailsOnce": "Passed", "Other.Fails": "Failed", "refused": "Failed"}, found)
    document = report(latest)
    check({case["id"]: (case["outcome"], case["marks"], len(case["attempts"])) for case in document["cases"]} ==
          {"place/Other.FailsOnce": ("pass", ["flaky"], 2), "place/Other.Fails": ("fail", [], 3)}, document["cases"])
    (build / "turn").unlink()
    run(build, "ctest", "-R", "FailsOnce", "--repeat", "until-pass:3", expect=0)
    check(report(latest)["run"]["exit_code"] == 0, "CTest says that it passed")
    again = run(build, BIN / "proctor", "rerun", latest, "--case", "place/Other.FailsOnce", "--out", build / "again",
                env={"TURNS": str(build)}, expect=0)
    check("1 pass" in again or "pass 1" in again or "passed" in again, again)

    found = results(run(build, "ctest", "--repeat", "until-fail:2", "-L", "quick", expect=0))
    check(found == {**FIXTURE, "works": "Passed"}, found)
    document = report(latest)
    check([(case["id"], len(case["attempts"])) for case in document["cases"]] == [("works/cmake", 2)], document["cases"])
    print("ok --rerun-failed, and repeats until a test passes or fails")

    found = results(run(build, "ctest", "-R", "refused"))
    check(found == {**FIXTURE, "refused": "Failed"}, found)
    junit = (latest / "junit.xml").read_text()
    check("no-such-program-at-all" in junit and 'errors="1"' in junit, junit)
    print("ok a call of which no test has results is red")

    def number_of_case():
        """Of the contained processes of a run, which one its case was: probes and lists are others."""
        return int((build / "contained").read_text().rpartition("/")[2])
    run(build, "ctest", "-R", "Other.Passes", expect=0)
    check(number_of_case() == 1, "a probe of the containment, or a list of the program:", number_of_case())
    check({path.name for path in (latest / "parts/1").iterdir()} == {"journal.jsonl", "logs"}, "a part has other files")
    alone = ["run", "place", "--config", build / "proctor/place.toml", "--join", build / "alone", "--case", "place/Other.Passes"]
    run(build, BIN / "proctor", *alone, expect=0)
    check(number_of_case() == 2, "nobody has probed before; the list is known:", number_of_case())
    (build / "place").touch()
    run(build, BIN / "proctor", *alone, expect=0)
    check(number_of_case() == 3, "the list of a program that was changed is not known:", number_of_case())
    print("ok a test starts one contained process")

    before = latest.resolve()
    found = results(run(build, "ctest", "-R", "works", "-FA", "."))
    check(found == {"works": "Passed"} and latest.resolve() == before, found)
    print("ok a test without the fixture")


def two_calls(sandbox):
    """Of one build directory, at the same time: each has its own run."""
    text = HEAD + """foreach(i RANGE 1 8)
  proctor_add_suite(test${i} COMMAND sh -c "exit $(( ${i} % 2 ))")
endforeach()
"""
    _, build = project(sandbox, text)
    calls = [subprocess.Popen(["ctest", "-j2", "-R", f"test[{digits}]"], cwd=build, stdout=subprocess.DEVNULL)
             for digits in ("1-4", "5-8")]
    for call in calls:
        check(call.wait(timeout=120) == 8, "half of its tests are red")
    runs = [report(run) for run in sorted((build / "proctor-out").glob("2*"))]
    suites = sorted(sorted(case["suite"] for case in run["cases"]) for run in runs)
    check(suites == [[f"test{i}" for i in range(1, 5)], [f"test{i}" for i in range(5, 9)]], suites)
    check(all(run["summary"]["fail"] == 2 for run in runs), [run["summary"] for run in runs])
    print("ok two calls at a time")


def runs_of_their_own(sandbox):
    _, build = project(sandbox, RUN, "-DPROCTOR_ONE_RUN=OFF")
    found = results(run(build, "ctest", "-R", "works|Passes", expect=0))
    check(found == {"Other.Passes": "Passed", "works": "Passed"}, found)
    check(len(list((build / "proctor-out").glob("2*"))) == 2, "each has a run")
    print("ok the fixture turned off")


DRIVER = """#include <assert.h>
#include <gtest/gtest.h>
#include <level_zero/ze_api.h>
TEST(Driver, HasADevice) {
  unsigned one = 1;
  ze_driver_handle_t driver;
  ze_device_handle_t device;
  EXPECT_EQ(zeDriverGet(&one, &driver), 0);
  EXPECT_EQ(zeDeviceGet(driver, &one, &device), 0);
}
TEST(Driver, IsThereAgain) {}
int main(int argc, char** argv) {
  assert(zeInit(0) == 0);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
"""


def a_driver_in_main(sandbox):
    """A program that cannot even list its cases without a device: it is a skip, and its cases are there with a device."""
    if not (BIN / "libproctor_ze_sim.so").exists():
        skip("library_missing:libproctor_ze_sim.so")
    if is_sanitized():
        skip("a sanitized library needs a sanitized program")
    text = HEAD + """add_executable(driver driver.cc)
target_link_libraries(driver PRIVATE GTest::gtest ze_loader)
proctor_discover_tests(driver BACKEND xpu)
"""
    source, build = project(sandbox, text, files={"driver.cc": DRIVER})
    if "driver/driver" in tests_of(build):  # no card here
        check(results(run(build, "ctest", expect=0)) == {**FIXTURE, "driver/driver": "Skipped"}, "without a device")
    (source / "CMakeLists.txt").write_text(text.replace("BACKEND xpu", "BACKEND xpu OPTIONS --sim xpu:1x1"))
    run(source, "cmake", "--build", build, expect=0)
    found = results(run(build, "ctest", "-j2", expect=0))
    check(found == {**FIXTURE, "driver/Driver.HasADevice": "Passed", "driver/Driver.IsThereAgain": "Passed"}, found)
    check(report(build / "proctor-out/latest")["run"]["simulated"], "it is simulated")
    print("ok a program that calls its driver in main()")


CUDA = """#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int devices = 0;
TEST(Cuda, SeesItsOneDevice) { EXPECT_EQ(devices, 1); }
TEST(Cuda, CopiesThereAndBack) {
  char sent[4096], got[4096] = {};
  for (int i = 0; i < 4096; ++i) sent[i] = static_cast<char>(i);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, sizeof sent), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(memory, sent, sizeof sent, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(got, memory, sizeof got, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(memcmp(sent, got, sizeof sent), 0);
}
int main(int argc, char** argv) {
  printf("a banner\\n");
  void* memory = nullptr;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || cudaMalloc(&memory, 16) != cudaSuccess) abort();
  cudaFree(memory);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
"""


def cuda_in_main(sandbox):
    """The same of the CUDA runtime: by one line of `proctor run`, and by CTest, each case a process on a device."""
    cache = (BIN.parent / "CMakeCache.txt").read_text()
    toolkit = re.search(r"^CUDA_CUDART:FILEPATH=(.*)/lib(?:64)?/libcudart\.so$", cache, re.MULTILINE)
    if not toolkit or not (BIN / "cuda_sim").exists():
        skip("needs the CUDA toolkit when Proctor is configured")
    if is_sanitized():
        skip("a sanitized library needs a sanitized program")
    text = HEAD + """find_package(CUDAToolkit REQUIRED)
add_executable(it it.cc)
target_link_libraries(it PRIVATE GTest::gtest CUDA::cudart)
proctor_discover_tests(it BACKEND cuda OPTIONS --sim cuda:2)
"""
    _, build = project(sandbox, text, f"-DCUDAToolkit_ROOT={toolkit[1]}", files={"it.cc": CUDA})
    found = results(run(build, "ctest", "-j2", expect=0))
    check(found == {**FIXTURE, "it/Cuda.SeesItsOneDevice": "Passed", "it/Cuda.CopiesThereAndBack": "Passed"}, found)
    out = sandbox.out()
    text = run(build, BIN / "proctor", "run", "--sim", "cuda:2", "--out", out, "--", "./it", expect=0)
    check("gtest" in text and "needs libcudart.so" in text, text)
    cases = report(out)["cases"]
    check([len(case["devices"]) for case in cases] == [1, 1], cases)
    check(len({case["attempts"][0]["output"]["log"] for case in cases}) == 2, "they share a process", cases)
    print("ok a program that calls the CUDA runtime in main()")


BAD = {
    "crashes": "kill -SEGV $$",
    "floods": "yes | head -c 1000000000",
    "says_no": "echo the driver is gone >&2; exit 3",
    # Lists another case each time; what CTest knows of is not there any more.
    # Not to be run as a command, which would pass.
    "unknown": "exit 0",
    "gave_up": "echo no GPU",  # as a main() does before it comes to its tests
    "fickle": "echo x >> $0.turns; echo Group.; echo \"  Turn$(wc -l < $0.turns)\"",
}


def bad_programs(sandbox):
    """What cannot be listed is a red test, and red in the report; nothing is left out in silence."""
    text = """cmake_minimum_required(VERSION 3.25)
project(bad LANGUAGES NONE)
enable_testing()
find_package(Proctor REQUIRED)
"""
    for name, body in BAD.items():
        (sandbox.path / name).write_text(f"#!/bin/sh\n{body}\n")
        (sandbox.path / name).chmod(0o755)
        text += (f"add_executable({name} IMPORTED)\n"
                 f"set_target_properties({name} PROPERTIES IMPORTED_LOCATION {sandbox.path}/{name})\n"
                 f"proctor_discover_tests({name}{'' if name == 'unknown' else ' KIND gtest'})\n")
    (sandbox.path / "CMakeLists.txt").write_text(text)
    build = sandbox.path / "build"
    run(sandbox.path, "cmake", "-S", ".", "-B", build, f"-DProctor_DIR={BIN.parent}", expect=0)
    found = results(run(build, "ctest", "-j2"))
    check(found == {**FIXTURE, "fickle/Group.Turn1": "Failed", "crashes_NOT_DISCOVERED": "Failed",
                    "floods_NOT_DISCOVERED": "Failed", "says_no_NOT_DISCOVERED": "Failed",
                    "gave_up_NOT_DISCOVERED": "Failed", "unknown_NOT_DISCOVERED": "Failed"}, found)
    document = report(build / "proctor-out/latest")
    outcomes = {case["id"]: (case["outcome"], case["reason"]) for case in document["cases"]}
    check(outcomes == {**{name: ("error", "discovery") for name in ("crashes", "floods", "gave_up", "says_no")},
                       "fickle/Group.Turn1": ("error", "no_result")}, outcomes)
    junit = (build / "proctor-out/latest/junit.xml").read_text()
    for words in ("fickle/Group.Turn1", "the driver is gone", "killed by signal 11", "wrote more output than Proctor reads"):
        check(words in junit, words, junit)
    print("ok programs that cannot be listed")


def a_ctest_that_is_killed(sandbox):
    text = HEAD + """proctor_add_suite(one COMMAND ${CMAKE_COMMAND} -E true)
proctor_add_suite(two COMMAND sh -c "echo now > ${CMAKE_BINARY_DIR}/there; sleep 600")
set_tests_properties(two PROPERTIES DEPENDS one)
"""
    _, build = project(sandbox, text)
    ctest = subprocess.Popen(["ctest"], cwd=build, stdout=subprocess.DEVNULL, start_new_session=True)
    wait_until((build / "there").exists, 60, "second test")
    ctest.kill()
    ctest.wait()
    latest = build / "proctor-out/latest"
    for part in (latest / "parts").iterdir():
        run(build, BIN / "proctor", "finish", part, "--stop", expect=0)
    check("has not finished" in (latest / "junit.xml").read_text(), "junit.xml is not red")
    check(not (latest / "report.json").exists(), "who made reports?")
    run(build, BIN / "proctor", "ctest", "report", latest, expect=0)
    outcomes = {case["id"]: case["outcome"] for case in report(latest)["cases"]}
    check(outcomes == {"one/cmake": "pass", "two/sh": "notrun"}, outcomes)
    print("ok reports of a call of CTest that was killed")


if __name__ == "__main__":
    sys.exit(run_scenarios((arguments, wrong_words, words, words_that_mean_no, changes, multi_config, a_driver_in_main, cuda_in_main,
                            bad_programs, one_run, two_calls, runs_of_their_own, a_ctest_that_is_killed)))
