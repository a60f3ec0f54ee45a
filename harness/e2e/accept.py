#!/usr/bin/env python3
"""Whether `proctor accept` finds the broken device, and only that one, on simulated machines.

    accept.py [SCENARIO...]      the scenarios of `./dev test`
    accept.py table [PART/PARTS] every planted fault of the table below, with its controls (./dev test --full accept)
    accept.py page               the same, and writes docs/explanation/accept-faults.md
"""

import json
import subprocess
import sys
import time
from typing import NamedTuple

from harness import ROOT, Sandbox, check, run_scenarios

PAGE = ROOT / "docs/explanation/accept-faults.md"


class Planted(NamedTuple):
    what: str
    fault: str
    sim: str
    level: int
    device: str
    action: str
    more: tuple = ()  # further arguments


# The steps that level 3 adds to the cheapest ones, in the order of accept_steps.cc.
DEEP = ("--budget", "140s")
FAULTS = [
    Planted("half PCIe width", "sysman.link_narrow:dev=2", "cuda:4", 1, "cuda-sim:2", "reseat"),
    Planted("slow PCIe generation", "sysman.link_slow:dev=1", "cuda:4", 1, "cuda-sim:1", "reseat"),
    Planted("all NVLinks down", "sysman.links_down:dev=3", "cuda:4", 1, "cuda-sim:3", "reseat"),
    Planted("link that repeats packets", "sysman.replays:dev=0", "cuda:4", 1, "cuda-sim:0", "reseat"),
    Planted("pending row remap", "sysman.remap_pending:dev=2", "cuda:4", 1, "cuda-sim:2", "reset"),
    Planted("failed row remap", "sysman.remap_failed:dev=2", "cuda:4", 1, "cuda-sim:2", "replace"),
    Planted("recovery action reset", "sysman.reset_needed:dev=1", "cuda:4", 1, "cuda-sim:1", "reset"),
    Planted("other firmware", "sysman.firmware_differs:dev=2", "cuda:6", 1, "cuda-sim:2", "fix software"),
    Planted("ECC off", "sysman.ecc_off:dev=2", "cuda:6", 1, "cuda-sim:2", "fix software"),
    Planted("power brake under load", "sysman.throttled:dev=1", "cuda:4", 1, "cuda-sim:1", "reseat"),
    Planted("corrected errors under load", "sysman.corrected_under_load:dev=1", "cuda:4", 1, "cuda-sim:1", "replace"),
    Planted("half PCIe width", "sysman.link_narrow:dev=1", "xpu:2x2", 1, "xpu-sim:1", "reseat"),
    Planted("link that repeats packets", "sysman.replays:dev=1", "xpu:2x2", 1, "xpu-sim:1", "reseat"),
    Planted("worn memory", "sysman.memory_worn:dev=0", "xpu:2x2", 1, "xpu-sim:0", "replace"),
    Planted("reset reason", "sysman.false_reset:dev=0", "xpu:2x2", 1, "xpu-sim:0", "reset"),
    Planted("power supply under load", "sysman.throttled:dev=0", "xpu:2x2", 1, "xpu-sim:0", "reseat"),
    Planted("corrected errors under load", "sysman.corrected_under_load:dev=1", "xpu:2x2", 1, "xpu-sim:1", "replace"),
    Planted("query that hangs", "sysman.hang:dev=1", "cuda:4", 1, "cuda-sim:1", "reset"),
    Planted("card off the bus", "state.card_lost:dev=1,after=20", "cuda:4", 1, "cuda-sim:1", "reset"),
    Planted("uncorrected errors under load", "sysman.errors_under_load:dev=1", "cuda:4", 2, "cuda-sim:1", "reset"),
    Planted("temperature over its limit", "sysman.hot:dev=1", "cuda:4", 2, "cuda-sim:1", "reseat"),
    Planted("frozen sensor", "sysman.frozen:dev=1,api=nvmlDeviceGetMemoryInfo", "cuda:4", 2, "cuda-sim:1", "reset"),
    Planted("multiply-add that rounds twice", "kernel.fma_unfused:dev=1", "cuda:4", 2, "cuda-sim:1", "replace"),
    Planted("shuffles between wrong lanes", "kernel.shuffle_wrong:dev=1", "cuda:4", 2, "cuda-sim:1", "replace"),
    Planted("doubles computed as floats", "kernel.fp64_as_fp32:dev=1", "xpu:2x2", 2, "xpu-sim:1", "replace"),
    Planted("atomics that come apart", "kernel.racy_atomics:dev=1", "xpu:2x2", 2, "xpu-sim:1", "replace"),
    Planted("wrong byte in copies", "memory.corrupt_copy:dev=1,at=17", "cuda:4", 2, "cuda-sim:1", "replace"),
    Planted("copies that end early", "copy.short:dev=1", "cuda:4", 2, "cuda-sim:1", "replace"),
    Planted("bit flips of one core", "kernel.flipped_store:dev=1,core=3", "cuda:4", 3, "cuda-sim:1", "replace", DEEP),
    Planted("wrong special function of one core", "kernel.math_wrong:dev=2,core=5", "cuda:4", 3, "cuda-sim:2", "replace", DEEP),
    Planted("wrong products of one core", "kernel.fma_unfused:dev=0,core=2", "cuda:4", 3, "cuda-sim:0", "replace", DEEP),
    Planted("several bit flips of one core", "kernel.flipped_store:dev=1,core=7,xor=0x81", "xpu:2x2", 3, "xpu-sim:1", "replace", DEEP),
    Planted("wrong shuffles of one core", "kernel.shuffle_wrong:dev=0,core=1", "xpu:2x2", 3, "xpu-sim:0", "replace", DEEP),
    Planted("stuck bit", "memory.stuck_bit:dev=2,at=183500,min=70000", "cuda:4", 3, "cuda-sim:2", "replace", DEEP),
    Planted("slow link between devices", "copy.slow_peer:dev=2", "cuda:4", 3, "cuda-sim:2", "reseat", DEEP),
]

