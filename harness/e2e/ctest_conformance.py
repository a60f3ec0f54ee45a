#!/usr/bin/env python3
"""proctor_add_conformance(): our suites as tests of another project, on each kind of machine."""

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ctest_package import FIXTURE, results, run
from harness import BIN, CUDA_SIMULATOR, ROOT, check, report, run_scenarios, skip

HEAD = """cmake_minimum_required(VERSION 3.25)
project(other LANGUAGES NONE)
enable_testing()
find_package(Proctor REQUIRED)
"""
COPY = "Copy.HostToDeviceIsByteExact"
STUB = os.environ.get("PROCTOR_CUDA_DRIVER_STUB", "")  # a libcuda.so.1 that fails as it is told
NVML = os.environ.get("PROCTOR_NVML_STAND_IN", "")  # a libnvidia-ml.so.1 with two cards on driver 535
RUNTIME = os.environ.get("PROCTOR_REAL_CUDART", "")
MIG = ROOT / "fixtures/simgpu/machines/mig.toml"


def project(sandbox, text):
    (sandbox.path / "CMakeLists.txt").write_text(HEAD + text)
    build = sandbox.path / "build"
    run(sandbox.path, "cmake", "-S", ".", "-B", build, f"-DProctor_DIR={BIN.parent}", expect=0)
    return build


def ctest(sandbox, build, *arguments, **env):
    """({test: result}, the output)"""
    base = {name: value for name, value in sandbox.env.items() if name not in ("CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")}
    done = subprocess.run(["ctest", "-V", *arguments], cwd=build, capture_output=True, text=True, timeout=300,
                          env={**base, **env})
    return results(done.stdout), done.stdout + done.stderr


def cuda_machines():
    """(what the machine is, its environment, the result of a test on it, words that name the reason)"""
    fails = f"{STUB}:{NVML}:{RUNTIME}"
    yield "without a card", {}, "Skipped", "no cuda device was found here"
    yield "with an old driver", {"PROCTOR_STUB_CUDA_VERSION": "11080", "LD_LIBRARY_PATH": fails}, "Skipped", "needs driver 580"
    yield ("in MIG mode without an instance", {"PROCTOR_STUB_CUDA_INIT": "100", "PROCTOR_TEST_NVML": "no_instance",
                                               "LD_LIBRARY_PATH": fails}, "Skipped", "in MIG mode without an instance")
    yield "whose driver fails", {"PROCTOR_STUB_CUDA_INIT": "999", "LD_LIBRARY_PATH": fails}, "Failed", "init:cudaErrorUnknown"
    yield ("whose card is lost", {"PROCTOR_STUB_CUDA_INIT": "100", "PROCTOR_TEST_NVML": "gone", "LD_LIBRARY_PATH": fails},
           "Failed", "init:GPU_IS_LOST")


def machines_of_nvidia(sandbox):
    if not (STUB and NVML and RUNTIME):
        skip("toolkit_missing:cuda")
    if any(os.path.exists(node) for node in ("/dev/nvidiactl", "/dev/dxg")):
        skip("this machine has an NVIDIA card")
    build = project(sandbox, f"proctor_add_conformance(SUITES memory BACKEND cuda FILTER {COPY})\n")
    sandbox.run_keys(state_dir=sandbox.path / "leases")
    for machine, env, result, words in cuda_machines():
        found, text = ctest(sandbox, build, **env)
        check(found == {**FIXTURE, "conformance.memory.cuda": result}, "a machine", machine, found, text)
        check(words in text, "a machine", machine, f"`{words}` is not in", text)
        check(("page: " + str(build)) in text, "a machine", machine, "without the page:", text)
        print("ok a machine", machine, "·", result)


def two_vendors(sandbox):
    """Each suite uses the cards of its vendor: of Intel's and NVIDIA's, those of NVIDIA have an old driver."""
    if not (STUB and NVML and RUNTIME and (BIN / "libproctor_ze_sim.so").exists()):
        skip("toolkit_missing:cuda")
    state = Path(f"/dev/shm/proctor-sim-{os.geteuid()}")  # no case gets another one: to the runner the cards are real
    if not state.exists():
        atexit.register(shutil.rmtree, state, ignore_errors=True)
    build = project(sandbox, f"proctor_add_conformance(SUITES memory FILTER {COPY})\n")
    sandbox.run_keys(state_dir=sandbox.path / "leases")
    found, text = ctest(sandbox, build, "-j2", ZE_ENABLE_ALT_DRIVERS=str(BIN / "libproctor_ze_sim.so"),
                        PROCTOR_SIM_TOPOLOGY="xpu:1x1", PROCTOR_SIM_DRIVER="simgpu", PROCTOR_SIM_STATE=str(sandbox.path / "own"),
                        PROCTOR_STUB_CUDA_VERSION="11080", LD_LIBRARY_PATH=f"{STUB}:{NVML}:{RUNTIME}")
    check(found == {**FIXTURE, "conformance.memory.xpu": "Passed", "conformance.memory.cuda": "Skipped"}, found, text)
    cases = {case["backend"]: (case["outcome"], case["devices"]) for case in report(build / "proctor-out/latest")["cases"]}
    check(cases["cuda"][0] == "skip" and cases["xpu"] == ("pass", ["xpu:0000:03:00.0"]), cases)
    check("simulated: no evidence about hardware" in text, "a stand-in is not named:", text)


