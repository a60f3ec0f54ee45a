#!/usr/bin/env python3
"""Runner, guard and case frozen together, as `docker pause` and a virtual machine that moves do it.

    frozen.py [--seconds N] [SCENARIO...]

A case of 2 s with limits of 4 s is frozen for longer than its limits: it passes under each combination of them, in each
layer, and the report says for how long it was frozen. Likewise when only the runner was stopped.
"""

import os
import secrets
import signal
import subprocess
import sys
import time

from harness import (BIN, LAYERS, cgroup2_mount, check, is_sanitized, report, run_scenarios, skip, wait_until,
                     write_config)

SECONDS = 6
LIMITS = {"none": {}, "timeout": {"timeout": "4s"}, "stall": {"stall": "4s"},
          "both": {"timeout": "4s", "stall": "4s"}, "grace": {"timeout": "4s", "grace": "1s"}}


class Freezer:
    """A cgroup that holds a run with all that it starts."""

    def __init__(self):
        mount = cgroup2_mount()
        if mount is None or os.geteuid() != 0:
            skip("needs:cgroup_freezer")
        self.path = mount / f"e2e-frozen-{secrets.token_hex(4)}"
        self.path.mkdir()

    def enter(self):
        (self.path / "cgroup.procs").write_text("0")

    def freeze(self, held):
        (self.path / "cgroup.freeze").write_text("1" if held else "0")
        wait_until(lambda: f"frozen {int(held)}" in (self.path / "cgroup.events").read_text(), 60, "answer of the freezer")

    def remove(self):
        def gone():
            try:
                self.path.rmdir()
                return True
            except OSError:
                return False
        wait_until(gone, 60, "empty cgroup")


def begin(sandbox, layer, enter=None):
    config, out = sandbox.path / "frozen.toml", sandbox.out()
    begun = {name: sandbox.path / f"begun{sandbox.runs}-{name}" for name in LIMITS}
    suites = {name: {"kind": "command", "command": ["sh", "-c", f"touch {begun[name]}; exec sleep 2"], "timeout": "60s",
                     **limits} for name, limits in LIMITS.items()}
    write_config(config, suites)
    process = sandbox.start("run", "--config", config, "--containment", layer, "--jobs", len(suites), "--out", out,
                            preexec_fn=enter)
    wait_until(lambda: process.poll() is not None or all(path.exists() for path in begun.values()), 60, "begun cases")
    return process, out


def check_run(sandbox, process, out, layer):
    errors = sandbox.finish(process)
    document = report(out)
    for case in document["cases"]:
        check(case["outcome"] == "pass", layer, case["id"], case["outcome"], case["reason"])
        figures = {figure["name"]: figure for figure in case["attempts"][-1]["telemetry"]["host"]}
        frozen = figures.get("frozen", {}).get("delta", 0)
        check(SECONDS - 1 <= frozen <= SECONDS + 30, layer, case["id"], "frozen for", frozen)
    check(process.returncode == 0, layer, "exit", process.returncode, errors)
    warnings = [entry for entry in document["warnings"] if entry["code"] == "runner_frozen"]
    check(len(warnings) == 1, layer, "warnings:", document["warnings"])
    print("ok", layer, warnings[0]["text"])


def together(sandbox):
    for layer in LAYERS:
        if why := sandbox.why_not(layer):
            print("not here:", layer, why)
            continue
        freezer = Freezer()
        try:
            process, out = begin(sandbox, layer, freezer.enter)
            freezer.freeze(True)
            time.sleep(SECONDS)  # what is measured
            freezer.freeze(False)
            check_run(sandbox, process, out, layer)
        finally:
            freezer.remove()


def runner_alone(sandbox):
    """The case has ended long before its runner goes on."""
    process, out = begin(sandbox, "cgroup+pidns" if sandbox.why_not("cgroup+pidns") is None else "subreaper")
    process.send_signal(signal.SIGSTOP)
    time.sleep(SECONDS)
    process.send_signal(signal.SIGCONT)
    check_run(sandbox, process, out, "runner alone")


def other_clocks(sandbox):
    """A case whose clock jumps by an hour while it runs, and one in a time namespace: no verdict comes from either."""
    library = BIN / "libproctor_jumping_clock.so"
    if is_sanitized():
        skip("needs:preloading")
    jump = sandbox.path / "jump"
    say = 'printf \'{"v":1,"case":"clock","event":%s,"t_ns":%s}\\n\' "$1" "$(now)" >&"$PROCTOR_EVENTS_FD"'
    script = sandbox.path / "suite.sh"
    script.write_text(f"""#!/bin/sh
now() {{ LD_PRELOAD={library} CLOCK_JUMPS_FILE={jump} python3 -c 'import time; print(time.monotonic_ns())'; }}
say() {{ {say}; }}
[ "$1" != --proctor-list ] || exec echo '{{"v":1,"event":"case","case":"clock"}}' >&"$PROCTOR_EVENTS_FD"
say '"start"'; touch {jump}; say '"step","name":"later"'; say '"end","result":"pass"'
""")
    script.chmod(0o755)
    suites = {"jumps": {"kind": "proctor", "command": [str(script)]}}
    namespace = ["unshare", "--time", "--monotonic", "100000", "--boottime", "100000"]
    if subprocess.run([*namespace, "true"], stderr=subprocess.DEVNULL).returncode == 0:
        suites["elsewhere"] = {"kind": "command", "command": [*namespace, "sleep", "1"], "stall": "20s"}
    write_config(sandbox.path / "clocks.toml", suites, {"timeout": "60s"})
    done = sandbox.proctor("run", "--config", sandbox.path / "clocks.toml", "--out", sandbox.out())
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
    print("ok", *suites)


def main():
    global SECONDS
    if sys.argv[1:2] == ["--seconds"]:
        SECONDS = int(sys.argv[2])
        del sys.argv[1:3]
    run_scenarios([together, runner_alone, other_clocks])


if __name__ == "__main__":
    main()
