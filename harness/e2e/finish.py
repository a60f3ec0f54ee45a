#!/usr/bin/env python3
"""`proctor finish`: after any end of a step nothing of its run is left, and the reports are there.

    finish.py [SCENARIO...]
"""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from harness import (BIN, cgroup2_mount, check, misbehaving, new_token, of_type, records, report, run_scenarios, skip,
                     survivors, wait_until, write_config)


def start_run(sandbox, token, *options, mode="sleep-forever", wrap=None, env=None):
    """A run whose one case has started; it does not end by itself."""
    write_config(sandbox.path / "finish.toml", {"stuck": {"kind": "command", "command": misbehaving(mode, token)}},
                 {"timeout": "10m"})
    out = sandbox.out()
    process = sandbox.start("run", "--config", sandbox.path / "finish.toml", "--out", out, *options, wrap=wrap, env=env)
    wait_until(lambda: of_type(records(out), "attempt_started") and survivors(token), 60, "start of the case")
    return process, out


def finish(sandbox, out, *options, code=0, says=()):
    began = time.monotonic()
    done = sandbox.proctor("finish", out, *options)
    check(done.returncode == code, "finish gave", done.returncode, done.stdout, done.stderr)
    for word in says:
        check(word in done.stdout + done.stderr, "finish does not say", word, ":", done.stdout, done.stderr)
    return time.monotonic() - began, done.stdout


def all_there(out, token):
    check(not survivors(token), "left alive:", survivors(token))
    check(not (out / "run.json").exists(), "the record is still there")
    for name in ("report.json", "junit.xml", "summary.md"):
        check((out / name).exists(), "no", name)
    return report(out)["cases"][0]


def killed_runner(sandbox):
    """SIGKILL: what the weakest containment lost is found by the id of the run; twice is as good as once."""
    token = new_token()
    process, out = start_run(sandbox, token, "--containment", "subreaper", mode="double-fork")
    process.kill()
    sandbox.finish(process)
    finish(sandbox, out, says=["the run's exit code is 3"])
    case = all_there(out, token)
    check((case["outcome"], case["reason"]) == ("notrun", "interrupted"), case)
    first = (out / "report.json").read_bytes()
    _, text = finish(sandbox, out)
    check("killed process" not in text and (out / "report.json").read_bytes() == first, "the second time:", text)


def leftover(sandbox):
    """A process of the run that nothing contained any more."""
    token = new_token()
    process, out = start_run(sandbox, token)
    run_id = of_type(records(out), "run_planned")[0]["run_id"]
    process.kill()
    sandbox.finish(process)
    wait_until(lambda: not survivors(token), 30, "end of the case")
    stray = subprocess.Popen(["sleep", "600"], env={**sandbox.env, "PROCTOR_RUN_ID": run_id})
    other = subprocess.Popen(["sleep", "600"], env={**sandbox.env, "PROCTOR_RUN_ID": run_id + "x"})
    try:
        finish(sandbox, out, says=[f"killed process {stray.pid} (sleep 600)"])
        check(stray.wait(10) == -signal.SIGKILL and other.poll() is None, "the wrong process was killed")
    finally:
        other.kill()
        other.wait()


def alive(sandbox):
    """Somebody may still wait for it: refused; with --stop it is stopped, and its own reports are complete."""
    token = new_token()
    process, out = start_run(sandbox, token)
    finish(sandbox, out, code=2, says=["still alive", "--stop"])
    check(process.poll() is None and survivors(token), "it was stopped all the same")
    finish(sandbox, out, "--stop", says=[f"stopped the runner, pid {process.pid}, with SIGTERM", "exit code is 143"])
    sandbox.finish(process)
    check(process.returncode == -signal.SIGTERM, process.returncode)
    check(all_there(out, token)["outcome"] == "notrun", "outcome")


def step_gone(sandbox):
    """The shell of the step is dead and the runner was told nothing: nobody waits for it any more."""
    token = new_token()
    process, out = start_run(sandbox, token, wrap=lambda command: ["bash", "-c", '"$@"; true', "bash", *command])
    process.kill()
    process.wait()  # its stderr stays open in the runner
    check(survivors(token), "it ended by itself")
    finish(sandbox, out, says=["stopped the runner", "with SIGTERM"])
    all_there(out, token)


