#!/usr/bin/env python3
"""The simulator against Intel's own driver without hardware: what every row of the mask table selects on both, compared
row by row. A row on which the vendor's driver crashes has to be known, with its version, and ours answers it.

Compared are the result of zeInit and, device by device, whether it is a sub-device, its subdeviceId, its sub-devices and
which devices have one root. Which of two equal cards is left cannot be: that mode gives cards no identity."""

import argparse
import fnmatch
import json
import sys
import tomllib
from pathlib import Path

from harness import BIN, ROOT, Sandbox, check, check_sums, report, skip, write_config

KNOWN = ROOT / "suites" / "known_failures_intel.toml"
SIMULATOR = "libproctor_ze_sim.so"
CARDS = 2
FAULT = "visibility.ignore_mask"  # of the simulator: the comparison must see it
# Crashes that no case of the suite meets, which asks under COMPOSITE only and here has two tiles a card:
# (versions, topologies, hierarchies, rows, reason).
UNLISTED_CRASHES = (
    # Without hardware, a card that keeps several tiles but not the first one.
    (">=22.43, <22.44", {"xpu:2x4"}, {"COMPOSITE"}, {"EntriesSelectTwoTilesOfCard", "ShuffledTileEntriesKeepTileOrder"}, "driver_crash:11"),
    # Entries of tiles are not valid where tiles are devices: they select nothing, which no later driver survives.
    (">=26.27", {"xpu:2x2", "xpu:2x4"}, {"FLAT", "COMBINED"},
     {"TileEntrySelectsSingleTile", "EntriesSelectTileOnEachCard", "EntriesSelectTwoTilesOfCard", "ShuffledTileEntriesKeepTileOrder", "RepeatedTileIsSelectedOnce", "FourLevelEntrySelectsNothing",
      "EntriesSelectThreeTiles", "ShuffledEntriesSelectThreeTiles", "ReversedEntriesSelectFourTiles", "ValidEntriesAfterInvalidAreSelected", "ReversedEntriesSelectFiveTiles"},
     "driver_crash:11"))


def number(version):
    return [int(part) for part in version.split(".")]


def in_range(version, wanted):
    """`wanted` as known-failure lists write it: ">=22.43, <22.44"."""
    for condition in wanted.split(","):
        condition = condition.strip()
        bound = number(condition.lstrip("<>="))
        if not (number(version) >= bound if condition.startswith(">=") else number(version) < bound):
            return False
    return True


def listed_crashes(version):
    """[(pattern of case ids, reason)] for this version of Intel's driver."""
    listed = [entry for entry in tomllib.loads(KNOWN.read_text())["known_failure"]
              if in_range(version, entry["versions"]) and entry["reason"].startswith("driver_crash:")]
    return [(case, entry["reason"]) for entry in listed
            for case in ([entry["case"]] if isinstance(entry["case"], str) else entry["case"])]


def under_root(root):
    """The words that start a program with the libraries of `root`."""
    dynamic_loader = next(Path(root).glob("usr/lib/*/ld-linux-*.so.*"))
    return [str(dynamic_loader), "--library-path", str(dynamic_loader.parent)]


def under_loader_of(root):
    """The same for the suite, so that both drivers stand below one loader."""
    loader = under_root(root)
    return ["env", f"PROCTOR_SELF={BIN / 'visibility_xpu'}", f"PROCTOR_LAUNCHER={json.dumps(loader)}", *loader]


def read_rows(sandbox, topology, driver, hierarchies, loader=(), fault=None):
    """What each row selects: {(hierarchy, row): answer}, and the driver's version."""
    faults = {"PROCTOR_SIM_FAULTS": fault} if fault else {}
    out = sandbox.out()
    table = sandbox.path / f"{out.name}.table"
    write_config(sandbox.path / "proctor.toml",
                 {"look": {"kind": "command", "backend": "xpu", "gpus": CARDS, "timeout": "5m",
                           "command": [*loader, str(BIN / "visibility_xpu"), "--mask-table", str(table), *hierarchies]}})
    done = sandbox.proctor("run", "look", "--sim", f"{topology},driver={driver}", "--out", out, timeout=400,
                           env={**sandbox.env, **faults})
    document = report(out)
    case = document["cases"][0]
    if case["reason"].startswith("library_missing:"):
        skip("package_missing:" + ("libze-intel-gpu1" if "@" in driver else "intel-opencl-icd"))
    check(case["outcome"] == "pass", "the table cannot be made:", done.stdout, done.stderr)
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    return {(row["hierarchy"], row["row"]): row for row in rows}, document["run"]["stack"].get("xpu.driver", "")


