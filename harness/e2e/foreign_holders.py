#!/usr/bin/env python3
"""A process that is not ours and has memory on a leased card is named before a case starts on it."""

import subprocess
import sys

from harness import BIN, Sandbox, check, of_type, records, report, skip, wait_until, write_config

SIMULATOR = "libproctor_ze_sim.so"
HELD = 320 << 20


class Holder:
    """A second process with memory on the first card of the machine in `state`."""

    def __init__(self, sandbox, state, topology):
        answers = sandbox.path / "held"
        env = {**sandbox.env, "ZE_ENABLE_ALT_DRIVERS": str(BIN / SIMULATOR), "PROCTOR_SIM_TOPOLOGY": topology,
               "PROCTOR_SIM_STATE": str(state), "PROCTOR_SIM_DRIVER": "simgpu", "ZE_AFFINITY_MASK": "0",
               "ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"}
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$0" --helper hold_memory {HELD} 3>"$1"', str(BIN / "memory_xpu"), str(answers)],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        wait_until(lambda: answers.exists() and answers.read_text().endswith("\n"), 30, "the holder")
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def arguments(sandbox, state, cards, cases, *more, **keys):
    config = sandbox.path / "foreign.toml"
    write_config(config, {f"case{i}": {"kind": "command", "command": ["/bin/true"], "backend": "xpu", "gpus": 1}
                          for i in range(cases)}, run=keys)
    return ["run", "--config", config, "--sim", f"xpu:{cards}x1,state={state}", "--jobs", "1", "--out",
            sandbox.out(), *more]


def shared_machine(sandbox, cards):
    """Its directory, as a run leaves it."""
    state = sandbox.path / "machine"
    done = sandbox.proctor(*arguments(sandbox, state, cards, 1))
    check(done.returncode == 0, "a first run:", done.returncode, done.stdout, done.stderr)
    return state


def found(document, what):
    return [entry for entry in document["health"] if entry["finding"] == what]


def check_named(document, holder):
    entry = found(document, "in_use")[0]
    check(f"pid {holder.pid} " in entry["evidence"] and "memory_xpu" in entry["evidence"], "who it is:", entry)
    check(f"{HELD >> 20} MiB" in entry["evidence"] and entry["bytes"] >= HELD, "what it has:", entry)
    texts = [warning["text"] for warning in document["warnings"] if warning["code"] == "device_in_use"]
    check(texts and f"pid {holder.pid} " in texts[0], document["warnings"])
    return texts[0]


def in_vain(sandbox):
    """wait: a holder that stays is waited for once; then cases run beside it, of this run and of the next."""
    state = shared_machine(sandbox, 1)
    with Holder(sandbox, state, "xpu:1x1") as holder:
        done = sandbox.proctor(*arguments(sandbox, state, 1, 3, memory_wait="400ms"))
        document = report(sandbox.last_out())
        again = sandbox.proctor(*arguments(sandbox, state, 1, 1, memory_wait="1h"))
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
    check(again.returncode == 0, "exit", again.returncode, again.stdout, again.stderr)
    waits = [entry["wait_ms"] for entry in found(report(sandbox.last_out()), "in_use")]
    check(waits == [0], "the next run names it and does not wait:", waits)
    check_named(document, holder)
    told = found(document, "in_use")
    check(len(told) == 2 and told[0]["wait_ms"] == 0 and told[1]["wait_ms"] >= 400, "named, then waited:", told)
    print("ok", told[1]["evidence"])


def goes(sandbox):
    """wait: the case starts when the holder has gone."""
    state = shared_machine(sandbox, 1)
    with Holder(sandbox, state, "xpu:1x1") as holder:
        run = sandbox.start(*arguments(sandbox, state, 1, 1, memory_wait="5m"))

        def waits():
            journal = of_type(records(sandbox.last_out()), "device_health")
            return any(record["finding"] == "in_use" for record in journal)

        wait_until(waits, 30, "the run to name the holder")
        check(not of_type(records(sandbox.last_out()), "attempt_started"), "the case started beside the holder")
        holder.end()
    errors = sandbox.finish(run)
    check(run.returncode == 0, "exit", run.returncode, errors)
    document = report(sandbox.last_out())
    check_named(document, holder)
    check(document["summary"]["pass"] == 1, document["summary"])
    print("ok the case starts when the holder has gone")


def stopped(sandbox):
    """A run that waits for a holder can be stopped."""
    state = shared_machine(sandbox, 1)
    with Holder(sandbox, state, "xpu:1x1"):
        run = sandbox.start(*arguments(sandbox, state, 1, 2, memory_wait="5m"))
        wait_until(lambda: of_type(records(sandbox.last_out()), "device_health"), 30, "the run to name the holder")
        run.terminate()
        sandbox.finish(run, seconds=30)
    ended = [(case["outcome"], case["reason"]) for case in report(sandbox.last_out())["cases"]]
    check(ended == [("notrun", "interrupted")] * 2, ended)
    print("ok a run that waits can be stopped")


def fails(sandbox):
    """fail: the case is an error of the machine."""
    state = shared_machine(sandbox, 1)
    with Holder(sandbox, state, "xpu:1x1") as holder:
        done = sandbox.proctor(*arguments(sandbox, state, 1, 2, device_in_use="fail"))
    check(done.returncode == 75, "exit", done.returncode, done.stdout, done.stderr)
    document = report(sandbox.last_out())
    check_named(document, holder)
    for case in document["cases"]:
        check((case["outcome"], case["reason"]) == ("error", "device_in_use"), case)
        check(f"pid {holder.pid} " in case["note"] and not case["attempts"], case)
    print("ok", document["cases"][0]["note"])


def other(sandbox):
    """other: cases get the card that nobody else is on."""
    state = shared_machine(sandbox, 2)
    with Holder(sandbox, state, "xpu:2x1") as holder:
        done = sandbox.proctor(*arguments(sandbox, state, 2, 3, device_in_use="other"))
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
    document = report(sandbox.last_out())
    check_named(document, holder)
    busy = found(document, "in_use")[0]["device"]
    used = {device for case in document["cases"] for device in case["attempts"][-1]["devices"]}
    check(used and busy not in used, f"cases on {busy}:", used)
    check(len(found(document, "in_use")) == 1, "said once:", document["health"])
    print("ok cases run on", *used, "while", busy, "is in use")


def no_other(sandbox):
    """other: where there is none, the case waits as for a lease."""
    state = shared_machine(sandbox, 1)
    with Holder(sandbox, state, "xpu:1x1") as holder:
        done = sandbox.proctor(*arguments(sandbox, state, 1, 1, "--lease-wait", "1500ms", device_in_use="other"))
    check(done.returncode == 75, "exit", done.returncode, done.stdout, done.stderr)
    case = report(sandbox.last_out())["cases"][0]
    check((case["outcome"], case["reason"]) == ("error", "lease_timeout"), case)
    check(f"pid {holder.pid} " in case["note"], case["note"])
    print("ok", case["note"])


def main():
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    for test in (in_vain, goes, stopped, fails, other, no_other):
        with Sandbox() as sandbox:
            test(sandbox)


if __name__ == "__main__":
    sys.exit(main())
