#!/usr/bin/env python3
"""Runs that repeat their cases to find out how often they fail: `--repeat` with a duration, a rate or new:N.

    stress.py [SCENARIO...]
"""

import math
import os
import random
import signal

from harness import BIN, check, check_sums, of_type, records, report, run_scenarios, skip, wait_until, write_config

# Fails in the runs of its list, "3 7", by a file that counts them.
COUNTED = ('n=0; [ -e "$1" ] && read n < "$1"; n=$((n+1)); echo $n > "$1"; '
           'case " $2 " in *" $n "*) echo failed in run $n; exit 1;; esac')
SIMULATOR = "libproctor_ze_sim.so"
RATES = (0, 0.005, 0.01, 0.02, 0.1)


def counted(sandbox, name, failures=(), **more):
    return {"kind": "command", "backend": "none", **more,
            "command": ["sh", "-c", COUNTED, "sh", str(sandbox.path / f"{name}.count"), " ".join(map(str, failures))]}


def every(nth, most=10_000):
    return range(nth, most, nth)


def run(sandbox, suites, *words, code):
    config = sandbox.path / "stress.toml"
    write_config(config, suites)
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--out", out, *words)
    check(done.returncode == code, *words, "gave", done.returncode, done.stdout, done.stderr)
    document = report(out)
    check_sums(document)
    return done, document


def by_suite(document):
    return {case["suite"]: case for case in document["cases"]}


def runs_of(document):
    return {case["suite"]: case["failure_rate"]["runs"] for case in document["cases"]}


# ---- a rate ----

def a_rate_is_excluded(sandbox):
    """As many runs as exclude it, or until the first failure, which no retry hides."""
    suites = {"good": counted(sandbox, "good"), "bad": counted(sandbox, "bad", [5, 9], retries=3)}
    done, document = run(sandbox, suites, "--repeat", "90%:10%", code=1)
    check(document["run"]["exclusion"] == {"confidence": 0.9, "rate": 0.1}, document["run"])
    cases = by_suite(document)
    good, bad = cases["good"]["failure_rate"], cases["bad"]["failure_rate"]
    check(good["claim"] == "excluded" and good["runs"] == 22 == len(cases["good"]["attempts"]), good)
    check(bad["claim"] == "not_excluded" and (bad["runs"], bad["failures"], bad["runs_needed"]) == (5, 1, 22), bad)
    check(len(cases["bad"]["attempts"]) == 5 and cases["bad"]["outcome"] == "fail", "no retry:", cases["bad"])
    check(math.isclose(bad["rate"], 0.2) and math.isclose(1 - (1 - bad["low"]) ** 5, 0.025), bad)
    for text in (good["text"], bad["text"]):
        check(text in " ".join(done.stdout.split()), "the console:", text, done.stdout)
        check(text in (sandbox.last_out() / "summary.md").read_text().replace("\\", ""), "the summary:", text)
        check(text in (sandbox.last_out() / "index.html").read_text(), "the page:", text)
    check(good["text"] == "excluded: a failure rate of 10 % or more, with 90 % confidence (22 runs)", good)
    check("not excluded" in bad["text"] and "1 of 5 runs failed: 20 %" in bad["text"], bad)
    again = sandbox.proctor("report", "render", sandbox.last_out())
    check(again.returncode == 0 and report(sandbox.last_out()) == document, "rendered again:", again.stderr)
    done, document = run(sandbox, {"good": counted(sandbox, "good")}, "--repeat", "50%:50%", code=0)
    check(document["cases"][0]["failure_rate"]["claim"] == "excluded", document["cases"][0]["failure_rate"])


