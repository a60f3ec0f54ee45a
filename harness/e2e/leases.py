#!/usr/bin/env python3
"""Devices that several runs share: no card is ever held twice, a killed runner's lease ends with its case."""

import json
import os
import signal
import sys
from pathlib import Path

from harness import BIN, Sandbox, check, report, skip, wait_until, write_config

SIMULATOR = "libproctor_ze_sim.so"
RUNS, CASES = 3, 12
# Appends one line when a case begins and one when it ends; a line is one write.
CASE = """import os, sys, time
def say(what):
    fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(fd, f"{time.monotonic_ns()} {what} {os.environ['ZE_AFFINITY_MASK']} {os.getpid()}\\n".encode())
say("begin"); time.sleep(0.02); say("end")
"""


def configure(sandbox, log, command=None, cases=CASES):
    script = sandbox.path / "case.py"
    script.write_text(CASE)
    suites = {f"case{i}": {"kind": "command", "command": command or [sys.executable, str(script), str(log)],
                           "backend": "xpu", "devices": 1} for i in range(cases)}
    config = sandbox.path / "shared.toml"
    write_config(config, suites)
    return config


def arguments(sandbox, config, *more):
    return ["run", "--sim", "xpu:2x1", "--sim-state", sandbox.path / "machine", "--config", config,
            "--out", sandbox.out(), *more]


def check_exclusive(log):
    holders = {}
    lines = sorted((line.split() for line in log.read_text().splitlines()), key=lambda line: int(line[0]))
    for _, what, card, pid in lines:
        if what == "begin":
            check(card not in holders, f"card {card} has two holders: {pid} and {holders.get(card)}")
            holders[card] = pid
        else:
            check(holders.pop(card, None) == pid, f"{pid} ended on card {card} that it did not hold")
    check(len(lines) == 2 * RUNS * CASES, f"{len(lines)} lines of {RUNS} runs with {CASES} cases")
    check(len({line[2] for line in lines}) == 2, "one of the two cards was never used")
    print(f"ok {RUNS * CASES} cases of {RUNS} runs on 2 cards, never two at once on one")


def exclusive(sandbox):
    log = sandbox.path / "order"
    config = configure(sandbox, log)
    runs = [sandbox.start(*arguments(sandbox, config, "--jobs", "2")) for _ in range(RUNS)]
    for run in runs:
        errors = sandbox.finish(run, seconds=120)
        check(run.returncode == 0, "exit", run.returncode, errors)
    check_exclusive(log)


def held_records(sandbox):
    files = (sandbox.path / "machine" / "leases").glob("xpu*.lease")
    return [json.loads(path.read_text()) for path in files]


def killed(sandbox):
    """The case of a killed runner ends, and the next run gets its card and is told that it was left dirty."""
    ready = sandbox.path / "ready"
    hold = configure(sandbox, None, ["/bin/sh", "-c", f"echo up > {ready}; exec sleep 1000"], cases=2)
    first = sandbox.start(*arguments(sandbox, hold, "--jobs", "2"))
    wait_until(lambda: ready.exists() and sum(record["dirty"] for record in held_records(sandbox)) == 2, 30, "leases")

    quick = configure(sandbox, None, ["/bin/true"], cases=1)
    out = sandbox.path / "waited"
    args = arguments(sandbox, quick, "--lease-wait", "300ms")
    args[args.index("--out") + 1] = out
    done = sandbox.proctor(*args)
    check(done.returncode == 75, "exit of a run that waits in vain:", done.returncode, done.stdout, done.stderr)
    case = report(out)["cases"][0]
    check((case["outcome"], case["reason"]) == ("error", "lease_timeout"), case)
    check(str(first.pid) in case["note"], "the note does not say who holds the card:", case["note"])

    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    out = sandbox.path / "after"
    args[args.index("--out") + 1] = out
    args[args.index("--lease-wait") + 1] = "1m"
    done = sandbox.proctor(*args)
    check(done.returncode == 0, "exit after the holder was killed:", done.returncode, done.stdout, done.stderr)
    kinds = [warning["kind"] if "kind" in warning else warning.get("code") for warning in report(out)["warnings"]]
    check("lease_dirty" in kinds, "no warning that the card was left dirty:", report(out)["warnings"])
    print("ok a killed runner's lease ends with its case, and leaves the card dirty")


def main():
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    for test in (exclusive, killed):
        with Sandbox() as sandbox:
            test(sandbox)


if __name__ == "__main__":
    sys.exit(main())
