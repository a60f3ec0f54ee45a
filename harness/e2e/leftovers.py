#!/usr/bin/env python3
"""Runs the test suite, and names what it leaves on the machine and which test left it.

    leftovers.py [--build DIR] -- COMMAND...      (the command is ctest; --build: executables of ours lie below it)

Two lists are made, before the first test and after the last one. What is in the second alone was left, unless a living
process holds it:

    files       /tmp, TMPDIR and /dev/shm: whatever this user made, and what the user of the tests made under a name of
                Proctor's; /run/lock: leases
    cgroups     those of runs and of tests, by name
    mounts      below these directories
    processes   with the mark of a containment, or whose executable lies in the build directory; not those of another
                session, as another terminal is one

The command's output passes through unchanged. Its lines say when each test ran: a thing was left by the test that ran
when it was made, or by one of several. The exit code is the command's; if that is 0 and something was left, 1. A file
without a name of Proctor's may be somebody else's: it is named, and is no failure.
"""

import argparse
import calendar
import ctypes
import os
import re
import signal
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

TEST_USER = 65534  # whom tests of root become
OUR_FILE = re.compile(r"(pr|prp|printf)-[A-Za-z0-9]{6}$|proctor[-.]")
OUR_LOCK = re.compile(r".+\.lease(\..*)?$|.+\.drained$|proctor-|trial\.")
OUR_CGROUP = re.compile(r"(proctor|e2e)-")
RUN_ID = re.compile(r"\d{8}T\d{6}Z")
MARK = b"PROCTOR_CONTAINMENT="
LOCKS = Path("/run/lock")
MEMORY = Path("/dev/shm")
STARTED = time.clock_gettime(time.CLOCK_BOOTTIME)
SECONDS_TO_GO = 3.0  # what is about to end, or to be removed, has this time: a compiler's file, a process after SIGKILL
SLACK = 0.1  # seconds: the kernel dates files by its last tick, and a line takes a moment from ctest to here


@dataclass(frozen=True)
class Thing:
    """Two lists hold the same thing if all but the time is equal."""
    kind: str
    name: str
    identity: tuple
    made: tuple | None = field(compare=False, default=None)  # from, to: seconds since the epoch, if that can be known


# ---- What there is ----


def birth_time(path):
    """statx(2), which Python does not have; else the earlier of the last changes. -> from, to"""
    status = os.lstat(path)
    buffer = ctypes.create_string_buffer(256)
    at_cwd, no_follow, btime, offset = -100, 0x100, 0x800, 80
    try:
        done = ctypes.CDLL(None).statx(at_cwd, os.fsencode(path), no_follow, btime, buffer)
    except AttributeError:
        done = -1
    seconds, nanoseconds = struct.unpack_from("qI", buffer, offset)
    if done == 0 and struct.unpack_from("I", buffer)[0] & btime and seconds > 0:
        return (seconds + nanoseconds / 1e9,) * 2
    return (min(status.st_mtime, status.st_ctime),) * 2


def places():
    """Where files are looked for, and what counts there."""
    found = {Path("/tmp"): None, MEMORY: None, LOCKS: OUR_LOCK}
    if temporary := os.environ.get("TMPDIR"):
        found.setdefault(Path(temporary).resolve(), None)
    return found


def is_ours(entry, status, pattern):
    if pattern:
        return pattern.match(entry.name)
    of_test_user = os.geteuid() == 0 and status.st_uid == TEST_USER
    return status.st_uid == os.geteuid() or (of_test_user and OUR_FILE.match(entry.name))


def files():
    found = set()
    for place, pattern in places().items():
        for entry in scan(place):
            try:
                status = entry.stat(follow_symlinks=False)
                if is_ours(entry, status, pattern):
                    identity = (status.st_dev, status.st_ino)
                    found.add(Thing("file", entry.path, identity, birth_time(entry.path)))
            except OSError:
                continue
    return found


