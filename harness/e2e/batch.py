#!/usr/bin/env python3
"""Cases in batches have the outcomes that they have in processes of their own.

    batch.py [SCENARIO...]

PROCTOR_BATCH_MIXTURES: how many mixtures of cases there are (30). PROCTOR_BATCH_SEED: of which (it is printed).
"""

import json
import os
import random

from harness import BIN, CUDA_SIMULATOR, check, of_type, records, report, run_scenarios, write_config
from pytest_kind import find_pytest

CASES = 12
WORDS = ("pass", "pass", "pass", "fail", "crash", "exit0", "exit3", "fork", "poison", "needs", "hates")
SLOW_WORDS = (*WORDS, "hang")
PYTEST = """
import atexit, os, sys, time
import pytest

words = os.environ["MIXTURE"].split()
poisoned, halves = False, 0

@pytest.mark.parametrize("number", range(12))
def test_mixture(number):
    global poisoned, halves
    what = words[number]
    if what == "crash":
        os.abort()
    while what == "hang":
        time.sleep(60)
    if what in ("exit0", "exit3"):
        os._exit(int(what[-1]))
    if what == "fork":
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    if what == "fork_on" and os.fork() != 0:
        os.abort()
    if what == "dirty":
        atexit.register(os._exit, 66)
    poisoned, halves = poisoned or what == "poison", halves + (what == "half")
    assert what != "fail" and not (what == "needs" and not poisoned) and not (what == "hates" and poisoned)
    assert not (what == "needs2" and halves != 2) and not (what == "hates2" and halves == 2)
"""


# Two processes meet in their second case, whenever both run it behind another one: each sees the other's file. Alone, or
# without the other, it passes.
RACE = """
import os, time
import pytest

behind = False

def meet(mine, other):
    open(mine, "w").close()
    end = time.monotonic() + (2 if os.path.exists("met") else 60)
    while not os.path.exists(other) and time.monotonic() < end:
        time.sleep(0.01)
    met = os.path.exists(other)
    if met:
        for name in ("met", f"{mine}-saw"):
            open(name, "w").close()
        while not os.path.exists(f"{other}-saw") and time.monotonic() < end:
            time.sleep(0.01)
    os.unlink(mine)
    assert not met

@pytest.mark.parametrize("number", range(4))
def test_race(number):
    global behind
    if number % 2 == 0:
        behind = True
    elif behind:
        meet(*(("one", "two") if number == 1 else ("two", "one")))
"""


def commands(sandbox):
    """One program of each framework that is here."""
    (sandbox.path / "test_mixture.py").write_text(PYTEST)
    programs = {name: [BIN / f"mixture_{name}"] for name in ("gtest", "gtest_plain", "catch2", "doctest") if (BIN / f"mixture_{name}").exists()}
    return {**programs, "pytest": [*find_pytest(), "-p", "no:cacheprovider", "test_mixture.py"]}


def run(sandbox, command, words, *options):
    out = sandbox.out()
    limit = "3s" if "hang" in words else "2m"
    nowhere = {**sandbox.env, "PATH": str(sandbox.path / "nothing")}  # without a debugger, which takes longer than the cases
    done = sandbox.proctor("run", "--env", f"MIXTURE={' '.join(words)}", "--timeout", limit, "--grace", "100ms", "--out", out,
                           *options, "--", *command, env=nowhere)
    check((out / "report.json").exists(), done.stdout, done.stderr)
    return report(out)


def outcomes(document):
    return {case["id"]: case["outcome"] for case in document["cases"]}


def marked(document, mark):
    return {case["id"] for case in document["cases"] if mark in case["marks"]}


def count_of_mixtures():
    return int(os.environ.get("PROCTOR_BATCH_MIXTURES", "30"))