def deaf(sandbox):
    """A runner that does not react is killed, and the limit holds."""
    token = new_token()
    process, out = start_run(sandbox, token)
    process.send_signal(signal.SIGSTOP)
    took, _ = finish(sandbox, out, "--stop", "--limit", "4s", says=["with SIGKILL", "the run's exit code is 3"])
    check(took < 40, "it took", took)
    sandbox.finish(process)
    all_there(out, token)


class Box:
    """As a container: PID, mount and cgroup namespaces below an idle PID 1; `enter` is what docker exec does."""

    def __init__(self):
        mount = cgroup2_mount()
        self.cgroup = mount / f"e2e-finish-{os.getpid()}" if mount and os.access(mount, os.W_OK) else None
        script = "exec sleep 600"
        if self.cgroup:
            self.cgroup.mkdir()
            script = f"umount -l {mount} && mount -t cgroup2 none {mount} && {script}"
        self.process = subprocess.Popen(
            ["unshare", "--pid", "--cgroup", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
            preexec_fn=lambda: self.cgroup and (self.cgroup / "cgroup.procs").write_text("0"))
        wait_until(self.ready, 30, "PID 1")
        self.enter = ["nsenter", "--target", str(children_of(self.process.pid)[0]), "--pid", "--mount", "--cgroup"]

    def ready(self):
        pids = children_of(self.process.pid)
        return pids and b"sleep" in Path(f"/proc/{pids[0]}/cmdline").read_bytes().split(b"\0")

    def end(self):
        self.process.kill()
        self.process.wait()
        if self.cgroup:
            wait_until(lambda: "populated 0" in (self.cgroup / "cgroup.events").read_text(), 30, "end of the box")
            for path in sorted(self.cgroup.glob("**/"), reverse=True):
                path.rmdir()


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def in_box(scenario):
    def run(sandbox):
        if os.geteuid() != 0:
            skip("needs:root")
        if not shutil.which("nsenter"):
            skip("needs:nsenter")
        box = Box()
        try:
            scenario(sandbox, box)
        finally:
            box.end()
    run.__name__ = scenario.__name__
    return run


@in_box
def other_pid_namespace(sandbox, box):
    """As `docker exec`: an idle PID 1, a step that enters its namespace from outside, and no signal that gets in."""
    token = new_token()
    for where in ("inside", "outside"):
        step, out = start_run(sandbox, token, wrap=lambda command: [*box.enter, *command])
        step.kill()  # as the client of docker exec dies
        step.wait()
        check(survivors(token), "the runner got a signal")
        command = sandbox.command("finish", out)
        command = [*box.enter, *command] if where == "inside" else command
        run = lambda *options: subprocess.run([*command, *options], cwd=sandbox.path, env=sandbox.env, text=True,
                                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        done = run()
        check(done.returncode == 2 and "still alive" in done.stderr, where, done.returncode, done.stdout, done.stderr)
        done = run("--stop")
        check(done.returncode == 0 and "stopped the runner" in done.stdout, where, done.stdout, done.stderr)
        all_there(out, token)
        done = run()
        check(done.returncode == 0 and "stopped the runner" not in done.stdout, where, "again:", done.stdout, done.stderr)


@in_box
def leftovers_in_a_container(sandbox, box):
    """From outside, after the runner was killed: what has the run's id, what is in its cgroup, its directories."""
    token = new_token()
    step, out = start_run(sandbox, token, wrap=lambda command: [*box.enter, *command])
    record = json.loads((out / "run.json").read_text())
    os.kill(children_of(step.pid)[0], signal.SIGKILL)
    sandbox.finish(step)
    wait_until(lambda: not survivors(token), 30, "end of the case")
    strays = [subprocess.Popen([*box.enter, "sleep", "601"], env={**sandbox.env, "PROCTOR_RUN_ID": record["run_id"]})]
    says = ["(sleep 601)"]
    if box.cgroup and record["cgroup"]:
        group = box.cgroup / Path(record["cgroup"]).name
        group.mkdir(exist_ok=True)  # by another path than the one that it has inside
        check(not Path(record["cgroup"]).exists(), "the same path as inside:", record["cgroup"])
        strays.append(subprocess.Popen([*box.enter, "sleep", "602"],
                                       preexec_fn=lambda: (group / "cgroup.procs").write_text("0")))
        says += ["(sleep 602)", f"removed cgroup {group}"]
    else:
        print("no cgroup: by the id alone")
    commands = lambda: [Path(f"/proc/{child}/comm").read_text() for stray in strays for child in children_of(stray.pid)]
    wait_until(lambda: commands() == ["sleep\n"] * len(strays), 30, "leaked_processes")
    finish(sandbox, out, says=says)  # the scratch may be gone: runs of other tests sweep what no runner holds
    for stray in strays:
        stray.wait(30)
    all_there(out, token)
    check(not any(Path(path).exists() for path in record["scratch"]), "scratch is left:", record["scratch"])


def change_record(out, **change):
    """In the run directory, where tests write."""
    record = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps({**record, **change}))


def change_records(sandbox, out, **change):
    """Both copies, in new files without locks: as the record of another machine's run."""
    change_record(out, **change)
    run_id = json.loads((out / "run.json").read_text())["run_id"]
    for path in (out / "run.json", sandbox.path / "state/proctor/runs" / f"{run_id}.json"):
        shutil.copy(out / "run.json", out / "run.json.new")
        (out / "run.json.new").rename(path)


def other_machine(sandbox):
    """A run directory that machines share: nothing is done to a run that may live elsewhere. A lock that the kernel has
    dropped is the end, as after a reboot."""
    token = new_token()
    process, out = start_run(sandbox, token)
    change_records(sandbox, out, boot_id="another", host="gpu-07")
    done = sandbox.proctor("dump", out)
    check(done.returncode == 2 and "cannot be checked from here" in done.stderr and "gpu-07" in done.stderr, done)
    finish(sandbox, out, "--stop", code=75, says=["started on gpu-07", "may be alive", "Run finish there"])
    check(process.poll() is None and survivors(token) and not (out / "report.json").exists(), "it was touched")
    done = sandbox.proctor("run", "--out", sandbox.out(), "--", "true")
    check(done.returncode == 0 and "is left alone" in done.stdout + done.stderr, "it is not named:", done)
    check(process.poll() is None and survivors(token), "it was touched")
    process.kill()
    sandbox.finish(process)
    wait_until(lambda: not survivors(token), 30, "end of the case")
    token = new_token()
    process, out = start_run(sandbox, token)
    private = sandbox.path / "state/proctor/runs" / f"{json.loads((out / 'run.json').read_text())['run_id']}.json"
    change_record(out, boot_id="another")
    private.write_bytes((out / "run.json").read_bytes())  # the locked files themselves
    finish(sandbox, out, code=2, says=["still alive"])
    process.kill()
    sandbox.finish(process)
    wait_until(lambda: not survivors(token), 30, "end of the case")
    finish(sandbox, out, says=["the run's exit code is 3"])
    all_there(out, token)


def forged_record(sandbox):
    """A record that names another process than its runner's, and is not trustworthy: refused, named, nobody is hit."""
    token = new_token()
    process, out = start_run(sandbox, token)
    true = (out / "run.json").read_bytes()
    victim = subprocess.Popen(["sleep", "600"])
    start = int(open(f"/proc/{victim.pid}/stat").read().rpartition(")")[2].split()[19])
    copy = sandbox.path / "copy"
    shutil.copytree(out, copy)
    try:
        finish(sandbox, copy, "--stop", code=2, says=["copy/run.json", f"of another directory, {out}"])
        change_record(out, run_id="../../etc", pid=victim.pid, start_time=start)
        finish(sandbox, out, "--stop", code=2, says=[f"{out}/run.json", "'../../etc'"])
        change_record(out, run_id=json.loads(true)["run_id"])
        finish(sandbox, out, "--stop", code=2, says=[f"{out}/run.json", "it differs from"])
        change_record(out, run_id="20260131T120000Z-00ab12")
        finish(sandbox, out, "--stop", code=2, says=[f"{out}/run.json", "no copy of it"])
        check(victim.poll() is None and process.poll() is None, "it was hit")
        if os.geteuid() == 0:
            change_record(out, run_id=json.loads(true)["run_id"])
            os.chown(out / "run.json", 65534, 65534)
            finish(sandbox, out, "--stop", code=2, says=[f"{out}/run.json", "belongs to user 65534"])
            os.chown(out / "run.json", 0, 0)
        check(victim.poll() is None and process.poll() is None, "it was hit")
        (out / "run.json").write_bytes(true)
        finish(sandbox, out, "--stop", says=["stopped the runner"])
    finally:
        victim.kill()
        victim.wait()
    sandbox.finish(process)
    all_there(out, token)


def bad_input(sandbox):
    check(sandbox.proctor("finish", "nothing").returncode == 2, "no run")
    out = sandbox.out()
    check(sandbox.proctor("run", "--out", out, "--", "true").returncode == 0, "not green")
    finish(sandbox, out, "--limit", "0s", code=2, says=["--limit must be", "(got 0s)"])
    finish(sandbox, out, "--limit", "soon", code=2, says=["(got soon)"])
    finish(sandbox, out, says=["the run's exit code is 0"])


def device_memory(sandbox):
    """It says when the memory of the devices is back, and when it is not."""
    if not (BIN / "memory_xpu").exists():
        skip("needs:memory_xpu, which is not built")
    machine = sandbox.path / "machine"
    for us, code, says in ((1_000_000, 0, "the memory of 1 device is free again"), (None, 75, "MiB more than before the run")):
        shutil.rmtree(machine, ignore_errors=True)
        machine.mkdir()
        fault = "sysman.leak_after_exit" + (f":us={us}" if us else "")
        left = sandbox.path / f"left-{code}"
        leaver = ["env", f"PROCTOR_SIM_FAULTS={fault}", "sh", "-c",
                  f"{BIN}/memory_xpu --helper leave_memory {256 << 20}; touch {left}; sleep 600"]
        write_config(sandbox.path / "devices.toml", {"leaver": {"kind": "command", "command": leaver, "backend": "xpu", "gpus": 1}})
        out = sandbox.out()
        process = sandbox.start("run", "--config", sandbox.path / "devices.toml", "--sim", f"xpu:1x1,state={machine}", "--out", out)
        wait_until(left.exists, 60, "memory left behind")
        process.kill()
        sandbox.finish(process)
        finish(sandbox, out, "--limit", "20s" if us else "6s", code=code, says=[says])
        if code:
            finish(sandbox, out, "--limit", "2s", code=code, says=[])  # it is no better for having been told


def driver_that_hangs(sandbox):
    """The limit ends a look that nobody answers, when it is over, and says what took so long; the rest was done."""
    if not (BIN / "libproctor_ze_sim.so").exists():
        skip("needs:simulator")
    machine, programs, token = sandbox.path / "machine", sandbox.path / "programs", new_token()
    machine.mkdir()
    programs.mkdir()
    for name in ("proctor", "proctor-guard", "libproctor_ze_sim.so"):
        (programs / name).symlink_to(BIN / name)
    shutil.copy2(BIN / "proctor", programs / "copy")  # a link would be looked through: helpers lie beside the file
    (programs / "copy").rename(programs / "proctor")
    (programs / "proctor-probe-xpu").write_text(f"#!/bin/sh\nexec {' '.join(misbehaving('ignore-term', token))}\n")
    (programs / "proctor-probe-xpu").chmod(0o755)
    write_config(sandbox.path / "devices.toml",
                 {"stuck": {"kind": "command", "command": ["sleep", "600"], "backend": "xpu", "gpus": 1}})
    out = sandbox.out()
    process = sandbox.start("run", "--config", sandbox.path / "devices.toml", "--sim", f"xpu:1x1,state={machine}",
                            "--out", out)
    wait_until(lambda: of_type(records(out), "attempt_started"), 60, "start of the case")
    process.kill()
    sandbox.finish(process)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # as a caller may have it
    try:
        done = subprocess.run([programs / "proctor", "finish", out, "--limit", "2s"], cwd=sandbox.path, env=sandbox.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    check(done.returncode == 75 and "the time limit expired while checking the devices" in done.stderr, done)
    check("the run's exit code is 3" in done.stdout, "not first:", done.stdout)
    (programs / "proctor-probe-xpu").write_text("#!/bin/sh\nexit 9\n")
    done = subprocess.run([programs / "proctor", "finish", out], cwd=sandbox.path, env=sandbox.env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    check(done.returncode == 75 and "the devices could not be checked" in done.stdout and "exit:9" in done.stdout, done)
    wait_until(lambda: not survivors(token), 30, "end of the helper")


if __name__ == "__main__":
    run_scenarios((killed_runner, leftover, alive, step_gone, deaf, other_machine, forged_record, bad_input),
                  own_tests=(other_pid_namespace, leftovers_in_a_container, device_memory, driver_that_hangs))
