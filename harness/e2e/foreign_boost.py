#!/usr/bin/env python3
"""A Boost.Test program that nobody here wrote, of the distribution's source packages: listed and run case by case, with the
verdicts that its own report has when it runs all of them in one process. Its framework is the distribution's library."""

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from harness import Sandbox, check, check_sums, of_type, records, report, skip

PACKAGE = "ordered-map"  # 68 KB; template cases with the longest names that there are
SOURCES = ("main.cpp", "ordered_set_tests.cpp", "custom_allocator_tests.cpp")
OUTCOMES = {"passed": "pass", "failed": "fail", "aborted": "fail", "skipped": "skip"}


def fetch(directory):
    """The package's source as its authors published it; apt checks it. Lists of sources are not enabled by default."""
    for name in ("parts", "lists/partial", "cache/archives/partial"):
        (directory / name).mkdir(parents=True)
    for source in Path("/etc/apt/sources.list.d").glob("*.sources"):
        if source.stem in ("debian", "ubuntu"):
            text = re.sub(r"(?m)^Types:.*", "Types: deb-src", source.read_text())
            (directory / "parts" / source.name).write_text(text)
    options = ["-q", "-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={directory}/parts", "-o",
               f"Dir::State::lists={directory}/lists", "-o", f"Dir::Cache={directory}/cache", "-o", "APT::Sandbox::User=root"]
    for words in (["update"], ["--tar-only", "source", PACKAGE]):
        if subprocess.run(["apt-get", *options, *words], cwd=directory, stdout=sys.stderr).returncode != 0:
            skip(f"package_missing:{PACKAGE}, as a source package")
    archive = next(directory.glob(f"{PACKAGE}_*.orig.tar.*"))
    shutil.unpack_archive(archive, directory)
    return next(directory.glob(f"{PACKAGE}-*/tests"))


def build(directory):
    tests = fetch(directory)
    program = directory / "foreign"
    done = subprocess.run(["g++", "-std=c++17", f"-I{tests.parent}/include", *(tests / name for name in SOURCES), "-o", program,
                           "-lboost_unit_test_framework"], stderr=subprocess.PIPE, text=True)
    if "cannot find -lboost_unit_test_framework" in done.stderr:
        skip("package_missing:libboost-test-dev")
    check(done.returncode == 0, done.stderr)
    return program


def own_verdicts(program):
    done = subprocess.run([program, "--report_format=XML", "--report_level=detailed", "--report_sink=stdout",
                           "--log_level=nothing"], stdout=subprocess.PIPE, text=True)
    root = ET.fromstring(done.stdout[done.stdout.index("<TestResult>"):])
    verdicts = {}

    def walk(suite, path):
        for child in suite:
            name = path + child.get("name")
            if child.tag == "TestSuite":
                walk(child, name + "/")
            else:
                verdicts[name] = OUTCOMES[child.get("result")]

    walk(root[0], "")
    return verdicts


def main():
    with Sandbox() as sandbox:
        program = build(sandbox.path)
        wanted = own_verdicts(program)
        check(len(wanted) >= 10, "few cases:", sorted(wanted))
        done = sandbox.proctor("run", "--out", sandbox.out(), "--", program)
        check(done.returncode in (0, 1), done.stdout, done.stderr)
        document = report(sandbox.last_out())
        check_sums(document)
        ends = {case["id"].partition("/")[2]: case["outcome"] for case in document["cases"]}
        kinds = {case["kind"] for record in of_type(records(sandbox.last_out()), "run_planned") for case in record["cases"]}
        check(kinds == {"boost"}, "recognised as", kinds)
        check(ends == wanted, {name: (ends.get(name), wanted.get(name)) for name in ends.keys() | wanted.keys()
                               if ends.get(name) != wanted.get(name)})
        print(f"ok {len(ends)} cases of {PACKAGE}, each with its own verdict")


if __name__ == "__main__":
    main()
