#!/usr/bin/env python3
"""Programs of foreign test frameworks, end to end: `frameworks.py NAME`. Each has a sample program that is made to
misbehave; what the reports say of it must be what it did, and the figures must be those that it wrote itself."""

import json
import math
import statistics
import sys

from harness import BIN, Sandbox, check, check_sums, of_type, records, report, skip


class Suite:
    """A proctor.toml with one suite, named t, of a sample program. `limits`: {case: time limit}."""

    def __init__(self, sandbox, name, kind, command, env=None, limits=None, **keys):
        self.sandbox = sandbox
        keys = {"command": [str(word) for word in command], "timeout": "120s", **keys}
        lines = ["[suite.t]"] + [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        lines += [f'kind = "{kind}"'] if kind else []
        lines += ["[suite.t.env]"] + [f"{key} = {json.dumps(str(value))}" for key, value in (env or {}).items()]
        for case, limit in (limits or {}).items():
            lines += ["[[override]]", f"match = {json.dumps('t/' + case)}", f'timeout = "{limit}"']
        self.config = sandbox.path / f"{name}.toml"
        self.config.write_text("\n".join(lines) + "\n")

    def run(self, *more, code=1, env=None):
        """{what the framework calls it: the case in report.json}"""
        out = self.sandbox.out()
        run = self.sandbox.start("run", "--config", self.config, "--out", out, *more, env=env)
        self.errors = self.sandbox.finish(run, seconds=600)
        check(run.returncode == code, "exit", run.returncode, "instead of", code, self.errors)
        document = report(out)
        check_sums(document)
        self.kinds = {case["kind"] for record in of_type(records(out), "run_planned") for case in record["cases"]}
        return {case["id"].partition("/")[2]: case for case in document["cases"]}

    def refused(self):
        """Why it cannot be planned."""
        done = self.sandbox.proctor("list", "--config", self.config)
        check(done.returncode == 2, "exit", done.returncode, "instead of 2", done.stdout, done.stderr)
        return done.stderr


def sample(kind):
    program = BIN / f"plan_sample_{kind}"
    if not program.exists():
        skip(f"needs the framework of {kind} when Proctor is configured (./dev packages)")
    return program


def verdict(case):
    return f"{case['outcome']}({case['reason']})" if case["reason"] else case["outcome"]


def bad(cases):
    return {name: verdict(case) for name, case in cases.items() if case["outcome"] != "pass"}


def messages(case):
    return [failure["message"] for failure in case["attempts"][-1]["failures"]]


# ---- Google Benchmark ----

ENDS = {"fails/iterations:10": "fail", "fails_the_second_time_of_three/iterations:10/repeats:3": "fail",
        "not_a_number/iterations:10": "fail", "crashes/iterations:10": "crash(signal:11)",
        "hangs/iterations:10": "timeout", "leaves/iterations:10": "error(no_result)"}

# Starts the program and keeps the result file that it was told to write.
KEEPER = """#!/bin/sh
"$PROGRAM" "$@"
code=$?
for word; do
  case $word in --benchmark_out=?*) cp "${word#*=}" "$(mktemp "$KEPT/XXXXXX.json")" ;; esac
done
exit $code
"""

NO_FIGURES = {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads"}


def own_figures(file):
    """(name, {figure: (value, n, spread)}, {aggregate: row}) as the program itself wrote them. Python reads NaN."""
    rows = json.loads(file.read_text())["benchmarks"]
    runs = [row for row in rows if row["run_type"] == "iteration" and not row.get("error_occurred")]
    rows_of = {row.get("aggregate_name"): row for row in rows}
    figures = {}
    for key, value in (runs or [rows_of.get("mean", {})])[0].items():
        if key in NO_FIGURES or not isinstance(value, (int, float)) or not math.isfinite(value):
            continue
        values = [run[key] for run in runs]
        if len(values) > 1:
            figures[key] = (statistics.fmean(values), len(values), statistics.stdev(values))
        elif values:
            figures[key] = (value, 1, 0)
        elif key != "iterations":
            figures[key] = (value, rows_of["mean"]["iterations"], rows_of["stddev"][key])
    return rows[0]["run_name"], figures, rows_of


def same(one, other):
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def check_figures(name, case, figures):
    told = {measure["name"]: (measure["value"], measure["n"], measure["spread"])
            for measure in case["measures"]}
    check(told.keys() == figures.keys(), name, told, figures)
    for key in told:
        check(all(map(same, told[key], figures[key])), name, key, told[key], "instead of", figures[key])


def benchmark_outcomes(sandbox, program):
    suite = Suite(sandbox, "outcomes", None, [program], limits={"hangs/*": "3s"})
    cases = suite.run()
    check(len(cases) == 24, "planned", sorted(cases))
    check(suite.kinds == {"benchmark"}, "recognised as", suite.kinds)
    check(bad(cases) == ENDS, bad(cases))
    check(messages(cases["fails/iterations:10"]) == ['no "card"\nat all'], messages(cases["fails/iterations:10"]))
    check(sorted(messages(cases["not_a_number/iterations:10"])) ==
          ["`share` is not a finite number", "`speed` is not a finite number"], "messages of what is no number")
    leaky = [name for name, case in cases.items() if "leaky" in case["marks"]]
    check(leaky == ["leaks/iterations:10"], "leaky:", leaky)
    print(f"ok {len(cases)} benchmarks, each with the end that it came to")


def benchmark_figures(sandbox, program):
    keeper, kept = sandbox.path / "keeper", sandbox.path / "kept"
    keeper.write_text(KEEPER)
    keeper.chmod(0o755)
    kept.mkdir()
    suite = Suite(sandbox, "figures", "benchmark", [keeper, "--benchmark_filter=-crashes|hangs|leaves|leaks"],
                  env={"PROGRAM": program, "KEPT": kept})
    cases = suite.run()
    compared = {}
    for file in kept.iterdir():
        name, figures, rows_of = own_figures(file)
        check_figures(name, cases[name], figures)
        compared[name] = rows_of
    check(set(compared) == set(cases) and len(cases) == 20, "not all were compared:", set(cases) ^ set(compared))
    # The library's own statistics, computed from the same repetitions.
    name = "varied/iterations:10/repeats:4"
    which = {measure["name"]: measure for measure in cases[name]["measures"]}["which"]
    mean, deviation = (compared[name][row]["which"] for row in ("mean", "stddev"))
    check(same(which["value"], mean) and same(which["spread"], deviation) and which["n"] == 4, which, mean, deviation)
    print(f"ok the figures of {len(cases)} benchmarks are those of the program's own files")


def benchmark_environment(sandbox, program):
    """A caller's variables that the library reads as options."""
    theirs = sandbox.path / "theirs"
    theirs.write_text("kept")
    env = {"BENCHMARK_FILTER": "nothing", "BENCHMARK_LIST_TESTS": "true", "BENCHMARK_OUT": str(theirs),
           "BENCHMARK_OUT_FORMAT": "csv", "BENCHMARK_REPORT_AGGREGATES_ONLY": "true", "BENCHMARK_REPETITIONS": "2"}
    suite = Suite(sandbox, "environment", None, [program, "--benchmark_filter=^(sized|prefix)"])
    cases = suite.run(code=0, env=env)
    check(len(cases) == 4 and not bad(cases), sorted(cases), bad(cases))
    check({measure["n"] for case in cases.values() for measure in case["measures"]} == {2}, "n")
    check(theirs.read_text() == "kept", "their file was written")
    print("ok variables change neither what runs nor where the figures go")


def benchmark_ends_badly(sandbox, program):
    only = [program, "--benchmark_filter=^prefix/"]
    for env, wanted in (({"SAMPLE_EXIT": 3}, "fail(exit:3)"), ({"SAMPLE_FILE": "none"}, "error(no_result)"),
                        ({"SAMPLE_FILE": "empty"}, "error(no_result)"), ({"SAMPLE_FILE": "broken"}, "error(no_result)"),
                        ({"SAMPLE_FILE": "other"}, "error(no_result)"), ({"SAMPLE_ALL": 1}, "error(no_result)")):
        cases = Suite(sandbox, "ends", "benchmark", only, env=env).run()
        check(list(map(verdict, cases.values())) == [wanted], env, bad(cases))
    print("ok a program that ends badly, or whose file tells nothing of the case, is not green")


def benchmark_refusals(sandbox, program):
    for env, words in (({"SAMPLE_LIST": "none"}, "listed no case"), ({"SAMPLE_LIST": "crash"}, "killed by signal 11")):
        said = Suite(sandbox, "refused", "benchmark", [program], env=env).refused()
        check(words in said, env, said)
    said = Suite(sandbox, "shared", "benchmark", [program], process="suite").refused()
    check('process = "suite" with kind "benchmark" is not supported' in said, said)
    print("ok what cannot be planned is refused, and the reason named")


def benchmark(sandbox):
    program = sample("benchmark")
    for scenario in (benchmark_outcomes, benchmark_figures, benchmark_environment, benchmark_ends_badly,
                     benchmark_refusals):
        scenario(sandbox, program)


# ---- Catch2 and doctest ----

CATCH2_ENDS = {"fails at a place": "fail", "throws": "fail", "says fail": "fail", "sections": "fail", "generators": "fail",
               "may fail": "xfail([!mayfail])", "should fail": "xfail([!shouldfail])",
               "should fail and passes": "fail([!shouldfail])", "crashes": "crash(signal:11)", "aborts": "crash(signal:6)",
               "exits": "error(no_result)", "hangs": "timeout"}
DOCTEST_ENDS = {"fails at a place": "fail", "throws": "fail", "says fail": "fail", "subcases": "fail",
                "may fail": "xfail(may_fail)", "should fail": "xfail(should_fail)",
                "should fail and passes": "fail(should_fail)", "expects two failures": "xfail(expected_failures)",
                "is skipped": "skip(disabled)", "bad/crashes": "crash(signal:11)", "bad/aborts": "crash(signal:6)",
                "bad/exits": "error(no_result)", "bad/hangs": "timeout"}


def check_xml_outcomes(name, cases, ends, bad_prefix):
    wanted = dict(ends)
    if "skips" in cases:  # Catch2 3
        wanted["skips"] = "skip(no such device)"
    check(bad(cases) == wanted, name, bad(cases), "instead of", wanted)
    leaky = [case for case in cases if "leaky" in cases[case]["marks"]]
    check(leaky == [f"{bad_prefix}leaks"], name, "leaky:", leaky)
    failure = cases["fails at a place"]["attempts"][-1]["failures"][0]
    check(failure["file"].endswith(".cc") and failure["line"] > 0, name, failure)
    check(failure["message"] == "CHECK( 1 + 1 == 3 )\nwith expansion: 2 == 3\nwhile adding", name, failure)
    hang = cases[f"{bad_prefix}hangs"]["attempts"][-1]
    check(hang["last_step"] == "in here", name, "where it hung:", hang["last_step"])


def xml_framework(kind, program, ends, bad_prefix, tag, tagged):
    def scenarios(sandbox):
        limits = {f"{bad_prefix}hangs": "4s"}
        for process in ("case", "suite"):
            suite = Suite(sandbox, process, None, [program], limits=limits, process=process)
            cases = suite.run()
            check(suite.kinds == {kind}, "recognised as", suite.kinds)
            check_xml_outcomes(process, cases, ends, bad_prefix)
            print(f"ok {len(cases)} cases, process = {process}, each with the end that it came to")
        chosen = Suite(sandbox, "tag", kind, [program]).run("--tag", tag, code=0)
        check(sorted(chosen) == tagged, "by tag", sorted(chosen))
        print("ok by tag:", *tagged, sep=" ")
    return scenarios


def catch2(sandbox):
    program = sample("catch2")
    xml_framework("catch2", program, CATCH2_ENDS, "", "math",
                  ["passes", "templates - int", "templates - std::string"])(sandbox)


def doctest(sandbox):
    program = sample("doctest")
    xml_framework("doctest", program, DOCTEST_ENDS, "bad/", "math", ["math/in a suite", "math/twice"])(sandbox)


# ---- Boost.Test ----

BOOST_ENDS = {"fails_at_a_place": "fail", "throws": "fail", "says_fail": "fail", "is_disabled": "skip(disabled)",
              "has_a_condition": "skip(precondition failed: no such device)", "expects_two_failures": "xfail(expected_failures)",
              "expects_one_of_two": "fail", "math/data/_1": "fail", "chain/of_a_suite": "fail",
              "chain/of_a_failure": 'skip(dependency test case "fails_at_a_place" has failed)',
              "bad/crashes": "crash(signal:11)", "bad/aborts": "crash(signal:6)", "bad/exits": "error(no_result)",
              "bad/hangs": "timeout", "bad/times_out": "fail"}


def boost(sandbox):
    program = sample("boost")
    suite = Suite(sandbox, "case", None, [program], limits={"bad/hangs": "4s"})
    cases = suite.run(env={"BOOST_TEST_RUN_FILTERS": "math", "BOOST_TEST_LOG_SINK": "theirs", "BOOST_TEST_RESULT_CODE": "no"})
    check(suite.kinds == {"boost"}, "recognised as", suite.kinds)
    check(bad(cases) == BOOST_ENDS, bad(cases))
    told = json.dumps(report(sandbox.last_out())["warnings"])
    check("`BOOST_TEST_RUN_FILTERS=math` of the caller is not passed on" in told, told)
    leaky = [case for case in cases if "leaky" in cases[case]["marks"]]
    check(leaky == ["bad/leaks"], "leaky:", leaky)
    check(messages(cases["chain/of_a_suite"]) == ["check false has failed"], messages(cases["chain/of_a_suite"]))
    print(f"ok {len(cases)} cases, each with the end that it came to")
    chosen = Suite(sandbox, "tag", "boost", [program, "--", "--log_level=own"]).run("--tag", "small", code=0)
    check(list(chosen) == ["math/in_a_suite"], "by tag", sorted(chosen))
    said = Suite(sandbox, "filtered", "boost", [program, "--run_test=math"]).refused()
    check("select them with --filter" in said, said)
    print("ok by tag; a filter of its own is refused")


def main():
    with Sandbox() as sandbox:
        sandbox.env = {key: value for key, value in sandbox.env.items() if not key.startswith("BENCHMARK_")}
        check(sys.argv[1] in globals(), "no scenario for the kind", sys.argv[1])
        globals()[sys.argv[1]](sandbox)


if __name__ == "__main__":
    main()
