#!/usr/bin/env python3
"""`proctor init && proctor run` in two source packages of the distribution, whose tests nobody here wrote: a C++ library
with GoogleTest, built by CMake, and a Python package with pytest. Needs the network and dpkg-dev."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from harness import Sandbox, check, report, skip

CXX, PYTHON = "ms-gsl", "toolz"


def command(*words, cwd, seconds=600, **more):
    return subprocess.run([str(word) for word in words], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=seconds, **more)


def source_lists(directory):
    """The lists of sources, which are not enabled by default: those of this system, for sources."""
    parts = directory / "parts"
    parts.mkdir()
    one = Path("/etc/apt/sources.list")
    if one.exists():
        (parts / "all.list").write_text(re.sub(r"^deb ", "deb-src ", one.read_text(), flags=re.MULTILINE))
    for name in ("debian", "ubuntu"):
        list_ = Path(f"/etc/apt/sources.list.d/{name}.sources")
        if list_.exists():
            (parts / list_.name).write_text(re.sub(r"^Types:.*", "Types: deb-src", list_.read_text(), flags=re.MULTILINE))
    return parts


def fetch(sandbox):
    """{package: the directory of its sources}"""
    for program in ("apt-get", "dpkg-source"):
        if shutil.which(program) is None:
            skip(f"needs {program}")
    directory = sandbox.path / "sources"
    for made in ("lists/partial", "cache/archives/partial"):
        (directory / made).mkdir(parents=True)
    options = ["-q", "-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={source_lists(directory)}",
               "-o", f"Dir::State::lists={directory}/lists", "-o", f"Dir::Cache={directory}/cache", "-o", "APT::Sandbox::User=root"]
    update = command("apt-get", *options, "update", cwd=directory)
    check(update.returncode == 0, update.stdout)
    got = command("apt-get", *options, "source", CXX, PYTHON, cwd=directory)
    check(got.returncode == 0, got.stdout)
    return {name: next(directory.glob(f"{name}-*/")) for name in (CXX, PYTHON)}


def init_and_run(sandbox, source, line):
    """The cases of the run, after `proctor init` said `line`."""
    done = sandbox.proctor("init", cwd=source)
    print(done.stdout, end="")
    check(done.returncode == 0 and re.search(line, done.stdout), line, done.stdout, done.stderr)
    print((source / "proctor.toml").read_text())
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, cwd=source, timeout=600)
    check("warning" not in done.stdout + done.stderr, done.stdout, done.stderr)
    cases = report(out)["cases"]
    outcomes = [case["outcome"] for case in cases]
    print(f"ok {source.name}: {({each: outcomes.count(each) for each in outcomes})}, exit code {done.returncode}")
    check(set(outcomes) <= {"pass", "fail", "skip", "xfail"} and outcomes.count("pass") > len(outcomes) * 0.9, outcomes)
    check(done.returncode == (1 if "fail" in outcomes else 0), done.stdout, done.stderr)
    return cases


def main():
    with Sandbox() as sandbox:
        sources = fetch(sandbox)
        library = sources[CXX]
        for words in (["cmake", "-S", ".", "-B", "build", "-DGSL_TEST=ON"], ["cmake", "--build", "build", "--parallel", "2"]):
            built = command(*words, cwd=library)
            check(built.returncode == 0, *words, built.stdout[-4000:])
        cases = init_and_run(sandbox, library, r"build/tests/gsl_tests: \d+ tests of kind gtest")
        ctest = command("ctest", "--test-dir", "build", cwd=library)
        check(ctest.returncode == 0 and len(cases) > 50, "CTest calls it otherwise:", ctest.stdout)
        package = sources[PYTHON]
        sandbox.env["PYTHONPATH"] = str(package)  # as if it were installed, which its tests expect
        cases = init_and_run(sandbox, package, r"\d+ tests of kind pytest")
        alone = command("pytest", "-q", "--collect-only", cwd=package, env=sandbox.env)
        collected = [line for line in alone.stdout.splitlines() if "::" in line]
        check(len(cases) == len(collected) > 50, len(cases), "cases, but pytest collects", len(collected))


if __name__ == "__main__":
    sys.exit(main())
