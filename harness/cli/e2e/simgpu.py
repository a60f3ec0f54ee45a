#!/usr/bin/env python3
"""All XPU suites on simulated devices, through the real loader: green, and red where a fault is injected."""

import ctypes
import sys

from harness import BIN, Sandbox, check, check_sums, report, skip

SIMULATOR = "libproctor_ze_sim.so"
SUITES = {"visibility": 45, "memory": 45, "kernels": 45}  # registered checks, at least
MIN_EXECUTED = 130
NEWER_SYMBOLS = ("zesInit", "zeDeviceGetRootDevice")  # than the oldest loader that we support


def loader_has(symbol):
    return hasattr(ctypes.CDLL("libze_loader.so.1"), symbol)


def check_green(sandbox):
    out = sandbox.out()
    done = sandbox.proctor("run", "--sim", "xpu:2x2", "--strict", "--out", out, timeout=600)
    check(done.returncode == 0, "exit", done.returncode, done.stdout[-3000:], done.stderr)
    document = report(out)
    check_sums(document)
    check(document["run"]["simulated"] is True, "run.simulated")
    check(all(case["simulated"] is True for case in document["cases"]), "a case that is not simulated")
    executed = [case for case in document["cases"] if case["outcome"] == "pass"]
    skipped = [case for case in document["cases"] if case["outcome"] == "skip"]
    check(len(executed) >= MIN_EXECUTED, f"only {len(executed)} were executed")
    check(len(executed) + len(skipped) == len(document["cases"]), document["summary"])
    for case in skipped:
        print(f"{case['id']}: {case['reason']}")
        check(case["reason"], f"{case['id']} is skipped without a reason")
    for symbol in NEWER_SYMBOLS:
        if loader_has(symbol):
            lacking = [case["id"] for case in skipped if case["reason"] == f"symbol_missing:{symbol}"]
            check(not lacking, f"the loader has {symbol}, but these skip for want of it:", lacking)
    for suite, least in SUITES.items():
        names = {case["id"].split("/")[1] for case in document["cases"] if case["suite"] == suite}
        check(len(names) >= least, f"{suite} has only {len(names)} checks")
    print(f"ok {len(executed)} executed, {len(skipped)} skipped")


def check_red(sandbox):
    sandbox.env["PROCTOR_SIM_FAULTS"] = "memory.corrupt_copy:at=17"
    out = sandbox.out()
    done = sandbox.proctor("run", "memory", "--sim", "xpu:1x1", "--out", out, timeout=600)
    del sandbox.env["PROCTOR_SIM_FAULTS"]
    check(done.returncode == 1, "exit", done.returncode, done.stdout[-3000:], done.stderr)
    case = next(case for case in report(out)["cases"] if case["id"].endswith("Copy.HostToDeviceIsByteExact"))
    failure = case["attempts"][-1]["failures"][0]
    print(failure)
    check("byte 17" in failure["message"], "the failure does not name byte 17")
    for key in ("expected", "got", "device", "rule"):
        check(failure[key], f"the failure does not say {key}")


def main():
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    with Sandbox() as sandbox:
        check_green(sandbox)
        check_red(sandbox)


if __name__ == "__main__":
    sys.exit(main())