def scan(directory):
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def mount_lines():
    return [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def cgroup2_mount():
    """The first one, as the runner takes it (harness/process/cgroup.cc)."""
    for fields in mount_lines():
        if fields[fields.index("-") + 1] == "cgroup2":
            return fields[4]
    return None


def start_of_run(name):
    """By the id of the run in a cgroup's name. The kernel dates a cgroup by when it was first looked at."""
    if match := RUN_ID.search(name):
        began = calendar.timegm(time.strptime(match[0], "%Y%m%dT%H%M%SZ"))
        return began, began + 1
    return None


def cgroups():
    """Those with a process in them are its own."""
    found = set()
    for parent, names, _ in os.walk(cgroup2_mount() or "/nonexistent"):
        for name in names:
            if not OUR_CGROUP.match(name):
                continue
            path = os.path.join(parent, name)
            try:
                populated = "populated 1" in Path(path, "cgroup.events").read_text()
                status = os.lstat(path)
            except OSError:
                continue
            if not populated:
                found.add(Thing("cgroup", path, (status.st_dev, status.st_ino), start_of_run(name)))
        names[:] = [name for name in names if not OUR_CGROUP.match(name)]
    return found


def mounts():
    beginnings = tuple(f"{place}/" for place in places())
    return {Thing("mount", fields[4], (fields[0],)) for fields in mount_lines() if fields[4].startswith(beginnings)}


def pids():
    return [int(entry.name) for entry in scan("/proc") if entry.name.isdigit()]


def read(pid, name):
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def start_time(stat):
    """Seconds since the boot."""
    return int(stat[19]) / os.sysconf("SC_CLK_TCK")


def stat_of(pid):
    """The fields of /proc/PID/stat from the third on."""
    return read(pid, "stat").rpartition(b")")[2].split()


def is_of_another_session(stat):
    """One that began before this run, as another terminal's. No process of a test can enter it."""
    session = int(stat[3])
    leader = stat_of(session)
    return session != os.getsid(0) and bool(leader) and start_time(leader) < STARTED


def processes(build):
    """Whoever runs this within a case has the mark as well."""
    found = set()
    own_mark = os.environb.get(MARK[:-1])
    since_boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    for pid in pids():
        stat = stat_of(pid)
        if pid == os.getpid() or not stat or stat[0] in (b"Z", b"X") or is_of_another_session(stat):
            continue
        marks = [entry[len(MARK):] for entry in read(pid, "environ").split(b"\0") if entry.startswith(MARK)]
        of_build = build and link(f"/proc/{pid}/exe").startswith(f"{build}/")
        if of_build or any(mark != own_mark for mark in marks):
            command = read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
            made = since_boot + start_time(stat)
            found.add(Thing("process", f"{pid} ({command[:200]})", (pid, start_time(stat)), (made, made)))
    return found


def everything(build):
    return files() | cgroups() | mounts() | processes(build)


# ---- What a living process holds ----


def held_paths(without):
    """Open, mapped, worked in, or bound as a socket, by processes other than this one and those of `without`."""
    held = set()
    for pid in pids():
        if pid == os.getpid() or pid in without:
            continue
        held.update(link(f"/proc/{pid}/{name}") for name in ("cwd", "root", "exe"))
        held.update(link(entry.path) for entry in scan(f"/proc/{pid}/fd"))
        held.update(line[5] for line in (text.split(maxsplit=5) for text in read(pid, "maps").decode(errors="replace")
                                         .splitlines()) if len(line) == 6)
    for line in Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]:
        if len(fields := line.split(maxsplit=7)) == 8:
            held.add(fields[7])
    return {path for path in held if path.startswith("/")}


def locked_inodes():
    """(device, inode) of each lock, also of processes that this user cannot look into."""
    found = set()
    for line in Path("/proc/locks").read_text().splitlines():
        if match := re.search(r" ([0-9a-f]+):([0-9a-f]+):(\d+) ", line):
            found.add((os.makedev(int(match[1], 16), int(match[2], 16)), int(match[3])))
    return found


