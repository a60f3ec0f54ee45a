#!/usr/bin/env python3
"""Telemetry of a run: each attempt has the figures of its own device, each number its source, each gap a reason."""

import subprocess
import sys

from harness import BIN, ROOT, Sandbox, check, report, skip, write_config

SIMULATOR = "libproctor_ze_sim.so"
METRICS = ["memory_used", "utilisation", "temperature", "power", "clock", "throttle", "ecc_errors"]


def telemetry_of(document):
    return document["cases"][0]["attempts"][-1]["telemetry"]


def by_name(figures):
    return {figure["name"]: figure for figure in figures}


def check_gaps(figures):
    for figure in figures:
        silent = all(figure[key] is None for key in ("first", "last", "mean", "peak", "delta")) and not figure["samples"]
        check(not silent or figure["note"], "a gap without a reason:", figure)
        check(bool(figure["source"]) == (figure["samples"] > 0), "a number without a source:", figure)


def sampled(sandbox):
    """While a command has a device, all that the device says is sampled."""
    out = sandbox.out()
    done = sandbox.proctor("exec", "--gpus", "1", "--sim", "xpu:2x1", "--out", out, "--", "sleep", "1.5")
    check(done.returncode == 0, "exit", done.returncode, done.stderr)
    document = report(out)
    telemetry = telemetry_of(document)
    check(len(telemetry["devices"]) == 1, telemetry)
    device = telemetry["devices"][0]
    check(device["device"] == document["cases"][0]["attempts"][-1]["devices"][0], "of another device:", device["device"])
    figures = by_name(device["figures"])
    check(list(figures) == METRICS, list(figures))
    check_gaps(device["figures"] + telemetry["host"])
    for name in METRICS:
        check(figures[name]["source"] == "sysman" and figures[name]["samples"] >= 2, figures[name])
    check(figures["temperature"]["peak"] == 48 and figures["power"]["peak"] == 150, figures)
    check(figures["throttle"]["seen"] == [] and figures["ecc_errors"]["delta"] == 0, figures)
    host = by_name(telemetry["host"])
    check(host["cpu_time"]["delta"] is not None and host["host_memory"]["peak"] > 0, host)
    check(not document["warnings"], document["warnings"])
    print("ok", figures["memory_used"]["samples"], "samples")


def without_the_right(sandbox):
    """A kernel that does not tell what memory is in use: no number is made of it, and nobody says that nothing is left."""
    out = sandbox.out()
    done = sandbox.proctor("exec", "--gpus", "1", "--sim", ROOT / "fixtures/simgpu/machines/no-privileges.toml", "--out", out,
                           "--", "sleep", "0.5")
    check(done.returncode == 0, "exit", done.returncode, done.stderr)
    document = report(out)
    figures = by_name(telemetry_of(document)["devices"][0]["figures"])
    check("memory_used" not in figures and figures["temperature"]["samples"] >= 2, figures)
    notes = [gap["note"] for gap in document["telemetry_gaps"] if gap["name"] == "memory_used"]
    check(notes and all("CAP_PERFMON" in note for note in notes), document["telemetry_gaps"])
    check(any("does not report its used memory" in warning["text"] for warning in document["warnings"]), document["warnings"])
    print("ok memory that nobody tells of")


def switched_off(sandbox):
    """Rate 0: nothing is sampled, by `run` and by `exec`; the file of the project wins over that of the user."""
    config = sandbox.path / "on.toml"
    config.write_text("[run]\ntelemetry = 20\n")
    sandbox.run_keys(telemetry=0)
    command = ["--gpus", "1", "--sim", "xpu:1x1", "--", "sleep", "0.5"]
    for arguments, devices in ((["exec"], 0), (["run"], 0), (["run", "--config", config], 1)):
        out = sandbox.out()
        done = sandbox.proctor(*arguments, "--out", out, *command)
        check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
        telemetry = telemetry_of(report(out))
        check(len(telemetry["devices"]) == devices, arguments, telemetry)
        check_gaps(telemetry["host"])
    for rate in (-1, 101, "often"):
        sandbox.run_keys(telemetry=rate)
        done = sandbox.proctor("run", "--", "true")
        check(done.returncode == 2 and "telemetry" in done.stderr, rate, done.returncode, done.stderr)
    sandbox.run_keys()
    print("ok off is off")


def without_devices(sandbox):
    """A case without devices has the figures of its processes."""
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, "--", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    check(done.returncode == 0, "exit", done.returncode, done.stderr)
    telemetry = telemetry_of(report(out))
    check(telemetry["devices"] == [], telemetry)
    host = by_name(telemetry["host"])
    check(host["cpu_time"]["delta"] > 0.01, host)
    check(host["cpu_time"]["source"] in ("cgroup", "rusage"), host)
    print("ok", host["cpu_time"]["delta"], "s of CPU by", host["cpu_time"]["source"])


def shared_process(sandbox):
    """Cases of one process: each has the samples of its own time, and none what the process used."""
    python = next((one for one in (sys.executable, "/usr/bin/python3")
                   if subprocess.run([one, "-m", "pytest", "--version"], capture_output=True).returncode == 0), None)
    if python is None:
        return print("not checked: pytest is not installed")
    (sandbox.path / "test_two.py").write_text(
        "import time\ndef test_long(): time.sleep(1.5)\ndef test_short(): time.sleep(0.5)\n")
    config = sandbox.path / "shared.toml"
    write_config(config, {"two": {"kind": "pytest", "command": [python, "-m", "pytest", "test_two.py"], "process": "file,verify:off",
                                  "backend": "xpu", "gpus": 1}})
    out = sandbox.out()
    done = sandbox.proctor("run", "two", "--sim", "xpu:1x1", "--config", config, "--out", out)
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
    samples = {}
    document = report(out)
    gaps = {gap["name"]: gap for gap in document["telemetry_gaps"] if gap["of"] == "host"}
    check(set(gaps) == {"cpu_time", "host_memory"}, gaps)
    check(all("other cases" in gap["note"] and gap["attempts"] == 2 for gap in gaps.values()), gaps)
    for case in document["cases"]:
        telemetry = case["attempts"][-1]["telemetry"]
        check(telemetry["host"] == [], telemetry["host"])
        check_gaps(telemetry["host"] + telemetry["devices"][0]["figures"])
        samples[case["id"].rsplit("::")[-1]] = by_name(telemetry["devices"][0]["figures"])["clock"]["samples"]
    check(0 < samples["test_short"] < samples["test_long"], samples)
    print("ok cases of one process:", samples)


def unwatched(sandbox):
    """Devices that nobody can ask have no numbers, and the reason."""
    out = sandbox.out()
    done = sandbox.proctor("exec", "--gpus", "1", "--sim", "xpu:1x1,driver=intel", "--out", out, "--", "sleep",
                           "0.3")
    if done.returncode != 0:
        return print("not checked: Intel's driver is not here")
    document = report(out)
    check(all(device["figures"] == [] for device in telemetry_of(document)["devices"]), telemetry_of(document))
    gaps = [gap for gap in document["telemetry_gaps"] if gap["of"] != "host"]
    check(gaps and all("simulated" in gap["note"] for gap in gaps), gaps)
    print("ok devices that nobody can ask")


def main():
    if not (BIN / SIMULATOR).exists():
        skip(f"{SIMULATOR} was not built")
    with Sandbox() as sandbox:
        for scenario in (sampled, without_the_right, switched_off, without_devices, shared_process, unwatched):
            scenario(sandbox)
    return 0


if __name__ == "__main__":
    sys.exit(main())
