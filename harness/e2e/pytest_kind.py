#!/usr/bin/env python3
"""Suites of pytest: what plain pytest says of each test, and the exact one to blame when a process dies or hangs."""

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from harness import BIN, Sandbox, check, check_sums, of_type, records, report, skip, wait_until

FILES, PER_FILE = 10, 29
CRASH, HANG = "tests/test_03.py::test_many[fp16-7]", "tests/test_06.py::test_many[fp16-7]"
CONFTEST = """import os, pytest, uuid
@pytest.fixture(scope="session")
def session():
    with open(os.environ["SESSIONS"], "a") as file:
        file.write(uuid.uuid4().hex + "\\n")  # their pids are alike, each in a namespace of its own
    return os.getpid()
"""
PLAIN = """import ctypes, os, pytest
@pytest.mark.parametrize("n", range(PER_FILE - 1))
@pytest.mark.parametrize("kind", ["fp16"])
def test_many(kind, n, session):
    assert session == os.getpid()
    if n == 7: BODY
class TestGroup:
    def test_of_class(self, session): print("printed")
"""
SPECIAL = """import pytest
def test_records(record_property): record_property("bandwidth", 42.5), record_property("mode", "fast")
def test_skipped(): pytest.skip("no such card")
@pytest.mark.skipif(True, reason="marked")
def test_skipped_by_marker(): pass
@pytest.mark.xfail(reason="known")
def test_xfail(): assert False
@pytest.mark.xfail
def test_xpass(): pass
@pytest.mark.xfail(strict=True, reason="gone")
def test_xpass_strict(): pass
def test_fails():
    print("said before")
    assert 1 == 2, "odd"
@pytest.fixture
def broken(): raise RuntimeError("no set-up")
def test_setup(broken): pass
@pytest.fixture
def breaks():
    yield
    raise RuntimeError("no teardown")
def test_teardown(breaks): pass
@pytest.mark.parametrize("text", ["a b", "x::y", "[z]", "caf\\u00e9", "<&>"])
def test_text(text): pass
"""
WHOLE = 'import pytest\npytest.skip("not here", allow_module_level=True)\n'


def find_pytest():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-m", "pytest", "--version"], capture_output=True).returncode == 0:
            return [python, "-m", "pytest"]
    skip("pytest is not installed (Debian: python3-pytest)")


