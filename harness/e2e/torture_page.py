#!/usr/bin/env python3
"""Writes docs/explanation/torture.md from what torture.py measured.

    torture_page.py > docs/explanation/torture.md      as root, because some rows need it
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from harness import LAYERS, ROOT

HERE = Path(__file__).resolve().parent

# Measured with one small C program of the same modes: kernel 6.18, Debian 12, 2 cores, limit 2 s; a survivor is a
# process of the test that is alive 0.3 s after the runner was done with it.
PEERS = ("coreutils `timeout -k1`", "CTest 3.25", "meson 1.0", "gtest-parallel", "GNU parallel 20221122",
         "`unshare --pid --fork --kill-child` with `timeout`")
PEER_ROWS = {
    "ignterm": ("ok", "ok", "ok", "**lives**", "ok", "ok"),
    "kidignterm": ("**lives**", "ok", "**lives**", "**lives**", "ok", "ok"),
    "leakpipe": ("**lives**", "**lives**, called Timeout", "killed, called TIMEOUT", "**lives**", "**lives**", "ok"),
    "leaknull": ("**lives**", "**lives**", "**lives**", "**lives**", "**lives**", "ok"),
    "chatty": ("**lives**", "called Timeout", "called TIMEOUT", "**lives**", "**lives**", "ok"),
    "setsid": ("**lives**", "ok", "**lives**", "**lives**", "**lives**", "ok"),
    "daemon": ("**lives**", "**lives**", "**lives**", "**lives**", "**lives**", "ok"),
    "stop": ("ok", "ok", "ok", "**lives**, stopped", "ok", "ok"),
    "flood": ("ok", "648 MiB, called Timeout", "826 MiB, called TIMEOUT", "ok", "ok", "ok"),
    "hopper": ("**lives**", "**lives**", "**lives**", "**lives**", "ok", "ok"),
    "hopsid": ("**lives**", "**lives**", "**lives**", "**lives**", "**lives**", "ok"),
}


def measure(layer):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "results.json"
        done = subprocess.run([sys.executable, "-B", HERE / "torture.py", "--layer", layer, "--json", path],
                              stdout=subprocess.PIPE, text=True)
        print(done.stdout, file=sys.stderr)
        if done.returncode != 0:
            sys.exit(f"torture.py --layer {layer} ended {done.returncode}")
        return {row["mode"]: row for row in json.loads(path.read_text())["results"]}


def cell(row):
    extra = "".join(f", {mark}" for mark in row["marks"]) + (", forced" if row["forced"] else "")
    return f"`{row['verdict']}`{extra}, {row['survivors']} alive"


def page(table, results):
    yield """# Torture tests: Proctor and other runners

This page shows measured results of misbehaving programs under Proctor and under other runners.
`harness/e2e/torture_page.py` writes it:

<!-- not run: minutes; the test torture_cgroup and its kin do it -->
    ./dev build && harness/e2e/torture_page.py > docs/explanation/torture.md

It runs every mode of `fixtures/misbehaving` under every [layer](containment.md) with `proctor run`, eight at once. The
time limit is 2 s, the grace period 300 ms. It fails if a row differs from `fixtures/misbehaving/table.toml`.
`./dev test` checks the same.

## Proctor

* *forced*: SIGKILL was needed after the grace period.
* *leaky*: the report names the processes that outlived the test.
* *alive*: number of processes in `/proc` after the runner exited.
"""
    yield "| mode | what it does | " + " | ".join(LAYERS) + " |"
    yield "| --- " * (len(LAYERS) + 2) + "|"
    for mode, row in table["mode"].items():
        yield f"| {mode} | {row['does']} | " + " | ".join(cell(results[layer][mode]) for layer in LAYERS) + " |"
    worst = {layer: max(row["kill_to_empty_ms"] for row in results[layer].values()) for layer in LAYERS}
    yield ""
    yield "| | " + " | ".join(LAYERS) + " |"
    yield "| --- " * (len(LAYERS) + 1) + "|"
    yield "| longest time from SIGKILL until no process is left | " + " | ".join(
        f"{worst[layer]} ms" for layer in LAYERS) + " |"
    yield "| bound | " + " | ".join(f"{table['layer'][layer]['kill_to_empty_ms']} ms" for layer in LAYERS) + " |"
    yield """
## Other runners, the same modes

These were measured once, with one small C program of the same modes (kernel 6.18, Debian 12, 2 cores, time limit 2 s).
The versions are those of Debian 12. Newer ones may differ.

* *lives*: a process of the test was alive 0.3 s after the runner had finished it.
* *called Timeout*: the test had exited with code 0.
* Memory, in the row `flood`: peak of the runner.
"""
    yield "| mode | " + " | ".join(PEERS) + " | Proctor, any layer |"
    yield "| --- " * (len(PEERS) + 2) + "|"
    for mode, row in table["mode"].items():
        if "peers" in row:
            ours = {f"`{results[layer][mode]['verdict']}`" for layer in LAYERS}
            yield f"| {mode} | " + " | ".join(PEER_ROWS[row["peers"]]) + f" | ok: {' / '.join(sorted(ours))} |"
    yield """
If the runner gets SIGKILL, the tests of the first five runners survive and there is no report. With `unshare` no
process survives; it writes no reports. With Proctor's layers `cgroup+pidns`, `cgroup` and `pidns` no process is alive
one second later, and `proctor report render` writes the reports (`harness/e2e/runner_killed.py`)."""


def main():
    if os.geteuid() != 0:
        sys.exit("torture_page.py: run it as root: some rows need it")
    table = tomllib.loads((ROOT / "fixtures/misbehaving/table.toml").read_text())
    print("\n".join(page(table, {layer: measure(layer) for layer in LAYERS})))


if __name__ == "__main__":
    main()
