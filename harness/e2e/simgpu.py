#!/usr/bin/env python3
"""The suites of single processes on simulated devices, of both vendors in one run: green, and red where a fault is injected."""

import ctypes
import re
import sys

import vendor_functions
from harness import BIN, Sandbox, check, check_sums, report, skip

SIMULATOR = "libproctor_ze_sim.so"
STAND_IN = BIN / "cuda_sim" / "libcudart.so.13"
SUITES = {"visibility": 45, "memory": 45, "kernels": 45, "management": 11}  # registered checks of each backend, at least
MIN_EXECUTED = {"xpu": 130, "cuda": 120}
MAX_NOT_ON_SIMULATOR = 12
NEWER_SYMBOLS = ("zesInit", "zeDeviceGetRootDevice")  # than the oldest loader that we support


def loader_has(symbol):
    return hasattr(ctypes.CDLL("libze_loader.so.1"), symbol)


def has_cuda():
    """Whether this build has what needs the CUDA toolkit."""
    return STAND_IN.exists() and (BIN / "visibility_cuda").exists()


def check_green(sandbox):
    out = sandbox.out()
    backends = ["xpu"] + (["cuda"] if has_cuda() else [])
    topology = "xpu:2x2,cuda:4" if "cuda" in backends else "xpu:2x2"
    calls = sandbox.path / "calls"
    sandbox.env[vendor_functions.VARIABLE] = str(calls)
    done = sandbox.proctor("run", *SUITES, "--sim", topology, "--backend", "all", "--strict", "--out", out, timeout=600)
    del sandbox.env[vendor_functions.VARIABLE]
    check(done.returncode == 0, "exit", done.returncode, done.stdout[-3000:], done.stderr)
    document = report(out)
    check_sums(document)
    check(document["run"]["simulated"] is True, "run.simulated")
    check(all(case["simulated"] is True for case in document["cases"]), "a case that is not simulated")
    executed = [case for case in document["cases"] if case["outcome"] == "pass"]
    skipped = [case for case in document["cases"] if case["outcome"] == "skip"]
    for backend in backends:
        count = sum(case["backend"] == backend for case in executed)
        check(count >= MIN_EXECUTED[backend], f"only {count} were executed on {backend}")
    check(len(executed) + len(skipped) == len(document["cases"]), document["summary"])
    for case in skipped:
        print(f"{case['id']}: {case['reason']}")
        check(case["reason"], f"{case['id']} is skipped without a reason")
    beyond = [case["id"] for case in skipped if case["reason"].startswith("not_on_simulator:")]
    check(len(beyond) <= MAX_NOT_ON_SIMULATOR, "the simulator is no model of too much:", beyond)
    for symbol in NEWER_SYMBOLS:
        if loader_has(symbol):
            lacking = [case["id"] for case in skipped if case["reason"] == f"symbol_missing:{symbol}"]
            check(not lacking, f"the loader has {symbol}, but these skip for want of it:", lacking)
    for backend in backends:
        for suite, least in SUITES.items():
            ids = [case["id"] for case in document["cases"] if (case["suite"], case["backend"]) == (suite, backend)]
            names = {id.split("/")[1] for id in ids}
            check(len(names) >= least, f"{suite}.{backend} has only {len(names)} checks")
    if "cuda" in backends:
        vendor_functions.check_table(calls, {vendor_functions.check_of(case["id"]) for case in executed})
    print(f"ok {len(executed)} executed, {len(skipped)} skipped")


FAULT = "memory.corrupt_copy:at=17,min=65537"  # not of the health probe's copies: a card that it found sick would answer


def check_red(sandbox, topology):
    sandbox.env["PROCTOR_SIM_FAULTS"] = FAULT
    out = sandbox.out()
    done = sandbox.proctor("run", "memory", "--sim", topology, "--out", out, timeout=600)
    del sandbox.env["PROCTOR_SIM_FAULTS"]
    check(done.returncode == 1, "exit", done.returncode, done.stdout[-3000:], done.stderr)
    case = next(case for case in report(out)["cases"] if case["id"].endswith("Copy.HostToDeviceIsByteExact"))
    interface = "Level Zero" if topology.startswith("xpu") else "CUDA"
    culprit = case["culprit"]
    check(culprit["kind"] == "driver" and culprit["version"] and culprit["name"] == f"simulated {interface} driver (simgpu)", culprit)
    check(f"(the stack under test: {culprit['name']} {culprit['version']})\n" in done.stdout, done.stdout)
    failure = case["attempts"][-1]["failures"][0]
    print(failure)
    check("byte 17" in failure["message"], "the failure does not name byte 17")
    rerun = re.search("<br>rerun: (.*?)<br>", (out / "summary.md").read_text())[1]
    check(f"PROCTOR_SIM_FAULTS={FAULT} " in rerun, "not the same run:", rerun)
    for key in ("expected", "got", "device", "rule"):
        check(failure[key], f"the failure does not say {key}")


MACHINE = """
[[xpu]]
pci = "0000:8a:00.0"
name = "Narrow 1"
tiles = 2
memory = ["8GiB", "16GiB"]
fp16 = false
fp64 = false
int64_atomics = false
float_atomics = false
peer_to_peer = false
max_group_size = 512
local_memory = "32KiB"

[[xpu]]
pci = "0000:17:00.0"
name = "Narrow 2"
device_id = 0x5a31
memory = "5GiB"
fp16 = false
fp64 = false
int64_atomics = false
float_atomics = false
peer_to_peer = false
"""


def check_described(sandbox):
    """A machine from a file: the cases see it, the run directory keeps it, and what it cannot do is skipped by name."""
    machine = sandbox.path / "narrow.toml"
    machine.write_text(MACHINE)
    devices = sandbox.proctor("devices", "--sim", machine).stdout
    for words in (r"Simulated Narrow 2 +0000:17:00\.0 +5\.0 GiB +idle$", r"Simulated Narrow 1, 2 tiles +0000:8a:00\.0 +24\.0 GiB +idle$"):
        check(re.search(words, devices, re.M), f"`{words}` is not in", devices)
    out = sandbox.out()
    done = sandbox.proctor("run", *SUITES, "--sim", machine, "--strict", "--out", out, timeout=600)
    check(done.returncode == 0, "exit", done.returncode, done.stdout[-3000:], done.stderr)
    document = report(out)
    check(document["run"]["sim"]["topology"] == str(machine), document["run"]["sim"])
    check((out / "sim_topology.toml").read_text() == MACHINE, "the run directory does not hold the machine")
    reasons = {case["reason"] for case in document["cases"] if case["outcome"] == "skip"}
    for need in ("fp16", "fp64", "int64_atomics"):
        check(f"unsupported:{need}" in reasons, f"nothing is skipped with unsupported:{need}", reasons)
    print(f"ok described machine: {document['summary']}")


def main():
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    with Sandbox() as sandbox:
        check_green(sandbox)
        check_red(sandbox, "xpu:1x1")
        if has_cuda():
            check_red(sandbox, "cuda:1")
        check_described(sandbox)


if __name__ == "__main__":
    sys.exit(main())
