#!/usr/bin/env python3
"""Another project's tests under Proctor through find_package(Proctor): a real CMake project, a real ctest."""

import json
import re
import subprocess
import sys

from harness import BIN, ROOT, Sandbox, check, skip

SAMPLE = "plan_sample_gtest"
SIMULATOR = "libproctor_ze_sim.so"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(other LANGUAGES NONE)
enable_testing()
find_package(Proctor REQUIRED)
add_executable(sample IMPORTED)
set_target_properties(sample PROPERTIES IMPORTED_LOCATION "@SAMPLE@")
proctor_discover_tests(sample LABELS quick TIMEOUT 30s)
add_executable(gone IMPORTED)
set_target_properties(gone PROPERTIES IMPORTED_LOCATION "@DIR@/no-such-program")
proctor_discover_tests(gone)
foreach(i RANGE 1 6)
  proctor_add_suite(gpu${i} COMMAND "@PYTHON@" "@DIR@/hold.py" "@DIR@/order" BACKEND xpu
                    OPTIONS --sim "xpu:2x1,state=@DIR@/machine")
endforeach()
proctor_add_suite(skips COMMAND /bin/sh -c "exit 77" SKIP_CODE 77)
proctor_add_suite(exits COMMAND /bin/sh -c "exit 77")
proctor_add_suite(short COMMAND /bin/true OPTIONS --min-executed 2)
"""
FIXTURE = {"proctor.open": "Passed", "proctor.report": "Passed"}
HOLD = """import os, sys, time
def say(what):
    fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(fd, f"{time.monotonic_ns()} {what} {os.environ['ZE_AFFINITY_MASK']} {os.getpid()}\\n".encode())
say("begin"); time.sleep(0.05); say("end")
"""


def run(directory, *command, expect=None):
    done = subprocess.run([str(word) for word in command], cwd=directory, capture_output=True, text=True, timeout=300)
    check(expect is None or done.returncode == expect, *command, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def results(text):
    """{test: result} of ctest's lines."""
    line = re.compile(r"Test +#\d+: (\S.*?) \.+ *(?:\*\*\*)?(Passed|Failed|Skipped|Not Run \(Disabled\))")
    return dict(match.groups() for match in line.finditer(text))


def exclusive(log):
    holders = set()
    for _, what, card, pid in sorted((line.split() for line in log.read_text().splitlines()), key=lambda l: int(l[0])):
        if what == "begin":
            check(card not in {held for held, _ in holders}, f"two tests on card {card}")
            holders.add((card, pid))
        else:
            holders.remove((card, pid))


def make_project(directory):
    text = PROJECT.replace("@SAMPLE@", str(BIN / SAMPLE)).replace("@DIR@", str(directory))
    (directory / "CMakeLists.txt").write_text(text.replace("@PYTHON@", sys.executable))
    (directory / "hold.py").write_text(HOLD)
    build = directory / "build"
    run(directory, "cmake", "-S", directory, "-B", build, f"-DProctor_DIR={BIN.parent}", expect=0)
    return build


def cases(build, directory):
    found = results(run(build, "ctest", "-j8"))
    check(found.get("sample/Plain.Passes") == "Passed", found)
    check(found.get("sample/Plain.Fails") == "Failed", found)
    check(found.get("sample/Plain.DISABLED_Broken") == "Not Run (Disabled)", found)
    check(found.get("gone_NOT_DISCOVERED") == "Failed", found)
    check(found.get("skips") == "Skipped" and found.get("exits") == "Failed", found)
    check(found.get("short") == "Failed", "incomplete although it ran:", found)
    check(found.get("proctor.report") == "Passed", found)
    check(all(found.get(f"gpu{i}") == "Passed" for i in range(1, 7)), found)
    exclusive(directory / "order")
    check(results(run(build, "ctest", "-L", "quick", "-R", "Passes$")) == {**FIXTURE, "sample/Plain.Passes": "Passed"},
          "labels")
    print(f"ok {len(found)} tests of another project, its GPU tests one to a card")


def allocations(build, directory):
    spec = directory / "resources.json"
    spec.write_text(run(directory, BIN / "proctor", "devices", "--sim", "xpu:2x1", "--ctest-resource-spec", expect=0))
    check(len(json.loads(spec.read_text())["local"][0]["gpus"]) == 2, spec.read_text())
    (directory / "order").unlink()
    found = results(run(build, "ctest", "-j8", "-R", "^gpu", "--resource-spec-file", spec, expect=0))
    check(set(found.values()) == {"Passed"} and len(found) == 6 + len(FIXTURE), found)
    exclusive(directory / "order")
    spec.write_text(spec.read_text().replace("xpu_sim", "another_machine"))
    text = run(build, "ctest", "-R", "^gpu1$", "--resource-spec-file", spec, "--output-on-failure")
    check(results(text) == {**FIXTURE, "gpu1": "Failed"} and "this run has no device 'another_machine_" in text, text)
    print("ok what CTest allocates is what the tests get")


def after_dev_run(directory):
    """`./dev run` builds in build-batched/, and the pages say build/: what it leaves there is found."""
    tree, project = directory / "tree", directory / "small"
    for made in (tree, project):
        made.mkdir()
    (tree / "build-batched").symlink_to(BIN.parent)
    offer = re.search(r"^offer_executables\(\) \{.*?^\}", (ROOT / "dev").read_text(), re.MULTILINE | re.DOTALL)
    run(tree, "bash", "-ec", offer[0] + "\noffer_executables", expect=0)
    (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(small LANGUAGES NONE)\n"
                                            "find_package(Proctor 0.1 REQUIRED)\n")
    run(project, "cmake", "-S", ".", "-B", "build", f"-DProctor_DIR={tree}/build", expect=0)


def main():
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    with Sandbox() as sandbox:
        build = make_project(sandbox.path)
        cases(build, sandbox.path)
        allocations(build, sandbox.path)
        after_dev_run(sandbox.path)


if __name__ == "__main__":
    sys.exit(main())
