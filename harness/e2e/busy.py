#!/usr/bin/env python3
"""The suites, `proctor exec` and the torture table on a machine that is short of something: all good, as on a quiet one.

    busy.py GROUP [--short] [--only PART,...]

    busy-cpu      4 loops that spin for each processor, 16 beside the empty cases. Each has a session of its own.
    busy-memory   a memory cgroup. Its limit is 20 % above what the part cannot give back on the quiet machine, so that
                  the kernel takes away cached files again and again.
    busy-disk     TMPDIR and run directories on a loop device of 1 MiB a second. Cgroup v1: all reads and writes of the
                  device are throttled, for the rule is that of the root. Cgroup v2: those of the group, written back later
                  or not.

PART is one of suites, collectives, oneccl, exec, torture; of busy-cpu also starved and empty. --short: of everything a
part. At the end stand the ten limits that came nearest. Exit 0: all good; 1: not; 77: the condition cannot be made here.
"""

import argparse
import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from busy_loops import loops
from harness import BIN, LAYERS, ROOT, SKIP, of_type, records, skip, write_config

CUDA = (BIN / "cuda_sim" / "libcudart.so.13").exists()
ONECCL = BIN / "oneccl" / "libccl.so.2"
GOOD = {"pass", "skip", "xfail"}
CPU_LOOPS, EMPTY_LOOPS = 4, 16  # for each processor
EMPTY = 10_000
EMPTY_JOBS = 32  # two at once would take half an hour: each case waits for its turn among the loops, several times
EMPTY_OF_A_PROGRAM = 2_000  # harness/bench/empty_cases.cc
ROOM = 1.2  # of the memory that a part needs
DISK_RATE = 1 << 20  # bytes a second
DISK_SIZE = 2 << 30
ATTEMPTS = 3  # at a limit of memory that is below what the part needs, since a peak was overlooked
BUDGET = 25 * 60


