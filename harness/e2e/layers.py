#!/usr/bin/env python3
"""All XPU suites on the simulator with the loader's own layers between them and the driver: all green, and the layers
really are in the processes of the cases."""

import argparse
import json
import sys

from harness import BIN, Sandbox, check, check_sums, report, skip, write_config

SIMULATOR = "libproctor_ze_sim.so"
SUITES = {"visibility", "memory", "kernels", "management"}
VALIDATION = {"ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1"}
INTERCEPT = {"ZE_ENABLE_LOADER_INTERCEPT": "1"}
VARIABLES = {"validation": VALIDATION, "intercept": INTERCEPT, "both": VALIDATION | INTERCEPT}

# A suite of kind proctor, which has the strict environment of ours. The loader maps its validation layer in zeInit;
# of intercepting, which is code of its own, a process sees no more than the variable.
WITNESS = """
import ctypes, json, os, sys
def say(event, **fields):
    line = json.dumps({"v": 1, "case": "Layer.IsThere", "event": event, **fields}) + "\\n"
    os.write(int(os.environ["PROCTOR_EVENTS_FD"]), line.encode())
if sys.argv[-1] == "--proctor-list":
    say("case")
    sys.exit()
say("start", t_ns=0)
initialised = ctypes.CDLL("libze_loader.so.1").zeInit(0)
mapped = "libze_validation_layer" in open("/proc/self/maps").read()
wanted = json.loads(sys.argv[1])
seen = {name: os.environ.get(name) for name in wanted}
good = initialised == 0 and seen == wanted and mapped == ("ZE_ENABLE_VALIDATION_LAYER" in wanted)
if not good:
    say("fail", message=f"zeInit {initialised:#x}, layer mapped {mapped}, variables {seen}")
say("end", result="pass" if good else "fail")
sys.exit(not good)
"""


def check_layer_is_there(sandbox, variables):
    program = sandbox.path / "witness.py"
    program.write_text(WITNESS)
    write_config(sandbox.path / "proctor.toml",
                 {"witness": {"kind": "proctor", "command": [sys.executable, str(program), json.dumps(variables)],
                              "backend": "xpu"}})
    done = sandbox.proctor("run", "witness", "--sim", "xpu:2x2", "--out", sandbox.out())
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)


def check_suites(sandbox):
    out = sandbox.out()
    done = sandbox.proctor("run", *sorted(SUITES), "--sim", "xpu:2x2", "--out", out, timeout=600)
    check(done.returncode == 0, "exit", done.returncode, done.stdout[-6000:], done.stderr)
    document = report(out)
    check_sums(document)
    passed = [case for case in document["cases"] if case["outcome"] == "pass"]
    check({case["suite"] for case in passed} == SUITES, "suites:", {case["suite"] for case in passed})
    print(f"ok {len(passed)} of {document['summary']['planned']} pass")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layer", choices=VARIABLES)
    parser.add_argument("--no-witness", action="store_true", help="do not prove that the layer is there")
    arguments = parser.parse_args()
    variables = VARIABLES[arguments.layer]
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    with Sandbox() as sandbox:
        sandbox.env.update(variables)
        if not arguments.no_witness:
            check_layer_is_there(sandbox, variables)
        check_suites(sandbox)


if __name__ == "__main__":
    sys.exit(main())
