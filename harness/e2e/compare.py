#!/usr/bin/env python3
"""`report diff`: what changed between two runs, of ours and of other runners, and what it says of input that is none.

    compare.py [SCENARIO...]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from harness import BIN, ROOT, check, report_files, run_scenarios, skip, write_config

from pytest_kind import find_pytest


def run(sandbox, *arguments, code=0, env=None):
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, *arguments, env={**sandbox.env, **(env or {})})
    check(done.returncode == code, arguments, "exit", done.returncode, done.stdout, done.stderr)
    return out


def diff(sandbox, *arguments, code=0):
    done = sandbox.proctor("report", "diff", *arguments)
    check(done.returncode == code, arguments, "exit", done.returncode, "and not", code, done.stdout, done.stderr)
    return done.stdout if code != 2 else done.stderr


def validate(file):
    done = subprocess.run(["/usr/bin/python3", "-B", ROOT / "reports/schema/validate_diff.py", file], text=True,
                          capture_output=True)
    check(done.returncode == 0, file, done.stdout, done.stderr)
    return json.loads(file.read_text())


def script(sandbox, name, text):
    path = sandbox.path / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def commands(sandbox, **suites):
    """A configuration of one command a suite."""
    return write_config(sandbox.path / "proctor.toml", {
        name: {"command": [str(script(sandbox, name, text))], "backend": "none"} for name, text in suites.items()})


def two_runs(sandbox):
    commands(sandbox, good="exit 0", bad="echo 'bad: 17' >&2; exit 3", gone="exit 0")
    before = run(sandbox, "--config", sandbox.path / "proctor.toml", code=1)
    commands(sandbox, good="echo 'lost 4096 bytes'; exit 1", bad="exit 0", new="exit 0")
    return before, run(sandbox, "--config", sandbox.path / "proctor.toml", code=1)


def each_change_is_named(sandbox):
    before, after = two_runs(sandbox)
    file, page = sandbox.path / "diff.json", sandbox.path / "diff.md"
    text = diff(sandbox, before, after, "--json", file, "--markdown", page)
    lines = text.splitlines()
    check(lines[0].startswith("stack: ") and lines[1].startswith("programs: "), text)
    check("good " in lines[1] and "bad " in lines[1], "the programs that changed:", text)
    check("cases: 1 regression, 1 fixed, 1 new_passing, 1 disappeared; 2 compared, 0 unchanged" in lines, text)
    counts = validate(file)["counts"]
    check({name for name, count in counts.items() if count} == {"regression", "fixed", "new_passing", "disappeared"}, counts)
    check("## regression (1)" in page.read_text(), page.read_text())
    check(diff(sandbox, before, after) == diff(sandbox, before, after), "the same input gives the same bytes")
    check("1 still_failing; 3 compared, 2 unchanged" in diff(sandbox, before, before), "a run and itself")


def fail_on_decides_the_exit_code(sandbox):
    before, after = two_runs(sandbox)
    diff(sandbox, before, after, "--fail-on", "regression,new_failing", code=1)
    diff(sandbox, before, after, "--fail-on", "new_failing,slower")
    check("`regression`" in diff(sandbox, before, after, "--fail-on", "regresion", code=2), "a near miss")
    for nothing in ("", " "):
        check("needs a value" in diff(sandbox, before, after, "--fail-on", nothing, code=2), "an empty list")


def what_nobody_knows_is_not_green(sandbox):
    before, after = two_runs(sandbox)
    killed = sandbox.path / "killed"
    killed.mkdir()
    whole = (after / "journal.jsonl").read_text()
    (killed / "journal.jsonl").write_text(whole[:whole.index('{"v":2,"type":"run_ended"')])
    text = diff(sandbox, before, killed, "--markdown", sandbox.path / "diff.md")
    check("\nB is incomplete: its runner was killed" in text, text)
    check("is incomplete: its runner was killed" in (sandbox.path / "diff.md").read_text(), "the Markdown does not say it")
    diff(sandbox, before, killed, "--fail-on", "regression", code=1)
    check("B is incomplete" in diff(sandbox, before, killed, "--fail-on", "slower", code=2), "a killed run is green")
    check("A is incomplete" in diff(sandbox, killed, after, "--fail-on", "regression"), "of the older run it is only said")

    commands(sandbox, other="exit 0")
    other = run(sandbox, "--config", sandbox.path / "proctor.toml")
    check("nothing is compared" in diff(sandbox, before, other, "--fail-on", "regression", code=2), "nothing compared is green")
    diff(sandbox, before, other, "--fail-on", "disappeared", code=1)
    diff(sandbox, before, other)


def ids(sandbox, before, after, change):
    file = sandbox.path / "ids.json"
    diff(sandbox, before, after, "--json", file)
    return [each["id"] for each in json.loads(file.read_text())["changes"] if each["class"] == change]


def the_faults_of_a_simulation_are_a_fact_of_its_stack(sandbox):
    arguments = ["memory", "--filter", "*Copy.HostToDeviceIsByteExact", "--backend", "xpu"]
    before = run(sandbox, *arguments, "--sim", "xpu:2x2")
    after = run(sandbox, *arguments, "--sim", "xpu:2x2", code=1,
                env={"PROCTOR_SIM_FAULTS": "memory.corrupt_copy:at=17,min=65537"})
    text = diff(sandbox, before, after)
    check(text.splitlines()[0] == "stack: sim.faults none, then memory.corrupt_copy:at=17,min=65537", text)
    check("1 regression; 1 compared" in text, text)


def a_journal_cut_anywhere_is_read_or_refused(sandbox):
    before, after = two_runs(sandbox)
    whole = (after / "journal.jsonl").read_bytes()
    cut = sandbox.path / "cut"
    cut.mkdir()
    file = sandbox.path / "diff.json"
    refused = 0
    for length in {*range(0, len(whole), 997), len(whole) - 1}:
        (cut / "journal.jsonl").write_bytes(whole[:length])
        file.write_text("old")
        done = sandbox.proctor("report", "diff", before, cut, "--json", file)
        check(done.returncode in (0, 2), length, "exit", done.returncode, done.stderr)
        if done.returncode == 0:
            validate(file)
        else:
            check(file.read_text() == "old" and "journal.jsonl" in done.stderr, length, done.stderr)
            refused += 1
    check(refused, "a journal without its plan is refused")


def bad_runs_are_refused_by_name(sandbox):
    before, after = two_runs(sandbox)
    text = (after / "journal.jsonl").read_text()
    bad = sandbox.path / "broken"
    bad.mkdir()
    for journal, words in ((text.replace('"v":2', '"v":1', 1), "version 1"), (text.replace('"v":2', '"v":3', 1), "version 3"), (text + text.splitlines()[0] + "\n", "more than one plan"),
                           ("", "no plan"), ("\x00" * 4096, "no plan"), ('{"v":1}\n' * 10, "no plan")):
        (bad / "journal.jsonl").write_text(journal)
        message = diff(sandbox, before, bad, code=2)
        check(words in message and str(bad) in message, words, "in", message)
        diff(sandbox, bad, before, code=2)
    check("nothere" in diff(sandbox, before, sandbox.path / "nothere", code=2), "what is not there is named")
    link = sandbox.path / "link"
    link.symlink_to(after)
    check(diff(sandbox, before, link) == diff(sandbox, before, after), "a link")


def a_run_of_another_user_is_refused_by_name(sandbox):
    if shutil.which("setpriv") is None or os.geteuid() != 0:
        skip("only root, with setpriv, is another user")
    before, after = two_runs(sandbox)
    sandbox.path.chmod(0o755)
    (after / "journal.jsonl").chmod(0o600)
    with tempfile.TemporaryDirectory() as public:
        os.chmod(public, 0o755)
        shutil.copy2(BIN / "proctor", public)
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", f"{public}/proctor", "report", "diff", before, after],
                              text=True, capture_output=True, env=sandbox.env)
    check(done.returncode == 2 and "Permission denied" in done.stderr, done.returncode, done.stdout, done.stderr)


def the_past_of_googletest(sandbox):
    """Its own XML stands for the older run."""
    program = BIN / "plan_sample_gtest"
    past = sandbox.path / "past.xml"
    subprocess.run([program, f"--gtest_output=xml:{past}"], stdout=subprocess.DEVNULL)
    out = sandbox.out()
    sandbox.proctor("run", "--out", out, "--", program)
    text = diff(sandbox, past, out, "--json", sandbox.path / "diff.json")
    found = validate(sandbox.path / "diff.json")
    check(not found["counts"]["regression"] and not found["counts"]["fixed"], text)
    check(found["compared"] >= 5 and found["compared"] == found["before"]["cases"] == found["after"]["cases"], text)
    check("stack: not known of" in text, text)


def the_past_of_pytest(sandbox):
    tests = sandbox.path / "tests"
    tests.mkdir()
    source = "import pytest\n@pytest.mark.parametrize('n', ['a b', '<&>', '1'])\ndef test_n(n): pass\n"
    (tests / "test_it.py").write_text(source + "def test_turns(): pass\nclass TestGroup:\n    def test_in(self): pass\n")
    past = sandbox.path / "past.xml"
    command = [*find_pytest(), "tests"]
    subprocess.run([*command, f"--junitxml={past}"], cwd=sandbox.path, stdout=subprocess.DEVNULL, check=True)
    (tests / "test_it.py").write_text(source + "def test_turns(): assert 1 == 2\nclass TestGroup:\n    def test_in(self): pass\n")
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, "--", *command, cwd=sandbox.path)
    check(done.returncode == 1, done.stdout, done.stderr)
    text = diff(sandbox, past, out, "--fail-on", "regression", code=1)
    check("cases: 1 regression; 5 compared, 4 unchanged" in text, text)
    check("test_it.py::test_turns" in text, text)


def a_commit_of_a_history(sandbox):
    commands(sandbox, good="exit 0", bad="echo 'bad: 17' >&2; exit 3")
    before = run(sandbox, "--config", sandbox.path / "proctor.toml", "--subject", "commit=1111111", code=1)
    commands(sandbox, good="exit 1", bad="exit 0")
    after = run(sandbox, "--config", sandbox.path / "proctor.toml", "--subject", "commit=2222222", code=1)
    db = sandbox.path / "history.sqlite"
    done = sandbox.proctor("history", "add", db, before, after)
    check(done.returncode == 0, done.stdout, done.stderr)
    cases = "cases: 1 regression, 1 fixed; 2 compared, 0 unchanged"
    for old, new in ((before, after), (f"history:{db}@1111111", after), (before, f"history:{db}@2222"),
                     (f"history:{db}@1111111", f"history:{db}@2222222")):
        text = diff(sandbox, old, new)
        check(cases in text and "tested: 1111111, then 2222222" in text, old, new, text)
        check(text.splitlines()[1].startswith("programs: ") and "good " in text.splitlines()[1], text)
    for place, words in ((f"history:{db}", "@COMMIT"), (f"history:{db}@", "@COMMIT"), (f"history:{db}@3333333", "3333333"),
                         (f"history:{sandbox.path}/none@1111111", "none"), (f"history:{after}/journal.jsonl@1111111", "journal.jsonl")):
        message = diff(sandbox, place, after, code=2)
        check(words in message, words, "in", message)
    check("JUnit" in diff(sandbox, f"history:{db}@1111111", make_junit(sandbox), code=2), "a history and a JUnit file")


def make_junit(sandbox):
    file = sandbox.path / "junit" / "past.xml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("<testsuite><testcase name='a'/></testsuite>")
    return file


def a_file_of_another_runner_beside_a_journal_is_read_itself(sandbox):
    before, _ = two_runs(sandbox)
    theirs = before / "theirs.xml"
    theirs.write_text("<testsuite><testcase name='a'/></testsuite>")
    check("only" not in diff(sandbox, theirs, before) and "stack: not known of " + str(theirs) in diff(sandbox, theirs, before),
          diff(sandbox, theirs, before))
    formats, default = report_files(sandbox)
    for ours in ("journal.jsonl", *(formats[name][0] for name in default)):
        check("3 compared, 2 unchanged" in diff(sandbox, before / ours, before), ours)
    done = sandbox.proctor("history", "add", sandbox.path / "db", theirs)
    check(done.returncode == 2 and "theirs.xml" in done.stderr, done.returncode, done.stdout, done.stderr)


def hostile_xml_is_refused(sandbox):
    before, _ = two_runs(sandbox)
    laughs = "".join(f"<!ENTITY l{i} '&l{i - 1};&l{i - 1};'>" for i in range(1, 64))
    for text, words in ((f"<!DOCTYPE a [<!ENTITY l0 'ha'>{laughs}]><testsuite><testcase name='&l63;'/></testsuite>", "entities"),
                        ("<testsuite>" * 1000 + "</testsuite>" * 1000, "deep"), ("<testsuite><testcase", "byte"),
                        ("<html/>", "<html>"), ("<testsuite/><testsuite><testcase name='a'/></testsuite>", "second element")):
        file = sandbox.path / "bad.xml"
        file.write_text(text)
        message = diff(sandbox, file, before, code=2)
        check("bad.xml" in message and words in message, words, "in", message)


SCENARIOS = [each_change_is_named, fail_on_decides_the_exit_code, what_nobody_knows_is_not_green,
             a_file_of_another_runner_beside_a_journal_is_read_itself,
             the_faults_of_a_simulation_are_a_fact_of_its_stack, a_journal_cut_anywhere_is_read_or_refused,
             bad_runs_are_refused_by_name, a_commit_of_a_history, the_past_of_googletest, hostile_xml_is_refused]
OWN = [a_run_of_another_user_is_refused_by_name, the_past_of_pytest]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, OWN)
