#!/usr/bin/env python3
"""The owner of a failure: with a file in the place of the kernel log, simulated cards are lost as real ones are."""

import sys

from harness import BIN, Sandbox, check, report, skip, write_config

SIMULATOR = "libproctor_ze_sim.so"
# The address of the case's own device, as its driver would name it.
ADDRESS = r"""pci=$(printf %s "$PROCTOR_DEVICES" | sed 's/.*"pci":"\([^"]*\)".*/\1/'); """
WEDGED = 'echo "xe $pci: [drm] *ERROR* CRITICAL: Xe has declared device $pci as wedged." >> "$PROCTOR_KERNEL_LOG"; '


def suite(script, **more):
    return {"kind": "command", "command": ["/bin/sh", "-c", ADDRESS + script], "backend": "xpu", "gpus": 1, **more}


def run(sandbox, suites, *arguments):
    log = sandbox.path / "kernel.log"
    log.write_text("xe 0000:00:00.0: [drm] an old line\n")
    config = sandbox.path / "diagnosis.toml"
    write_config(config, suites)
    out = sandbox.out()
    sandbox.env["PROCTOR_KERNEL_LOG"] = str(log)
    done = sandbox.proctor("run", "--config", config, "--out", out, "--sim", "xpu:4x1", "--jobs", "1", *arguments)
    cases = {case["suite"]: case for case in report(out)["cases"]}
    return done, cases, out


def kernel_log(sandbox):
    """The kernel's word about the case's own device, in its own time, takes the blame from the code."""
    done, cases, out = run(sandbox, {
        "lost": suite(WEDGED + "exit 1"),
        "later": suite("exit 1"),
        "elsewhere": suite('pci=ffff:ff:1f.0; ' + WEDGED + "exit 1"),
        "killed": suite('echo "Out of memory: Killed process $$ (sh) total-vm:1kB" >> "$PROCTOR_KERNEL_LOG"; '
                        "kill -9 $$"),
        "fault": suite('echo "xe $pci: [drm] GT0: Engine memory cat error: engine_class=ccs, guc_id=6" '
                       '>> "$PROCTOR_KERNEL_LOG"; echo "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"; exit 1'),
        "passes": suite(WEDGED + "exit 0"),
    })
    ended = {name: (case["outcome"], case["owner"]) for name, case in cases.items()}
    check(ended == {"lost": ("device_lost", "machine"), "later": ("fail", "code"), "elsewhere": ("fail", "code"),
                    "killed": ("crash", "machine"), "fault": ("fail", "code"), "passes": ("pass", "none")}, ended)
    check(cases["killed"]["reason"] == "oom_host", cases["killed"])
    lost = cases["lost"]["attempts"][0]
    check(cases["lost"]["reason"] == "device:" + lost["devices"][0], cases["lost"]["reason"], lost["devices"])
    check(lost["diagnosis"]["rule"] == "xe:wedged" and "as wedged" in lost["diagnosis"]["line"], lost["diagnosis"])
    fault = cases["fault"]["attempts"][0]["diagnosis"]
    check(fault["rule"] == "xe:cat_error" and fault["others"] == ["ze:oom_device"], fault)
    check("diagnosis" not in cases["passes"]["attempts"][0], cases["passes"])
    for text in (done.stdout, (out / "summary.md").read_text(), (out / "junit.xml").read_text()):
        check("device_lost (xe:wedged): xe 0" in text, "the line of the lost device:", text)
        check("Rebind the driver or reboot" in text, "what to do next:", text)
    print("ok the kernel log decides the owner")


# What the kernel logs of a card, the rule that it matches, and whether it is the card's.
LINES = {
    "ecc": ("NVRM: Xid (PCI:$pci): 48, pid=1, name=a, DBE", "xid:48", True),
    "contained": ("NVRM: Xid (PCI:$pci): 94, pid=1, name=a, Contained", "xid:94", True),
    "bus": ("NVRM: Xid (PCI:$pci): 79, GPU has fallen off the bus.", "xid:79", True),
    "wedged": ("xe $pci: [drm] *ERROR* CRITICAL: Xe has declared device $pci as wedged.", "xe:wedged", True),
    "ras": ("xe $pci: [drm] *ERROR* [Hardware Error]: Tile0 reported FATAL error 0x2", "xe:hardware_error", True),
    "aer": ("pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message received from $pci", "pcie:uncorrected", True),
    "hang": ("i915 $pci: [drm] GPU HANG: ecode 12:1:85dffffb, in nobody [999999]", "i915:hang", False),
    "cat": ("xe $pci: [drm] GT0: Engine memory cat error: engine_class=ccs, guc_id=6", "xe:cat_error", False),
    "remapped": ("NVRM: Xid (PCI:$pci): 63, Row Remapper: New row marked", "xid:63", False),
}