class Project:
    """A directory of tests and its proctor.toml."""

    def __init__(self, sandbox, name, files, **keys):
        self.sandbox, self.path = sandbox, sandbox.path / name
        (self.path / "tests").mkdir(parents=True)
        for file, text in files.items():
            (self.path / "tests" / file).write_text(text)
        self.sessions = self.path / "sessions"
        self.command = find_pytest() + ["-q", "-p", "no:cacheprovider", *keys.pop("options", []), "tests"]
        override = keys.pop("override", "")
        lines = ["[suite.t]", 'kind = "pytest"', f"command = {json.dumps(self.command)}"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        lines += ["[suite.t.env]", f'SESSIONS = "{self.sessions}"', override]
        self.config = self.path / "proctor.toml"
        self.config.write_text("\n".join(lines) + "\n")

    def run(self, *more, code, env=None):
        out = self.sandbox.out()
        run = self.sandbox.start("run", "--config", self.config, "--out", out, *more, env=env)
        errors = self.sandbox.finish(run, seconds=300)
        check(run.returncode == code, "exit", run.returncode, "instead of", code, errors)
        document = report(out)
        check_sums(document)
        return out, {case["id"].partition("/")[2]: case for case in document["cases"]}


def verdicts(cases):
    return {id: f"{case['outcome']}({case['reason']})" if case["reason"] else case["outcome"] for id, case in cases.items()}


def junit(path):
    """{(classname, name): what its elements say}, of either tool."""
    words = {"failure": "bad", "error": "bad", "skipped": "skipped"}
    found = {}
    for case in ElementTree.parse(path).iter("testcase"):
        key = (case.get("classname"), case.get("name"))
        check(key not in found, "twice in", path, key)
        found[key] = next((words[child.tag] for child in case if child.tag in words), "good")
    return found


def three_hundred(sandbox):
    files = {"conftest.py": CONFTEST, "test_special.py": SPECIAL, "test_whole.py": WHOLE}
    for number in range(FILES):
        body = {3: "ctypes.string_at(0)", 6: "ctypes.PyDLL(None).pause()"}.get(number, "pass")
        files[f"test_{number:02}.py"] = PLAIN.replace("PER_FILE", str(PER_FILE)).replace("BODY", body)
    override = f'[[override]]\nmatch = "t/{HANG}"\ntimeout = "2s"\n'
    project = Project(sandbox, "big", files, process="file,verify:off", timeout="10m", override=override)
    out, cases = project.run(code=1)
    check(len(cases) >= 300, "planned", len(cases))

    plain = project.path / "plain.xml"
    subprocess.run(project.command + [f"--junitxml={plain}", "--deselect", CRASH, "--deselect", HANG],
                   cwd=project.path, capture_output=True, env={**os.environ, "SESSIONS": "/dev/null"}, check=False)
    expected = junit(plain)
    for file in ("tests.test_03", "tests.test_06"):
        expected[(file, "test_many[fp16-7]")] = "bad"
    # The one difference: an xpass is never green in our reports (pytest's own shows it as passed).
    check(expected[("tests.test_special", "test_xpass")] == "good", expected)
    expected[("tests.test_special", "test_xpass")] = "skipped"
    got = junit(Path(out) / "junit.xml")
    check(got == expected, "JUnit differs from pytest's:", set(got.items()) ^ set(expected.items()))

    said = verdicts(cases)
    check(said.pop(CRASH) == "crash(signal:11)", "the crash is", verdicts(cases)[CRASH])
    check(said.pop(HANG) == "timeout", "the hang is", verdicts(cases)[HANG])
    special = {id.partition("::")[2]: text for id, text in said.items() if "test_special" in id}
    named = {name: special[name] for name in special if not name.startswith("test_text")}
    check(named == {"test_records": "pass", "test_skipped": "skip(no such card)",
                    "test_skipped_by_marker": "skip(marked)",
                    "test_xfail": "xfail(known)", "test_xpass": "xpass", "test_xpass_strict": "fail",
                    "test_fails": "fail", "test_setup": "fail(setup)", "test_teardown": "fail(teardown)"}, named)
    check(said.pop("tests/test_whole.py") == "skip(not here)", said)
    others = [text for id, text in said.items() if "test_special" not in id]
    check(set(others) == {"pass"} and len(others) == FILES * PER_FILE - 2, others)
    failed = next(record for record in of_type(records(out), "attempt_ended")
                  if record["case"].endswith("test_fails"))
    recorded = next(case for case in report(out)["cases"] if case["id"].endswith("::test_records"))
    check([entry["value"] for entry in recorded["properties"]] == ["42.5", "fast"], recorded["properties"])
    check([entry["value"] for entry in recorded["measures"]] == [42.5], recorded["measures"])
    check("said before" in json.dumps(failed["output"]), "the output of one failure is lost:", failed)
    check(cases[HANG]["attempts"][0]["last_step"] == "call of test_many[fp16-7]", cases[HANG]["attempts"])
    sessions = project.sessions.read_text().split()
    check(len(sessions) == len(set(sessions)) == FILES + 4, "sessions", len(sessions))
    print(f"ok {len(cases)} cases: two blamed, all others as pytest has them, {len(sessions)} sessions")


ALONE = """import os, sys, pytest, uuid
def test_first(): pass
def test_flaky():
    path = os.environ["SESSIONS"]
    with open(path, "a") as file: file.write(uuid.uuid4().hex + "\\n")
    assert len(open(path).read().split()) > 1
def test_exits(): os._exit(0)
def test_quits(): pytest.exit("enough")
def test_forks():
    if os.fork() == 0: sys.exit(0)
    os.wait()
def test_last(): os.system("true")
"""


def who_is_blamed(sandbox):
    for process in ("suite", "case"):
        project = Project(sandbox, f"blame_{process}", {"test_a.py": ALONE, "test_b.py": "def test_b(): pass\n"},
                          process=f"{process},verify:off", retries=1, options=["-x", "--junitxml=taken_over.xml"])
        out, cases = project.run(code=1)
        said = {id.rpartition("::")[2]: text for id, text in verdicts(cases).items()}
        check(said == {"test_first": "pass", "test_flaky": "pass", "test_exits": "error(no_result)",
                       "test_quits": "error(no_result)", "test_forks": "pass", "test_last": "pass", "test_b": "pass"},
              said)
        attempts = {id.rpartition("::")[2]: len(case["attempts"]) for id, case in cases.items()}
        more = 1 if process == "suite" else 0  # what failed beside others runs alone, and costs no retry
        repeated = {name: count for name, count in attempts.items() if count > 1}
        # The flaky one also runs alone once more, and then after the same test as before.
        check(repeated == {"test_flaky": 2 + 2 * more, "test_exits": 2 + more, "test_quits": 2 + more}, attempts)
        marks = {id.rpartition("::")[2]: case["marks"] for id, case in cases.items() if case["marks"]}
        check(marks == {"test_flaky": ["flaky"]}, marks)
        retries = {test["name"]: test.get("retries", 0) for test in json.loads((out / "ctrf.json").read_text())["results"]["tests"]}
        check({name: count for name, count in retries.items() if count} == {name: 1 for name in repeated}, retries)
        check(not (project.path / "taken_over.xml").exists(), "each process wrote its own JUnit file over the others'")
        flaky = project.sessions.read_text().split()
        check(len(set(flaky)) == 2 + 2 * more, "the second attempt had no process of its own")
        order = [record["type"] for record in records(out) if record.get("case", "").endswith("::test_first")]
        check(order == ["attempt_started", "attempt_ended", "case_ended"], order)
    print("ok a case that takes its process with it is blamed alone, and tried again alone")


START_UP = """import os, signal
if "PROCTOR_ATTEMPT" in os.environ: os.kill(os.getpid(), signal.SIGKILL)
"""


def start_up(sandbox):
    files = {"conftest.py": "", "test_a.py": "def test_1(): pass\ndef test_2(): pass\ndef test_3(): pass\n",
             "test_b.py": START_UP + "def test_b(): pass\n"}
    project = Project(sandbox, "start_up", {**files, "conftest.py": START_UP}, process="file")
    _, cases = project.run(code=1)
    said = [text for text in verdicts(cases).values()]
    check(said == ["crash(signal:9)", "crash(signal:9)", "notrun(startup_failed)", "crash(signal:9)"], said)
    project = Project(sandbox, "broken_import", {"test_a.py": "import no_such_module\n", "test_b.py": "def test_b(): pass\n",
                                               "pytest.ini": "[pytest]\naddopts = -x\n"})
    _, cases = project.run(code=1)
    said = verdicts(cases)
    check(said == {"test_a.py": "fail(collection)", "test_b.py::test_b": "pass"}, said)
    check("No module named 'no_such_module'" in json.dumps(cases["test_a.py"]), cases["test_a.py"])
    odd = ('class Broken:\n    def __str__(self): raise RuntimeError("the device is gone")\ndef test_odd(record_property):\n'
           '    for value in ("\\udcff", 10**400, float("nan"), Broken(), None): record_property("odd", value)\n')
    project = Project(sandbox, "odd_properties", {"test_a.py": odd})
    _, cases = project.run(code=0)
    check(len(cases["tests/test_a.py::test_odd"]["properties"]) == 5, cases)
    helper = "def helper(x):\n    assert x == 2\n"
    text = "import helper\n\ndef test_a():\n    for n in [2, 1]:\n        helper.helper(n)\n"
    project = Project(sandbox, "traceback", {"helper.py": helper, "test_a.py": text, "conftest.py": ""})
    _, cases = project.run(code=1)
    [failure] = cases["tests/test_a.py::test_a"]["attempts"][0]["failures"]
    check(failure["file"].endswith("tests/test_a.py") and failure["line"] == 5, "not the test's own line:", failure)
    project = Project(sandbox, "cannot_list", {"conftest.py": "import no_such_module\n", "test_a.py": "def test_a(): pass\n"})
    run = sandbox.proctor("run", "--config", project.config, "--out", sandbox.out(), timeout=60)
    check(run.returncode == 1 and "error · discovery" in run.stdout and "no_such_module" in run.stdout, run.returncode,
          run.stdout)
    changed = 'import os\nif "PROCTOR_ATTEMPT" in os.environ: import no_such_module\ndef test_a(): pass\n'
    hidden = 'import os\nif "PROCTOR_ATTEMPT" not in os.environ:\n    def test_gone(): pass\n'
    late = 'import os, pytest\nif "PROCTOR_ATTEMPT" not in os.environ: pytest.skip("no card", allow_module_level=True)\n'
    late += "def test_one(): pass\ndef test_two(): assert 0\n"
    project = Project(sandbox, "changes", {"test_a.py": changed, "test_b.py": hidden, "test_c.py": late,
                                           "test_d.py": "def test_d(): pass\n"}, process="suite")
    _, cases = project.run(code=1)
    said = verdicts(cases)
    check(said == {"tests/test_a.py::test_a": "fail(collection)", "tests/test_b.py::test_gone": "fail(not_collected)",
                   "tests/test_d.py::test_d": "pass", "tests/test_c.py": "fail"}, said)
    print("ok what cannot start is not tried once for each of its cases, and what changed since it was listed is red")


HANG_AT_THE_END = """import os, time
def pytest_sessionfinish(session):
    if "PROCTOR_ATTEMPT" in os.environ: time.sleep(float(os.environ["AT_THE_END"]))
"""


def after_the_last_test(sandbox):
    """What pytest does after its tests is not in the time of the last one, and has a limit of its own."""
    tests = {"conftest.py": HANG_AT_THE_END, "test_a.py": "def test_1(): pass\ndef test_last(): pass\n"}
    override = 'AT_THE_END = "{}"\n[[override]]\nmatch = "t/*test_last"\ntimeout = "1s"\n'
    project = Project(sandbox, "long_end", tests, process="suite,verify:off", timeout="100s", override=override.format(2))
    _, cases = project.run(code=0)
    check(cases["tests/test_a.py::test_last"]["attempts"][0]["duration_ms"] < 1000, cases)
    project = Project(sandbox, "no_end", tests, process="suite,verify:off", timeout="5s", override='AT_THE_END = "1000"\n')
    _, cases = project.run(code=1)
    check(verdicts(cases) == {"tests/test_a.py::test_1": "timeout", "tests/test_a.py::test_last": "timeout"}, cases)
    attempt = cases["tests/test_a.py::test_last"]["attempts"][0]  # then alone, where the end of the process is its own
    check(attempt["reason"] == "shutdown" and "the case had ended, but" in attempt["failures"][0]["message"], attempt)
    failing = {**tests, "test_a.py": "def test_1(): pass\ndef test_last(): assert 0\n"}
    project = Project(sandbox, "red_no_end", failing, process="suite,verify:off", timeout="5s", override='AT_THE_END = "1000"\n')
    _, cases = project.run(code=1)
    attempts = [attempt["outcome"] for attempt in cases["tests/test_a.py::test_last"]["attempts"]]
    check(attempts == ["fail", "timeout"], "with others, and alone:", cases)
    print("ok the last test does not answer for what pytest does after it")


BESIDE = """import os, subprocess, pytest
@pytest.fixture(scope="session")
def session():
    with open(os.environ["SESSIONS"], "a") as file: file.write("session\\n")
def test_passes(session): pass
def test_fails(session): assert 0
def test_says(session): raise RuntimeError("CUDA error 719: unspecified launch failure")
def test_leaves(session): subprocess.Popen(["sleep", "1000"], start_new_session=True)
def test_last(session): pass
"""


def a_process_for_each_file(sandbox):
    """By default the tests of a file share a process, and none answers for what another one did in it."""
    project = Project(sandbox, "beside", {"test_a.py": BESIDE, "test_b.py": "def test_b(session): pass\n",
                                          "conftest.py": BESIDE.partition("def test_passes")[0]}, process="verify:off", retries=1)
    run = sandbox.proctor("run", "--config", project.config, "--out", sandbox.out(), timeout=100)
    out = sandbox.last_out()
    cases = {case["id"].rpartition("::")[2]: case for case in report(out)["cases"]}
    attempts = {name: [(attempt["outcome"], attempt.get("shared", False)) for attempt in case["attempts"]] for name, case in cases.items()}
    bad, good = [("fail", True), ("fail", False), ("fail", False)], [("pass", True)]
    check(attempts == {"test_passes": good, "test_fails": bad, "test_says": bad, "test_leaves": good, "test_last": good,
                       "test_b": [("pass", False)]}, attempts)
    check({name: case["marks"] for name, case in cases.items() if case["marks"]} == {}, "without a device nothing is tainted, and nobody leaky:", cases)
    leaks = [warning["text"] for warning in report(out)["warnings"] if warning["code"] == "shared_process_leak"]
    check(len(leaks) == 1 and "(sleep 1000)" in leaks[0] and "any of its 5 cases" in leaks[0], leaks)
    said = [line.split("  ")[0] for line in run.stdout.splitlines() if line.endswith("test_fails")]
    check(said[:2] == ["failed in a shared process, running alone", "FAIL 1/2, retrying"], run.stdout)
    sessions = project.sessions.read_text().split()
    check(len(sessions) == 2 + 4, "once for each process: of two files, and of two tests that fail alone twice", sessions)
    junit = (out / "junit.xml").read_text()
    check(junit.count("<rerunFailure") == 2, "what is confirmed alone is no rerun:", junit)
    project = Project(sandbox, "leaks", {"test_a.py": BESIDE}, process="verify:off", leaks="fail")
    _, cases = project.run("--filter", "*test_passes", "--filter", "*test_l*", code=1)
    said = {id.rpartition("::")[2]: text for id, text in verdicts(cases).items()}
    check(said == {"test_passes": "pass", "test_leaves": "fail(leaky)", "test_last": "pass"}, said)
    print("ok a process for each file, and each test answers for itself")


def a_package_of_another_place(sandbox):
    """--pyargs: ids begin in the package. A process imports the files of its own tests, and of the others none."""
    site = sandbox.path / "site"
    tests = site / "pack" / "tests"
    tests.mkdir(parents=True)
    note = "import os\nprint(__name__.rpartition('.')[2], file=open(os.environ['SESSIONS'], 'a'))\n"
    set_up = note + "def setup_module(): os.environ['SET_UP'] = '1'\n"
    test = note + "def test_set_up(): assert os.environ['SET_UP'] == '1'\n"
    for file, text in {"../__init__.py": "", "__init__.py": set_up, "test_a.py": test, "test_b.py": test}.items():
        (tests / file).write_text(text)
    for process in ("file", "case"):
        project = Project(sandbox, f"elsewhere_{process}", {}, process=process, options=["--pyargs", "pack"],
                          override=f'PYTHONPATH = "{site}"\n')
        config = project.config.read_text()
        project.config.write_text(config.replace(', "tests"]', "]"))
        _, cases = project.run(code=0)
        check(set(cases) == {"tests/test_a.py::test_set_up", "tests/test_b.py::test_set_up"}, cases.keys())
        imported = [name for name in project.sessions.read_text().split() if name.startswith("test_")]
        check(sorted(imported) == ["test_a", "test_a", "test_b", "test_b"], "listed and run:", imported)
    print("ok a process collects its own files of a package")


def modules_of_another_place(sandbox):
    """pytest's id has no path where an argument outside rootdir is the file itself. A file of that name elsewhere is another one."""
    site, wrong = sandbox.path / "modules", "def test_a(): assert 0, 'another file'\n"
    (site / "single").mkdir(parents=True)
    for file, text in {"__init__.py": "", "test_a.py": "def test_a(): pass\ndef test_bad(): assert 0\n",
                       "test_b.py": "def test_a(): pass\n", "test_unread.py": "import nowhere_to_be_found\n"}.items():
        (site / "single" / file).write_text(text)
    (site / "link").symlink_to("single")
    (site / "pytest.ini").write_text("[pytest]\n")
    in_files = {"test_a.py::test_a": "pass", "test_a.py::test_bad": "fail", "test_b.py::test_a": "pass",
                "test_unread.py": "fail(collection)"}
    alone = {f"single/{id}": text for id, text in in_files.items()}
    read = {id: text for id, text in alone.items() if "unread" not in id}
    elsewhere = sandbox.path / "no_tests"
    elsewhere.mkdir()
    for number, (options, expected) in enumerate({
            ("--pyargs", "single.test_a", "single.test_b::test_a", "single.test_unread"): alone,
            (f"--rootdir={elsewhere}", f"{site}/single/test_a.py", f"{site}/single/test_b.py"): read,
            ("-c", f"{elsewhere}/pytest.ini", f"{site}/link/test_a.py"):
                {f"link/{id}": text for id, text in in_files.items() if "test_a.py" in id},
            (f"--rootdir={elsewhere}", f"{site}/link"): in_files,
            ("--pyargs", "single"): in_files}.items()):
        (elsewhere / "pytest.ini").write_text("[pytest]\n")
        project = Project(sandbox, f"modules_{number}", {"../test_a.py": wrong}, process="verify:off", options=list(options),
                          override=f'PYTHONPATH = "{site}"\n')
        project.config.write_text(project.config.read_text().replace(', "tests"]', "]"))
        said = verdicts(project.run(code=1)[1])
        check(said == expected, options, said, "instead of", expected)
    print("ok tests outside of rootdir, by the name of a module or a file")


PARTS = """import pytest
class Part(pytest.TestReport):
    pass  # as those of pytest-subtests, and of pytest 9
@pytest.fixture
def part(request):
    def run(outcome):
        report = Part(request.node.nodeid, request.node.location, {}, outcome, "part" if outcome == "failed" else None, "call")
        report.context = None
        request.node.ihook.pytest_runtest_logreport(report=report)
    return run
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    "As pytest-rerunfailures (logged) and flaky (not logged) do."
    from _pytest.runner import runtestprotocol
    word = item.name.rpartition("_")[2]
    if word not in ("logged", "hidden"):
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.failed and word == "logged":
            report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
    item.session.testsfailed = 0
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
WITH_PARTS = """import pytest
def test_skips(part): part("passed"), pytest.skip("no card")
def test_fails_as_expected(part): part("passed"), pytest.xfail("known")
def test_of_good_parts(part): part("passed"), part("skipped")
def test_of_a_bad_part(part): part("passed"), part("failed")
"""
TRIES = """import pytest
tries = {}
def count(name):
    tries[name] = tries.get(name, 0) + 1
    return tries[name]
def test_logged(): assert count("logged") > 1, "first try"
def test_hidden(): assert count("hidden") > 1, "first try"
def test_both_fail_logged(): assert count("both") > 9, f"try {tries['both']}"
def test_part_logged(part):
    if count("part") == 1: part("failed"), pytest.fail("first try")
"""


def parts_and_tries(sandbox):
    """The outcome of a subtest is not that of its test. A failed try that a plugin repeats is reported."""
    project = Project(sandbox, "parts", {"conftest.py": PARTS, "test_parts.py": WITH_PARTS})
    said = {id.partition("::")[2]: text for id, text in verdicts(project.run(code=1)[1]).items()}
    check(said == {"test_skips": "skip(no card)", "test_fails_as_expected": "xfail(known)", "test_of_good_parts": "pass",
                   "test_of_a_bad_part": "fail"}, said)

    project = Project(sandbox, "tries", {"conftest.py": PARTS, "test_tries.py": TRIES}, process="verify:100%")
    out, cases = project.run("--exclude", "*both_fail*", code=1)
    for name, case in cases.items():
        check(case["outcome"] == "pass" and case["marks"] == ["flaky"], name, case)
        check(all("first try" in json.dumps(attempt["failures"]) for attempt in case["attempts"]), name, case["attempts"])
    junit_text = (Path(out) / "junit.xml").read_text()
    check("<flakyFailure" in junit_text and "first try" in junit_text, junit_text)
    check("first try" in (Path(out) / "summary.md").read_text(), "summary.md has no word of it")
    (project.path / "gate.toml").write_text('[gate]\n[[cell]]\nsuite = "t"\nbackend = "none"\nhardware = false\n')
    gate = sandbox.proctor("gate", out, "--policy", project.path / "gate.toml")
    check(gate.returncode == 1 and "passed only after a failure" in gate.stdout, gate.returncode, gate.stdout, gate.stderr)
    project.run("--exclude", "*both_fail*", "--flaky", "pass:100%", code=0)
    _, cases = project.run("--filter", "*both_fail*", code=1)
    (case,) = cases.values()
    check([failure["message"].split("\n")[0] for failure in case["attempts"][-1]["failures"]] ==
          ["AssertionError: try 2", "AssertionError: try 1"] and case["marks"] == [], case)
    print("ok a part is not the whole, and a retry of a plugin is flaky")


SESSION_FILE = """import os
def pytest_addoption(parser):
    parser.addoption("--html", dest="htmlpath")
    for name in ("cov_source", "cov_config"): parser.addoption("--" + name.replace("_", "-"), dest=name)
    parser.addoption("--cov-fail-under", dest="cov_fail_under", type=int)
    parser.addoption("--no-cov", dest="no_cov", action="store_true")
def pytest_load_initial_conftests(early_config):
    early_config.pluginmanager.register(Measured(early_config.known_args_namespace))
class Measured:
    def __init__(self, options): self.options = options
    def pytest_sessionfinish(self, session):
        if session.config.option.htmlpath: open(session.config.option.htmlpath, "a").write("session\\n")
        if self.options.no_cov: return
        open("data", "a").write(f"{self.options.cov_fail_under}\\n")
        if self.options.cov_fail_under: session.exitstatus = 1
"""


def files_of_a_session(sandbox):
    """One session is many processes: none of them writes the file of all, and the listing judges no coverage."""
    project = Project(sandbox, "session", {"../measured.py": SESSION_FILE, "test_a.py": "def test_a(): pass\n"}, process="case",
                      options=["-p", "measured", "--html=all.html", "--cov-source=x", "--cov-fail-under=90"])
    project.config.write_text(project.config.read_text() + f'PYTHONPATH = "{project.path}"\n')
    out, _ = project.run(code=0)
    check(not (project.path / "all.html").exists(), "a process wrote the file of all")
    check((project.path / "data").read_text() == "0\n", "of one process, without a threshold, and not of the listing")
    warnings = [warning["text"] for warning in report(out)["warnings"]]
    check(any("--html has no effect" in text for text in warnings), warnings)
    check(any("coverage combine" in text for text in warnings), warnings)
    print("ok options that write one file of a session are named")


def fail_fast(sandbox):
    text = "import time\ndef test_1(): pass\ndef test_2(): assert 0\ndef test_3(): time.sleep(60)\ndef test_4(): pass\n"
    project = Project(sandbox, "fail_fast", {"test_a.py": text}, process="file")
    _, cases = project.run("--fail-fast", code=1)
    check(list(verdicts(cases).values()) == ["pass", "fail", "notrun(fail_fast)", "notrun(fail_fast)"], verdicts(cases))
    print("ok --fail-fast ends a process after the case that failed")


def interrupted(sandbox):
    text = "import time\ndef test_1(): pass\ndef test_2(): time.sleep(600)\ndef test_3(): pass\n"
    project = Project(sandbox, "interrupted", {"test_a.py": text}, process="file")
    out = sandbox.out()
    run = sandbox.start("run", "--config", project.config, "--out", out)
    wait_until(lambda: len(of_type(records(out), "attempt_started")) == 2, 60, "second case that has begun")
    run.send_signal(signal.SIGINT)
    sandbox.finish(run)
    check(run.returncode == -signal.SIGINT, "exit", run.returncode)
    said = [case["outcome"] + "." + case["reason"] for case in report(out)["cases"]]
    check(said == ["pass.", "notrun.interrupted", "notrun.interrupted"], said)
    print("ok an interrupted process keeps what was finished")


LEASED = """import json, os, pytest
def leased(): return len(json.loads(os.environ.get("PROCTOR_DEVICES", "[]")))
@pytest.mark.gpus(2)
def test_two(): assert leased() == 2
@pytest.mark.gpus(0)
def test_none(): assert leased() == 0
def test_unmarked(): assert leased() == 1
@pytest.mark.gpus(2)
class TestPair:
    def test_pair(self): assert leased() == 2
@pytest.mark.gpus(9)
def test_nine(): pass
"""


def markers(sandbox):
    if not ((BIN / "libproctor_ze_sim.so").exists() and (BIN / "proctor-probe-xpu").exists()):
        return print("skipped: devices by marker: library_missing:libproctor_ze_sim.so")
    project = Project(sandbox, "markers", {"test_a.py": LEASED}, process="file", backend="xpu", gpus="marker:gpus")
    _, cases = project.run("--sim", "xpu:3x1", code=0)
    said = {id.rpartition("::")[2]: text for id, text in verdicts(cases).items()}
    check(said == {"test_two": "pass", "test_none": "pass", "test_unmarked": "pass", "test_pair": "pass",
                   "test_nine": "skip(needs:devices>=9)"}, said)
    logs = {id.rpartition("::")[2]: case["attempts"][0]["output"]["log"] for id, case in cases.items() if case["attempts"]}
    check(logs["test_two"] == logs["test_pair"] and len(set(logs.values())) == 3, logs)
    print("ok each test has as many devices as its marker says, and shares a process only with its like")


DEPENDS = """import json, os, pytest
SEEN = json.loads(os.environ.get("PROCTOR_DEVICES", "[]"))
@pytest.mark.parametrize("card", range(len(SEEN)))
def test_each(card): assert SEEN[card]
"""


def listed_with_devices(sandbox):
    """Tests that are made by what a module sees exist; without a free device the listing says what it lacked."""
    if not ((BIN / "libproctor_ze_sim.so").exists() and (BIN / "proctor-probe-xpu").exists()):
        return print("skipped: listing with devices: library_missing:libproctor_ze_sim.so")
    project = Project(sandbox, "depends", {"test_a.py": DEPENDS}, backend="xpu", gpus=2)
    _, cases = project.run("--sim", "xpu:3x1", code=0)
    said = {id.rpartition("::")[2]: text for id, text in verdicts(cases).items()}
    check(said == {"test_each[0]": "pass", "test_each[1]": "pass"}, said)
    listed = sandbox.proctor("list", "--config", project.config, "--sim", "xpu:3x1")
    check(listed.stdout.count("test_each[") == 2, "list and run differ:", listed.stdout, listed.stderr)
    few = sandbox.proctor("list", "--config", project.config, "--sim", "xpu:1x1")
    check(few.stdout.count("test_each[") == 1, "listed with what there is:", few.stdout, few.stderr)
    print("ok tests that depend on the devices are listed with them")


def listing_waits(sandbox):
    """Which cases there are does not depend on who else has the cards at that moment: a listing waits as a case does."""
    if not (BIN / "libproctor_ze_sim.so").exists():
        return print("skipped: a listing that waits: library_missing:libproctor_ze_sim.so")
    machine, ready, go = sandbox.path / "busy", sandbox.path / "holds", sandbox.path / "go"
    card = ["--sim", f"xpu:2x1,state={machine}"]
    project = Project(sandbox, "waits", {"test_a.py": DEPENDS}, backend="xpu", gpus=2)
    os.mkfifo(go)
    holder = sandbox.start("exec", "--gpus", "1", *card, "--", "sh", "-c", f"echo up > {ready}; read line < {go}")
    wait_until(ready.exists, 30, "holder of the card")
    late = sandbox.proctor("run", "--config", project.config, *card, "--lease-wait", "300ms", "--out", sandbox.out())
    check(late.returncode == 75 and "waited 300ms" in late.stderr, late.returncode, late.stdout, late.stderr)
    check("is held by" in late.stderr, "does not say by whom:", late.stderr)
    for words in (["run", "--deadline", "300ms", "--out", sandbox.out()], ["list", "--lease-wait", "300ms"],
                  ["plan", "--lease-wait", "300ms", "-o", sandbox.path / "waits.json"]):
        late = sandbox.proctor(words[0], "--config", project.config, *card, *words[1:])
        check(late.returncode == 75 and "waited 300ms" in late.stderr, words, late.returncode, late.stderr)
    run = sandbox.start("run", "--config", project.config, *card, "--out", sandbox.out())
    said = run.stderr.readline()
    check("waits for them" in said and "is held by" in said, said)
    with open(go, "w", encoding="utf-8") as fifo:
        fifo.write("go\n")
    sandbox.finish(holder)
    sandbox.finish(run)
    found = sorted(case["id"] for case in report(sandbox.last_out())["cases"])
    check(run.returncode == 0 and len(found) == 2, "fewer cases than with the cards free:", run.returncode, found)
    print("ok a listing waits for its devices")


def listing_without_the_drained(sandbox):
    """A drained card is not waited for; where it is the only one, nothing is listed as if there were none."""
    if not (BIN / "libproctor_ze_sim.so").exists():
        return print("skipped: a drained card: library_missing:libproctor_ze_sim.so")
    project = Project(sandbox, "drained", {"test_a.py": DEPENDS}, backend="xpu", gpus=2)
    for cards in (1, 2):
        machine = sandbox.path / f"drained{cards}"
        machine.mkdir()
        done = sandbox.proctor("devices", "drain", "xpu-sim:0", "--reason", "smoke", "--sim", f"xpu:{cards}x1",
                               "--state-dir", machine / "leases")
        check(done.returncode == 0, "no drain:", done.stdout, done.stderr)
        listed = sandbox.proctor("list", "--config", project.config, "--lease-wait", "0s", "--sim",
                                 f"xpu:{cards}x1,state={machine}")
        check("waits for them" not in listed.stderr, listed.stderr)
        if cards == 1:
            check(listed.returncode == 75 and not listed.stdout, listed.returncode, listed.stdout, listed.stderr)
            check("xpu-sim:0" in listed.stderr and "smoke" in listed.stderr, listed.stderr)
        else:
            check(listed.returncode == 0 and listed.stdout.count("test_each[") == 1, listed.stdout, listed.stderr)
    print("ok a listing does without a drained card, and says when it is the only one")


def listing_keeps_a_doubt(sandbox):
    """A card that a killed runner left dirty is still dirty after a listing has seen it: nobody has examined it."""
    if not (BIN / "libproctor_ze_sim.so").exists():
        return print("skipped: a dirty card: library_missing:libproctor_ze_sim.so")
    machine, ready = sandbox.path / "doubtful", sandbox.path / "up"
    card = ["--sim", f"xpu:1x1,state={machine}"]
    run = sandbox.start("exec", "--gpus", "1", *card, "--", "sh", "-c", f"echo up > {ready}; exec sleep 1000")
    wait_until(ready.exists, 30, "holder of the card")
    run.kill()
    run.communicate()
    dirty = [path for path in (machine / "leases").glob("xpu*.lease") if json.loads(path.read_text())["dirty"]]
    check(len(dirty) == 1, "the killed runner left no dirty lease")
    project = Project(sandbox, "doubt", {"test_a.py": DEPENDS}, backend="xpu", gpus=1)

    def listed_on_it():
        return "test_each[0]" in sandbox.proctor("list", "--config", project.config, *card).stdout

    wait_until(listed_on_it, 30, "end of the killed runner's case")
    check(json.loads(dirty[0].read_text())["dirty"], "the listing has wiped the doubt away")
    print("ok a listing leaves a dirty card dirty")


def left_out(sandbox):
    """What leaves out tests besides the command is said, and is part of the plan's digest."""
    files = {"test_a.py": "def test_fast(): pass\ndef test_slow(): pass\n"}

    def run(project, env=None):
        out, cases = project.run(code=0, env=env)
        document = report(out)
        return sorted(id.rpartition("::")[2] for id in cases), document["run"]["plan_digest"], json.dumps(document["warnings"])

    project = Project(sandbox, "filters", files)
    both, digest, told = run(project)
    check(both == ["test_fast", "test_slow"] and "pytest_filter" not in told and "caller_filter" not in told, both, told)
    cases, of_caller, told = run(project, env={"PYTEST_ADDOPTS": "-k fast"})
    check(cases == ["test_fast"] and "PYTEST_ADDOPTS=-k fast" in told and of_caller != digest, cases, told)
    (project.path / "pytest.ini").write_text("[pytest]\naddopts = -k fast\n")
    cases, of_project, told = run(project)
    check(cases == ["test_fast"] and "addopts of pytest.ini" in told and "1 test is excluded" in told, cases, told)
    check(len({digest, of_caller, of_project}) == 3, digest, of_caller, of_project)
    _, harmless, told = run(project, env={"PYTEST_ADDOPTS": "--color=yes"})
    check(harmless == of_project and "PYTEST_ADDOPTS" not in told, "it leaves nothing out:", told)
    # Shards of a plan with a filter are parts of one plan.
    (project.path / "pytest.ini").write_text("[pytest]\naddopts = -k test_\n")
    shards = [project.run("--shard", f"{number}/2", code=0)[0] for number in (1, 2)]
    merged = sandbox.proctor("report", "merge", *shards, "--out", sandbox.path / "merged")
    check(merged.returncode == 0, merged.returncode, merged.stdout, merged.stderr)
    (project.path / "pytest.ini").write_text("[pytest]\n")
    (project.path / "conftest.py").write_text(
        "def pytest_collection_modifyitems(config, items):\n"
        "    slow = [item for item in items if 'slow' in item.name]\n"
        "    config.hook.pytest_deselected(items=slow)\n    items[:] = [i for i in items if i not in slow]\n")
    cases, _, told = run(project)
    check(cases == ["test_fast"] and "by a conftest.py or a plugin" in told, cases, told)
    cases, _, told = run(project, env={"PYTEST_ADDOPTS": "--color=yes"})
    check(cases == ["test_fast"] and "by a conftest.py or a plugin" in told, "a harmless option hides it:", cases, told)
    print("ok what leaves tests out is said")


LONG = """import pytest
@pytest.mark.parametrize("n", [1], ids=["x" * 20_000])
def test_id(n, record_property):
    record_property("p" * 100_000, "v" * 100_000)
    print("o" * 200_000)
    assert n == 2, "m" * 100_000
"""


def longer_than_a_line(sandbox):
    """Texts are cut, and what names a test or says how it runs is not: such a list is refused."""
    project = Project(sandbox, "long_texts", {"test_a.py": LONG})
    _, cases = project.run(code=1)
    check(list(verdicts(cases).values()) == ["fail"], verdicts(cases))
    for name, text in {
            "long_id": 'import pytest\n@pytest.mark.parametrize("n", [1], ids=["x" * 70_000])\ndef test_id(n): pass\n',
            "long_mark": "import pytest\n@pytest.mark.numbers(*range(40_000))\ndef test_mark(): pass\n",
            "many_marks": "import pytest\ndef test_marks(): pass\n"
                          'for i in range(9_000): test_marks = getattr(pytest.mark, f"m{i}")(test_marks)\n'}.items():
        project = Project(sandbox, name, {"test_a.py": text + "def test_b(): pass\n"})
        run = sandbox.proctor("run", "--config", project.config, "--out", sandbox.out(), timeout=120)
        check(run.returncode == 1 and "error · discovery" in run.stdout and "a line of 64 KiB" in run.stdout, name,
              run.returncode, run.stdout, run.stderr)
    print("ok what is longer than a line of the protocol is cut where it is a text, and refused where it is a name")


DIES = """import ctypes, logging, os, pytest, signal
@pytest.fixture
def ready(): print("said in setup")
def test_before(): print("of another test")
def test_hangs(ready):
    print("said in call")
    os.write(2, b"written below Python\\n")
    ctypes.PyDLL(None).pause()
def test_is_killed(ready):
    print("said in call")
    os.write(2, b"written below Python\\n")
    os.kill(os.getpid(), signal.SIGKILL)
def test_exits(ready):
    print("said in call")
    os.write(2, b"written below Python\\n")
    os._exit(0)
def test_in_teardown(ready, request):
    request.addfinalizer(lambda: os.kill(os.getpid(), signal.SIGKILL))
    print("said in call")
    os.write(2, b"written below Python\\n")
def test_passes(): print("never shown")
"""


def captured_output_survives(sandbox):
    for number, process in enumerate(("case", "file")):
        override = '[[override]]\nmatch = "t/*::test_hangs"\ntimeout = "2s"\n'
        project = Project(sandbox, f"dies_{number}", {"test_a.py": DIES}, process=process, override=override)
        out, cases = project.run(code=1)
        for name in ("test_hangs", "test_is_killed", "test_exits", "test_in_teardown"):
            attempt = cases[f"tests/test_a.py::{name}"]["attempts"][-1]
            check(cases[f"tests/test_a.py::{name}"]["outcome"] != "pass", name)
            text = (Path(out) / attempt["output"]["log"]).read_text()
            for said in ("said in setup", "said in call", "written below Python"):
                check(text.count(said) == 1, process, name, said, text)
            check("of another test" not in text, process, name, text)
        text = "".join(file.read_text() for file in (Path(out) / "logs").rglob("*.log"))
        check("never shown" not in text, text)
        left = list((Path(out) / "logs").rglob("*.captured*"))
        check(not left, "left behind:", left)
    for option in ("--capture=no", "--capture=sys", "--capture=tee-sys"):
        project = Project(sandbox, f"other{option}", {"test_a.py": "def test_a(): print('said')\n"}, options=[option])
        _, cases = project.run(code=0)
        check(cases["tests/test_a.py::test_a"]["outcome"] == "pass", option, cases)
    print("ok what pytest had captured of a test that hung or was killed is in its log")


def one_name(sandbox):
    """An id is the same whatever starts pytest."""
    project = Project(sandbox, "one_name", {"test_a.py": "def test_a(): pass\n"})
    wrapper = project.path / "pytest"
    wrapper.write_text(f"#!{find_pytest()[0]}\nimport sys, pytest\nsys.exit(pytest.console_main())\n")
    wrapper.chmod(0o755)
    for command in (find_pytest(), [wrapper]):
        run = sandbox.proctor("list", "--", *command, project.path / "tests", cwd=project.path)
        check("pytest/tests/test_a.py::test_a" in run.stdout.splitlines(), command, run.stdout, run.stderr)
    print("ok `python3 -m pytest` gives the ids of `pytest`")


def by_an_option_of_pytest(sandbox):
    """As an installed plugin it changes nothing, and --proctor starts the runner, also from addopts."""
    project = Project(sandbox, "by_option", {"test_a.py": "def test_good(): pass\ndef test_bad(): assert 1 == 2\n"})
    plugins = BIN / "share/proctor/pytest"
    env = {**sandbox.env, "PYTHONPATH": str(plugins), "PATH": f"{BIN}:{os.environ['PATH']}"}

    def pytest(*options):
        return subprocess.run([*find_pytest(), "-p", "proctor_pytest", *options, "tests"], cwd=project.path, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    plain = pytest()
    check(plain.returncode == 1 and "1 failed, 1 passed" in plain.stdout, plain.stdout)
    check("planned" not in plain.stdout, plain.stdout)
    for where in ("option", "addopts"):
        if where == "addopts":
            (project.path / "pytest.ini").write_text("[pytest]\naddopts = --proctor\n")
        run = pytest(*(["--proctor"] if where == "option" else []))
        check(run.returncode == 1 and "2 planned: 1 passed, 1 failed" in run.stdout, where, run.stdout)
    print("ok `pytest --proctor` is `proctor run -- pytest`")


def main():
    with Sandbox() as sandbox:
        by_an_option_of_pytest(sandbox)
        captured_output_survives(sandbox)
        one_name(sandbox)
        longer_than_a_line(sandbox)
        left_out(sandbox)
        three_hundred(sandbox)
        who_is_blamed(sandbox)
        start_up(sandbox)
        after_the_last_test(sandbox)
        a_process_for_each_file(sandbox)
        a_package_of_another_place(sandbox)
        modules_of_another_place(sandbox)
        parts_and_tries(sandbox)
        files_of_a_session(sandbox)
        fail_fast(sandbox)
        interrupted(sandbox)
        markers(sandbox)
        listed_with_devices(sandbox)
        listing_waits(sandbox)
        listing_without_the_drained(sandbox)
        listing_keeps_a_doubt(sandbox)


if __name__ == "__main__":
    main()
