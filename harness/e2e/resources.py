#!/usr/bin/env python3
"""What of the runner and of its guard a case can change, beside killing them: fixtures/misbehaving/table.toml says it.

    resources.py --layer LAYER [--uid N] [--without-landlock]

A case tries each resource on its guard and on the runner. What it can change, the run survives: the case and one beside
it pass, and a daemon that it leaves is killed.
Exit 0: each as the table says; 1: not; 77: the layer does not work here (with its reason).
"""

import argparse
import json
import os
import shutil
import sys
import tomllib

from attack import end_survivors, prepare
from harness import Sandbox, check, misbehaving, new_token, of_type, records, report, skip, survivors, write_config
from torture import TABLE

# Prints {"guard": {resource: errno}, "runner": ...}; 0: it was changed, or could be. Without a pid of the runner: only guard.
PROBE = r"""
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
SYS = {"x86_64": {"ioprio_set": 251, "process_vm_writev": 311}, "aarch64": {"ioprio_set": 30, "process_vm_writev": 271}}[os.uname().machine]
PIDFD_OPEN, PIDFD_GETFD = 434, 438
def call(result):
    if result < 0: raise OSError(ctypes.get_errno(), "")
    return result
def limits(pid): call(libc.prlimit(pid, 1, ctypes.byref((ctypes.c_ulong * 2)(1 << 40, 1 << 40)), None))  # RLIMIT_FSIZE
def priority(pid): os.setpriority(os.PRIO_PROCESS, pid, 19)
def scheduler(pid): os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
def processors(pid): os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})
def disk_priority(pid): call(libc.syscall(SYS["ioprio_set"], 1, pid, 3 << 13))
def write(path, text):
    file = os.open(path, os.O_WRONLY)
    os.write(file, text)
    os.close(file)
def oom_score(pid): write(f"/proc/{pid}/oom_score_adj", b"500")
def proc_files(pid):
    refused = None
    for name, text in (("coredump_filter", b"0"), ("timerslack_ns", b"1000000"), ("autogroup", b"19"), ("clear_refs", b"1")):
        try:
            return write(f"/proc/{pid}/{name}", text)
        except OSError as error:
            refused = error
    raise refused
def memory(pid):
    try:
        return os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
    except OSError:
        byte = ctypes.create_string_buffer(1)
        here, there = ((ctypes.c_long * 2)(address, 1) for address in (ctypes.addressof(byte), 0))
        number = [ctypes.c_long(value) for value in (SYS["process_vm_writev"], pid, 1, 1, 0)]
        libc.syscall(*number[:2], here, number[2], there, *number[3:])
    if ctypes.get_errno() != 14: call(-1)  # EFAULT: nothing is there, but it may write
def descriptors(pid): os.close(call(libc.syscall(PIDFD_GETFD, call(libc.syscall(PIDFD_OPEN, pid, 0)), 0, 0)))
def trace(pid):
    call(libc.ptrace(0x4206, pid, None, None))  # PTRACE_SEIZE
def signals(pid): os.kill(pid, 0)
def answer(what, pid):
    try:
        what(pid)
        return 0
    except OSError as error:
        return error.errno
tries = (limits, priority, scheduler, processors, disk_priority, oom_score, proc_files, memory, descriptors, trace, signals)
if os.fork() == 0:  # the daemon; its parent ends with what it traces
    os.setsid()
    if os.fork(): os._exit(0)
    os.close(1)
    import time
    time.sleep(1000)
os.wait()
guard = os.getppid()
runner = int(open(f"/proc/{guard}/stat").read().rpartition(")")[2].split()[1])
found = {who: {what.__name__: answer(what, pid) for what in tries} for who, pid in (("guard", guard), ("runner", runner)) if pid}
open("found.json", "w").write(json.dumps(found))
"""
REFUSED = (1, 13)  # EPERM, EACCES


def answer(found, resource):
    """-> refused | guard | changed"""
    answers = {who: resources[resource] for who, resources in found.items()}
    check(all(number in (0, *REFUSED) for number in answers.values()), resource, answers)
    if answers.get("runner") == 0:
        return "changed"
    return "guard" if answers["guard"] == 0 else "refused"


def without_a_scope(sandbox, layer):
    """With host_pids, an ordinary user has neither namespace nor filter: the runner ends and says why, and nothing survives."""
    token = new_token()
    out = sandbox.out()
    done = sandbox.proctor("run", "--host-pids", "--containment", layer, "--out", out, "--",
                           *misbehaving("memory-limits", token))
    check(done.returncode == 75 and "another process lowered" in done.stderr, done.returncode, done.stdout, done.stderr)
    check(not survivors(token), "survivors:", survivors(token))
    check(sandbox.proctor("finish", out).returncode == 0 and (out / "report.json").exists(), "no reports")


def main():
    options, kill = prepare(argparse.ArgumentParser())
    table = tomllib.loads(TABLE.read_text())["resource"]
    token = new_token()
    with Sandbox() as sandbox:
        if why := sandbox.why_not(options.layer):
            skip(f"layer {options.layer}: {why}")
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin") if os.geteuid() else sys.executable
        if python is None:
            skip("needs:python3 that an ordinary user can start")
        config = sandbox.path / "resources.toml"
        write_config(config, {"bystander": {"kind": "command", "command": ["sh", "-c", "sleep 1"]},
                              "changes": {"kind": "command", "command": [python, "-c", PROBE, token]}})
        out = sandbox.out()
        done = sandbox.proctor("run", "--config", config, "--containment", options.layer, "--jobs", 2, "--out", out)
        check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
        check(not survivors(token), "survivors:", survivors(token))
        check([case["outcome"] for case in report(out)["cases"]] == ["pass", "pass"], report(out)["cases"])
        found = json.loads((sandbox.path / "found.json").read_text())
        confined = of_type(records(out), "run_planned")[0]["containment"]["signals"] == "landlock"
        end_survivors(token, kill)
        if os.geteuid() and "pidns" not in options.layer:
            without_a_scope(sandbox, options.layer)
    results = {name: answer(found, name) for name in table}
    user = "user" if os.geteuid() else "root"
    wrong = []
    for name, row in table.items():
        expected = row[user][options.layer]
        if confined and row.get("landlock"):
            expected = "refused"
        if results[name] != expected:
            wrong.append(f"{name}: {results[name]}, expected {expected}; {found}")
    check(not wrong, *wrong)
    print(f"{options.layer} as uid {os.geteuid()}: {len(results)} resources")


if __name__ == "__main__":
    main()
