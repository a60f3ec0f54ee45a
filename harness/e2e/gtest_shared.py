#!/usr/bin/env python3
"""GoogleTest programs without Proctor's listener, all cases in one process: each is judged as in a process of its own,
whatever ends the process, and whatever a case prints or writes."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from harness import BIN, check, check_sums, of_type, records, report, run_scenarios, skip

PROGRAM = BIN / "plan_shared_gtest"
HANGS = "Hard.Hangs"
SAMPLES = Path("/usr/src/googletest/googletest/samples")


def run(sandbox, process, env=None, options=(), program=PROGRAM, more=(), code=None, **keys):
    """The cases by their names, and the run directory."""
    keys = {"kind": "gtest", "command": [str(program), *options], "process": process, "timeout": "60s", **keys}
    lines = ["[suite.t]"] + [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    lines += ["[suite.t.env]"] + [f"{key} = {json.dumps(str(value))}" for key, value in (env or {}).items()]
    lines += ["[[override]]", f'match = "t/{HANGS}"', 'timeout = "2s"']
    config = sandbox.path / f"{process}.toml"
    config.write_text("\n".join(lines) + "\n")
    out = sandbox.out()
    started = sandbox.start("run", "--config", config, "--out", out, *more)
    errors = sandbox.finish(started, seconds=300)
    check(started.returncode == code if code is not None else started.returncode in (0, 1, 3), "exit",
          started.returncode, errors)
    document = report(out)
    check_sums(document)
    return {case["id"].partition("/")[2]: case for case in document["cases"]}, out


def verdict(case):
    return f"{case['outcome']}({case['reason']})" if case["reason"] else case["outcome"]


def verdicts(cases):
    return {id: verdict(case) for id, case in cases.items()}


def others(said, good=("pass",)):
    return {id: text for id, text in said.items() if text not in good}


def warnings(out):
    return [warning["text"] for warning in report(out)["warnings"] if warning["code"] == "gtest_listener"]


def processes(out):
    """How many there were, by their logs."""
    return len({record["output"]["log"] for record in of_type(records(out), "attempt_ended")})


def shared_begins(out):
    """{case: in how many shared processes it began}"""
    begins = [record["case"] for record in of_type(records(out), "attempt_started") if record.get("shared")]
    return {id: begins.count(id) for id in set(begins)}


def failures(out):
    """{case: [(place, message)]} of its first attempt."""
    return {record["case"]: [(Path(failure.get("file", "")).name, failure.get("line", 0), failure.get("message", ""))
                             for failure in record.get("failures", [])]
            for record in of_type(records(out), "attempt_ended") if record["attempt"] == 1}


def same_as_alone(sandbox, env=None, options=()):
    """Both runs, after a comparison of all verdicts."""
    alone, alone_out = run(sandbox, "case", env=env, options=options)
    shared, out = run(sandbox, "suite", env=env, options=options)
    one, other = verdicts(alone), verdicts(shared)
    check(one == other, env, "differs (alone, shared):",
          {id: (one.get(id), other.get(id)) for id in {**one, **other} if one.get(id) != other.get(id)}, warnings(out))
    return alone_out, shared, out


def each_is_judged_as_alone(sandbox):
    alone_out, shared, out = same_as_alone(sandbox)
    said = others(verdicts(shared))
    check(said == {"Plain.Fails": "fail", "Plain.SkipsAndFails": "fail", "Plain.Skips": "skip(no such card)",
                   "Plain.DISABLED_Never": "skip(disabled)"}, said)
    check(not warnings(out), warnings(out))
    passes = {record["case"] for record in of_type(records(out), "attempt_ended") if record["verdict"]["outcome"] == "pass"}
    check(len(passes) > 50, passes)
    logs = {record["output"]["log"] for record in of_type(records(out), "attempt_ended") if record["attempt"] == 1}
    check(len(logs) == 1, "processes of first attempts:", logs)
    check(failures(out) == failures(alone_out), failures(out), failures(alone_out))
    check("odd & = %" in json.dumps(failures(out)), failures(out))


def who_crashes_hangs_or_exits_is_blamed(sandbox):
    env = {"CRASHES": 1, "HANGS": 1, "EXITS": 1}
    _, shared, out = same_as_alone(sandbox, env, ["--gtest_filter=All/*:Hard.*:Death.*"])
    check(others(verdicts(shared)) == {"Hard.Crashes": "crash(signal:11)", "Hard.Hangs": "timeout",
                                       "Hard.ExitsWith0": "error(no_result)"}, verdicts(shared))
    check(not warnings(out), warnings(out))
    check(all(attempt["duration_ms"] >= 0 for case in shared.values() for attempt in case["attempts"]), shared)
    check(processes(out) <= 11, "four that are shared, three again for the cases without a result, one alone for each of the "
          "three, and a verified pass:", processes(out))
    check(max(shared_begins(out).values()) == 2, "shared processes of a case:", shared_begins(out))


def a_crash_of_each_case(sandbox):
    """However many cases end their process, no case runs in more than two shared ones."""
    _, shared, out = same_as_alone(sandbox, {"MANY_CRASH": 4}, ["--gtest_filter=All/*"])
    check(list(verdicts(shared).values()).count("crash(signal:11)") == 10, verdicts(shared))
    check(max(shared_begins(out).values()) == 2 and not warnings(out), shared_begins(out), warnings(out))


def a_skip_before_a_crash_is_a_skip(sandbox):
    _, shared, _ = same_as_alone(sandbox, {"CRASHES": 1}, ["--gtest_filter=Plain.*:Hard.Crashes:Hard.Last"])
    check(verdict(shared["Plain.Skips"]) == "skip(no such card)", verdicts(shared))
    done = sandbox.proctor("run", "--process", "suite", "--env", "TEAR_DOWN_EXITS=1", "--out", sandbox.out(), "--", PROGRAM,
                           "--gtest_filter=Plain.Skips:Group.*")
    said = [line for line in done.stdout.splitlines() if line.rpartition("/")[2].startswith("Plain.Skips")]
    check([line.split("  ")[0] for line in said[:1]] == ["not proven in a shared process, running alone"], said)
    check(not any(line.startswith("FAIL") for line in said), said)
    case = next(case for case in report(sandbox.last_out())["cases"] if case["id"].endswith("Plain.Skips"))
    check(case["marks"] == [] and [attempt.get("marks") for attempt in case["attempts"]] == [["unconfirmed"], ["unconfirmed"], None], case)


def a_failure_before_a_crash_counts(sandbox):
    """The cases without a result run again in their order, so that a failure of that order is found."""
    options = ["--gtest_filter=Plain.Passes:Plain.FailsBehindPasses:Plain.Skips:Hard.*"]
    for env in ({"CRASHES": 1}, {"HANGS": 1}):
        cases, out = run(sandbox, "suite", env={"POLLUTED": 1, **env}, options=options, more=["--flaky", "pass:2%"])
        case = cases["Plain.FailsBehindPasses"]
        check((case["outcome"], "flaky" in case["marks"]) == ("pass", True), env, case)
        check([attempt.get("marks") for attempt in case["attempts"][:2]] == [["unconfirmed"], None], env, case["attempts"])
        check(verdict(cases["Plain.Skips"]) == "skip(no such card)" and not cases["Plain.Skips"]["marks"], env,
              cases["Plain.Skips"])


def a_failure_in_the_set_up_of_a_suite_has_its_place(sandbox):
    for env, words in (({"SET_UP_FAILS": 1}, "set up"), ({"TEAR_DOWN_FAILS": 1}, "torn down")):
        for process in ("case", "suite"):
            cases, _ = run(sandbox, process, env=env, options=["--gtest_filter=Group.One"], code=1)
            places = [(Path(failure["file"]).name, failure["line"] > 0) for attempt in cases["Group.One"]["attempts"]
                      for failure in attempt["failures"] if words in failure["message"]]
            check(places[:1] == [("shared_gtest.cc", True)], env, process, cases["Group.One"])


def nothing_counts_where_a_fork_runs_on(sandbox):
    filter = ["--gtest_filter=All/*:Hard.ForksAndTheChildRunsOn:Hard.Last"]
    for env in ({"FORKS": 1}, {"FORKS": 1, "FORKS_AND_FAILS": 1}, {"FORKS": 1, "FORKS_AND_CRASHES": 1}):
        _, _, out = same_as_alone(sandbox, env, filter)
        check(len(warnings(out)) == 1 and "a process for each case from now on" in warnings(out)[0] and
              "target_link_libraries(plan_shared_gtest PRIVATE Proctor::gtest_listener)" in warnings(out)[0], env,
              warnings(out))


def nothing_counts_where_output_and_results_disagree(sandbox):
    for env, why in (({"PRINTS_A_BEGIN": 1}, "printed two begins of Liar.AtTheEnd"),
                     ({"WRITES_AND_EXITS": 1}, "wrote results before it printed that it had run all cases"),
                     ({"CRASHES_AT_THE_END": 1}, "did not exit after its last case"),
                     ({"EXIT_WITH": 9}, "exited with 9, which none of its cases explains"),
                     ({"OWN_FILTER": "Liar.AtTheEnd"}, "ran 1 of the"),
                     ({"OWN_FILTER": "Liar.*:Group.*:Hard.Last"}, "ran Hard.Last, which was not requested"),
                     ({"OWN_PRINTER": 1}, "printed no line that shows which case runs"),
                     ({"NO_FILE": 1}, "left no result file that can be read")):
        _, _, out = same_as_alone(sandbox, env, ["--gtest_filter=Liar.*:Group.*"])
        check(len(warnings(out)) == 1 and why in warnings(out)[0], env, warnings(out))
    _, _, out = same_as_alone(sandbox, {"EXIT_WITH": 9}, ["--gtest_filter=Plain.*:Liar.*"])
    check("exited with 9, which none of its cases explains" in warnings(out)[0], warnings(out))


def forged_lines_and_files_make_no_pass(sandbox):
    for env, bad in (({"PRINTS_ON_STDERR": 1}, {}), ({"PRINTS_OTHER_PROGRAMS": 1}, {}),
                     ({"PRINTS_THE_END": 1}, {"Liar.PrintsTheEndAndFails": "fail"}),
                     ({"PRINTS_AND_CRASHES": 1}, {"Liar.PrintsABeginAndCrashes": "crash(signal:11)"}),
                     ({"WRITES_AND_CRASHES": 1}, {"Liar.WritesResults": "crash(signal:11)"}),
                     ({"TEAR_DOWN_EXITS": 1}, {"Group.One": "error(no_result)", "Group.Two": "error(no_result)"})):
        _, shared, out = same_as_alone(sandbox, env, ["--gtest_filter=Liar.*:Group.*"])
        check(others(verdicts(shared)) == bad and not warnings(out), env, verdicts(shared), warnings(out))


def options_and_environment_of_the_caller(sandbox):
    """Whatever a caller's options do to the output, the file and the order."""
    for options in (["--gtest_brief=1"], ["--gtest_color=yes"], ["--gtest_shuffle"], ["--gtest_repeat=3"],
                    ["--gtest_print_time=0"], [f"--gtest_output=xml:{sandbox.path}/theirs.xml"]):
        for env in ({}, {"GTEST_COLOR": "yes", "GTEST_BRIEF": "1", "GTEST_SHUFFLE": "1", "GTEST_PRINT_TIME": "0"}):
            cases, out = run(sandbox, "suite", env=env, options=[*options, "--gtest_filter=Plain.*:All/*:Typed*:Death.*"])
            check(others(verdicts(cases)) == {"Plain.Fails": "fail", "Plain.SkipsAndFails": "fail",
                                              "Plain.Skips": "skip(no such card)", "Plain.DISABLED_Never": "skip(disabled)"},
                  options, env, verdicts(cases))
            check(not warnings(out) and processes(out) <= 6, options, env, warnings(out), processes(out))


