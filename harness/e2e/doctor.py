#!/usr/bin/env python3
"""`proctor doctor` as a person starts it: on another machine's files, with rules of one's own, and on this machine with
libraries of NVIDIA's that stand in for a driver."""

import json
import os

from harness import BIN, Sandbox, check

NVML = os.environ.get("PROCTOR_NVML_STAND_IN")  # the directory of a libnvidia-ml.so.1 with two cards on driver 535
RULE = '''version = 1
[[rule]]
id      = "{id}"
effect  = "{effect}"
text    = "it is known"
fix     = "take another"
sources = ["https://example.org/1"]
recheck = "{recheck}"
facts   = {{ "kmd.nvidia" = "=580.95.05" }}
'''


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def machine(root, libraries):
    """One H100 on driver 580.95.05, whose libraries are of another version or not."""
    card = root / "sys/bus/pci/devices/0000:65:00.0"
    for name, value in (("vendor", "0x10de"), ("device", "0x2330"), ("class", "0x030200")):
        write(card / name, value + "\n")
    (root / "sys/bus/pci/drivers/nvidia").mkdir(parents=True)
    (card / "driver").symlink_to("/sys/bus/pci/drivers/nvidia")
    write(root / "sys/module/nvidia/version", "580.95.05\n")
    for name in ("libcuda.so", "libnvidia-ml.so"):
        write(root / f"usr/lib64/{name}.{libraries}")
        (root / f"usr/lib64/{name}.1").symlink_to(f"{name}.{libraries}")
    write(root / "id", "uid=1000(ci) gid=1000(ci) groups=1000(ci)\n")
    write(root / "dev.list", "".join(f"666 0 0 /dev/{name}\n" for name in ("nvidia0", "nvidiactl", "nvidia-uvm")))
    return root


def another_machine(sandbox):
    good = sandbox.proctor("doctor", "--root", machine(sandbox.path / "good", "580.95.05"))
    check(good.returncode == 0, good.returncode, good.stdout, good.stderr)
    check("broken" not in good.stdout and "  ok " in good.stdout, good.stdout)
    bad = machine(sandbox.path / "bad", "575.57.08")
    done = sandbox.proctor("doctor", "--root", bad)
    check(done.returncode == 1, done.returncode, done.stdout, done.stderr)
    check("broken  driver-versions" in done.stdout and "to fix it: reboot" in done.stdout, done.stdout)
    check("devices\n" not in done.stdout, "this machine is not asked:", done.stdout)
    document = json.loads(sandbox.proctor("doctor", "--root", bad, "--json").stdout)
    check(document["broken"] == 1, document)
    broken = [verdict for verdict in document["verdicts"] if verdict["state"] == "broken"]
    check(broken[0]["check"] == "driver-versions" and broken[0]["fix"] and broken[0]["where"], broken)
    missing = sandbox.proctor("doctor", "--root", sandbox.path / "nowhere")
    check(missing.returncode == 2 and "no such directory" in missing.stderr, missing.returncode, missing.stderr)
    print("ok another machine's files")


def rules_of_the_user(sandbox):
    root = machine(sandbox.path / "root", "580.95.05")
    rules = sandbox.path / "rules.toml"

    def doctor(text):
        rules.write_text(text)
        return sandbox.proctor("doctor", "--root", root, "--rules", rules)

    broken = doctor(RULE.format(id="mine", effect="broken", recheck="2999-01-01"))
    check(broken.returncode == 1 and "known-bad:mine" in broken.stdout, broken.returncode, broken.stdout)
    check("to fix it: take another" in broken.stdout and "see https://example.org/1" in broken.stdout, broken.stdout)
    slow = doctor(RULE.format(id="mine", effect="slow", recheck="2999-01-01"))
    check(slow.returncode == 0 and "warn    known-bad:mine" in slow.stdout, slow.returncode, slow.stdout)
    stale = doctor(RULE.format(id="mine", effect="slow", recheck="2020-01-01"))
    check("rule needs re-check" in stale.stdout, stale.stdout)
    wrong = doctor(RULE.format(id="mine", effect="brokn", recheck="2999-01-01"))
    check(wrong.returncode == 2, wrong.returncode, wrong.stderr)
    check("rules.toml:4" in wrong.stderr and "Did you mean `broken`?" in wrong.stderr, wrong.stderr)
    print("ok rules of the user's own")


def this_machine(sandbox):
    """A stub in front of the driver is found wherever doctor runs."""
    write(sandbox.path / "stubs/libcuda.so.1")
    env = {**sandbox.env, "LD_LIBRARY_PATH": str(sandbox.path / "stubs")}
    done = sandbox.proctor("doctor", env=env)
    check(done.returncode == 1, done.returncode, done.stdout, done.stderr)
    check("broken  stub-library" in done.stdout and str(sandbox.path / "stubs") in done.stdout, done.stdout)
    for section in ("driver stack", "devices", "vendor libraries", "leases", "next: "):
        check(section in done.stdout, section, done.stdout)
    check("py-spy" in done.stdout, "no word of Python stacks:", done.stdout)
    tools = sandbox.proctor("doctor", "--sim", "xpu:1x1", env={**env, "PATH": "/nowhere"}).stdout
    found = str(BIN / "py-spy") if (BIN / "py-spy").exists() else "pip install py-spy"
    check(found in tools, "beside the program, or how to get it:", tools)
    simulated = sandbox.proctor("doctor", "--sim", "xpu:1x1", env=env)
    check("stub-library" not in simulated.stdout, "simulated devices need no driver:", simulated.stdout)
    print("ok a stub in front of the driver")


def management_library(sandbox):
    """Cards that only NVIDIA's management library tells of are listed beside the verdicts."""
    if not NVML or not (BIN / "proctor-probe-cuda").exists():
        return
    done = sandbox.proctor("doctor", env={**sandbox.env, "LD_LIBRARY_PATH": NVML})
    check("535" in done.stdout.partition("devices\n")[2], done.stdout, done.stderr)
    check("stub-library" not in done.stdout, done.stdout)
    print("ok the management library's cards")


def main():
    for test in (another_machine, rules_of_the_user, this_machine, management_library):
        with Sandbox() as sandbox:
            test(sandbox)


main()