def mixtures(sandbox):
    """With everything verified each outcome is that of a process for each case; with the usual share each but a pass that
    needs what ran before it."""
    seed = int(os.environ.get("PROCTOR_BATCH_SEED", random.randrange(1 << 30)))
    count = count_of_mixtures()
    print("PROCTOR_BATCH_SEED", seed, flush=True)
    chance = random.Random(seed)
    programs = list(commands(sandbox).items())
    for number in range(count):
        # pytest takes as long to start as many cases of the others together.
        name, command = programs[-1] if number % 10 == 9 else programs[number % (len(programs) - 1)]
        words = [chance.choice(SLOW_WORDS if number % 10 == 5 else WORDS) for _ in range(CASES)]
        batch = chance.choice(("2", "5", "auto"))
        where = (seed, number, name, batch, words)
        alone = outcomes(run(sandbox, command, words, "--process", "case"))
        check(len(alone) == CASES, where, alone)
        verified = outcomes(run(sandbox, command, words, "--process", f"batch:{batch},verify:100%"))
        check(verified == alone, where, "with verify:100%:", {id: (alone[id], verified[id]) for id in alone if alone[id] != verified.get(id)})
        usual = outcomes(run(sandbox, command, words, "--process", f"batch:{batch}"))
        for (id, outcome), word in zip(alone.items(), words):
            expected = {outcome, "pass"} if word == "needs" else {outcome}
            check(usual[id] in expected, where, id, word, "alone", outcome, "in a batch", usual[id])


def who_depends_on_whom(sandbox):
    """Each is told as what it is, and bisect finds the one case, or the two, that it depends on."""
    for number, (name, command) in enumerate(commands(sandbox).items()):
        words = ["pass"] * CASES
        if number % 2 == 0:
            words[1], words[4], words[7], poisoners = "poison", "hates", "needs", [1]
        else:
            words[1], words[3], words[4], words[7], poisoners = "half", "half", "hates2", "needs2", [1, 3]
        document = run(sandbox, command, words, "--process", "batch:100,verify:100%")
        ids = list(outcomes(document))
        check(marked(document, "order_dependent") == {ids[4]} == marked(document, "flaky"), name, outcomes(document))
        bad = {case["id"]: case["reason"] for case in document["cases"] if case["outcome"] != "pass"}
        check(bad == {ids[7]: "fails_alone"}, name, bad)
        summary = (sandbox.last_out() / "summary.md").read_text()
        check(f"proctor rerun {sandbox.last_out()} --bisect " in summary.replace("\\", ""), "the command that repeats it:", summary)
        for case, says in ((ids[4], "fails after"), (ids[7], "passes only after")):
            short = case.partition("/")[2]
            done = sandbox.proctor("rerun", sandbox.last_out(), "--bisect", case if number else short)
            check(done.returncode == 0 and says in done.stdout, name, done.stdout, done.stderr)
            found = [line.strip() for line in done.stdout.splitlines() if line.startswith("  ")]
            check(found == [ids[which] for which in poisoners], name, case, done.stdout)
        done = sandbox.proctor("rerun", sandbox.last_out(), "--bisect", ids[5])
        check(done.returncode == 1 and "does not depend" in done.stdout, done.stdout, done.stderr)


def a_bad_end_is_charged_to_nobody(sandbox):
    """Of a process that ends badly after its cases, or in whose name two speak, each case is judged as it is alone."""
    for name, command in commands(sandbox).items():
        for word, where in (("dirty", 3), ("fork_on", 3), ("fork_on", CASES - 1)):
            words = ["pass"] * CASES
            words[where] = word
            document = run(sandbox, command, words, "--process", "suite,verify:off", "--flaky", "pass:2%")
            ids = list(outcomes(document))
            bad = {case["id"]: (case["outcome"], case["reason"]) for case in document["cases"] if case["outcome"] != "pass"}
            expected = {"dirty": [("fail", "exit:66"), ("error", "result_mismatch")], "fork_on": [("crash", "signal:6")]}[word]
            check(list(bad) == [ids[where]] and bad[ids[where]] in expected, name, word, where, bad, document["warnings"])
            check(word != "dirty" or not marked(document, "flaky"), name, word, where, marked(document, "flaky"))
            warned = [warning["code"] for warning in document["warnings"]]
            check(word != "dirty" or "batch_unused" in warned or "gtest_listener" in warned, name, word, where, document["warnings"])


