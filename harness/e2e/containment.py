#!/usr/bin/env python3
"""What containment leaves behind when a run dies early, and what it does where /proc hides processes.

    containment.py [SCENARIO...]
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile

from harness import (BIN, LAYERS, cgroup2_mount, cgroups_of, check, enter_pid_namespace, hide_landlock, misbehaving,
                     new_token, of_type, records, report,
                     run_scenarios, skip, survivors, wait_until, write_config)

# A listing that takes its time, before any record of the run is written.
LISTING = """#!/bin/sh
echo $PPID >guard.new
mv guard.new guard
exec sleep 600
"""


class OwnCgroup:
    """A cgroup in which nobody else's runs are; `inside` starts a process in it."""

    def __enter__(self):
        mount = cgroup2_mount()
        if mount is None or not os.access(mount, os.W_OK):
            skip("needs:cgroup2")
        self.path = mount / f"e2e-containment-{secrets.token_hex(4)}"
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
    listing = sandbox.path / "listing"
    listing.write_text(LISTING)
    listing.chmod(0o755)
    write_config(sandbox.path / "killed.toml", {"slow": {"kind": "proctor", "command": [str(listing)]}})
    with OwnCgroup() as group:
        killed = sandbox.start("run", "--config", sandbox.path / "killed.toml", "--containment", "cgroup", "--out",
                               sandbox.out(), preexec_fn=group.inside)
        wait_until((sandbox.path / "guard").exists, 60, "start of the listing")
        guard = int((sandbox.path / "guard").read_text())
        os.kill(guard, signal.SIGSTOP)
        killed.kill()
        os.kill(guard, signal.SIGKILL)
        sandbox.finish(killed)
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
    hide_landlock()  # with it nobody holds a guard
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


def runner_as_pid_1(sandbox):
    """In a container the runner may be PID 1: what a case signals ends neither it nor the case beside it."""
    if os.geteuid() != 0:
        skip("needs:root")
    as_pid_1 = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    attacks = {"kill-all": ("fail", "exit:1"), "runner-signals": ("pass", ""), "runner-stop": ("pass", "")}
    token = new_token()
    suites = {name: {"kind": "command", "command": misbehaving(name, token)} for name in attacks}
    write_config(sandbox.path / "pid1.toml", {**suites, "bystander": {"kind": "command", "command": ["sleep", "2"]}})
    for layer in LAYERS:
        out = sandbox.out()
        done = subprocess.run([*as_pid_1, *sandbox.command("run", "--config", sandbox.path / "pid1.toml", "--jobs", "4",
                                                           "--containment", layer, "--out", out)],
                              env=sandbox.env, cwd=sandbox.path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120)
        if done.returncode == 2:
            print(f"not under {layer}: {done.stderr}")
            continue
        check(done.returncode == 1, layer, done.returncode, done.stdout, done.stderr)
        ends = {case["suite"]: (case["outcome"], case["reason"]) for case in report(out)["cases"]}
        check(ends == {**attacks, "bystander": ("pass", "")}, layer, ends)
        check(not survivors(token), layer, "left alive:", survivors(token))


def host_pids(sandbox):
    """A suite that needs the machine's pids sees them, and is named; a stricter demand refuses it."""
    best = next(layer for layer in LAYERS if not sandbox.why_not(layer))
    for layer in (layer for layer in LAYERS if "pidns" in layer):
        if why := sandbox.why_not(layer):
            print(f"not under {layer}: {why}")
            continue
        write_config(sandbox.path / "pids.toml", {
            "inside": {"kind": "command", "command": ["sh", "-c", "test $(cat /proc/1/comm) = proctor-guard"]},
            "outside": {"kind": "command", "command": ["sh", "-c", "test $(cat /proc/1/comm) != proctor-guard"],
                        "host_pids": True}})
        out = sandbox.out()
        done = sandbox.proctor("run", "-v", "--config", sandbox.path / "pids.toml", "--containment", layer, "--out", out)
        check(done.returncode == 0, layer, done.returncode, done.stdout, done.stderr)
        check("host_pids: outside held by" in done.stdout, layer, "does not name it:", done.stdout)
        if layer == best:  # without a PID namespace it is weaker; another one is met by a layer above it
            refused = sandbox.proctor("run", "--config", sandbox.path / "pids.toml", "--containment", f">={layer}",
                                      "--out", sandbox.out())
            check(refused.returncode == 2 and "outside" in refused.stderr, layer, refused.returncode, refused.stderr)
        alone = sandbox.proctor("exec", "--host-pids", "--containment", layer, "--out", sandbox.out(), "--", "sh", "-c",
                                "test $(cat /proc/1/comm) != proctor-guard")
        check(alone.returncode == 0, layer, "exec:", alone.returncode, alone.stderr)


@contextlib.contextmanager
def behind_hidden_proc(sandbox):
    """-> proctor, and a function that gives a command to an ordinary user, from whom /proc hides what it may not trace"""
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
        yield f"{public}/proctor", lambda *command: ["unshare", "--mount", "sh", "-c", script, "sh", home, *command]


