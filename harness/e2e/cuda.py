#!/usr/bin/env python3
"""NVIDIA devices in a run: simulated ones beside Intel's, the caller's mask, and machines without a usable driver."""

import atexit
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness import BIN, Sandbox, check, report, skip, write_config

STAND_IN = BIN / "cuda_sim" / "libcudart.so.13"
STUB = os.environ.get("PROCTOR_CUDA_DRIVER_STUB")  # the directory of a libcuda.so.1 that fails as it is told
NVML = os.environ.get("PROCTOR_NVML_STAND_IN")  # the directory of a libnvidia-ml.so.1 with two cards on driver 535
RUNTIME = os.environ.get("PROCTOR_REAL_CUDART")  # the directory of the toolkit's CUDA Runtime
METRICS = {"memory_used", "utilisation", "temperature", "power", "clock", "throttle", "ecc_errors"}
FAILURES = {  # what the stub is told -> the reason
    "PROCTOR_STUB_CUDA_INIT=100": "no_device",
    "PROCTOR_STUB_CUDA_INIT=101": "init:cudaErrorInvalidDevice",
    "PROCTOR_STUB_CUDA_INIT=802": "init:cudaErrorSystemNotReady",
    "PROCTOR_STUB_CUDA_INIT=803": "init:cudaErrorSystemDriverMismatch",
    "PROCTOR_STUB_CUDA_INIT=804": "init:cudaErrorCompatNotSupportedOnDevice",
    "PROCTOR_STUB_CUDA_INIT=999": "init:cudaErrorUnknown",
    "PROCTOR_STUB_CUDA_VERSION=11080": "driver_too_old:11.8<",  # for both runtimes of a build
}


def devices_of(sandbox, *arguments, env=None):
    done = sandbox.proctor("devices", "--json", *arguments, env={**sandbox.env, **(env or {})})
    return json.loads(done.stdout), done


def outcomes(document):
    return {case["id"]: case["outcome"] + (f"({case['reason']})" if case["reason"] else "") for case in document["cases"]}


def say_environment(sandbox, suites):
    """Suites of one command each, which leaves its environment behind in a file of its name."""
    config = sandbox.path / "commands.toml"
    for name in suites:
        (sandbox.path / f"{name}.env").unlink(missing_ok=True)
    write_config(config, {name: {"kind": "command", "command": ["sh", "-c", f"env > {sandbox.path}/{name}.env"], **keys}
                          for name, keys in suites.items()})
    return config


def said(sandbox, name):
    return dict(line.split("=", 1) for line in (sandbox.path / f"{name}.env").read_text().splitlines() if "=" in line)


def run(sandbox, config, *arguments, env=None):
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--out", out, *arguments, env={**sandbox.env, **(env or {})})
    check((out / "report.json").exists(), "no report:", done.stdout, done.stderr)
    return done, report(out), out


def cards_differ(sandbox):
    """`cuda:4` is four unequal cards, named by UUIDs of which two begin alike."""
    document, done = devices_of(sandbox, "--sim", "cuda:4")
    check(done.returncode == 0, done.stdout, done.stderr)
    cards = document["devices"]
    check([card["id"] for card in cards] == [f"cuda-sim:{i}" for i in range(4)], cards)
    check(all(card["uuid"].startswith("GPU-") and card["simulated"] for card in cards), cards)
    check(len({card["uuid"] for card in cards}) == 4 and len({card["uuid"][:8] for card in cards}) == 3, cards)
    check({card["compute_capability"] for card in cards} == {"9.0", "8.0"}, cards)
    check(document["backends"]["cuda"]["problem"] == "", document["backends"])
    check(document["stack"]["cuda.compatibility"] == "native", document["stack"])
    spec = json.loads(sandbox.proctor("devices", "--sim", "xpu:1x1,cuda:2", "--ctest-resource-spec").stdout)
    check({kind: len(slots) for kind, slots in spec["local"][0].items()} == {"cuda_gpus": 2, "xpu_gpus": 1}, spec)
    print("ok", [card["name"] for card in cards])
    return cards


