#!/usr/bin/env python3
"""What decides a verdict besides the suites: it is said in the head of the run, it stands in the journal, and a gate refuses
it. And pytest without assertions, or under a debugger that nobody sits at, passes nothing."""

from harness import Sandbox, check, of_type, records
from pytest_kind import Project, verdicts

TESTS = "def test_bad(): assert 1 == 2\ndef test_good(): assert True\n"
SUBJECT = ("--subject", "commit=c0ffee", "--subject", "dirty=false")
NO_VARIABLES = ("PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")


def narrowed(out):
    return of_type(records(out), "run_planned")[0]["restrictions"]


def variables(out):
    return {one["name"]: (one["value"], one["by"]) for one in narrowed(out)["variables"]}


def run(sandbox, *words, code=0, env=None):
    """The run directory, and what stands on the console."""
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, *SUBJECT, *words, env={**sandbox.env, **(env or {})})
    check(done.returncode == code, "exit", done.returncode, done.stdout, done.stderr)
    return out, done.stdout


def gate(sandbox, out, keys="", more="", suite="t"):
    """"" when it is green, else what it says."""
    policy = sandbox.path / "gate.toml"
    policy.write_text(f'[gate]\n{keys}\n[[cell]]\nsuite = "{suite}"\nbackend = "none"\nhardware = false\n{more}\n')
    done = sandbox.proctor("gate", "--policy", policy, out)
    check(done.returncode in (0, 1), done.returncode, done.stdout, done.stderr)
    return done.stdout if done.returncode else ""


def never_a_pass(sandbox):
    """Neither by an option of the caller, nor by one of the command, in whatever process."""
    for number, (options, env, reason) in enumerate((
            ([], {"PYTEST_ADDOPTS": "--trace"}, "debugger"), ([], {"PYTEST_ADDOPTS": "--pdb"}, "debugger"),
            (["--trace"], {}, "debugger"), ([], {"PYTHONOPTIMIZE": "1"}, "assertions_off"))):
        for process in ("case", "suite"):
            project = Project(sandbox, f"never{number}{process}", {"test_a.py": TESTS}, options=options, process=process)
            out, cases = project.run(code=1, env=env)
            check(set(verdicts(cases).values()) == {f"fail({reason})"}, options, env, verdicts(cases))
    print("ok pytest passes nothing without assertions, nor under a debugger without a terminal")


def what_a_variable_leaves_out(sandbox):
    project = Project(sandbox, "variable", {"test_a.py": TESTS})
    words = ("--config", project.config)
    out, head = run(sandbox, *words, env={"PYTEST_ADDOPTS": "-o python_functions=test_good"})
    check(variables(out)["PYTEST_ADDOPTS"] == ("-o python_functions=test_good", "caller"), narrowed(out))
    check("variable     PYTEST_ADDOPTS='-o python_functions=test_good' (caller)" in head, head)
    check("had PYTEST_ADDOPTS=" in gate(sandbox, out), "a gate refuses it")
    check(gate(sandbox, out, 'variables = ["PYTEST_ADDOPTS"]') == "", "unless its policy allows it")
    # Of a suite of its own, a variable for pytest changes nothing.
    out, head = run(sandbox, "--name", "t", "--env", "PYTHONOPTIMIZE=1", "--", "true", env={"BASH_ENV": "/dev/null"})
    check(variables(out) == {"PYTHONOPTIMIZE": ("1", "suite"), "BASH_ENV": ("/dev/null", "caller")}, narrowed(out))
    said = gate(sandbox, out)
    check("BASH_ENV=/dev/null of the caller" in said and "PYTHONOPTIMIZE=1 of the suite" in said, said)
    out, head = run(sandbox, "--name", "t", "--", "true")
    check(narrowed(out) == {"options": [], "variables": []} and "variable " not in head, narrowed(out), head)
    check(gate(sandbox, out) == "", "nothing is narrowed", gate(sandbox, out))
    print("ok variables that change what is run stand in the head, in the journal and before the gate")


def what_an_option_leaves_out(sandbox):
    plan = sandbox.path / "plan.json"
    done = sandbox.proctor("plan", "-o", plan, "--name", "t", "--", "false")
    check(done.returncode == 0, done.stderr)
    out, _ = run(sandbox, "--plan", plan, code=1)
    check("1 case failed" in gate(sandbox, out, more='plan = "plan.json"'), "what fails is red")
    out, _ = run(sandbox, "--plan", plan, "--debugger", "true")
    told = {one["option"]: (one["value"], one["covered_by"]) for one in narrowed(out)["options"]}
    check(told == {"--plan": (str(plan), "plan"), "--debugger": ("true", "")}, told)
    said = gate(sandbox, out, more='plan = "plan.json"')
    check("was run with --debugger true" in said, said)
    out, _ = run(sandbox, "--name", "t", "--filter", "t*", "--", "true")
    check("excluded cases, or may have: --filter t*" in gate(sandbox, out), "a filter")
    print("ok options that change what is run stand before the gate")


def main():
    with Sandbox() as sandbox:
        for name in NO_VARIABLES:
            sandbox.env.pop(name, None)
        never_a_pass(sandbox)
        what_a_variable_leaves_out(sandbox)
        what_an_option_leaves_out(sandbox)


if __name__ == "__main__":
    main()