def hidden_proc(sandbox):
    """Where /proc hides from an ordinary user whom he may not trace, the layers work as before, and say what is lost."""
    if os.geteuid() != 0:
        skip("needs:root")
    if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("needs:mount_namespace")
    with behind_hidden_proc(sandbox) as (proctor, as_user):
        for layer in ("pidns", "subreaper"):
            done = subprocess.run(as_user(proctor, "run", "-v", "--containment", layer, "--out", layer, "--", "sh", "-c",
                                          "sleep 600 & exit 0"),
                                  env=sandbox.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
            check(done.returncode == 0, layer, done.returncode, done.stdout, done.stderr)
            # Into a user namespace of his own he may look all the same.
            check(("hidepid" in done.stdout) == (layer == "subreaper"), layer, "says:", done.stdout)


# Waits until another case runs, and then writes to files of the cgroups of the run; "done" comes last.
HARM = """
run=$1$(sed -n 's/^0:://p' /proc/self/cgroup)
run=${run%/*}
own=$(sed -n 's/^0:://p' /proc/self/cgroup)
until [ -e up ]; do sleep 0.02; done
for leaf in $run/*/; do
    [ "${leaf%/}" = "$1$own" ] && continue
    echo 1 >$leaf/$2 && echo "wrote to $leaf"
done
[ $2 = cgroup.freeze ] || { echo 1 >$run/$2 && echo "wrote to $run"; }
touch done
exit 0
"""
VICTIM = "touch up; until [ -e done ]; do sleep 0.02; done"


def neighbours(sandbox):
    """A case cannot write to the cgroups of others, or the run says that it can; what it ends there is no fault of theirs."""
    mount = cgroup2_mount()
    for layer in (layer for layer in LAYERS if "cgroup" in layer):
        if why := sandbox.why_not(layer):
            print(f"not under {layer}: {why}")
            continue
        for file in ("cgroup.kill", "cgroup.freeze"):
            for name in ("up", "done"):
                (sandbox.path / name).unlink(missing_ok=True)
            write_config(sandbox.path / "harm.toml", {
                "harm": {"kind": "command", "command": ["sh", "-c", HARM, "sh", str(mount), file]},
                "victim": {"kind": "command", "command": ["sh", "-c", VICTIM], "timeout": "3s", "grace": "5s"}})
            out = sandbox.out()
            done = sandbox.proctor("run", "--config", sandbox.path / "harm.toml", "--containment", layer, "--jobs", 2,
                                   "--out", out)
            cases = {case["suite"]: case for case in report(out)["cases"]}
            ends = {name: (case["outcome"], case["reason"] or "", case["owner"]) for name, case in cases.items()}
            told = " ".join(of_type(records(out), "run_planned")[0]["containment"]["not_guaranteed"])
            if layer == "cgroup+pidns":
                check(all(end[0] == "pass" for end in ends.values()), layer, file, ends, done.stdout, done.stderr)
                check("limit the other cases" not in told, layer, told)
                continue
            check("limit the other cases" in told, layer, "does not say it:", told)
            check(ends["victim"] == ("error", "guard_lost", "machine"), layer, file, ends)
            check(done.returncode == 75, layer, file, done.returncode, done.stdout, done.stderr)
            warned = [warning["text"] for warning in of_type(records(out), "warning") if warning["code"] == "guard_lost"]
            check(any("victim" in text and file in text for text in warned), layer, file, warned)


def killed_by_itself(sandbox):
    """SIGKILL that a case sends to itself is the code's."""
    for layer in LAYERS:
        if why := sandbox.why_not(layer):
            print(f"not under {layer}: {why}")
            continue
        out = sandbox.out()
        done = sandbox.proctor("run", "--containment", layer, "--out", out, "--", "sh", "-c", "kill -9 $$")
        case = report(out)["cases"][0]
        check((case["outcome"], case["reason"], done.returncode) == ("crash", "signal:9", 1), layer, case["outcome"],
              case["reason"], done.returncode)


def own_pids(sandbox):
    """Cases at the same time have different pids, and so have their child processes."""
    script = "echo $$ >>pids; sh -c 'echo $$ >>pids; true'; echo up >>up; until [ $(wc -l <up) -ge 12 ]; do sleep 0.05; done"
    write_config(sandbox.path / "pids.toml", {f"t{number}": {"kind": "command", "command": ["sh", "-c", script]}
                                              for number in range(6)})
    for layer in LAYERS:
        if why := sandbox.why_not(layer):
            print(f"not under {layer}: {why}")
            continue
        for name in ("pids", "up"):
            (sandbox.path / name).unlink(missing_ok=True)
        runs = [sandbox.start("run", "--config", sandbox.path / "pids.toml", "--containment", layer, "--jobs", 6, "--out",
                              sandbox.out()) for _ in range(2)]
        for run in runs:
            errors = sandbox.finish(run)
            check(run.returncode == 0, layer, run.returncode, errors)
        pids = (sandbox.path / "pids").read_text().split()
        check(len(pids) == 24 and len(set(pids)) == 24, layer, "not 24 pids:", sorted(pids))


def shared_memory(sandbox):
    """What a killed case leaves in /dev/shm is named with the command that removes it; what another holds is not."""
    name = f"/dev/shm/e2e-{secrets.token_hex(8)}"
    with contextlib.ExitStack() as ends, open(f"{name}-held", "w", encoding="ascii") as held:
        ends.callback(lambda: [os.unlink(f"{name}{end}") for end in ("", "-held")])
        held.write("x")
        out = sandbox.out()
        sandbox.proctor("run", "--timeout", "500ms", "--grace", "100ms", "--out", out, "--", "sh", "-c",
                        f"echo x >{name}; echo y >>{name}-held; sleep 60")
        warned = [warning["text"] for warning in of_type(records(out), "warning") if warning["code"] == "scratch_not_removed"]
        check(len(warned) == 1 and f"rm {name}" in warned[0] and "-held" not in warned[0], warned)
        out = sandbox.out()
        sandbox.proctor("run", "--out", out, "--", "sh", "-c", f"echo x >{name}")
        check(not of_type(records(out), "warning"), "it was not killed:", of_type(records(out), "warning"))


STUCK = {"timeout": "2s", "grace": "300ms"}


def check_stuck(layer, done, out, unkillable):
    """The run went on, and says what became of who was stuck; its evidence was not held up either."""
    cases = {case["suite"]: case for case in report(out)["cases"]}
    attempt = cases["stuck"]["attempts"][-1]
    check(cases["stuck"]["outcome"] == "timeout", layer, cases["stuck"]["outcome"], cases["stuck"]["reason"])
    check(attempt["termination"]["unkillable"] == unkillable, layer, attempt["termination"])
    check(any("[misbehaving]" in stray["command"] for stray in attempt["termination"]["leaked_processes"]) or not unkillable,
          layer, "it is not named:", attempt["termination"])
    evidence = "".join(path.read_text() for path in (out / "evidence").rglob("*") if path.is_file())
    check("holds the lock of its address space" in evidence, layer, "the evidence does not say it:", evidence)
    check(cases["next"]["outcome"] == "pass", layer, "the case after it:", cases["next"])
    check(done.returncode == 1, layer, "exit", done.returncode, done.stdout, done.stderr)


def stuck_config(sandbox, *words):
    token = new_token()
    config = sandbox.path / f"{token}.toml"
    write_config(config, {"stuck": {"kind": "command", "command": misbehaving("mmap-stuck", token, *words), **STUCK},
                          "next": {"kind": "command", "command": ["sh", "-c", "true"]}})
    return config, token


def skip_without_fuse():
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("needs:fuse_as_root")
    if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("needs:mount_namespace")


def stuck_in_mmap(sandbox):
    """Who holds the lock of its address space for ever does not hold up its runner, which ends it like any other case."""
    skip_without_fuse()
    for layer in (layer for layer in LAYERS if not sandbox.why_not(layer)):
        config, token = stuck_config(sandbox)
        out = sandbox.out()
        done = sandbox.proctor("run", "--config", config, "--containment", layer, "--jobs", 1, "--out", out, timeout=90)
        check_stuck(layer, done, out, unkillable=False)
        check(not survivors(token), layer, survivors(token))


def start_stuck(sandbox, layer, ends):
    """-> the directory and the process of a run whose case is stuck in the file of a process that `ends` ends"""
    file = sandbox.path / f"{layer}-file"
    file.touch()
    server = subprocess.Popen(["unshare", "--mount", BIN / "misbehaving", "endless-file", file],
                              stdout=subprocess.PIPE, text=True)
    ends.callback(server.wait)
    ends.callback(server.kill)
    check(server.stdout.readline() == "mounted\n", "no file system of our own")
    config, _ = stuck_config(sandbox, str(file))
    out = sandbox.out()
    run = sandbox.start("run", "--config", config, "--containment", layer, "--jobs", 1, "--out", out,
                        wrap=lambda command: ["nsenter", f"--mount=/proc/{server.pid}/ns/mnt", *command])
    ends.callback(lambda: run.poll() is None and run.kill())
    return out, run


def stuck_for_ever(sandbox):
    """The same where not even SIGKILL ends it, because the file is another process's."""
    skip_without_fuse()
    with contextlib.ExitStack() as ends:
        runs = [(layer, *start_stuck(sandbox, layer, ends)) for layer in LAYERS if not sandbox.why_not(layer)]
        for layer, out, run in runs:
            errors = sandbox.finish(run, 120)
            check_stuck(layer, subprocess.CompletedProcess([], run.returncode, "", errors), out, unkillable=True)
            check((out / "run.json").exists(), layer, "the record of the run is gone")
            again = sandbox.proctor("finish", out, "--limit", "2s")
            check(again.returncode == 75, layer, "finish calls it clean:", again.stdout, again.stderr)
    for layer, out, _ in runs:
        done = sandbox.proctor("finish", out)
        check(done.returncode == 0, layer, "finish after its end:", done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    enter_pid_namespace()
    run_scenarios((abandoned, before_the_cgroup, host_pids, neighbours, killed_by_itself, own_pids, shared_memory),
                  own_tests=(interrupted_while_held, runner_as_pid_1, hidden_proc, stuck_in_mmap, stuck_for_ever))
