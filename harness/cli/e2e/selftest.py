#!/usr/bin/env python3
"""`proctor selftest --quick --backend BACKEND`: every check can fail, every fault is caught, and the report says so."""

import json
import subprocess
import sys
from pathlib import Path

from harness import BIN, Sandbox, check, skip

SCHEMA = Path(__file__).resolve().parents[3] / "reports" / "schema" / "selftest.schema.json"
SIMULATORS = {"xpu": "libproctor_ze_sim.so", "cuda": "cuda_sim/libcudart.so.13"}
MIN_FAULTS = 60
MIN_CHECKS = 135
VALIDATE = "import json, jsonschema, sys; jsonschema.validate(*map(lambda p: json.load(open(p)), sys.argv[1:]))"


def main():
    backend = sys.argv[1] if len(sys.argv) > 1 else "xpu"
    if not (BIN / SIMULATORS[backend]).exists():
        skip(f"library_missing:{SIMULATORS[backend]}")
    with Sandbox() as sandbox:
        out = sandbox.out()
        done = sandbox.proctor("selftest", "--quick", "--backend", backend, "--out", out, timeout=600)
        print(done.stdout, done.stderr)
        check(done.returncode == 0, "exit", done.returncode)
        document = json.loads((out / "selftest.json").read_text())
        valid = subprocess.run(["/usr/bin/python3", "-c", VALIDATE, out / "selftest.json", SCHEMA],
                               capture_output=True, text=True)
        check(valid.returncode == 0, "selftest.json:", valid.stderr[-2000:])
        summary = document["summary"]
        check(not document["partial"], "it is narrowed to a part")
        check(summary["faults"] >= MIN_FAULTS and summary["caught"] == summary["faults"], summary)
        check(summary["checks"] >= MIN_CHECKS and summary["killed"] == summary["checks"], summary)
        check(len(summary["exempt"]) <= 5, summary["exempt"])
        check(all(row["fired"] for row in document["rows"] if row["killed"]), "a kill by a fault that did not fire")


if __name__ == "__main__":
    sys.exit(main())
