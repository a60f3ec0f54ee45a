#!/usr/bin/env python3
"""What containment leaves behind when a run dies early, and what it does where /proc hides processes.

    containment.py [SCENARIO...]
"""

import os
import shutil
import signal
import subprocess
import tempfile

from harness import (BIN, LAYERS, cgroup2_mount, cgroups_of, check, misbehaving, new_token, of_type, records, report,
                     run_scenarios, skip, survivors, wait_until, write_config)

# A listing that ends everybody who could remove the cgroup, before any record of the run is written.
KILLER = """#!/bin/sh
guard=$PPID
runner=$(ps -o ppid= -p $guard)
kill -STOP $guard
kill -KILL $runner
kill -KILL $guard
"""


class OwnCgroup:
    """A cgroup in which nobody else's runs are; `inside` starts a process in it."""

    def __enter__(self):
        mount = cgroup2_mount()
        if mount is None or not os.access(mount, os.W_OK):
            skip("needs:cgroup2")
        self.path = mount / f"e2e-containment-{os.getpid()}"
        self.path.mkdir()
        return self

    def __exit__(self, *_):
        (self.path / "cgroup.kill").write_text("1")  # a scenario that failed may have left a run
        wait_until(lambda: "populated 0" in (self.path / "cgroup.events").read_text(), 30, "end of all")
        for path in sorted(self.path.glob("**/"), reverse=True):
            path.rmdir()

    def inside(self):
        (self.path / "cgroup.procs").write_text("0")

    def runs(self):
        return sorted(path.name for path in self.path.glob("proctor-*"))


def abandoned(sandbox):
    """A run that dies before it has a record leaves a cgroup that the next run removes. That of a living one stays."""
    killer = sandbox.path / "killer"
    killer.write_text(KILLER)
    killer.chmod(0o755)
    write_config(sandbox.path / "killed.toml", {"killer": {"kind": "proctor", "command": [str(killer)]}})
    with OwnCgroup() as group:
        done = sandbox.proctor("run", "--config", sandbox.path / "killed.toml", "--containment", "cgroup", "--out",
                               sandbox.out(), preexec_fn=group.inside)
        check(done.returncode == -signal.SIGKILL, "it was not killed:", done.returncode, done.stdout, done.stderr)
        check(len(group.runs()) == 1, "no cgroup is left: nothing is tested", group.runs())
        check(not sandbox.last_out().exists(), "it had come to its run directory")
        wait_until(lambda: "populated 0" in (group.path / group.runs()[0] / "cgroup.events").read_text(), 30, "its end")

        token = new_token()
        living = sandbox.start("run", "--containment", "cgroup", "--out", sandbox.out(), "--", BIN / "misbehaving",
                               "sleep-forever", "--token", token, preexec_fn=group.inside)
        out = sandbox.last_out()
        wait_until(lambda: of_type(records(out), "attempt_started") and survivors(token), 60, "start of the case")
        check(len(group.runs()) == 1 and of_type(records(out), "run_planned")[0]["run_id"] in group.runs()[0],
              "the next run did not remove it:", group.runs())
        check(sandbox.proctor("run", "--containment", "cgroup", "--out", sandbox.out(), "--", "true",
                              preexec_fn=group.inside).returncode == 0, "a run beside it is not green")
        check(len(group.runs()) == 1 and survivors(token), "that of a living run was touched:", group.runs())
        living.terminate()
        sandbox.finish(living)
        check(not group.runs(), "left:", group.runs())


def before_the_cgroup(sandbox):
    """Nothing of the machine is taken while the files of others are read: whoever dies of one leaves nothing."""
    os.mkfifo(sandbox.path / "proctor.toml")
    with OwnCgroup() as group:
        process = sandbox.start("run", "--config", sandbox.path / "proctor.toml", "--out", sandbox.out(),
                                preexec_fn=group.inside)
        writer = os.open(sandbox.path / "proctor.toml", os.O_WRONLY)  # it reads by now
        process.kill()
        sandbox.finish(process)
        os.close(writer)
        check(not group.runs() and not sandbox.last_out().exists(), "left:", group.runs())


def interrupted_while_held(sandbox):
    """Two signals within a second, and a guard that answers nothing: the runner ends it all, and itself by the signal."""
    if os.geteuid() != 0:
        skip("needs:root")
    for layer in LAYERS:
        if why := sandbox.why_not(layer):
            print(f"not under {layer}: {why}")
            continue
        token = new_token()
        write_config(sandbox.path / "held.toml", {"held": {"kind": "command", "command": misbehaving("guard-trace", token)}})
        process = sandbox.start("run", "--config", sandbox.path / "held.toml", "--containment", layer, "--out", sandbox.out())
        out = sandbox.last_out()
        log = lambda: "".join(path.read_text() for path in (out / "logs").rglob("*.log"))
        wait_until(lambda: (out / "logs").exists() and "traces the guard" in log(), 60, "attack")
        process.terminate()
        wait_until(lambda: of_type(records(out), "stop_requested"), 30, "stop")
        process.terminate()
        sandbox.finish(process)
        check(process.returncode == -signal.SIGTERM, layer, "ended with", process.returncode)
        check(not survivors(token), layer, "left alive:", survivors(token))
        check(not (out / "run.json").exists(), layer, "the record is still there")
        case = report(out)["cases"][0]
        check((case["outcome"], case["reason"]) == ("notrun", "interrupted"), layer, case)
        check(not cgroups_of(report(out)["run"]["id"]), layer, "a cgroup is left")


def hidden_proc(sandbox):
    """Where /proc hides from an ordinary user whom he may not trace, the layers work as before, and say what is lost."""
    if os.geteuid() != 0:
        skip("needs:root")
    if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("needs:mount_namespace")
    with tempfile.TemporaryDirectory(prefix="proctor-e2e-bin-") as public:
        os.chmod(public, 0o755)
        for name in ("proctor", "proctor-guard"):
            shutil.copy2(BIN / name, public)
        os.chmod(sandbox.path, 0o755)
        home = sandbox.path / "home"
        home.mkdir()
        os.chown(home, 65534, 65534)
        script = ('mount -t proc -o hidepid=2 proc /proc && cd "$1" && export HOME="$1" XDG_RUNTIME_DIR="$1" && shift && '
                  'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"')
        for layer in ("pidns", "subreaper"):
            done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", home, f"{public}/proctor", "run",
                                   "-v", "--containment", layer, "--out", home / layer, "--", "sh", "-c", "sleep 600 & exit 0"],
                                  env=sandbox.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
            check(done.returncode == 0, layer, done.returncode, done.stdout, done.stderr)
            # Into a user namespace of his own he may look all the same.
            check(("hidepid" in done.stdout) == (layer == "subreaper"), layer, "says:", done.stdout)


if __name__ == "__main__":
    run_scenarios((abandoned, before_the_cgroup), own_tests=(interrupted_while_held, hidden_proc))