def a_race_of_two_batches_is_no_order(sandbox):
    """A case that fails because of another process is flaky, and does not depend on the order."""
    (sandbox.path / "test_race.py").write_text(RACE)
    command = [*find_pytest(), "-p", "no:cacheprovider", "test_race.py"]
    done = sandbox.proctor("run", "--process", "batch:2,verify:off", "--jobs", "2", "--out", sandbox.out(), "--", *command)
    document = report(sandbox.last_out())
    check(done.returncode == 1 and len(document["cases"]) == 4, done.stdout, done.stderr)
    check(marked(document, "flaky") and not marked(document, "order_dependent"), document["cases"])


def batches_run_side_by_side(sandbox):
    """At most N cases in a process, and each process once."""
    command = [BIN / "mixture_gtest"]
    run(sandbox, command, ["pass"], "--process", "batch:5,verify:off", "--jobs", "3")
    logs = {}
    for start in of_type(records(sandbox.last_out()), "attempt_started"):
        logs.setdefault(start["log"], []).append(start["case"])
    check(sorted(len(cases) for cases in logs.values()) == [2, 5, 5], logs)


def suites_of_ours(sandbox):
    """Their checks do not affect each other; with many mixtures, of all suites that can share, and each is verified."""
    suites, share = (["memory", "kernels", "management"], "100%") if count_of_mixtures() > 100 else (["memory"], "off")
    devices, backend = ("xpu:2x1,cuda:2", "all") if CUDA_SIMULATOR.exists() else ("xpu:2x1", "xpu")
    done = sandbox.proctor("run", *suites, "--sim", devices, "--backend", backend, "--process", f"batch:auto,verify:{share}",
                           "--out", sandbox.out(), timeout=1200)
    document = report(sandbox.last_out())
    check(done.returncode == 0 and document["summary"]["pass"] > 100, done.stdout[-3000:], done.stderr)
    logs = {attempt["output"]["log"] for case in document["cases"] for attempt in case["attempts"]}
    check(share != "off" or len(logs) < len(document["cases"]) / 4, len(logs), len(document["cases"]))


def bad_input(sandbox):
    program = BIN / "mixture_gtest"
    done = sandbox.proctor("run", "--process", "batch:3,suite", "--", program)
    check(done.returncode == 2 and "--process batch:3,suite" in done.stderr, done.stdout, done.stderr)
    write_config(sandbox.path / "proctor.toml", {"a": {"command": [str(program)], "process": "batch:x"}})
    done = sandbox.proctor("run")
    check(done.returncode == 2 and "proctor.toml:" in done.stderr and "`process` batch:x" in done.stderr, done.stderr)
    write_config(sandbox.path / "proctor.toml", {"a": {"command": [str(program)], "process": "batch:4,verify:off"}})
    done = sandbox.proctor("plan", "-o", "plan.json")
    suite = json.loads((sandbox.path / "plan.json").read_text())["suites"][0]
    check(suite["batch"] == 4 and suite["verify"] == 0, done.stdout, done.stderr)
    done = sandbox.proctor("run", "--plan", "plan.json", "--out", sandbox.out())
    check(done.returncode == 0, done.stdout, done.stderr)
    done = sandbox.proctor("rerun", sandbox.last_out(), "--bisect", "a/All/Mixture.Case/99")
    check(done.returncode == 2 and "has no case" in done.stderr, done.stderr)
    done = sandbox.proctor("rerun", sandbox.last_out(), "--bisect", "a/All/Mixture.Case/9", "--failed")
    check(done.returncode == 2 and "--failed cannot be combined with --bisect" in done.stderr, done.stderr)


if __name__ == "__main__":
    run_scenarios((mixtures, who_depends_on_whom, a_bad_end_is_charged_to_nobody, a_race_of_two_batches_is_no_order,
                   batches_run_side_by_side, suites_of_ours, bad_input))