def without_held(things):
    left = {thing.identity[0] for thing in things if thing.kind == "process"}
    held, locked = held_paths(left), locked_inodes()
    is_held = lambda thing: thing.kind in ("file", "cgroup") and (
        thing.identity in locked or any(path == thing.name or path.startswith(thing.name + "/") for path in held))
    return {thing for thing in things if not is_held(thing)}


def what_is_left(before, build):
    """What is there at every look for some seconds."""
    give_up = time.monotonic() + SECONDS_TO_GO
    left = without_held(everything(build) - before)
    while left and time.monotonic() < give_up:
        time.sleep(0.2)
        left &= without_held(everything(build) - before)
    return sorted(left, key=lambda thing: (thing.made or (0, 0), thing.kind, thing.name))


# ---- When each test ran ----


class Tests:
    """Reads ctest's lines as they come."""
    START = re.compile(rb"^\s*Start\s+\d+: (\S+)")
    END = re.compile(rb"^\s*\d+/\d+ Test\s+#\d+: (\S+) ")

    def __init__(self):
        self.started = {}
        self.ran = []  # (name, from, to)
        self.rest = b""

    def feed(self, chunk):
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        for line in lines:
            if match := self.START.match(line):
                self.started[match[1].decode(errors="replace")] = time.time()
            elif match := self.END.match(line):
                name = match[1].decode(errors="replace")
                self.ran.append((name, self.started.pop(name, 0.0), time.time()))

    def at(self, moments):
        running = [(name, start, time.time()) for name, start in self.started.items()]
        return sorted(name for name, start, end in self.ran + running
                      if start - SLACK <= moments[1] and moments[0] <= end + SLACK)


def run(command, tests):
    """-> the exit code as a shell shows it"""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        # A terminal's Ctrl-C reaches the child by itself. What it leaves then is listed as well.
        signal.signal(signal.SIGINT, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: child.send_signal(number))
        while chunk := os.read(child.stdout.fileno(), 1 << 16):
            tests.feed(chunk)
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
    return 128 - child.returncode if child.returncode < 0 else child.returncode


# ---- The result ----


def may_be_foreign(thing):
    name = os.path.basename(thing.name)
    return thing.kind == "file" and not OUR_FILE.match(name) and not OUR_LOCK.match(name)


def describe(thing, tests):
    if thing.made is None:
        return f"{thing.kind} {thing.name}: made during this run"
    names = tests.at(thing.made)
    when = time.strftime("%H:%M:%S", time.localtime(thing.made[0]))
    if not names:
        return f"{thing.kind} {thing.name}: made at {when}, when no test ran"
    if len(names) == 1:
        return f"{thing.kind} {thing.name}: made at {when} by {names[0]}"
    return f"{thing.kind} {thing.name}: made at {when} by one of {', '.join(names)}"


def main(argv=None):
    parser = argparse.ArgumentParser(usage="leftovers.py [--build DIR] -- COMMAND...")
    parser.add_argument("--build", type=Path)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args(argv)
    build = arguments.build and arguments.build.resolve()
    before = everything(build)
    tests = Tests()
    code = run(arguments.command, tests)
    began = time.monotonic()
    left = what_is_left(before, build)
    foreign = [thing for thing in left if may_be_foreign(thing)]
    left = [thing for thing in left if not may_be_foreign(thing)]
    for title, things in (("The tests left on this machine:", left), ("New as well, without a name of Proctor's:", foreign)):
        if things:
            print(f"\n{title}")
        for thing in things:
            print(f"  {describe(thing, tests)}")
    result = f"***Failed: {len(left)} left" if left else "   Passed"
    print(f"leftovers {'.' * 50} {result} {time.monotonic() - began:6.2f} sec")
    return code or int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
