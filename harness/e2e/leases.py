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
                           "backend": "xpu", "gpus": 1} for i in range(cases)}
    config = sandbox.path / "shared.toml"
    write_config(config, suites)
    return config


def arguments(sandbox, config, *more):
    return ["run", "--sim", f"xpu:2x1,state={sandbox.path}/machine", "--config", config,
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


# What a case can do to the descriptors that it inherited, to free its device under itself.
UNLOCK = """import fcntl, os, struct, sys, time
for fd in range(3, 64):
    for unlock in (lambda: fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_UNLCK, 0, 0, 0, 0)),
                   lambda: fcntl.lockf(fd, fcntl.LOCK_UN), lambda: fcntl.flock(fd, fcntl.LOCK_UN)):
        try:
            unlock()
        except OSError:
            pass
open(sys.argv[1], "w").close(); time.sleep(1000)
"""


def start_holder(sandbox, *options):
    """A run whose two cases hold both cards and have done what UNLOCK does."""
    ready = [sandbox.path / f"ready{i}" for i in range(2)]
    script = sandbox.path / "unlock.py"
    script.write_text(UNLOCK)
    config = sandbox.path / "holder.toml"
    write_config(config, {f"case{i}": {"kind": "command", "command": [sys.executable, str(script), str(path)],
                                       "backend": "xpu", "gpus": 1} for i, path in enumerate(ready)})
    run = sandbox.start(*arguments(sandbox, config, "--jobs", "2", *options))
    wait_until(lambda: all(path.exists() for path in ready), 30, "start of both cases")
    return run


def lease_wait(sandbox, wait):
    """The outcome of a short case that wants a card."""
    quick = configure(sandbox, None, ["/bin/true"], cases=1)
    done = sandbox.proctor(*arguments(sandbox, quick, "--lease-wait", wait))
    case = report(sandbox.last_out())["cases"][0]
    return done.returncode, case["outcome"], case["reason"]


def unlocked(sandbox):
    """A case that unlocks what it inherited keeps its card all the same; the card is free when the case is gone."""
    holder = start_holder(sandbox)
    taken = lease_wait(sandbox, "300ms")
    check(taken == (75, "error", "lease_timeout"), "a card with a case on it was given to another run:", taken)
    holder.kill()
    holder.wait()
    taken = lease_wait(sandbox, "1m")
    check(taken[:2] == (0, "pass"), "the card did not come back:", taken)
    print("ok a case cannot unlock its card")


def removed(sandbox):
    """Somebody cleans up lease files: whoever held one stops using its card and says so."""
    holder = start_holder(sandbox)
    out = sandbox.last_out()
    gone = sorted((sandbox.path / "machine" / "leases").glob("xpu*.lease"))
    gone[0].unlink()
    gone[1].rename(sandbox.path / "elsewhere")
    gone[1].write_text("")
    sandbox.finish(holder)
    document = report(out)
    check(holder.returncode == 75, "exit", holder.returncode, document["warnings"])
    said = [warning["text"] for warning in document["warnings"] if warning["code"] == "lease_lost"]
    for path, word in zip(gone, ("removed", "replaced")):
        check(any(str(path) in text and word in text for text in said), f"not said: {path} was {word}", said)
    ends = {(case["outcome"], case["reason"]) for case in document["cases"]}
    check(ends == {("notrun", "device_lost")}, ends)
    print("ok a lease whose file is gone is no lease")


def others_directory(sandbox):
    """A directory in which somebody else could remove our files is none for leases; one of root's is for everybody."""
    leases = sandbox.path / "machine" / "leases"
    leases.mkdir(parents=True)
    quick = configure(sandbox, None, ["/bin/true"], cases=1)

    def refused(word):
        done = sandbox.proctor(*arguments(sandbox, quick))
        check(done.returncode == 2 and str(leases) in done.stderr and word in done.stderr, word, done)

    leases.chmod(0o777)
    refused("sticky")
    leases.chmod(0o1777)
    if os.geteuid() != 0:
        print("skipped: needs:root to make directories of others")
        return
    os.chown(leases, 65534, 65534)
    refused("uid 65534")
    os.chown(leases, 0, 0)
    check(sandbox.proctor(*arguments(sandbox, quick)).returncode == 0, "a directory of root's is refused")
    print("ok leases are only where nobody else can remove them")


def main():
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    for test in (exclusive, killed, unlocked, removed, others_directory):
        with Sandbox() as sandbox:
            test(sandbox)


if __name__ == "__main__":
    sys.exit(main())