def what_happens_around_tests(sandbox):
    for env in ({"SET_UP_FAILS": 1}, {"TEAR_DOWN_FAILS": 1}, {"NO_CARD": 1}, {"NO_LICENCE": 1}):
        _, shared, out = same_as_alone(sandbox, env, ["--gtest_filter=Group.*:Hard.Last:Plain.Passes"])
        said = set(verdicts(shared).values())
        expected = {"NO_CARD": {"skip(no card at all)"}, "NO_LICENCE": {"fail"}}
        check(said <= expected.get(*env, {"pass", "fail", "fail(exit:1)"}), env, said)
        check(not warnings(out), warnings(out))
        if "NO_CARD" in env:
            check(processes(out) == 2, "one, and one for the verified case:", processes(out))


def retries_and_repeats(sandbox):
    shared, out = run(sandbox, "suite", options=["--gtest_filter=Plain.Fails:Plain.Passes"], retries=2)
    check(others(verdicts(shared)) == {"Plain.Fails": "fail"}, verdicts(shared))
    check(len(shared["Plain.Fails"]["attempts"]) >= 3, shared["Plain.Fails"]["attempts"])
    shared, _ = run(sandbox, "suite", options=["--gtest_filter=Group.*:Hard.Last"], more=["--repeat", "3"])
    check(set(verdicts(shared).values()) == {"pass"}, verdicts(shared))


