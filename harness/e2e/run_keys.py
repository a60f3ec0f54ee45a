#!/usr/bin/env python3
"""The keys of [run] that are options too: a file says what a command line would repeat.

    run_keys.py [SCENARIO...]
"""

import json

from harness import check, of_type, records, report, run_scenarios

SUITES = """
[suite.a]
kind = "command"
command = ["true"]
[suite.b]
kind = "command"
command = ["sh", "-c", "exit 3"]
[suite.slow]
kind = "command"
command = ["sh", "-c", "touch started; sleep 300"]
"""
POLICY = "version = 1\n[gate]\nhardware = false\n[[cell]]\nsuite = \"a\"\nbackend = \"none\"\n"
KNOWN = '[[known_failure]]\ncase = "b/sh"\nreason = "exit:3"\nsource = "here"\nexpires = 2099-01-01\n'


def configure(sandbox, *tables):
    (sandbox.path / "proctor.toml").write_text("\n".join(tables) + SUITES)


def run(sandbox, *words, code=0):
    done = sandbox.proctor("run", "--out", sandbox.out(), *words)
    check(done.returncode == code, words, "gave", done.returncode, done.stdout, done.stderr)
    return sandbox.last_out()


def cases_of(out):
    return {case["id"]: case["outcome"] for case in report(out)["cases"]}


def a_file_says_everything(sandbox):
    (sandbox.path / "known.toml").write_text(KNOWN)
    configure(sandbox, '[run]\nexclude = ["slow/*"]\nknown_failures = "known.toml"\njunit = "out/junit.xml"\n'
                       'history = "runs.db"\nmin_executed = 2\ndeadline = "5m"\njobs = 1\n')
    (sandbox.path / "out").mkdir()
    out = run(sandbox)
    check(cases_of(out) == {"a/true": "pass", "b/sh": "xfail"}, cases_of(out))
    check(not (sandbox.path / "started").exists(), "a case that is left out was started")
    check("<testsuites" in (sandbox.path / "out" / "junit.xml").read_text(), "no JUnit report")
    check((sandbox.path / "runs.db").exists(), "no history")
    planned = of_type(records(out), "run_planned")[0]
    check(planned["jobs"] == 1 and planned["min_executed"] == 2, planned["jobs"], planned["min_executed"])
    narrowed = {one["option"]: one["covered_by"] for one in planned["restrictions"]["options"]}
    check(narrowed == {"exclude": "plan", "known_failures": "rule"}, narrowed)
    # Below the directory of the file, wherever proctor is started.
    (sandbox.path / "sub").mkdir()
    (sandbox.path / ".git").mkdir()
    done = sandbox.proctor("run", "--out", sandbox.out(), cwd=sandbox.path / "sub")
    check(done.returncode == 0, done.returncode, done.stderr)


def the_gate_names_them(sandbox):
    """A case that a key leaves out is red without a plan, and green with one."""
    (sandbox.path / "gate.toml").write_text(POLICY)
    configure(sandbox, '[run]\nexclude = ["slow/*", "b/*"]\n')
    judged = sandbox.proctor("gate", "--policy", "gate.toml", run(sandbox))
    check(judged.returncode == 1 and "exclude slow" in judged.stdout, judged.returncode, judged.stdout)
    check(sandbox.proctor("plan", "-o", "plan.json").returncode == 0, "no plan")
    cases = [case["id"] for case in json.loads((sandbox.path / "plan.json").read_text())["cases"]]
    check(cases == ["a/true"], cases)
    configure(sandbox, '[run]\nexclude = ["*"]\n')  # the plan has its cases
    out = run(sandbox, "--plan", "plan.json")
    check(cases_of(out) == {"a/true": "pass"}, cases_of(out))
    check("exclude *" not in sandbox.proctor("gate", "--policy", "gate.toml", out).stdout, "of a plan")


def a_suite_that_cannot_be_listed(sandbox):
    """It is left out like any other."""
    (sandbox.path / "proctor.toml").write_text(
        '[run]\nexclude = ["bad/*"]\n[suite.a]\nkind = "command"\ncommand = ["true"]\n'
        '[suite.bad]\nkind = "gtest"\ncommand = ["false"]\n')
    check(cases_of(run(sandbox)) == {"a/true": "pass"}, "the suite is still there")