def passing(sandbox):
    """A case that passes while the kernel reports an error of its device: the run says so, and the device is examined."""
    suites = {name: suite(f'echo "{line}" >> "$PROCTOR_KERNEL_LOG"') for name, (line, _, _) in LINES.items()}
    suites["other"] = suite('pci=ffff:ff:1f.0; ' + WEDGED)
    suites["quiet"] = suite("true")
    done, cases, out = run(sandbox, suites)
    check(done.returncode == 0 and all(case["outcome"] == "pass" for case in cases.values()), done.stdout)
    document = report(out)
    told = [warning["text"] for warning in document["warnings"] if warning["code"] == "kernel_log"]
    health = document["health"]
    for name, (_, rule, by_machine) in LINES.items():
        device = cases[name]["attempts"][0]["devices"][0]
        mine = [text for text in told if f" at {cases[name]['id']}: " in text]
        check(len(mine) == 1 and mine[0].startswith(device) and f"({rule})" in mine[0], name, told)
        about = [entry["finding"] for entry in health if entry["case"] == cases[name]["id"]]
        check(about == (["kernel_log", "probe_passed"] if by_machine else []), name, health)
        check(mine[0].split(" at ")[1][:40] in done.stdout + done.stderr, "the console:", name, done.stdout, done.stderr)
    check(len(told) == len(LINES), "a line of another device, or none:", told)
    check("the kernel logged an error of it" in done.stdout and "every case passed, but a device is suspect" in done.stdout, done.stdout)
    check("kernel_log" in (out / "summary.md").read_text(), "summary.md")
    print("ok an error of a device is reported although its case passed")


def evidence(sandbox):
    """A hang shows what the kernel said meanwhile, before it is ended."""
    done, cases, out = run(sandbox, {"hang": suite(
        'echo "xe $pci: [drm] GT0: Timedout job: seqno=1, guc_id=9, flags=0x20 in python [1]" '
        '>> "$PROCTOR_KERNEL_LOG"; sleep 60', timeout="1s", grace="1s")})
    attempt = cases["hang"]["attempts"][0]
    check(cases["hang"]["outcome"] == "timeout", cases["hang"])
    check(any(line.startswith("kernel log: xe 0") for line in attempt["evidence"]["lines"]), attempt["evidence"])
    check("kernel log: xe 0" in (out / attempt["evidence"]["file"]).read_text(), "the file of all evidence")
    check(attempt["diagnosis"]["class"] == "gpu_hang", attempt["diagnosis"])
    print("ok the evidence of a hang has the kernel's lines")


def unreadable(sandbox):
    """A log that cannot be read is said once, with how to allow it."""
    config = sandbox.path / "unreadable.toml"
    write_config(config, {"one": suite("exit 1"), "two": suite("exit 1")})
    out = sandbox.out()
    sandbox.env["PROCTOR_KERNEL_LOG"] = "/nowhere/kernel.log"
    sandbox.proctor("run", "--config", config, "--out", out, "--sim", "xpu:1x1")
    doctor = sandbox.proctor("doctor")
    document = report(out)
    said = [warning["text"] for warning in document["warnings"] if warning["code"] == "kernel_log"]
    check(len(said) == 1 and "PROCTOR_KERNEL_LOG" in said[0], "warnings:", document["warnings"])
    check(all(case["attempts"][0]["diagnosis"]["gaps"] == said for case in document["cases"]), document["cases"])
    check("the kernel log cannot be read" in doctor.stdout, doctor.stdout)
    print("ok", said[0])


def explained(sandbox):
    """What a diagnosis means can be asked for."""
    rule = sandbox.proctor("explain", "xid:79")
    check(rule.returncode == 0 and "device_lost" in rule.stdout, rule.stdout, rule.stderr)
    check("GPU has fallen off the bus" in rule.stdout, rule.stdout)
    other = sandbox.proctor("explain", "Xid 46")
    check(other.returncode == 0 and "GPU stopped processing" in other.stdout and "xid:other" in other.stdout, other.stdout, other.stderr)
    wrong = sandbox.proctor("explain", "xid:7900")
    check(wrong.returncode == 2 and "xid:other" in wrong.stderr and "Xid 7900 is not in the table" in wrong.stderr, wrong.returncode, wrong.stderr)
    print("ok rules are explained")


def main():
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    for test in (kernel_log, passing, evidence, unreadable, explained):
        with Sandbox() as sandbox:
            test(sandbox)


if __name__ == "__main__":
    sys.exit(main())
