#!/usr/bin/env python3
"""suites/hardware/lent.sh on simulated devices: each step within its time, and the table of what was run, was not, and was
left out. bin/proctor of the bundle is a stand-in here, which makes steps short and plants what goes wrong in them."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from harness import BIN, ROOT, check, is_sanitized, report, run_scenarios, skip, wait_until

HARDWARE = ROOT / "suites/hardware"
sys.path.insert(0, str(HARDWARE))
from observed import repeated  # noqa: E402

STEPS = ("suites", "accept", "speeds", "nccl")
FAULT = "copy.short:min=65537"  # above what the health probe copies
FILTER = "*/Copy.DeviceToDevice*"
STAND_IN = """#!{python}
import os, pathlib, signal, sys
arguments, here = sys.argv[1:], pathlib.Path(__file__).parent
step = pathlib.Path(arguments[arguments.index("--out") + 1]) if arguments[0] in ("run", "accept") else pathlib.Path()
planted = os.environ.get("PLANTED_" + step.name, "")
small = {{"--suite-arg": "size=ci", "--level": "1", "--budget": "60s", "--repeat": "1s", "--deadline": "100s"}}
for option, value in small.items():
    if option in arguments:
        arguments[arguments.index(option) + 1] = value
if step.name == "suites":
    arguments += ["--filter", "{filter}"]
elif step.name == "speeds":
    arguments[arguments.index("*/Bandwidth.*")] = "*/Bandwidth.LargeDevice*"
elif step.name == "nccl":
    arguments += ["--filter", "*/Nccl.Invalid*"]
if planted == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()
elif planted == "nothing":
    sys.exit(0)
elif planted == "long":
    arguments = ["run", "--out", str(step), "--", "sleep", "600"]
elif planted.startswith("large "):
    step.mkdir()
    (step / planted.split()[1]).write_bytes(b"x" * (61 << 20))
    sys.exit(0)
elif planted:
    os.environ["PROCTOR_SIM_FAULTS"] = planted
