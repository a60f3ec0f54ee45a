#!/usr/bin/env python3
"""`proctor selftest --quick --backend BACKEND`: every check can fail, every fault is caught, and the report says so.
Collectives, whose checks are several processes each, have a test of their own (collectives.py), and the whole of them
is in `./dev test --full selftest`."""

import json
import subprocess
import sys
from pathlib import Path

from faults import faults
from harness import BIN, Sandbox, check, skip

SCHEMA = Path(__file__).resolve().parents[2] / "reports" / "schema" / "selftest.schema.json"
SIMULATORS = {"xpu": "libproctor_ze_sim.so", "cuda": "cuda_sim/libcudart.so.13"}
SUITES = ("visibility", "memory", "kernels", "management")
MIN_FAULTS = 60
MIN_CHECKS = 135
VALIDATE = "import json, jsonschema, sys; jsonschema.validate(*map(lambda p: json.load(open(p)), sys.argv[1:]))"


def faults_of_others(backend, document):
    """Faults that `backend` can have, by the table of faults, and that no check of these suites lists."""
    listed = {row["fault"].partition(":")[0] for row in document["rows"]}
    listed |= {aside["fault"] for aside in document["summary"]["skipped_faults"]}
    return [fault.name for fault in faults() if fault.applies_to(backend) and fault.name not in listed]


def main():
    backend = sys.argv[1] if len(sys.argv) > 1 else "xpu"
    if not (BIN / SIMULATORS[backend]).exists():
        skip(f"library_missing:{SIMULATORS[backend]}")
    with Sandbox() as sandbox:
        out = sandbox.out()
        suites = [word for suite in SUITES for word in ("--suite", suite)]
        done = sandbox.proctor("selftest", "--quick", *suites, "--backend", backend, "--out", out, timeout=600)
        print(done.stdout, done.stderr)
        check(done.returncode == 0, "exit", done.returncode)
        document = json.loads((out / "selftest.json").read_text())
        valid = subprocess.run(["/usr/bin/python3", "-c", VALIDATE, out / "selftest.json", SCHEMA],
                               capture_output=True, text=True)
        check(valid.returncode == 0, "selftest.json:", valid.stderr[-2000:])
        summary = document["summary"]
        check(document["partial"], "it says nothing of being narrowed to some suites")
        unlisted = [name for name in faults_of_others(backend, document) if not name.startswith("collective.")]
        check(not unlisted, "no check lists", unlisted)
        check(summary["faults"] >= MIN_FAULTS and summary["detected_faults"] == summary["faults"], summary)
        check(summary["checks"] >= MIN_CHECKS and summary["detecting_checks"] == summary["checks"], summary)
        check(len(summary["exempt"]) <= 5, summary["exempt"])
        check(all(row["fired"] for row in document["rows"] if row["detected"]), "a kill by a fault that did not fire")


if __name__ == "__main__":
    sys.exit(main())
