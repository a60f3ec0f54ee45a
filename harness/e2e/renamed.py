#!/usr/bin/env python3
"""Cases of built-in suites that were renamed: each row of harness/core/renamed.cc leads to cases that there are, and an
old id means the case of today on a command line, in a plan and for a rerun."""

import json
import re

from harness import BIN, ROOT, Sandbox, check, report, run_scenarios

SIM = ("--sim", "xpu:1x1", "--backend", "xpu")
OLD, NEW = "kernels.xpu/Sensors.EnergyNeverFalls", "management.xpu/Sensors.EnergyNeverFalls"


def rows_lead_to_cases(sandbox):
    rows = re.findall(r'^    \{"(\S+)", "(\S+)"\},$', (ROOT / "harness/core/renamed.cc").read_text(), re.MULTILINE)
    check(rows, "harness/core/renamed.cc has no rows")
    done = sandbox.proctor("list", "--json", "--sim", "xpu:2x2,cuda:4", "--backend", "all")
    check(done.returncode == 0, "proctor list exits", done.returncode, done.stderr)
    ids = [case["id"] for case in json.loads(done.stdout)["cases"]]
    for old, new in rows:
        check(not [id for id in ids if id.startswith(old)], "there are cases by the old name", old)
        built = (BIN / new.split("/")[0].replace(".", "_")).exists()  # CUDA is not everywhere
        check(not built or any(id.startswith(new) for id in ids), "harness/core/renamed.cc:", new, "is no case")


def selected(sandbox, *arguments, said):
    out = sandbox.out()
    done = sandbox.proctor("run", *arguments, "--out", out)
    check(done.returncode == 0, arguments, "exits", done.returncode, done.stdout, done.stderr)
    document = report(out)
    warnings = [warning["text"] for warning in document["warnings"] if warning["code"] == "case_renamed"]
    check(len(warnings) == said, arguments, "says", warnings)
    return [case["id"] for case in document["cases"]], out


def old_ids_select(sandbox):
    for arguments in (("kernels",), ("management",), ()):
        check(selected(sandbox, *arguments, "--case", OLD, *SIM, said=1)[0] == [NEW], arguments)
    check(selected(sandbox, "--case", NEW, *SIM, said=0)[0] == [NEW], "by its id")
    sensors = selected(sandbox, "kernels", "--filter", "kernels.xpu/Sensors.*", *SIM, said=1)[0]
    check(NEW in sensors and all(id.startswith("management.xpu/Sensors.") for id in sensors), sensors)
    others = selected(sandbox, "kernels", "--filter", "kernels.xpu/Launch.IdsIn*", *SIM, said=0)[0]
    check(others and all(id.startswith("kernels.xpu/") for id in others), others)


def old_ids_are_run_again(sandbox):
    out = selected(sandbox, "--case", OLD, *SIM, said=1)[1]
    again = sandbox.out()
    done = sandbox.proctor("rerun", out, "--case", OLD, "--out", again)
    check(done.returncode == 0, "rerun exits", done.returncode, done.stdout, done.stderr)
    check([case["id"] for case in report(again)["cases"]] == [NEW], "rerun")


if __name__ == "__main__":
    run_scenarios([rows_lead_to_cases, old_ids_select, old_ids_are_run_again])
