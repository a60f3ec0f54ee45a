#!/usr/bin/env python3
"""Eight runners want the same four simulated cards: no card is ever held by two cases, and none is idle for long.

    crowd.py [--cases N] [--work SECONDS]

Prints the share of the time between the first begin and the last end in which a card had no case. The bound (10 % on
a quiet machine) is judged by the reader: a busy machine must not fail a test.
"""

import argparse
import os
import sys

from harness import BIN, Sandbox, check, report, skip, write_config

CARDS, RUNNERS = 4, 8
# One line when it begins and one when it ends; a line is one write.
CASE = """
say() { echo "${EPOCHREALTIME/./} $1 $ZE_AFFINITY_MASK $$" >>"$log"; }
log=$1
say begin; sleep "$2"; say end
"""


def intervals(log):
    """{card: [(begin, end)]} in microseconds; fails when a card has two holders."""
    holders, found = {}, {}
    for when, what, card, pid in sorted(map(str.split, log.read_text().splitlines()), key=lambda line: int(line[0])):
        if what == "begin":
            check(card not in holders, f"card {card} has two holders: {pid} and {holders.get(card)}")
            holders[card] = (pid, int(when))
        else:
            holder, began = holders.pop(card)
            check(holder == pid, f"{pid} ended on card {card} that it did not hold")
            found.setdefault(card, []).append((began, int(when)))
    return found


def idle_share(busy):
    first = min(begin for spans in busy.values() for begin, _ in spans)
    last = max(end for spans in busy.values() for _, end in spans)
    used = sum(end - begin for spans in busy.values() for begin, end in spans)
    return 1 - used / (len(busy) * (last - first)), (last - first) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--work", type=float, default=0.2, help="seconds that a case holds its card")
    options = parser.parse_args()
    if not (BIN / "libproctor_ze_sim.so").exists():
        skip("library_missing:libproctor_ze_sim.so")
    with Sandbox() as sandbox:
        log, config = sandbox.path / "log", sandbox.path / "crowd.toml"
        each = options.cases // RUNNERS
        write_config(config, {f"case{index}": {"kind": "command", "backend": "xpu", "gpus": 1, "command": [
            "bash", "-c", CASE, "bash", str(log), str(options.work)]} for index in range(each)})
        outs = [sandbox.out() for _ in range(RUNNERS)]
        runs = [sandbox.start("run", "--config", config, "--sim", f"xpu:{CARDS}x1,state={sandbox.path}/machine",
                              "--out", out, "--jobs", CARDS) for out in outs]
        for run, out in zip(runs, outs):
            errors = sandbox.finish(run, seconds=1200)
            check(run.returncode == 0, "exit", run.returncode, errors)
            check(report(out)["summary"]["pass"] == each, report(out)["summary"])
        busy = intervals(log)
        check(len(busy) == CARDS and sum(map(len, busy.values())) == RUNNERS * each, "not every case, or not every card")
        idle, seconds = idle_share(busy)
        print(f"ok {RUNNERS * each} cases of {RUNNERS} runners on {CARDS} cards in {seconds:.1f} s, never two at once on "
              f"one; a card was idle {100 * idle:.1f} % of the time; {os.cpu_count()} cores")


if __name__ == "__main__":
    sys.exit(main())