# Good devices near a limit, and good devices that lack something.
CONTROLS = [
    ("a link that was idle", "sysman.link_slow:dev=1,times=2", ("--level", 1, "--sim", "cuda:4")),
    ("memory that comes back late", "sysman.leak_after_exit:us=200000", ("--level", 1, "--sim", "xpu:2x2")),
    ("cards of both vendors", "", ("--level", 1, "--sim", "cuda:4,xpu:2x2")),
    ("a card without ECC", "", ("--level", 1, "--sim", ROOT / "fixtures/simgpu/machines/ecc-off.toml")),
    ("a process without privileges", "", ("--level", 1, "--sim", ROOT / "fixtures/simgpu/machines/no-privileges.toml")),
    ("a single card", "", ("--level", 2, "--sim", "cuda:1")),
]


def accept(sandbox, *arguments, faults="", timeout=600):
    """(the finished process, what --json says)"""
    file = sandbox.path / "accept.json"
    file.unlink(missing_ok=True)
    environment = {**sandbox.env, "PROCTOR_SIM_FAULTS": faults}
    out = sandbox.out()
    done = subprocess.run(
        sandbox.command("accept", "--json", file, "--out", out, *arguments), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env=environment, timeout=timeout)
    return done, json.loads(file.read_text()) if file.exists() else None


def verdicts(document):
    return {device["id"]: (device["verdict"], device["action"]) for device in document["devices"]}


def find(sandbox, planted):
    """Plants the fault, and returns what it took and who found it."""
    started = time.monotonic()
    done, document = accept(sandbox, "--level", planted.level, "--sim", planted.sim, *planted.more, faults=planted.fault)
    rejected = {device: verdict for device, verdict in verdicts(document).items() if verdict[0] == "rejected"}
    check(rejected == {planted.device: ("rejected", planted.action)}, planted, "gives", verdicts(document), done.stdout)
    check(done.returncode == 1 and document["exit_code"] == 1, "the exit code", done.returncode, document["exit_code"])
    device = next(each for each in document["devices"] if each["id"] == planted.device)
    cases = sorted({finding["case"].split("/", 1)[1] for finding in device["findings"] if "case" in finding})
    return time.monotonic() - started, cases


# ---- the scenarios of ./dev test ----

def good_devices_are_accepted(sandbox):
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:4,xpu:2x2")
    check(set(verdicts(document).values()) == {("accepted", None)}, verdicts(document), done.stdout)
    check(done.returncode == 0 and document["simulated"], done.returncode, document["simulated"])
    check("simulated: no evidence about hardware" in done.stdout, done.stdout)


def one_broken_device_is_rejected(sandbox):
    for planted in FAULTS:
        if planted.fault.split(":")[0] in ("sysman.link_narrow", "sysman.remap_pending", "sysman.memory_worn"):
            find(sandbox, planted)


def a_machine_is_compared_with_what_it_should_have(sandbox):
    expected = sandbox.path / "machine.toml"
    written = sandbox.proctor("devices", "--sim", "cuda:4", "--expect-file", expected)
    check(written.returncode == 0, written.stdout, written.stderr)
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:4", "--expect", expected)
    check(done.returncode == 0, verdicts(document), done.stdout)
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:3", "--expect", expected)
    missing = [device for device, verdict in verdicts(document).items() if verdict == ("rejected", "reseat")]
    check(done.returncode == 1 and len(missing) == 1 and missing[0].startswith("missing:GPU-"), verdicts(document))
    expected.write_text(expected.read_text().replace("pcie_width = 16", "pcie_width = 32"))
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:4", "--expect", expected)
    check(set(verdicts(document).values()) == {("rejected", "reseat")}, verdicts(document))


