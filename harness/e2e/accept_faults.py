"""The planted faults of `proctor accept`: which fault on which simulated machine at which level, and what must come of it.

A row is made of each fault in fault_table.h, so that a new fault appears by itself. Its level is the lowest one with a
check that lists the fault. Its expectation follows from the fault alone, not from an earlier run.
"""

import json
import os
import re
import subprocess
from fnmatch import fnmatchcase
from typing import NamedTuple

from harness import BIN, ROOT, check
from faults import faults

SUITES = ("visibility", "memory", "kernels", "management")
SIZES = {"cuda": ("cuda:1", "cuda:2", "cuda:4"), "xpu": ("xpu:1x2", "xpu:2x2", "xpu:4x1")}
# Level 3 covers three quarters of the memory, so its machines have little.
SMALL = ":mem=256MiB"

# Faults between devices, of their identity or of their order: on machines of each size.
SEVERAL = re.compile(r"peer|links|identity|device_order$|wrong_(device|uuid|pci_address|allocation)|uuid_changes|duplicate_device|"
                     r"every_second_list|root_device|missing_device|hidden_device|minor_number|firmware_differs|ecc_off")
# Faults of calls that belong to no device. Others of which no case meets the one of `dev=` are tried without it, too.
OF_THE_DRIVER = re.compile(r"visibility\.(?!wrong_uuid|uuid_changes|name_empty|wrong_pci|understate_|invert_peer|run_on_hidden|"
                           r"subdevice|wrong_subdevice|root_device)|error\.(?!not_sticky)|host\.|"
                           r"sysman\.(reverse_device_order|masked_by_affinity)")
# Faults of one tile, on a card with two.
ON_A_TILE = ("copy.short", "kernel.fma_unfused", "kernel.skip", "memory.corrupt_copy", "memory.stuck_bit")
# What a fault needs to be met on each machine, beyond what the checks list.
VALUES = {"sysman.repeat_first_answer": "api=nvmlDeviceGetMemoryInfo", "state.card_lost": "after=20"}
# Faults that `accept` meets only if one of its checks lists them: it runs no collectives, and `host` is no device.
NOT_OF_A_DEVICE = ("collective", "host")


class Row(NamedTuple):
    what: str
    fault: str
    sim: str
    level: int
    device: str = ""  # the one at fault; empty: the driver of all devices is
    action: str = ""  # the one that must be advised; empty: any
    more: tuple = ()  # further arguments

    def key(self):
        return f"{self.fault} on {self.sim} at level {self.level}"

    def kind(self):
        return self.fault.partition(".")[0]

    def vendor(self):
        return self.sim.partition(":")[0]


class Outcome(NamedTuple):
    """What came of a row: `right`, `beside` (right, but a healthy device is incomplete), `incomplete`, `missed` or `wrong`."""
    word: str
    why: str
    seconds: float


def steps():
    """[(level, globs of cases without the backend)] in the order in which a case looks for its step."""
    source = (ROOT / "reports/accept/accept_report.cc").read_text()
    found = re.findall(r'\{"[^"]+",\s*(\d),\s*(?:true|false),\s*\d+,\s*"[^"]*",\s*"([^"]*)"', source)
    check(len(found) > 10, "accept_report.cc has another form")
    return [(int(level), globs.split()) for level, globs in found]


def level_of(case, of_steps):
    """`case` as kernels/Group.Name; 0 without a step."""
    return next((level for level, globs in of_steps if any(fnmatchcase(case, glob) for glob in globs)), 0)


def listed_checks(suite, vendor):
    """The checks as the suite itself lists them for the runner."""
    read, write = os.pipe()
    with subprocess.Popen([BIN / f"{suite}_{vendor}", "--proctor-list"], stdout=subprocess.DEVNULL, pass_fds=(write,),
                          env={**os.environ, "PROCTOR_EVENTS_FD": str(write)}) as listing:
        os.close(write)
        with os.fdopen(read) as events:
            lines = [json.loads(line) for line in events]
    check(listing.returncode == 0, suite, vendor, "exit code", listing.returncode)
    return [line for line in lines if line.get("event") == "case"]


class Claim(NamedTuple):
    """A check that must fail under a fault."""
    level: int
    words: int  # how many keys the fault needs
    spec: str
    devices: int
    of_core: bool  # the check finds it on one core


def claims(vendor):
    """{fault: its claims, the lowest level and the plainest spec first}"""
    of_steps = steps()
    found = {}
    for suite in SUITES:
        for line in listed_checks(suite, vendor):
            level = level_of(f"{suite}/{line['case']}", of_steps)
            for spec in line.get("faults", []) if level else []:
                values = [word for word in spec.partition(":")[2].split(",")
                          if word and not re.match(r"(dev|tile|core)=", word)]
                plain = spec.partition(":")[0]
                claim = Claim(level, len(values), ":".join(filter(None, (plain, ",".join(values)))), line.get("devices", 1),
                              "core=" in spec)
                found.setdefault(plain, []).append(claim)
    return {fault: sorted(of_fault) for fault, of_fault in found.items()}


def devices_of(sim):
    return int(re.match(r"\w+:(\d+)", sim)[1])


def with_values(spec, *values):
    name, _, own = spec.partition(":")
    return f"{name}:{','.join(filter(None, (own, *values)))}"


