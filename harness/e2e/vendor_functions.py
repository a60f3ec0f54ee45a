#!/usr/bin/env python3
"""harness/selftest/vendor_calls.txt: which checks call which functions of the vendors' interfaces. The simulator says it of
a run of the suites visibility, memory, kernels and management on simulated cards of both vendors, at size ci; `proctor list --coverage`
reads it. The test `simgpu` holds the table to its own such run.

    vendor_functions.py      runs them and writes the table
"""

import ctypes
import re
import sys

from harness import ROOT, Sandbox, check

TABLE = ROOT / "harness/selftest/vendor_calls.txt"
VARIABLE = "PROCTOR_SIM_CALLS"
MOST_CHECKS = 3
LOADER = re.compile(r"libze_loader\.so\.[\d.]+$")


def loader():
    """The name of the loader's file, with its version: another one has other functions, and calls others itself."""
    ctypes.CDLL("libze_loader.so.1")
    with open("/proc/self/maps") as maps:
        return next(found.group() for line in maps if (found := LOADER.search(line.rstrip())))


def check_of(case):
    """memory.xpu/Copy.DestinationHasSourceBytes, of all parameters"""
    return "/".join(case.split("/")[:2])


def recorded(log):
    """{function: its checks} of what the simulator wrote."""
    calls = {}
    for line in log.read_text().splitlines():
        case, name = line.split()
        name = re.sub("_pt[ds][sz]$", "", name).replace("__cudaLaunchKernel", "cudaLaunchKernel")
        if not name.startswith("__"):  # what the compiler calls for a program
            calls.setdefault(name, set()).add(check_of(case))
    return calls


def table(calls):
    """Of the checks of a function those that call least else are most about it."""
    size = {}
    for checks in calls.values():
        for one in checks:
            size[one] = size.get(one, 0) + 1
    lines = [
        "# Written by harness/e2e/vendor_functions.py: the functions of the vendors' interfaces that a check calls, each with\n"
        f"# at most {MOST_CHECKS} checks, those that call least else. Suites visibility, memory, kernels and management on xpu:2x2,cuda:4 under\n"
        f"# {loader()}.\n"
    ]
    for name in sorted(calls):
        most = sorted(calls[name], key=lambda one: (size[one], one))[:MOST_CHECKS]
        lines.append(" ".join([name, *most]) + "\n")
    return "".join(lines)


def check_table(log, executed):
    """That the table in the tree is what a run of the suites did, in which the checks `executed` were no skips."""
    text = TABLE.read_text()
    if f"# {loader()}.\n" not in text:
        print(f"the table of calls was made under another loader than {loader()}")
        return
    again = "run harness/e2e/vendor_functions.py again:"
    calls = recorded(log)
    told = {words[0]: words[1:] for line in text.splitlines() if (words := line.split()) and words[0] != "#"}
    check(not calls.keys() - told.keys(), again, "functions that a check calls now", calls.keys() - told.keys())
    for name, checks in told.items():
        here = executed.intersection(checks)  # what a child calls before it is killed is not the same each time
        check(not here or here & calls.get(name, set()), again, name, "is not called any more by", checks)


def main():
    with Sandbox() as sandbox:
        log = sandbox.path / "calls"
        sandbox.env[VARIABLE] = str(log)
        done = sandbox.proctor("run", "visibility", "memory", "kernels", "management", "--sim", "xpu:2x2,cuda:4", "--backend", "all",
                               timeout=600)
        check(done.returncode == 0, "proctor run exits", done.returncode, done.stdout[-3000:], done.stderr)
        TABLE.write_text(table(recorded(log)))


if __name__ == "__main__":
    sys.exit(main())
