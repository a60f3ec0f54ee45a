#!/usr/bin/env python3
"""The CUDA suites over the runtime of CUDA 12: the driver chooses them, and they are the suites for 13 case by case."""

import collections
import json
import re
import shutil
import subprocess
import sys

from harness import BIN, ROOT, Sandbox, check, check_sums, is_sanitized, report, skip

SUITES = ("visibility", "memory", "kernels", "management")
STAND_IN = BIN / "cuda_sim" / "libcudart.so.12"
LEAST_CASES = 300
# What a function of the suites needs, and a driver for CUDA 12.0 has not yet.
NOT_IN_12_0 = {
    "kernels.cuda/KernelAttribute.ParameterLayoutMatchesSource": "driver_too_old:cudaFuncGetParamInfo",
    "kernels.cuda/Module.EveryKernelNameIsListed": "driver_too_old:cudaLibraryGetKernelCount",
    "kernels.cuda/Module.KernelEnumerationHonorsRequestedCount": "driver_too_old:cudaLibraryGetKernelCount",
    **{f"kernels.cuda/InvalidArgument.CallReturnsDocumentedError/{function}": f"driver_too_old:{function}"
       for function in ("cudaFuncGetName", "cudaFuncGetParamInfo", "cudaLibraryEnumerateKernels", "cudaLibraryGetKernelCount")},
}
# Programs for 12 have PTX, whose kernels and variables no host program registers; and functions that 13 changed.
NEEDS_13 = re.compile(r"fatbin_missing:(basic|constants|managed)|needs:cuda>=13")


def run(sandbox, topology, *arguments, code=0, program=BIN / "proctor"):
    """The stand-in for 13 refuses a driver for 12: what passes over one was started in its version for 12."""
    out = sandbox.out()
    done = subprocess.run([program, "run", *arguments, "--backend", "cuda", "--sim", topology, "--out", out], env=sandbox.env,
                          cwd=sandbox.path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    check(done.returncode == code, topology, "exit", done.returncode, done.stdout[-4000:], done.stderr)
    document = report(out)
    check_sums(document)
    return document


def verdicts(document):
    return {case["id"]: (case["outcome"], case["reason"]) for case in document["cases"]}


def check_page(driver, reasons):
    """docs/reference/cuda-suites.md has a row for each reason of this driver, and for nothing else."""
    page = (ROOT / "docs/reference/cuda-suites.md").read_text()
    rows = re.findall(rf"^\| {re.escape(driver)} \| `(.+?)` \| (\d+) \|", page, re.MULTILINE)
    found = {(reason, str(number)) for reason, number in collections.Counter(reasons).items()}
    check(set(rows) == found, f"docs/reference/cuda-suites.md, {driver}: page", sorted(rows), "run", sorted(found))


def counts(found):
    """{suite: "passed/skipped"}, for the page that has them side by side."""
    names = sorted({name.split(".")[0] for name in found})
    outcomes = {name: [outcome for case, (outcome, _) in found.items() if case.startswith(name + ".")] for name in names}
    return {name: f"{of.count('pass')}/{of.count('skip')}" for name, of in outcomes.items()}


def the_driver_chooses(sandbox):
    """The same cases with the same outcomes, whichever runtime is below them; only what needs 13 is skipped, by name."""
    newer = run(sandbox, "cuda:4", *SUITES)
    older = run(sandbox, "cuda:4@12", *SUITES)
    stack = older["run"]["stack"]
    check(stack["cuda.runtime"].startswith("12.") and stack["cuda.api"].startswith("12."), stack)
    check(stack["cuda.compatibility"] == "native", stack)
    check(newer["run"]["stack"]["cuda.runtime"].startswith("13."), newer["run"]["stack"])
    of13, of12 = verdicts(newer), verdicts(older)
    check(len(of13) >= LEAST_CASES, len(of13), "cases")
    check(set(of13) == set(of12), "only over one of the two:", sorted(set(of13) ^ set(of12)))
    differ = {name: (of13[name], of12[name]) for name in of13 if of13[name] != of12[name]}
    check_page("12.0 to 12.9", [reason for _, (_, reason) in differ.values()])
    for name in [name for name, pair in differ.items() if pair[0] == ("pass", "") and NEEDS_13.fullmatch(pair[1][1])]:
        del differ[name]
    check(not differ, "13 and 12 differ:", differ)
    print("ok", "13:", counts(of13), "12:", counts(of12))


def an_early_driver_lacks_by_name(sandbox):
    """A driver for 12.0: what later ones of 12 brought is skipped by the name of the function, and nothing else."""
    found = verdicts(run(sandbox, "cuda:4@12.0", "memory", "kernels"))
    late = {name: reason for name, (outcome, reason) in found.items() if reason.startswith("driver_too_old")}
    check(late == NOT_IN_12_0, late)
    check_page("12.0", late.values())
    check(not [name for name, (outcome, _) in found.items() if outcome not in ("pass", "skip")], found)
    print("ok", late)


def without_the_programs_for_12(sandbox):
    """Where only those for 13 are installed, a driver for 12 is too old for them, and says so as ever."""
    place = sandbox.path / "only13"
    place.mkdir()
    for name in ("proctor", "proctor-guard", "proctor-probe-cuda", "memory_cuda"):
        shutil.copy2(BIN / name, place / name)
    for name in ("cuda_sim", "kernels", "share"):
        (place / name).symlink_to(BIN / name)
    found = verdicts(run(sandbox, "cuda:1@12.4", "memory", "--filter", "*/Copy.HostToDeviceIsByteExact", code=3,
                         program=place / "proctor"))
    check(set(found.values()) == {("skip", "driver_too_old:12.4<13.0")}, found)
    print("ok", found)


def the_probe_finds_it_where_the_programs_do(sandbox):
    """In the build tree: only the stand-in for 13 is put before the others, so that for 12 is the one that our programs are linked with."""
    place = sandbox.path / "newer"
    place.mkdir()
    (place / "libcudart.so.13").symlink_to(BIN / "cuda_sim" / "libcudart.so.13")
    env = {**sandbox.env, "LD_LIBRARY_PATH": str(place), "PROCTOR_SIM_DRIVER": "simgpu", "PROCTOR_SIM_TOPOLOGY": "cuda:1@12.4",
           "PROCTOR_SIM_STATE": str(sandbox.path)}
    done = subprocess.run([BIN / "proctor-probe-cuda", "--stdout"], env=env, capture_output=True, text=True, timeout=60)
    runtime = json.loads(done.stdout.splitlines()[-1])["runtime"]
    check(runtime["path"].endswith("/libcudart.so.12"), runtime, done.stderr)
    print("ok", runtime["path"])


def main():
    if not STAND_IN.exists() or not (BIN / "memory_cuda12").exists():
        skip("CUDA 12 was not there when this was built")
    with Sandbox() as sandbox:
        the_driver_chooses(sandbox)
        an_early_driver_lacks_by_name(sandbox)
        without_the_programs_for_12(sandbox)
        if is_sanitized():  # it opens libraries in our programs' place, and has no path to them in itself
            print("not seen here: where the probe finds a runtime")
        else:
            the_probe_finds_it_where_the_programs_do(sandbox)


if __name__ == "__main__":
    sys.exit(main())
