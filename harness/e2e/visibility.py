#!/usr/bin/env python3
"""The XPU suites on Intel's own driver without hardware, through the real loader: visibility with all its reports, and
the suites that execute something are skipped, because that driver reports success and executes nothing."""

import glob
import json
import subprocess
import sys
from pathlib import Path

from harness import Sandbox, check, check_sums, records, report, skip

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / "reports" / "schema"
PUBLISHED = ROOT.parent / "shared" / "data" / "schemas"
DRIVER = "libze_intel_gpu.so.1"
EXECUTED = ("pass", "fail", "xfail", "xpass", "crash", "timeout", "stall", "error")
MIN_MASK_ROWS = 30
MIN_OTHERS = 5


def xml_valid(schema, document):
    done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", schema, document], capture_output=True, text=True)
    check(done.returncode == 0, f"{document.name} against {schema.name}:", done.stderr)
    print(f"ok {document.relative_to(document.parents[1])} under {schema.name}")


def check_junit(out):
    suites = sorted((out / "junit").glob("*.xml"))
    check([path.name for path in suites] == ["visibility.xpu.xml"], suites)
    xml_valid(OURS / "junit-portable.xsd", out / "junit.xml")
    for path in suites:
        xml_valid(OURS / "junit-strict.xsd", path)
    if not PUBLISHED.is_dir():
        print("the published JUnit schemas are not here: not checked")
    else:
        xml_valid(PUBLISHED / "junit-10.xsd", out / "junit.xml")
        for path in suites:
            xml_valid(PUBLISHED / "junit-10.xsd", path)
            xml_valid(PUBLISHED / "surefire-test-report.xsd", path)
    check('name="proctor.simulated" value="true"' in (out / "junit.xml").read_text(), "junit.xml does not say simulated")


def check_json(document):
    schema = json.loads((OURS / "report.schema.json").read_text())
    text = subprocess.run(["/usr/bin/python3", "-c",
                           "import json, jsonschema, sys; d = json.load(sys.stdin); jsonschema.validate(d[0], d[1])"],
                          input=json.dumps([document, schema]), capture_output=True, text=True)
    check(text.returncode == 0, "report.json:", text.stderr[-2000:])
    check(document["run"]["simulated"] is True, "run.simulated")
    check(document["run"]["sim"] == {"topology": "xpu:2x2", "driver": "intel"}, document["run"]["sim"])
    check(all(case["simulated"] is True for case in document["cases"]), "a case that is not simulated")


def check_cases(out, document):
    check_sums(document)
    planned = [case["id"] for case in records(out)[0]["cases"]]
    check(sorted(planned) == sorted(case["id"] for case in document["cases"]), "planned and reported ids differ")
    executed = [case["id"] for case in document["cases"] if case["outcome"] in EXECUTED]
    rows = [case for case in executed if "/AffinityMask." in case]
    check(len(rows) >= MIN_MASK_ROWS, f"{len(rows)} mask rows were executed")
    check(len(executed) - len(rows) >= MIN_OTHERS, f"{len(executed) - len(rows)} other checks were executed")
    print(f"ok {len(rows)} mask rows and {len(executed) - len(rows)} other checks were executed")


def check_own_dynamic_loader(sandbox, document):
    """The same through a root that has a C library of its own; here the root is this system's."""
    out = sandbox.out()
    done = sandbox.proctor("run", "visibility", "--sim", "xpu:2x2,driver=intel@/", "--out", out)
    check(done.returncode == 0, "exit", done.returncode, done.stdout[-4000:], done.stderr)
    verdicts = [{case["id"]: case["outcome"] for case in each["cases"]} for each in (document, report(out))]
    check(verdicts[0] == verdicts[1], "other verdicts through a dynamic loader:", verdicts)
    print("ok the same verdicts when each program is started through a dynamic loader")


def check_nothing_executes(sandbox):
    out = sandbox.out()
    done = sandbox.proctor("run", "memory", "kernels", "management", "--sim", "xpu:2x2,driver=intel", "--out", out)
    check(done.returncode == 3, "exit", done.returncode, done.stdout[-4000:], done.stderr)
    cases = report(out)["cases"]
    check({case["suite"] for case in cases} == {"memory", "kernels", "management"}, "the suites have no cases")
    verdicts = {(case["outcome"], case["reason"]) for case in cases}
    check(verdicts == {("skip", "needs:execution")}, "outcomes:", verdicts)
    print(f"ok {len(cases)} cases that execute something are skipped")


def main():
    with Sandbox() as sandbox:
        out = sandbox.out()
        done = sandbox.proctor("run", "visibility", "--sim", "xpu:2x2,driver=intel", "--out", out)
        text = done.stdout + done.stderr
        if not glob.glob(f"/usr/lib/*/{DRIVER}"):
            check(f"library_missing:{DRIVER}" in text, f"{DRIVER} is not here, and the run does not say so:", text)
            skip(f"library_missing:{DRIVER}")
        check(done.returncode == 0, "exit", done.returncode, text)
        check(out.name in done.stdout, "the console does not say where the reports are:", text)
        document = report(out)
        check_junit(out)
        check_json(document)
        check_cases(out, document)
        check_own_dynamic_loader(sandbox, document)
        check_nothing_executes(sandbox)


if __name__ == "__main__":
    sys.exit(main())