def samples_of_googletest(sandbox):
    """Programs that nobody here wrote."""
    compiler = shutil.which("c++")
    if not SAMPLES.is_dir() or compiler is None:
        skip("needs the package googletest, and a C++ compiler")
    for name in ("sample3_unittest", "sample5_unittest", "sample6_unittest", "sample7_unittest", "sample8_unittest"):
        program = sandbox.path / name
        sources = [SAMPLES / f"{name}.cc"] + ([SAMPLES / "sample1.cc"] if name == "sample5_unittest" else [])
        subprocess.run([compiler, "-std=c++17", "-O0", "-o", program, *sources, "-lgtest", "-lgtest_main", "-pthread"],
                       cwd=SAMPLES, check=True, timeout=300)
        alone, _ = run(sandbox, "case", program=program, code=0)
        shared, out = run(sandbox, "suite", program=program, code=0)
        check(verdicts(shared) == verdicts(alone) and len(shared) > 1, name, verdicts(alone), verdicts(shared))
        check(processes(out) == 2 and not warnings(out), name, processes(out), warnings(out))


if __name__ == "__main__":
    os.environ.pop("GTEST_FILTER", None)
    run_scenarios([each_is_judged_as_alone, who_crashes_hangs_or_exits_is_blamed, a_crash_of_each_case,
                   a_skip_before_a_crash_is_a_skip, a_failure_before_a_crash_counts,
                   a_failure_in_the_set_up_of_a_suite_has_its_place, nothing_counts_where_a_fork_runs_on,
                   nothing_counts_where_output_and_results_disagree, forged_lines_and_files_make_no_pass,
                   options_and_environment_of_the_caller, what_happens_around_tests,
                   retries_and_repeats], [samples_of_googletest])