def rows_of(fault, vendor, turn, of_fault):
    """The rows of one fault on the machines of one vendor. `turn` rotates the machine and the device."""
    several = bool(SEVERAL.search(fault.name))
    claim = of_fault[0] if of_fault else Claim(1, 0, fault.name, 1, False)
    spec = with_values(fault.name, VALUES[fault.name]) if fault.name in VALUES else claim.spec
    least = max(claim.devices, 2 if several else 1)
    sims = [sim for sim in SIZES[vendor] if devices_of(sim) >= least]
    rows = []
    # Four devices cost the most: they come at every third fault at level 1, and at every fifth above.
    place = turn if claim.level == 1 else (0, 1, 0, 1, 2)[turn % 5]
    for sim in sims if several else [sims[place % len(sims)]]:
        device = turn % devices_of(sim)
        sim += SMALL if claim.level == 3 else ""
        if OF_THE_DRIVER.match(fault.name):
            rows.append(Row(fault.meaning, spec, sim, claim.level))
        else:
            rows.append(Row(fault.meaning, with_values(spec, f"dev={device}"), sim, claim.level, f"{vendor}-sim:{device}"))
    if "core" in fault.keys.split():
        sim = SIZES[vendor][1 + turn % 2]
        device, core = turn % devices_of(sim), 1 + turn * 7 % 15
        level = min((claim.level for claim in of_fault if claim.of_core), default=3)
        sim += SMALL if level == 3 else ""
        rows.append(Row(f"{fault.meaning}, on core {core}", f"{fault.name}:dev={device},core={core}", sim, level,
                        f"{vendor}-sim:{device}"))
    if fault.name in ON_A_TILE and vendor == "xpu":
        rows.append(Row(f"{fault.meaning}, on the second tile", with_values(spec, "dev=1", "tile=1"),
                        "xpu:2x2" + (SMALL if claim.level == 3 else ""), claim.level, "xpu-sim:1"))
    return rows


def make_rows(exact):
    """(all rows, those of `exact` first; the faults that no check of `accept` lists)"""
    by_vendor = {vendor: claims(vendor) for vendor in SIZES}
    have = {(row.fault.partition(":")[0], row.vendor()) for row in exact if row.level < 3}
    rows, without = list(exact), []
    for turn, fault in enumerate(faults()):
        kind = fault.name.partition(".")[0]
        of_fault = {vendor: by_vendor[vendor].get(fault.name, []) for vendor in SIZES}
        if not any(of_fault.values()) and (fault.reach == "Pointed" or kind in NOT_OF_A_DEVICE):
            without.append(fault.name)
            continue
        several = bool(SEVERAL.search(fault.name))
        vendors = [vendor for vendor in SIZES
                   if fault.applies_to(vendor) and (fault.reach == "Blanket" or of_fault[vendor])]
        for number, vendor in enumerate(vendors):
            made = rows_of(fault, vendor, turn + number, of_fault[vendor])
            # The deep levels cost most: a fault of both vendors is planted into the machines of one of them.
            other = len(vendors) > 1 and number != turn % 2
            rows += [row for row in made
                     if several or row.level == 3 and not other or
                     (fault.name, vendor) not in have and not (other and row.level > 1)]
    seen = set()
    return [row for row in rows if not (row.key() in seen or seen.add(row.key()))], without


# ---- judgement ----

def judge(row, verdicts, failed, fired):
    """(word, why) of Outcome. `failed`: cases that failed in the run."""
    failed_devices = {device for device, (verdict, _) in verdicts.items() if verdict == "failed"}
    open_ones = {device for device, (verdict, _) in verdicts.items() if verdict == "incomplete"}
    if not failed_devices and not open_ones:
        if failed:
            return "wrong", f"all passed although {failed[0]} failed"
        return "missed", "every case passed" if fired else "no case met it"
    if any(action is None for device, (verdict, action) in verdicts.items() if verdict == "failed"):
        return "wrong", "a device that failed has no action"
    if not row.device:
        return judge_driver(verdicts, failed_devices)
    if failed_devices - {row.device}:
        return "wrong", f"healthy {', '.join(sorted(failed_devices - {row.device}))} failed"
    if failed_devices:
        if row.action and verdicts[row.device][1] != row.action:
            return "wrong", f"the action is {verdicts[row.device][1]} and not {row.action}"
        if open_ones:
            return ("wrong" if row.action else "beside"), f"healthy {', '.join(sorted(open_ones))} incomplete"
        return "right", ""
    if row.device not in open_ones:
        return "wrong", f"{row.device} passed, and {', '.join(sorted(open_ones))} incomplete"
    if len(open_ones) > 2:
        return "wrong", f"{len(open_ones)} devices are incomplete"
    return ("wrong" if row.action else "incomplete"), ""


def judge_driver(verdicts, failed_devices):
    """A fault of the driver: no device may be named for it, unless there is only one."""
    named = {device for device in failed_devices if verdicts[device][1] != "fix software"}
    if named and len(verdicts) > 1:
        return "wrong", f"{', '.join(sorted(named))}: {verdicts[min(named)][1]}, for a fault of the driver"
    if failed_devices:
        return "right", ""
    return "incomplete", ""
