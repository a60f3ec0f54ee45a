#!/usr/bin/env python3
"""NVIDIA cards between cases: who else is on them, whether they are well, and what becomes of one that is not."""

import subprocess
import sys

from harness import BIN, Sandbox, check, report, skip, wait_until, write_config

STAND_IN = BIN / "cuda_sim" / "libcudart.so.13"
HELD = 320 << 20
SICK = "kernel.skip:dev=0"  # of the first card: every call succeeds, and nothing is computed


def cuda(*command):
    return {"kind": "command", "command": list(command), "backend": "cuda", "gpus": 1}


def crash():
    return cuda("/bin/sh", "-c", "kill -SEGV $$")


def run(sandbox, suites, *arguments, faults=None):
    config = sandbox.path / "care.toml"
    write_config(config, suites)
    env = {**sandbox.env, **({"PROCTOR_SIM_FAULTS": faults} if faults else {})}
    done = sandbox.proctor("run", "--config", config, "--jobs", "1", "--out", sandbox.out(), *arguments, env=env)
    check((sandbox.last_out() / "report.json").exists(), "no report:", done.stdout, done.stderr)
    return done, report(sandbox.last_out())


def found(document, what):
    return [entry for entry in document["health"] if entry["finding"] == what]


def outcomes(document):
    return [case["outcome"] for case in document["cases"]]


def good_cards(sandbox):
    """Cases on both vendors' cards, and nothing to say about any of them: both are watched."""
    suites = {"nvidia": cuda(str(BIN / "health_cuda")), "after": cuda("/bin/true"),
              "intel": {**cuda("/bin/true"), "backend": "xpu"}}
    done, document = run(sandbox, suites, "--sim", "xpu:1x1,cuda:1")
    check(done.returncode == 0 and outcomes(document) == ["pass"] * 3, done.stdout, done.stderr)
    check(not document["warnings"] and not document["health"], document["warnings"], document["health"])
    print("ok nothing to say about good cards")


def sick_card(sandbox):
    """A crash casts a doubt; the card that computes nothing is drained, the other one goes on, with the same case first."""
    done, document = run(sandbox, {"crash": crash(), "one": cuda("/bin/true"), "two": cuda("/bin/true")}, "--sim", "cuda:2",
                         faults=SICK)
    check(done.returncode == 1 and outcomes(document) == ["crash", "pass", "pass"], done.stdout, done.stderr)
    drained = found(document, "drained")
    check(len(drained) == 1 and drained[0]["device"] == "cuda-sim:0", document["health"])
    check("expected" in found(document, "probe_failed")[0]["evidence"], document["health"])
    devices = [[attempt["devices"] for attempt in case["attempts"]] for case in document["cases"]]
    check(devices == [[["cuda-sim:0"], ["cuda-sim:1"]], [["cuda-sim:1"]], [["cuda-sim:1"]]], devices)
    print("ok", drained[0]["evidence"])


def lost_card(sandbox):
    """A card that falls off the bus in a case: NVML reports it as lost, and it gets no more cases."""
    losing = cuda("env", "PROCTOR_SIM_FAULTS=state.card_lost", str(BIN / "memory_cuda"),
                  "--gtest_filter=Copy.HostToDeviceIsByteExact")
    done, document = run(sandbox, {"lose": losing, "next": cuda("/bin/true")}, "--sim", "cuda:2")
    check(done.returncode == 75 and outcomes(document) == ["device_lost", "pass"], done.stdout, done.stderr)
    lost = found(document, "lost")
    check(len(lost) == 1 and lost[0]["device"] == "cuda-sim:0", document["health"])
    devices = [case["attempts"][-1]["devices"] for case in document["cases"]]
    check(devices == [["cuda-sim:0"], ["cuda-sim:1"]], devices)
    print("ok", lost[0]["evidence"])


def healthy_card(sandbox):
    """After a crash a good card passes its examination and gets the next case."""
    done, document = run(sandbox, {"crash": crash(), "next": cuda("/bin/true")}, "--sim", "cuda:1")
    check(done.returncode == 1 and outcomes(document) == ["crash", "pass"], done.stdout, done.stderr)
    check([entry["finding"] for entry in document["health"]] == ["probe_passed"], document["health"])
    print("ok a healthy card goes on")


def foreign_holder(sandbox):
    """A process that is not ours and has memory on the card is named before a case starts there."""
    state = sandbox.path / "machine"
    suites = {"case": cuda("/bin/true")}
    done, _ = run(sandbox, suites, "--sim", f"cuda:1,state={state}")
    check(done.returncode == 0, done.stdout, done.stderr)
    answers = sandbox.path / "held"
    env = {**sandbox.env, "LD_LIBRARY_PATH": str(STAND_IN.parent), "PROCTOR_SIM_TOPOLOGY": "cuda:1",
           "PROCTOR_SIM_STATE": str(state), "PROCTOR_SIM_DRIVER": "simgpu"}
    holder = subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$0" --helper hold_memory {HELD} 3>"$1"', str(BIN / "memory_cuda"), str(answers)],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: answers.exists() and answers.read_text().endswith("\n"), 30, "the holder")
        sandbox.run_keys(device_in_use="fail")
        done, document = run(sandbox, suites, "--sim", f"cuda:1,state={state}")
    finally:
        holder.stdin.close()
        holder.wait(timeout=30)
    check(done.returncode == 75, done.returncode, done.stdout, done.stderr)
    check(document["cases"][0]["reason"] == "device_in_use", document["cases"][0])
    entry = found(document, "in_use")[0]
    check(f"pid {holder.pid} " in entry["evidence"] and "memory_cuda" in entry["evidence"], entry)
    check(entry["bytes"] >= HELD, entry)
    print("ok", entry["evidence"])


def drained_and_undrained(sandbox):
    """A card drained by hand gets no cases until the probe for CUDA says that it is well."""
    machine = ("--sim", f"cuda:1,state={sandbox.path}/drained")
    done, _ = run(sandbox, {"case": cuda("/bin/true")}, *machine)
    check(done.returncode == 0, done.stdout, done.stderr)
    leases = ("--state-dir", sandbox.path / "drained" / "leases")
    done = sandbox.proctor("devices", "drain", "cuda-sim:0", "--reason", "test", "--sim", "cuda:1", *leases)
    check(done.returncode == 0, done.stdout, done.stderr)
    done, document = run(sandbox, {"case": cuda("/bin/true")}, *machine)
    check(done.returncode != 0 and outcomes(document) != ["pass"], done.stdout)
    done = sandbox.proctor("devices", "undrain", "cuda-sim:0", "--probe", *machine)
    check(done.returncode == 0 and "passed its health probe" in done.stdout, done.stdout, done.stderr)
    done, document = run(sandbox, {"case": cuda("/bin/true")}, *machine)
    check(done.returncode == 0, done.stdout, done.stderr)
    print("ok drained by hand, undrained by the probe")


def main():
    for program in (STAND_IN, BIN / "health_cuda", BIN / "memory_cuda", BIN / "libproctor_ze_sim.so"):
        if not program.exists():
            skip(f"{program.name} was not built")
    with Sandbox() as sandbox:
        for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
            sandbox.env.pop(name, None)
        for scenario in (good_cards, healthy_card, sick_card, lost_card, foreign_holder, drained_and_undrained):
            scenario(sandbox)


if __name__ == "__main__":
    sys.exit(main())
