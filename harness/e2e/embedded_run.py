#!/usr/bin/env python3
"""A program that embeds a run: the example of docs/how-to/embed-a-run.md.

    embedded_run.py PROGRAM
"""

import pathlib
import subprocess
import sys

from harness import BIN, ROOT, check, report, run_scenarios

PROGRAM = sys.argv.pop(1)


def embedded(sandbox, *words, prefix=BIN.parent):
    return subprocess.run([PROGRAM, str(prefix), *words], cwd=sandbox.path, capture_output=True, text=True, timeout=120)


def the_page_shows_the_program(sandbox):
    page = (ROOT / "docs/how-to/embed-a-run.md").read_text()
    source = (ROOT / "docs/examples/embed-a-run/run_tests.cc").read_text()
    check(f"```cpp\n{source}```\n" in page, "the page has another program than docs/examples/embed-a-run/run_tests.cc")


def it_runs_beside_no_guard(sandbox):
    check(not (pathlib.Path(PROGRAM).parent / "proctor-guard").exists(), "the program lies beside a guard")
    done = embedded(sandbox, "true")
    check(done.returncode == 0 and "true/true: pass\n" in done.stdout, done.stdout, done.stderr)
    out = pathlib.Path(done.stdout.split("reports in ")[1].strip())
    case, = report(out)["cases"]
    check((case["id"], case["outcome"]) == ("true/true", "pass"), case)
    check((out / "junit.xml").exists() and (out / "index.html").exists(), sorted(out.iterdir()))


def a_failure_is_its_exit_code(sandbox):
    done = embedded(sandbox, "sh", "-c", "exit 3")
    check(done.returncode == 1 and "sh/sh: fail(exit:3)\n" in done.stdout, done.returncode, done.stdout, done.stderr)


def keys_of_the_file_are_added(sandbox):
    (sandbox.path / "proctor.toml").write_text('[run]\njunit = "here.xml"\n[defaults]\nretries = 1\n')
    done = embedded(sandbox, "false")
    check(done.returncode == 1, done.stdout, done.stderr)
    check('name="false"' in (sandbox.path / "here.xml").read_text(), "the key `junit` had no effect")


def what_is_no_installation_is_refused(sandbox):
    done = embedded(sandbox, "true", prefix=sandbox.path)
    check(done.returncode == 2 and f"no installation of Proctor is in {sandbox.path}" in done.stderr, done.stderr)


SCENARIOS = [the_page_shows_the_program, it_runs_beside_no_guard, a_failure_is_its_exit_code, keys_of_the_file_are_added,
             what_is_no_installation_is_refused]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:])