def real_runs(sandbox):
    """Real cases with failure rates around the one that is to be excluded have the claims that their outcomes imply."""
    count = int(os.environ.get("PROCTOR_STRESS_RUNS", "1"))
    seed = int(os.environ.get("PROCTOR_STRESS_SEED", random.randrange(1 << 30)))
    print("PROCTOR_STRESS_SEED", seed, flush=True)
    chance = random.Random(seed)
    sandbox.run_keys(telemetry=0)
    claims = {rate: {"excluded": 0, "not_excluded": 0} for rate in RATES}
    for number in range(count):
        failures = {rate: [n for n in range(1, 460) if chance.random() < rate] for rate in RATES}
        suites = {f"r{number}p{index}": counted(sandbox, f"r{number}p{index}", failures[rate]) for index, rate in enumerate(RATES)}
        _, document = run(sandbox, suites, "--repeat", "99%:1%", "--jobs", "4",
                          code=1 if any(failures.values()) else 0)
        for index, rate in enumerate(RATES):
            found = by_suite(document)[f"r{number}p{index}"]["failure_rate"]
            first = failures[rate][0] if failures[rate] else 459
            claim = "not_excluded" if failures[rate] else "excluded"
            check((found["claim"], found["runs"]) == (claim, first), (seed, number, rate), found, failures[rate])
            claims[rate][claim] += 1
    for rate, counts in claims.items():
        print(f"  {rate * 100:g} %: {counts['excluded']} of {count} excluded", flush=True)


def in_a_batch(sandbox):
    """A failure beside other cases ends the claim too, also where the case passes alone."""
    program = BIN / "mixture_gtest"
    if not program.exists():
        print("no program of cases that share a process")
        return
    words = " ".join(["pass", "poison", "hates", "pass"] + ["pass"] * 8)
    out = sandbox.out()
    done = sandbox.proctor("run", "--env", f"MIXTURE={words}", "--process", "batch:100", "--repeat", "90%:30%", "--out", out,
                           "--", program)
    check(done.returncode == 1, done.returncode, done.stdout, done.stderr)
    cases = report(out)["cases"]
    claims = [case["failure_rate"]["claim"] for case in cases]
    check(claims == ["excluded"] * 2 + ["not_excluded"] + ["excluded"] * 9, claims)
    check(cases[2]["failure_rate"]["runs"] == 1 and "order_dependent" in cases[2]["marks"], cases[2])
    logs = {}
    for start in of_type(records(out), "attempt_started"):
        logs.setdefault(start["log"], []).append(start["case"])
    check(max(map(len, logs.values())) == 12, "no process was shared:", logs)
    stressed = sandbox.out()
    done = sandbox.proctor("run", "--env", f"MIXTURE={words}", "--process", "batch:100", "--repeat", "1s", "--out", stressed,
                           "--", program)
    rates = [case["failure_rate"] for case in report(stressed)["cases"]]
    parts = {part["of"]: (part["runs"], part["failures"]) for part in rates[2]["by_order"]}
    after = f"after {cases[1]['id']}"
    check(set(parts) == {after, "alone"}, parts)
    check(parts[after][0] == parts[after][1] > 0 and parts["alone"][1] == 0, "it fails after the other one only:", parts)
    check(f"{after}: " in done.stdout, done.stdout)
    check({part["of"] for part in rates[0]["by_order"]} <= {"first in its process", "alone"}, rates[0])


# ---- a duration ----