def expected_crash(row, topology, version):
    """The reason for which the vendor's driver is known to crash on this row, or ''."""
    for versions, topologies, hierarchies, rows, reason in UNLISTED_CRASHES:
        if (in_range(version, versions) and topology in topologies and row["hierarchy"] in hierarchies
                and row["row"] in rows):
            return reason
    case = "visibility.xpu/AffinityMask." + row["row"]
    return next((reason for pattern, reason in listed_crashes(version) if fnmatch.fnmatchcase(case, pattern)), "")


def compare_row(row, ours, known, version):
    """One line about a row, and whether it is good."""
    where = f"{row['hierarchy']:9} {row['row']}"
    if ours["end"] != "answer":
        return f"FAIL  {where}: the simulator ended with {ours['end']}", False
    if row["end"] != "answer":
        reason = row["end"].replace("signal:", "driver_crash:")
        verdict = "xfail" if reason == known else "FAIL "
        return f"{verdict} {where} ({reason}) on Intel's driver {version}", reason == known
    if known:
        return f"XPASS {where}: {known} on Intel's driver {version} is gone", False
    if row["selected"] != ours["selected"]:
        return f"FAIL  {where} {row['value']!r}\n   vendor {row['selected']}\n     ours {ours['selected']}", False
    return f"same  {where}", True


def verdicts_on(vendor, ours, topology, version):
    return [compare_row(row, ours[key], expected_crash(row, topology, version), version) for key, row in vendor.items()]


def compare(sandbox, topology, root):
    hierarchies = ["COMPOSITE", "FLAT", "COMBINED"] if root else ["COMPOSITE"]
    vendor, version = read_rows(sandbox, topology, driver_of(root), hierarchies)
    loader = under_loader_of(root) if root else ()
    ours, _ = read_rows(sandbox, topology, "simgpu", hierarchies, loader)
    faulty, _ = read_rows(sandbox, topology, "simgpu", hierarchies, loader, FAULT)
    check(version and vendor.keys() == ours.keys() and len(vendor) >= 46 * len(hierarchies),
          f"{len(vendor)} rows of the vendor's driver '{version}', {len(ours)} of ours")
    verdicts = verdicts_on(vendor, ours, topology, version)
    print(f"---- {topology} {' '.join(hierarchies)}: the simulator against Intel's driver {version}")
    print("\n".join(line for line, _ in verdicts if not line.startswith("same")))
    print(f"{sum(line.startswith('same') for line, _ in verdicts)} of {len(verdicts)} rows select the same")
    wrong = [line for line, good in verdicts_on(vendor, faulty, topology, version) if not good]
    check(any(" OrdinalZeroSelectsFirstDevice " in line for line in wrong), f"the comparison does not see the fault {FAULT}:", wrong)
    return all(good for _, good in verdicts)


def driver_of(root):
    return f"intel@{root}" if root else "intel"


def check_suite(sandbox, root):
    """The visibility suite itself on that driver; what it is known to do wrong is on the list."""
    out = sandbox.out()
    done = sandbox.proctor("run", "visibility", "--sim", f"xpu:{CARDS}x2,driver={driver_of(root)}", "--out", out)
    document = report(out)
    check(done.returncode == 0, "exit", done.returncode, done.stdout[-6000:], done.stderr)
    check_sums(document)
    executed = document["summary"]["pass"] + document["summary"]["xfail"]
    check(executed >= 70, f"only {executed} checks were executed")
    print(f"---- the visibility suite: {executed} checks were executed, {document['summary']['xfail']} of them xfail")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", help="a root with a newer driver and loader; default: this system's, COMPOSITE only")
    root = parser.parse_args().root
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    with Sandbox() as sandbox:
        good = [compare(sandbox, topology, root) for topology in ("xpu:2x2", "xpu:2x4")]
        check(all(good), "the simulator and Intel's driver differ")
        if root:
            check_suite(sandbox, root)


if __name__ == "__main__":
    sys.exit(main())