class Work:
    """What the parts have in common: where they write, how their processes start, and what they found."""

    def __init__(self, short):
        self.short = short
        self.directory = None
        self.enter = []  # words before each command, that take it into a group
        self.runs = 0
        self.red = []
        self.limits = []  # (share of the limit that was left, what it was)

    def environment(self):
        temporary = self.directory / "tmp"
        temporary.mkdir(exist_ok=True)
        state = self.directory / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PROCTOR_")}
        for name in ("CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_WORKSPACE"):
            kept.pop(name, None)
        return {**kept, "TMPDIR": str(temporary), "HOME": str(self.directory), "XDG_RUNTIME_DIR": str(state),
                "XDG_CONFIG_HOME": str(self.directory / "config"), "PROCTOR_BIN_DIR": str(BIN)}

    def call(self, *command):
        return subprocess.run([*self.enter, *map(str, command)], cwd=self.directory, env=self.environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")

    def proctor(self, part, *arguments, passes=None):
        """A run of which every case is good; with `passes`, that many pass."""
        self.runs += 1
        out = self.directory / f"run{self.runs}"
        done = self.call(BIN / "proctor", "run", *arguments, "--out", out)
        path = out / "report.json"
        if not path.exists():
            self.red.append(f"{part}: exit {done.returncode} and no report\n{done.stdout[-3000:]}")
            return
        document = json.loads(path.read_text())
        for case in document["cases"]:
            if case["outcome"] not in GOOD:
                self.red.append(f"{part}: {case['outcome']}({case['reason']}) {case['id']}: {case['message']}")
        summary = {key: value for key, value in document["summary"].items() if value}
        if done.returncode != 0:
            self.red.append(f"{part}: exit {done.returncode}, {summary}\n{done.stdout[-1000:]}")
        if passes is not None and document["summary"]["pass"] != passes:
            self.red.append(f"{part}: {document['summary']['pass']} passed instead of {passes}")
        self.note_limits(records(out), document)
        print(f"    {part}: {summary}", flush=True)
        shutil.rmtree(out)

    def note_limits(self, journal, document):
        planned = {case["id"]: case["timeout_ms"] for case in of_type(journal, "run_planned")[0]["cases"]}
        for case in document["cases"]:
            limit = planned.get(case["id"], 0)
            for attempt in case["attempts"] if limit else ():
                self.limits.append((1 - attempt["duration_ms"] / limit,
                                    f"{attempt['duration_ms'] / 1000:.1f} s of {limit / 1000:.0f} s  {case['id']}"))
        self.limits = sorted(self.limits)[:10]

    def script(self, part, name, *arguments):
        started = time.monotonic()
        done = self.call(sys.executable, "-B", ROOT / "harness/e2e" / name, *arguments)
        print(f"    {part}: exit {done.returncode}, {time.monotonic() - started:.0f} s", flush=True)
        if done.returncode == SKIP:
            print(f"    {part}: {done.stdout.strip()[-200:]}", flush=True)
        elif done.returncode != 0:
            bad = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
            self.red += [f"{part}: {line}" for line in bad] or [f"{part}: exit {done.returncode}\n{done.stdout[-3000:]}"]


# ---- what is done ----


def devices(xpu, cuda):
    return ["--sim", f"{xpu},{cuda}", "--backend", "all"] if CUDA else ["--sim", xpu]


def suites(work):
    some = ["--filter", "*Copy.*", "--filter", "*Sensor.*", "--filter", "*Queue.*", "--filter", "*Event.*",
            "--filter", "*Mask.*"] if work.short else []
    work.proctor("suites", "memory", "kernels", "management", "visibility", *devices("xpu:2x2", "cuda:4"), *some)


def collectives(work):
    some = ["--filter", "*LostRank.*", "--filter", "*LateRank.*", "--filter", "*ConcurrentGroups.*", "--filter", "*Barrier.*"] if work.short else []
    work.proctor("collectives", "collectives", *devices("xpu:4x1", "cuda:4"), *some)


def oneccl(work):
    if not ONECCL.exists():
        print("    oneccl: no library here", flush=True)
        return
    some = ["--filter", "*OneCcl.*", "--filter", "*AllReduce.*"] if work.short else []
    work.proctor("oneccl", "collectives", "--backend", "none", "--suite-arg", "provider=oneccl", "-j2", "--known-failures",
                 ROOT / "suites/collectives/oneccl/known_failures.toml", *some)


def execs(work):
    work.script("exec", "exec.py", *(["codes", "signals_of_its_own"] if work.short else []))


def torture(work):
    for layer in LAYERS[:1] if work.short else LAYERS:
        work.script(f"torture {layer}", "torture.py", "--layer", layer)


def starved(work):
    work.script("starved", "starved.py")


def empty(work):
    """Ten thousand processes that do nothing, of a program of GoogleTest's."""
    programs = 1 if work.short else EMPTY // EMPTY_OF_A_PROGRAM
    config = work.directory / "empty.toml"
    write_config(config, {f"empty{index}": {"kind": "gtest", "command": [str(BIN / "empty_cases")]}
                          for index in range(programs)})
    work.proctor("empty", "--config", config, "--jobs", EMPTY_JOBS, *(["--filter", "*Suite0.*"] if work.short else []),
                 passes=100 if work.short else programs * EMPTY_OF_A_PROGRAM)


PARTS = {"suites": suites, "collectives": collectives, "oneccl": oneccl, "exec": execs, "torture": torture}
CPU_PARTS = {**PARTS, "starved": starved, "empty": empty}


# ---- a machine that is short of something ----


@contextlib.contextmanager
def busy_cpu(work, part):
    if part is starved:  # makes its own loops, and needs a quiet machine for some of it
        yield
        return
    with loops(EMPTY_LOOPS if part is empty else CPU_LOOPS):
        yield


def mount_of(kind, controller=""):
    """Where cgroup v1 has the controller, or where v2 is."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, path, file_system, options = line.split()[:4]
        if file_system == kind and (not controller or controller in options.split(",")):
            return Path(path)
    return None


def enter_words(group):
    return ["sh", "-c", f'echo $$ >"{group}/cgroup.procs" && exec "$@"', "sh"]


@contextlib.contextmanager
def cgroup(controllers):
    """A group of this test below the root, which has these controllers: (its directory, version)."""
    name = f"proctor-busy-{secrets.token_hex(4)}"
    first = mount_of("cgroup", controllers[0])
    mount, version = (first, 1) if first else (mount_of("cgroup2"), 2)
    if mount is None:
        skip(f"no cgroup of the controller {controllers[0]}")
    try:
        if version == 2:
            (mount / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in controllers))
        (mount / name).mkdir()
    except OSError as error:
        skip(f"no group with the controller {controllers[0]}: {error}")
    try:
        yield mount / name, version
    finally:
        for _ in range(100):
            try:
                (mount / name).rmdir()
                break
            except OSError:  # its last process is about to go
                time.sleep(0.1)


class Memory:
    """A memory cgroup: what is used of it that the kernel cannot take back, and its limit."""

    def __init__(self, group, version):
        self.group, self.version = group, version
        self.peak = 0
        self.over = threading.Event()

    def needed(self):
        used = int((self.group / ("memory.current" if self.version == 2 else "memory.usage_in_bytes")).read_text())
        stat = dict(line.split() for line in (self.group / "memory.stat").read_text().splitlines())
        total = "" if self.version == 2 else "total_"
        return used - int(stat[f"{total}active_file"]) - int(stat[f"{total}inactive_file"])

    def watch(self):
        while not self.over.wait(0.02):
            self.peak = max(self.peak, self.needed())

    def limit(self, size):
        name = "memory.max" if self.version == 2 else "memory.limit_in_bytes"
        (self.group / name).write_text(str(size) if size else "max" if self.version == 2 else "-1")

    def kills(self):
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return int(re.search(r"oom_kill (\d+)", (self.group / name).read_text())[1])


def quiet_peak(work, part, memory):
    """The same once in the group without a limit, where it has to be good, too."""
    memory.limit(0)
    memory.peak = 0
    memory.over.clear()
    watcher = threading.Thread(target=memory.watch)
    watcher.start()
    try:
        part(work)
    finally:
        memory.over.set()
        watcher.join()
    return memory.peak


def busy_memory_part(work, part, memory):
    peak = quiet_peak(work, part, memory)
    for attempt in range(ATTEMPTS):
        limit = int(peak * ROOM ** (attempt + 1))
        print(f"    needs {peak >> 20} MiB, gets {limit >> 20} MiB", flush=True)
        kills, red = memory.kills(), len(work.red)
        memory.limit(limit)
        part(work)
        if memory.kills() == kills:
            return
        del work.red[red:]
        print("    that is less than it needs: the kernel killed a process", flush=True)
    work.red.append(f"no limit up to {limit >> 20} MiB is enough")


@contextlib.contextmanager
def loop_device(directory):
    """A file system of its own, as (where it is mounted, "MAJOR:MINOR" of its device)."""
    image, mount = directory / "disk", directory / "mount"
    mount.mkdir()
    device = None
    try:
        with open(image, "wb") as file:
            file.truncate(DISK_SIZE)
        for command in (["mkfs.ext4", "-q", "-F", image], ["losetup", "--find", "--show", image]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                skip(f"{command[0]}: {done.stderr.strip()}")
            device = done.stdout.strip() or device
        done = subprocess.run(["mount", device, mount], capture_output=True, text=True)
        if done.returncode != 0:
            skip(f"mount: {done.stderr.strip()}")
        number = os.stat(device).st_rdev
        yield mount, f"{os.major(number)}:{os.minor(number)}"
    except FileNotFoundError as error:
        skip(f"no {error.filename}")
    finally:
        subprocess.run(["umount", mount], capture_output=True)
        if device:
            subprocess.run(["losetup", "--detach", device], capture_output=True)


@contextlib.contextmanager
def throttled(number):
    """Words before a command for which the device is slow."""
    root = mount_of("cgroup", "blkio")
    if root:
        rules = [root / f"blkio.throttle.{way}_bps_device" for way in ("write", "read")]
        try:
            for rule in rules:
                rule.write_text(f"{number} {DISK_RATE}")
        except OSError as error:
            skip(f"no throttle of the controller blkio: {error}")
        try:
            yield []
        finally:
            for rule in rules:
                rule.write_text(f"{number} 0")
        return
    with cgroup(["io", "memory"]) as (group, _):
        (group / "io.max").write_text(f"{number} wbps={DISK_RATE} rbps={DISK_RATE}")
        yield enter_words(group)


# ---- the groups ----


def run_part(work, name, body):
    started = time.monotonic()
    print(f"{name}:", flush=True)
    body()
    print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)


def cpu(work, chosen):
    with tempfile.TemporaryDirectory(prefix="proctor-busy-") as directory:
        work.directory = Path(directory)
        for name, part in chosen.items():
            with busy_cpu(work, part):
                run_part(work, name, lambda: part(work))


def memory(work, chosen):
    with tempfile.TemporaryDirectory(prefix="proctor-busy-") as directory, cgroup(["memory"]) as (group, version):
        work.directory = Path(directory)
        work.enter = enter_words(group)
        limited = Memory(group, version)
        for name, part in chosen.items():
            run_part(work, name, lambda: busy_memory_part(work, part, limited))


def disk(work, chosen):
    with tempfile.TemporaryDirectory(prefix="proctor-busy-") as directory, \
            loop_device(Path(directory)) as (mount, number), throttled(number) as words:
        work.directory = mount
        work.enter = words
        for name, part in chosen.items():
            run_part(work, name, lambda: part(work))


GROUPS = {"busy-cpu": (cpu, CPU_PARTS), "busy-memory": (memory, PARTS), "busy-disk": (disk, PARTS)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", type=lambda text: text.split(","))
    options = parser.parse_args()
    group, parts = GROUPS[options.group]
    chosen = {name: parts[name] for name in options.only or parts}
    work = Work(options.short)
    started = time.monotonic()
    group(work, chosen)
    took = time.monotonic() - started
    print("the limits that came nearest, and what was left of them:")
    for left, what in work.limits:
        print(f"    {100 * left:5.1f} %  {what}")
    for line in work.red:
        print("RED", line)
    over = "" if took < BUDGET else f", more than {BUDGET // 60} minutes"
    print(f"{options.group}: {len(work.red)} red, {took / 60:.1f} minutes{over}")
    return 1 if work.red else 0


if __name__ == "__main__":
    raise SystemExit(main())