def each_vendor_sees_its_own(sandbox, cards):
    """One run, both backends, one backend per child; the other vendor is hidden from it."""
    config = say_environment(sandbox, {"intel": {"backend": "xpu", "gpus": 1}, "nvidia": {"backend": "cuda", "gpus": 2},
                                       "ordinals": {"backend": "cuda", "gpus": 1, "mask": "index"}, "plain": {}})
    done, document, _ = run(sandbox, config, "--sim", "xpu:2x2,cuda:4", "--backend", "all")
    check(done.returncode == 0, done.stdout, done.stderr)
    check(document["run"]["sim"]["topology"] == "xpu:2x2,cuda:4", document["run"]["sim"])
    intel, nvidia, ordinals, plain = (said(sandbox, name) for name in ("intel", "nvidia", "ordinals", "plain"))
    check(intel["CUDA_VISIBLE_DEVICES"] == "" and "libproctor_ze_sim" in intel["ZE_ENABLE_ALT_DRIVERS"], intel)
    check("cuda_sim" not in intel.get("LD_LIBRARY_PATH", ""), intel)
    uuids = {card["uuid"] for card in cards}
    masked = nvidia["CUDA_VISIBLE_DEVICES"].split(",")
    check(len(masked) == 2 and set(masked) <= uuids, masked)
    check(not Path(nvidia["ZE_ENABLE_ALT_DRIVERS"]).exists(), "a Level Zero driver for a CUDA child", nvidia)
    check(nvidia["LD_LIBRARY_PATH"].split(":")[0] == str(STAND_IN.parent), nvidia)
    check(ordinals["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID" and ordinals["CUDA_VISIBLE_DEVICES"].isdigit(), ordinals)
    check(plain["CUDA_VISIBLE_DEVICES"] == "" and "PROCTOR_SIM_TOPOLOGY" not in plain, plain)
    leased = {case["id"]: case["devices"] for case in document["cases"]}
    check(all(device.startswith("cuda-sim:") for device in leased["nvidia/sh"]), leased)
    check(all(device.startswith("xpu-sim:") for device in leased["intel/sh"]), leased)
    print("ok", masked)


def order_of_cuda(sandbox):
    """The cards of `cuda:2` in the order that a program without any variable sees."""
    env = {**sandbox.env, "LD_LIBRARY_PATH": str(STAND_IN.parent), "PROCTOR_SIM_TOPOLOGY": "cuda:2",
           "PROCTOR_SIM_STATE": str(sandbox.path / "order")}
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        env.pop(name, None)
    probe = subprocess.run([str(BIN / "proctor-probe-cuda"), "--stdout"], env=env, text=True, capture_output=True, check=True)
    cards = json.loads(probe.stdout)["devices"]
    return [card["uuid"] for card in sorted(cards, key=lambda card: card["ordinal"])]


def callers_mask_narrows(sandbox):
    """Ordinals count as CUDA counts them for the caller; what the caller does not have appears nowhere."""
    order = order_of_cuda(sandbox)
    config = say_environment(sandbox, {"one": {"backend": "cuda", "gpus": 1}, "two": {"backend": "cuda", "gpus": 2}})
    both = {"CUDA_VISIBLE_DEVICES": "1,0"}
    done, document, _ = run(sandbox, config, "--sim", "cuda:2", env=both)
    check(done.returncode == 0, done.stdout, done.stderr)
    check(document["run"]["stack"]["cuda.caller_mask"] == "1,0", document["run"]["stack"])
    check("CUDA_VISIBLE_DEVICES=1,0 of the caller" in done.stdout, done.stdout)
    check(said(sandbox, "two")["CUDA_VISIBLE_DEVICES"] == f"{order[1]},{order[0]}", said(sandbox, "two"), order)
    done, document, out = run(sandbox, config, "--sim", "cuda:2", env={"CUDA_VISIBLE_DEVICES": "1"})
    check(done.returncode == 0, done.stdout, done.stderr)
    check(outcomes(document) == {"one/sh": "pass", "two/sh": "skip(needs:devices>=2)"}, outcomes(document))
    check(said(sandbox, "one")["CUDA_VISIBLE_DEVICES"] == order[1], said(sandbox, "one"), order)
    for path in out.rglob("*"):
        check(not path.is_file() or order[0] not in path.read_text(errors="replace"), f"{path} names a hidden card")
    done = sandbox.proctor("run", "--config", config, "--sim", "cuda:2", env={**sandbox.env, "CUDA_VISIBLE_DEVICES": "0;1"})
    check(done.returncode == 2 and "0,1" in done.stderr, done.returncode, done.stderr)
    print("ok order", order)


def empty_mask_keeps_nvidia_out(sandbox):
    config = say_environment(sandbox, {"intel": {"backend": "xpu", "gpus": 1}, "nvidia": {"backend": "cuda", "gpus": 1}})
    done, document, _ = run(sandbox, config, "--sim", "xpu:1x1,cuda:1", env={"CUDA_VISIBLE_DEVICES": ""})
    check(done.returncode == 3, "a suite that needs a card has none:", done.stdout, done.stderr)
    check("CUDA_VISIBLE_DEVICES='' leaves no cuda device" in done.stdout, done.stdout)
    expected = {"intel/sh": "pass", "nvidia/sh": "skip(hidden:CUDA_VISIBLE_DEVICES)"}
    check(outcomes(document) == expected, outcomes(document))
    check(not (sandbox.path / "nvidia.env").exists(), "a CUDA case ran")
    print("ok", expected)


def watched_by_nvml(sandbox):
    """Telemetry and the looks between cases come from NVML, although no Level Zero device is in the run."""
    out = sandbox.out()
    done = sandbox.proctor("exec", "--gpus", "1", "--sim", "cuda:1", "--out", out, "--", "sleep", "1.2")
    check(done.returncode == 0, done.stdout, done.stderr)
    document = report(out)
    check(not document["warnings"], document["warnings"])
    device = document["cases"][0]["attempts"][-1]["telemetry"]["devices"][0]
    figures = {figure["name"]: figure for figure in device["figures"]}
    check(device["device"] == "cuda-sim:0" and set(figures) == METRICS, device)
    for figure in figures.values():
        check(figure["source"] == "nvml" and figure["samples"] >= 2, figure)
    print("ok", figures["clock"]["samples"], "samples")


def no_driver_is_named(sandbox):
    """Over the real CUDA Runtime: each way to have no driver has a name, in the inventory and as the reason of a skip."""
    if not (STUB and RUNTIME):
        return print("not checked: this build has no CUDA toolkit")
    config = say_environment(sandbox, {"gpu": {"backend": "cuda", "gpus": 1}})
    for told, reason in FAILURES.items():
        name, value = told.split("=")
        env = {"LD_LIBRARY_PATH": f"{STUB}:{RUNTIME}", name: value}
        document, done = devices_of(sandbox, "--backend", "cuda", env=env)
        found = document["backends"]["cuda"]["problem"]
        check(done.returncode == 3 and found.startswith(reason), told, found, done.stderr)
        done, document, _ = run(sandbox, config, env=env)
        failing = reason.startswith("init:")  # a driver that is here and fails is no lack of devices
        check(done.returncode == (75 if failing else 3), told, done.returncode, done.stdout)
        check(outcomes(document)["gpu/sh"].startswith(f"skip({reason}"), told, outcomes(document))
        done, document, _ = run(sandbox, config, "--backend", "cuda", env=env)
        check(done.returncode == 75 and f"1 cuda device requested, 0 present ({reason}" in done.stdout, told, done.stdout)
    print("ok", len(FAILURES), "drivers that fail")


def old_driver_is_for_others(sandbox):
    """A driver too old for this CUDA Runtime: our suites are skipped with both versions; others may bring their own runtime."""
    if not (STUB and RUNTIME and NVML and (BIN / "memory_cuda").exists()):
        return print("not checked: this build has no CUDA toolkit")
    env = {"LD_LIBRARY_PATH": f"{STUB}:{NVML}:{RUNTIME}", "PROCTOR_STUB_CUDA_VERSION": "11080"}
    config = say_environment(sandbox, {"other": {"backend": "cuda", "gpus": 1}})
    sandbox.run_keys(state_dir=sandbox.path / "leases")
    done, document, _ = run(sandbox, config, "other", "memory", "--backend", "cuda", "--filter", "other/*", "--filter",
                            "*/Copy.HostToDeviceIsByteExact", env=env)
    sandbox.run_keys()
    check(done.returncode == 0, done.returncode, done.stdout, done.stderr)
    found = outcomes(document)
    check(found["other/sh"] == "pass", found)
    ours = found["memory.cuda/Copy.HostToDeviceIsByteExact"]
    check(ours.startswith("skip(driver_too_old:11.8<"), found)
    check(any("needs driver 580 or later" in warning["text"] for warning in document["warnings"]), document["warnings"])
    check(document["run"]["stack"]["cuda.compatibility"] == "too_old", document["run"]["stack"])
    print("ok", ours)


def absent_vendor_is_left_out(sandbox):
    """Nobody asked for a backend: our suites for a vendor that the machine does not have are left out, and named."""
    if not (BIN / "memory_cuda").exists() or not (BIN / "libproctor_ze_sim.so").exists():
        return print("not checked: not both vendors' suites were built")
    # To the probe, the simulated Intel cards of the caller's own environment are the machine's.
    env = {"ZE_ENABLE_ALT_DRIVERS": str(BIN / "libproctor_ze_sim.so"), "PROCTOR_SIM_TOPOLOGY": "xpu:1x1",
           "PROCTOR_SIM_DRIVER": "simgpu", "PROCTOR_SIM_STATE": str(sandbox.path / "own")}
    if devices_of(sandbox, "--backend", "cuda")[0]["devices"]:
        return print("not checked: this machine has an NVIDIA device")
    chosen = ("memory", "--filter", "*/Copy.HostToDeviceIsByteExact")
    state = Path(f"/dev/shm/proctor-sim-{os.geteuid()}")  # no case gets another one: to the runner the cards are real
    if not state.exists():
        atexit.register(shutil.rmtree, state, ignore_errors=True)
    sandbox.run_keys(telemetry=0, state_dir=sandbox.path / "leases")
    for backend, vendors in (((), {"xpu"}), (("--backend", "all"), {"xpu", "cuda"})):
        out = sandbox.out()
        done = sandbox.proctor("run", *chosen, *backend, "--out", out, env={**sandbox.env, **env})
        check({case["backend"] for case in report(out)["cases"]} == vendors, backend, done.stdout, done.stderr)
        check(("left out     memory.cuda: no_driver" in done.stdout) == (not backend), done.stdout)
    sandbox.run_keys()
    check(done.returncode == 75, "a backend that was asked for and is not there:", done.returncode)
    print("ok left out, unless it is asked for")


def main():
    with Sandbox() as sandbox:
        for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
            sandbox.env.pop(name, None)
        no_driver_is_named(sandbox)
        old_driver_is_for_others(sandbox)
        absent_vendor_is_left_out(sandbox)
        if not STAND_IN.exists():
            skip("the simulated CUDA Runtime was not built")
        cards = cards_differ(sandbox)
        each_vendor_sees_its_own(sandbox, cards)
        callers_mask_narrows(sandbox)
        empty_mask_keeps_nvidia_out(sandbox)
        watched_by_nvml(sandbox)


if __name__ == "__main__":
    sys.exit(main())