def a_rejected_device_is_drained_until_it_is_accepted(sandbox):
    state = sandbox.path / "machine"
    machine = ["--level", 1, "--sim", "cuda:2", "--sim-state", state]
    accept(sandbox, *machine, "--drain", faults="sysman.remap_failed:dev=1")
    leases = state / "leases"
    refused = sandbox.proctor("devices", "undrain", "cuda-sim:1", "--state-dir", leases)
    check(refused.returncode == 2 and "only a run that accepts it" in refused.stderr, refused.stdout, refused.stderr)
    done, document = accept(sandbox, *machine, faults="sysman.remap_failed:dev=1")
    check(verdicts(document)["cuda-sim:1"] == ("rejected", "replace"), verdicts(document), done.stdout)
    done, document = accept(sandbox, *machine)
    check(done.returncode == 0 and "cuda-sim:1 gets cases again" in done.stdout, verdicts(document), done.stdout)


def a_device_that_a_run_drained_is_tested_and_undrained(sandbox):
    """What the run advises works: the device is drained, and is tested all the same."""
    machine = ["--sim", "cuda:2", "--sim-state", sandbox.path / "machine"]
    ran = sandbox.proctor("run", *machine, "--out", sandbox.out(), "--gpus", "1", "--backend", "cuda", "--each-device",
                          "--prove-devices", "--", "/bin/true",
                          env={**sandbox.env, "PROCTOR_SIM_FAULTS": "kernel.skip:dev=1"})
    check(ran.returncode == 75 and "GPU cuda-sim:1 is bad" in ran.stdout, ran.stdout, ran.stderr)
    check("test the device: proctor accept --devices cuda-sim:1 " in ran.stdout, ran.stdout)
    done, document = accept(sandbox, "--level", 1, *machine, "--devices", "cuda-sim:1")
    check(done.returncode == 0 and "cuda-sim:1 gets cases again" in done.stdout, verdicts(document), done.stdout)


def mistakes_are_named(sandbox):
    bad = sandbox.path / "bad.toml"
    bad.write_text('[[model]]\nname = "A"\ncount = 1\nuuids = ["x", "y"]\n')
    for arguments, words in ((["--expect", bad], "contradict"), (["--hours", "3"], "--level 4"),
                             (["--level", "7"], "--level"), (["--expect", sandbox.path / "none.toml"], "none.toml")):
        done, document = accept(sandbox, "--sim", "cuda:1", *arguments)
        check(done.returncode == 2 and words in done.stdout and document is None, arguments, done.stdout)
    bad.write_text('[[model]]\nname = "A"\ncount = 1\n')
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:1", "--expect", bad)
    check(verdicts(document)["cuda-sim:0"] == ("incomplete", None), verdicts(document))


def a_budget_says_what_it_left_out(sandbox):
    done, document = accept(sandbox, "--level", 3, "--sim", "cuda:1", "--budget", "25s")
    check("memory" in document["left_out"] and "no time in the budget" in done.stdout, document["left_out"], done.stdout)
    check(done.returncode in (0, 3), done.returncode, done.stdout)


# ---- --full accept ----

def rows(part, parts):
    return [planted for index, planted in enumerate(FAULTS) if index % parts == part - 1]


def table(sandbox, part=1, parts=1):
    found = []
    for planted in rows(part, parts):
        seconds, cases = find(sandbox, planted)
        print(f"{planted.fault} {planted.sim} level {planted.level}: {seconds:.1f} s, {', '.join(cases)}", flush=True)
        found.append((planted, seconds, cases))
    for what, fault, arguments in CONTROLS[part - 1::parts]:
        done, document = accept(sandbox, *arguments, faults=fault)
        check({verdict for verdict, _ in verdicts(document).values()} == {"accepted"}, what, verdicts(document), done.stdout)
        print(f"control: {what}: accepted", flush=True)
    return found


def write_page(found):
    alone = {}
    for planted, _, cases in found:
        if len(cases) == 1:
            alone.setdefault(cases[0], []).append(planted.what)
    lines = ["| fault | simulated machine | level | device | action | seconds | found by |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for planted, seconds, cases in found:
        names = ", ".join(f"`{case}`" for case in cases[:3]) or "no case"
        more = f" and {len(cases) - 3} more" if len(cases) > 3 else ""
        lines.append(f"| {planted.what} (`{planted.fault}`) | `{planted.sim}` | {planted.level} | `{planted.device}` | "
                     f"{planted.action} | {seconds:.1f} | {names}{more} |")
    text = PAGE.read_text()
    head = text[:text.index("<!-- table -->")]
    only = [f"* `{case}`: {', '.join(sorted(set(what)))}" for case, what in sorted(alone.items())]
    PAGE.write_text("\n".join([head + "<!-- table -->", *lines, "", "## Found by one check alone", "", *only, ""]))


def main():
    words = sys.argv[1:]
    if words[:1] in (["table"], ["page"]):
        part, parts = (int(number) for number in words[1].split("/")) if len(words) > 1 else (1, 1)
        with Sandbox() as sandbox:
            found = table(sandbox, part, parts)
        if words[0] == "page":
            write_page(found)
        return
    run_scenarios([good_devices_are_accepted, one_broken_device_is_rejected, a_machine_is_compared_with_what_it_should_have,
                   a_rejected_device_is_drained_until_it_is_accepted, a_device_that_a_run_drained_is_tested_and_undrained,
                   mistakes_are_named, a_budget_says_what_it_left_out])


if __name__ == "__main__":
    main()