def simulated(sandbox):
    """Names, labels and properties are known before anything runs; every result is simulated, and a red one is red."""
    if not (BIN / "libproctor_ze_sim.so").exists():
        skip("library_missing:libproctor_ze_sim.so")
    (sandbox.path / "proctor.toml").write_text("none = 1\n")  # a file of the project does not apply
    build = project(sandbox, f"""set(topology xpu:1x1)  # nor does a variable
proctor_add_conformance(SUITES memory BACKEND xpu)
proctor_add_conformance(SIMULATED xpu:2x1 SUITES memory FILTER {COPY} LABELS mine TIMEOUT 90s)
proctor_add_conformance(SIMULATED xpu:1x1 SUITES kernels TEST_PREFIX wrong. FILTER no-such-case)
""" + (f"proctor_add_conformance(SIMULATED {MIG} SUITES memory TEST_PREFIX mig. FILTER {COPY})\n" if CUDA_SIMULATOR.exists() else ""))
    listed = json.loads(run(build, "ctest", "--show-only=json-v1", expect=0))["tests"]
    tests = {test["name"]: {entry["name"]: entry["value"] for entry in test["properties"]} for test in listed}
    check({*FIXTURE, "conformance.memory.xpu", "simulated.memory.xpu", "wrong.kernels.xpu"} ==
          set(tests) - {"mig.memory.cuda"}, tests)
    card, other = tests["conformance.memory.xpu"], tests["simulated.memory.xpu"]
    check(card["LABELS"] == ["conformance", "memory", "xpu"] and card["SKIP_RETURN_CODE"] == 3, card)
    check(other["LABELS"] == ["memory", "mine", "simulated", "xpu"] and "SKIP_RETURN_CODE" not in other, other)
    check(all(tests[name]["LABELS"] == ["proctor.run"] for name in FIXTURE), tests)
    check(not results(run(build, "ctest", "-N", "-LE", "^(conformance|simulated|proctor.run)$")), "the labels leave some")
    found, text = ctest(sandbox, build, "-L", "mine")
    check(found == {**FIXTURE, "simulated.memory.xpu": "Passed"}, found, text)
    latest = build / "proctor-out/latest"
    check((latest / "index.html").is_file() and f"page: {latest.resolve()}/index.html" in text, text)
    check("1 passed · simulated: no evidence about hardware" in text, text)
    check(all(device["simulated"] for device in report(latest)["run"]["devices"]), report(latest)["run"]["devices"])
    found, text = ctest(sandbox, build, "-R", "mig")
    if "mig.memory.cuda" in tests:
        check(found == {**FIXTURE, "mig.memory.cuda": "Passed"}, "on a MIG instance:", found, text)
    found, text = ctest(sandbox, build, "-R", "wrong")
    check(found == {**FIXTURE, "wrong.kernels.xpu": "Failed"}, found, text)


def refused(sandbox):
    for arguments, why in (("SUITES memry", "Did you mean `memory`?"), ("BACKEND cuad", "Did you mean `cuda`?"),
                           ("SIMULATED xpu:2xx", "for example xpu:2x2"), ("SIMULATED", "no value for SIMULATED"),
                           ("SIMULATED xpu:1x1 BACKEND cuda", "has no device for BACKEND cuda"),
                           ("SUITES memory BACKEND none", "BACKEND none has only the suite collectives"),
                           ("OPTIONS --sim=xpu:1x1", "OPTIONS has --sim, which the function sets itself (SIMULATED)"),
                           ("SUTES memory", "unknown argument 'SUTES memory'")):
        (sandbox.path / "CMakeLists.txt").write_text(HEAD + f"proctor_add_conformance({arguments})\n")
        text = run(sandbox.path, "cmake", "-S", ".", "-B", "build", f"-DProctor_DIR={BIN.parent}", expect=1)
        check(why in re.sub(r"\s+", " ", text), arguments, text)
    print("ok what is refused when a project is configured")


if __name__ == "__main__":
    sys.exit(run_scenarios([machines_of_nvidia, two_vendors, simulated, refused]))