def an_option_replaces_its_key(sandbox):
    configure(sandbox, '[run]\nexclude = ["a/*"]\nfail_fast = true\njobs = 1\n')
    out = run(sandbox, "--exclude", "slow/*", "--exclude", "b/*")
    check(cases_of(out) == {"a/true": "pass"}, cases_of(out))
    configure(sandbox, '[run]\nexclude = ["slow/*"]\nmin_executed = 2\n')
    check(cases_of(run(sandbox, "a")) == {"a/true": "pass"}, "a run of one suite has its own number")
    run(sandbox, "a", "--min-executed", "2", code=3)


def a_profile_has_them_too(sandbox):
    configure(sandbox, '[run]\nexclude = ["b/*", "slow/*"]\n[profile.ci.run]\njunit = "ci.xml"\nstrict = true\n')
    run(sandbox)
    check(not (sandbox.path / "ci.xml").exists(), "the key of a profile that was not chosen")
    out = run(sandbox, "--profile", "ci")
    check((sandbox.path / "ci.xml").exists(), "no JUnit report")
    check(of_type(records(out), "run_planned")[0]["strict"], "not strict")


def fail_fast_counts(sandbox):
    suites = "".join(f'[suite.s{i}]\nkind = "command"\ncommand = ["sh", "-c", "exit 1"]\n' for i in range(5))
    (sandbox.path / "proctor.toml").write_text("[run]\nfail_fast = 3\njobs = 1\norder = \"planned\"\n" + suites)
    outcomes = list(cases_of(run(sandbox, code=1)).values())
    check(outcomes == ["fail"] * 3 + ["notrun"] * 2, outcomes)
    outcomes = list(cases_of(run(sandbox, "--fail-fast", code=1)).values())
    check(outcomes == ["fail"] + ["notrun"] * 4, outcomes)


def exec_has_those_of_the_machine(sandbox):
    configure(sandbox, '[run]\njunit = "never.xml"\ndeadline = "1ms"\nkeep = 3\n')
    done = sandbox.proctor("exec", "--out", sandbox.out(), "--", "true")
    check(done.returncode == 0 and not (sandbox.path / "never.xml").exists(), done.returncode, done.stderr)


def bad_keys(sandbox):
    rows = (  # table, what is wrong
        ("[run]\njobs = 0\n", "must be a whole number from 1 to 10000"),
        ('[run]\nrepeat = "often"\n', "`often` is not a way to repeat cases"),
        ('[run]\nexclude = "slow"\n', "`exclude` in [run]"),
        ("[run]\njobz = 3\n", "Did you mean `jobs`?"),
        ("[defaults]\njobs = 3\n", "It is a key of [run]."),
        ('[run]\nknown_failures = "missing.toml"\n', "missing.toml"),
        ('[run]\nfail_fast = "yes"\n', "`fail_fast`"))
    for table, what in rows:
        configure(sandbox, table)
        done = sandbox.proctor("run", "--out", sandbox.out(), "a")
        check(done.returncode == 2 and what in done.stderr, table, done.returncode, done.stderr)
        check("missing" in table or "proctor.toml:2" in done.stderr, done.stderr)
    configure(sandbox)
    for key, value in (("exclude", '["a*"]'), ("known_failures", '"known.toml"')):
        sandbox.run_keys(jobs=1)
        file = sandbox.path / "config" / "proctor" / "proctor.toml"
        file.write_text(f"[run]\n{key} = {value}\n")
        done = sandbox.proctor("run", "a")
        check(done.returncode == 2 and "cannot be in the user's own file" in done.stderr, done.stderr)


if __name__ == "__main__":
    run_scenarios((a_file_says_everything, the_gate_names_them, a_suite_that_cannot_be_listed,
                   an_option_replaces_its_key, a_profile_has_them_too, fail_fast_counts, exec_has_those_of_the_machine, bad_keys))