os.execv(here / "real", [str(here / "real"), *arguments])
"""


def stand_in(bundle):
    (bundle / "bin/proctor").write_text(STAND_IN.format(python=sys.executable, filter=FILTER))
    (bundle / "bin/proctor").chmod(0o755)


def light_bundle(sandbox, seconds=(), kill_after=15):
    """With the programs of the build, and other seconds of the steps."""
    bundle = sandbox.path / "bundle"
    (bundle / "bin").mkdir(parents=True)
    for name in ("proctor-probe-cuda", "share"):
        (bundle / "bin" / name).symlink_to(BIN / name)
    (bundle / "bin/real").symlink_to(BIN / "proctor")
    stand_in(bundle)
    shutil.copy(HARDWARE / "run.sh", bundle)
    script = (HARDWARE / "lent.sh").read_text().replace("--kill-after=15", f"--kill-after={kill_after}")
    for name, least_and_most in dict(seconds).items():
        script, found = re.subn(rf"(^|'){name} \d+ \d+", rf"\g<1>{name} {least_and_most}", script, flags=re.M)
        check(found == 1, "no step", name)
    (bundle / "lent.sh").write_text(script)
    return bundle


def start(sandbox, bundle, out, *options, **planted):
    env = {**sandbox.env, **{f"PLANTED_{step}": what for step, what in planted.items()}}
    return subprocess.Popen(["sh", bundle / "lent.sh", *options, out, "--sim", "cuda:1:mem=1GiB"], env=env, cwd=sandbox.path,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace")


def lent(sandbox, bundle, out, *options, **planted):
    process = start(sandbox, bundle, out, *options, **planted)
    output, _ = process.communicate(timeout=120)
    return process.returncode, output


def rows(out, output=""):
    """{step: (result, what the table says of it)}"""
    table = (out / "table.txt").read_text()
    check(table in output or not output, "the table is not printed", output)
    found = re.findall(r"^(\w+) +(exit \d+|skipped|not run) +([\d-]+) s(?:  (.*))?$", table, re.M)
    return {name: (result, about) for name, result, _, about in found}


def the_bundle_runs_every_step(sandbox):
    bundle, out = sandbox.path / "bundle", sandbox.path / "lent"
    made = subprocess.run([HARDWARE / "bundle.sh", "cuda", BIN.parent, BIN.parent, bundle], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    check(made.returncode == 0, made.stdout)
    (bundle / "bin/cuda_sim").symlink_to(BIN / "cuda_sim")
    (bundle / "bin/proctor").rename(bundle / "bin/real")
    stand_in(bundle)
    code, output = lent(sandbox, bundle, out)
    check(code == 0, code, output)
    check(rows(out, output) == {**{step: ("exit 0", "") for step in STEPS[:3]},
                                "nccl": ("skipped", "no NCCL here (not_on_simulator:nccl)")}, output)
    for step in STEPS[:3]:
        check(report(out / step)["summary"]["pass"] > 0, step, "has executed nothing")
    refused = subprocess.run([sys.executable, "-B", HARDWARE / "observed.py", out, "-o", sandbox.path / "table.toml"],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check(refused.returncode == 2 and "is simulated" in refused.stdout, refused.stdout)
    check(all(len(medians) > 0 for medians in repeated(out / "speeds").values()) and repeated(out / "speeds"), "no speeds")
    again, said = lent(sandbox, bundle, out)
    check(again == 2 and f"{out} is not empty" in said, again, said)


def a_fault_and_a_hang_leave_the_next_steps(sandbox):
    bundle, out = light_bundle(sandbox, {"accept": "1 2"}, kill_after=1), sandbox.path / "lent"
    code, output = lent(sandbox, bundle, out, suites=FAULT, accept="hang", speeds="nothing", nccl="nothing")
    table = rows(out, output)
    check(code == 1 and table["suites"] == ("exit 1", ""), code, output)
    result, about = table["accept"]  # by SIGKILL, unless the stand-in was slow to ignore SIGTERM
    check(result in ("exit 137", "exit 124") and about == "ended at its limit of 2 s", output)
    check(table["speeds"] == table["nccl"] == ("exit 0", ""), output)


def what_does_not_fit_is_named(sandbox):
    steps = re.search(r"^steps='([^']*)'", (HARDWARE / "lent.sh").read_text(), re.M)[1]
    page = re.findall(r"^\| `(\w+)` \| (\d+) to (\d+) \|", (ROOT / "docs/how-to/hardware.md").read_text(), re.M)
    check([tuple(line.split()) for line in steps.splitlines()] == page, "the page has other steps", steps, page)
    least = int(dict(line.split()[:2] for line in steps.splitlines())["accept"]) - 20  # as step_accept() has it
    planned = sandbox.proctor("accept", "--level", 2, "--sim", "cuda:1", "--budget", f"{least}s", "--dry-run")
    check(planned.returncode == 0, "accept needs more seconds", planned.stderr)
    bundle, out = light_bundle(sandbox, {"speeds": "1 2"}), sandbox.path / "lent"
    code, output = lent(sandbox, bundle, out, "-t", "60", "-s", "accept speeds", speeds="large core.4711")
    result, about = rows(out, output)["accept"]
    check(result == "not run" and re.fullmatch(r"(2[0-9]|30) s left, it needs 215", about), output)
    check(code == 3 and rows(out)["speeds"] == ("exit 0", ""), code, output)
    check("left out: speeds/core.4711, 61 MiB" in output and not (out / "speeds/core.4711").exists(), output)
    code, output = lent(sandbox, bundle, sandbox.path / "large", "-s", "speeds", speeds="large journal.jsonl")
    check(code == 1 and re.search(r"has 61 MiB, more than 60: speeds/journal.jsonl has \d+ KiB", output), code, output)
    for options, said in ((("-s", "spee"), "unknown step 'spee'; the steps are suites accept speeds nccl"),
                          (("-s", " "), "-s: no step; the steps are"), (("-t", "9m"), "-t 9m: not a number of seconds"),
                          (("-t", "090"), "-t 090: not a number of seconds"), (("-x",), "usage: lent.sh")):
        code, output = lent(sandbox, bundle, sandbox.path / "never", *options)
        check(code == 2 and said in output and not (sandbox.path / "never").exists(), options, output)


def ctrl_c_keeps_what_there_is(sandbox):
    bundle, out = light_bundle(sandbox), sandbox.path / "lent"
    process = start(sandbox, bundle, out, suites="long")
    journal = out / "suites/journal.jsonl"
    wait_until(lambda: process.poll() is not None or (journal.exists() and "attempt_started" in journal.read_text()), 60, "case")
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    check(process.returncode == 130, process.returncode, output)
    check(rows(out, output) == {"suites": ("exit 143", "interrupted"),
                                **{step: ("not run", "interrupted") for step in STEPS[1:]}}, output)
    [case] = report(out / "suites")["cases"]
    check((case["outcome"], case["reason"]) == ("notrun", "interrupted"), case)
    check((out / "suites/devices-before.json").exists(), output)


if __name__ == "__main__":
    if is_sanitized() or not (BIN / "cuda_sim").exists():
        skip("library_missing:libcudart.so")
    run_scenarios((the_bundle_runs_every_step, a_fault_and_a_hang_leave_the_next_steps, what_does_not_fit_is_named,
                   ctrl_c_keeps_what_there_is))