def cases_take_turns(sandbox):
    """All have run about as often, whatever fails, and what began has ended by itself."""
    suites = {"good": counted(sandbox, "good"), "third": counted(sandbox, "third", every(3)),
              "slow": counted(sandbox, "slow")}
    suites["slow"]["command"][2] += "; sleep 0.2"
    done, document = run(sandbox, suites, "--repeat", "3s", "--jobs", "1", code=1)
    check(document["run"]["stress_ms"] == 3000, document["run"])
    runs = runs_of(document)
    check(min(runs.values()) > 3 and max(runs.values()) - min(runs.values()) <= 1, "no turns:", runs)
    check(not of_type(records(sandbox.last_out()), "stop_requested"), "it is not stopped: its time is over")
    cases = by_suite(document)
    third = cases["third"]["failure_rate"]
    check(third["failures"] == third["runs"] // 3 and third["low"] < third["rate"] < third["high"], third)
    check(cases["third"]["outcome"] == "fail" and "flaky" in cases["third"]["marks"], cases["third"])
    check(cases["good"]["outcome"] == cases["slow"]["outcome"] == "pass", cases)
    check(f"third/sh: {third['text']}" in done.stdout and "2 cases without a failure" in done.stdout, done.stdout)
    ends = {attempt["outcome"] for case in document["cases"] for attempt in case["attempts"]}
    check(ends == {"pass", "fail"}, "something was cut short:", ends)
    check(third["by_order"] == [] and third["by_device"] == [], third)
    done, document = run(sandbox, {"third": counted(sandbox, "until", every(3)), "good": suites["good"]}, "--repeat",
                         "1s,until-fail", code=1)
    check(runs_of(document)["third"] == 3 < runs_of(document)["good"], "until-fail:", runs_of(document))


def what_never_ran_is_not_run(sandbox):
    """The time is over before the second case has its turn."""
    suites = {"long": {"kind": "command", "command": ["sh", "-c", "sleep 1.2"]},
              "late": {"kind": "command", "command": ["true"]}}
    _, document = run(sandbox, suites, "--repeat", "500ms", "--jobs", "1", code=3)
    cases = by_suite(document)
    check(cases["long"]["outcome"] == "pass" and len(cases["long"]["attempts"]) == 1, cases["long"])
    check((cases["late"]["outcome"], cases["late"]["reason"]) == ("notrun", "run_limit"), cases["late"])
    check("--repeat" in cases["late"]["note"] and cases["late"]["failure_rate"]["runs"] == 0, cases["late"])


def by_device(sandbox):
    """A case that fails on one of two cards."""
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    suites = {"card": counted(sandbox, "card", every(3), backend="xpu", gpus=1)}
    suites["card"]["command"][2] = '[ "$ZE_AFFINITY_MASK" = 1 ] || exit 0; ' + COUNTED
    sandbox.run_keys(memory_wait="1s")
    done, document = run(sandbox, suites, "--sim", "xpu:2x1", "--repeat", "3s", "--each-device", code=75)
    rate = document["cases"][0]["failure_rate"]
    parts = {part["of"]: part for part in rate["by_device"]}
    check(set(parts) == {"xpu-sim:0", "xpu-sim:1"}, parts)
    check(parts["xpu-sim:0"]["failures"] == 0 < parts["xpu-sim:1"]["failures"] < parts["xpu-sim:1"]["runs"], parts)
    check("    on xpu-sim:1: " in done.stdout, done.stdout)
    logs = [start["log"] for start in of_type(records(sandbox.last_out()), "attempt_started")]
    check(len(logs) == len(set(logs)) == rate["runs"], "repeats share a log:", len(logs), len(set(logs)))


def interrupted(sandbox):
    """Its reports have the rates of what ran."""
    config = sandbox.path / "stress.toml"
    write_config(config, {"third": counted(sandbox, "third", every(3)), "good": counted(sandbox, "good")})
    out = sandbox.out()
    process = sandbox.start("run", "--config", config, "--out", out, "--repeat", "1h", "--jobs", "1")
    count = sandbox.path / "good.count"
    # The case truncates the file before it writes the number.
    wait_until(lambda: count.exists() and int(count.read_text().strip() or 0) >= 8, 60, "no repeats")
    process.send_signal(signal.SIGINT)
    sandbox.finish(process)
    check(process.returncode == -signal.SIGINT, process.returncode)
    document = report(out)
    runs = runs_of(document)
    check(min(runs.values()) >= 7 and max(runs.values()) - min(runs.values()) <= 1, runs)
    cases = by_suite(document)
    check(cases["third"]["outcome"] == "fail" and cases["third"]["failure_rate"]["failures"] >= 2, cases["third"])
    # It depends on whose turn it was.
    check((cases["good"]["outcome"], cases["good"]["reason"] or "") in (("notrun", "interrupted"), ("pass", "")), cases["good"])


# ---- new cases ----

def program(sandbox, name, text="true"):
    path = sandbox.path / f"{name}.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return {"kind": "command", "command": [str(path)]}


def new_cases_run_often(sandbox):
    """Those that a run, or a history, has not seen, or whose program changed."""
    suites = {name: program(sandbox, name) for name in ("same", "changed", "broken")}
    run(sandbox, suites, code=0)
    before = sandbox.last_out()
    database = sandbox.path / "history.sqlite"
    check(sandbox.proctor("history", "add", database, before).returncode == 0, "no history")
    program(sandbox, "changed", "true # now")
    suites["fresh"] = program(sandbox, "fresh")
    program(sandbox, "broken", f"set -- {sandbox.path}/broken.count 30; {COUNTED}")
    for place in (before, database):
        (sandbox.path / "broken.count").unlink(missing_ok=True)
        done, document = run(sandbox, suites, "--repeat", f"new:50={place}", code=1)
        runs = {case["suite"]: len(case["attempts"]) for case in document["cases"]}
        check(runs == {"same": 1, "changed": 50, "fresh": 50, "broken": 50}, place, runs)
        broken = by_suite(document)["broken"]
        check(broken["outcome"] == "fail" and broken["marks"] == ["flaky"], broken["outcome"], broken["marks"])
        check("3 of 4 cases run at least 50 times: 1 not seen, 2 of a changed program" in done.stdout, done.stdout)
    check(sandbox.proctor("history", "add", database, sandbox.last_out()).returncode == 0, "no history")
    done, document = run(sandbox, suites, "--repeat", f"3,new:50={database}", code=0)
    check({len(case["attempts"]) for case in document["cases"]} == {3}, document["cases"])
    check("all cases were seen with these programs" in done.stdout, done.stdout)


def refused(sandbox):
    (sandbox.path / "empty").mkdir()
    (sandbox.path / "text").write_text("no database\n" * 100)
    for words, says in ((["--repeat", "1s,90%:10%"], ["--repeat: `90%:10%`", "`1s`"]), (["--repeat", "1s", "--fail-fast"], ["--repeat", "--fail-fast"]),
                        (["--repeat", "new:50"], ["proctor-out/latest does not exist", "new:50=PATH"]),
                        (["--repeat", "new:50=nowhere"], ["nowhere", "does not exist"]),
                        (["--repeat", "new:50=empty"], ["empty", "no journal.jsonl"]), (["--repeat", "new:50=text"], ["text"])):
        done = sandbox.proctor("run", *words, "--", "sh", "-c", "touch started")
        check(done.returncode == 2 and all(part in done.stderr for part in says), words, done.returncode, done.stderr)
        check(not (sandbox.path / "started").exists(), words, "started something")


def again(sandbox):
    """A rerun repeats as the run did; its own --repeat takes the place of that."""
    run(sandbox, {"bad": counted(sandbox, "bad", every(2))}, "--repeat", "500ms", code=1)
    first = sandbox.last_out()
    out = sandbox.out()
    done = sandbox.proctor("rerun", first, "--failed", "--out", out)
    check(done.returncode == 1 and report(out)["run"]["stress_ms"] == 500, done.returncode, done.stderr)
    out = sandbox.out()
    done = sandbox.proctor("rerun", first, "--failed", "--repeat", "4", "--out", out)
    check(done.returncode == 1 and "stress_ms" not in report(out)["run"], done.returncode, done.stderr)
    check(len(report(out)["cases"][0]["attempts"]) == 4, report(out)["cases"][0])


if __name__ == "__main__":
    run_scenarios([a_rate_is_excluded, real_runs, in_a_batch, cases_take_turns, what_never_ran_is_not_run, interrupted,
                   new_cases_run_often, refused, again], [by_device])
