#!/usr/bin/env python3
"""A crash answers "where?" on the screen: the core that the kernel wrote is kept and read by a debugger, or it is said
what to set; and what a program says of its own end is there."""

import json
import os
import re
import resource
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

from harness import LAYERS, check, is_sanitized, report, run_scenarios, skip

PROGRAM = """#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void write_to_nothing(char* p) { *(volatile char*)p = 1; }
int main(int argc, char** argv) {
  if (argc > 1 && chdir(argv[1]) != 0) return 2;
  write_to_nothing(argc > 2 ? argv[0] : 0);
  return 0;
}
"""
THROWS = """#include <stdexcept>
int main() { throw std::runtime_error("no card in slot 3"); }
"""
PATTERN = Path("/proc/sys/kernel/core_pattern").read_text().strip()
IS_FILE = bool(PATTERN) and PATTERN[0] not in "|@"


def compiled(sandbox, name, text):
    compiler = shutil.which("c++" if name.endswith(".cc") else "cc") or skip("needs a compiler")
    (sandbox.path / name).write_text(text)
    program = name.partition(".")[0]
    subprocess.run([compiler, "-g", name, "-o", program], cwd=sandbox.path, check=True)
    return f"./{program}"


def run(sandbox, size, *command, options=()):
    """-> what the console showed, its only case and the run directory; with such a limit for cores, 0 for no core at all"""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if size and hard == 0:
        skip("needs a hard limit for cores above 0")
    limit = (size if hard == resource.RLIM_INFINITY else min(size, hard), hard if size else 0)
    out = sandbox.out()
    done = subprocess.run(sandbox.command("run", "--out", out, *options, "--", *command), cwd=sandbox.path, env=sandbox.env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, limit))
    check(done.returncode == 1, done.returncode, done.stdout, done.stderr)
    [case] = report(out)["cases"]
    check(case["outcome"] == "crash", case["outcome"])
    return done.stdout, case["attempts"][-1], Path(out)


def needs_a_core():
    if is_sanitized():
        skip("a sanitized runner allows no cores")
    if not IS_FILE or not shutil.which("gdb"):
        skip(f"needs gdb, and cores that are files: kernel.core_pattern is {PATTERN}")


def a_core_is_kept_and_read(sandbox):
    needs_a_core()
    program = compiled(sandbox, "writes.c", PROGRAM)
    for layer in LAYERS:
        if sandbox.why_not(layer):
            continue
        shown, attempt, out = run(sandbox, 1 << 30, program, options=("--containment", layer))
        check(f"evidence:      crashed in write_to_nothing at {sandbox.path}/writes.c:3\n" in shown, layer, shown)
        check("\n               < main at writes.c:6\n" in shown, layer, shown)
        core = out / attempt["evidence"]["core"]["file"]
        check(stat.S_IMODE(core.stat().st_mode) == 0o600, "who may read it:", oct(core.stat().st_mode))
        check(attempt["evidence"]["core"]["bytes"] > 0, attempt["evidence"])
        check("write_to_nothing" in (out / attempt["evidence"]["file"]).read_text(), "not in the file")
        check(not list(sandbox.path.glob("core*")), "the core is still there:", list(sandbox.path.iterdir()))
        typed = shlex.split(re.search(r"^core: +(.*) \(\d+\.\d MiB\)$", shown, re.MULTILINE)[1])
        told = subprocess.run([typed[0], "-nx", "-batch", "-ex", "backtrace", *typed[1:]], cwd=sandbox.path,
                              capture_output=True, text=True, timeout=60)
        check("write_to_nothing" in told.stdout, typed, told.stdout, told.stderr)
        print(f"ok {layer}")


def of_a_case_only_the_last_one_is_kept(sandbox):
    needs_a_core()
    program = compiled(sandbox, "writes.c", PROGRAM)
    _, attempt, out = run(sandbox, 1 << 30, program, options=("--retries", "2"))
    attempts = report(out)["cases"][0]["attempts"]
    check(len(attempts) == 3 and [each["evidence"]["core"] is None for each in attempts] == [True, True, False], attempts)
    check([str(core.relative_to(out)) for core in out.rglob("*.core")] == [attempt["evidence"]["core"]["file"]],
          list(out.rglob("*.core")))
    check("write_to_nothing" in (out / attempts[0]["evidence"]["file"]).read_text(), "where the first one crashed")


def one_is_allowed_where_the_soft_limit_is_0(sandbox):
    """As on most machines. Those of other processes of a case go with the run, unless they were allowed before."""
    needs_a_core()
    program = compiled(sandbox, "writes.c", PROGRAM)
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    for soft in (0, hard):
        done = sandbox.proctor("run", "--out", sandbox.out(), "--", program,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (soft, hard)))
        check(f"evidence:      crashed in write_to_nothing at {sandbox.path}/writes.c:3\n" in done.stdout, soft, done.stdout)
        check(f"where to look: write_to_nothing at {sandbox.path}/writes.c:3 · " in done.stdout, soft, done.stdout)
        done = sandbox.proctor("run", "--out", sandbox.out(), "--", "sh", "-c", f"{program}; true",
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (soft, hard)))
        check(done.returncode == 0, done.stdout, done.stderr)
        if not PATTERN.startswith("/"):
            check(bool(list(sandbox.path.glob("core*"))) == (soft != 0), soft, list(sandbox.path.iterdir()))


def of_many_at_once_each_has_its_own_or_none(sandbox):
    """Without the pid in their names, the cores of two processes may be one file."""
    needs_a_core()
    config = ""
    for name in ("first", "second", "third", "fourth"):
        program = compiled(sandbox, f"{name}.c", PROGRAM.replace("write_to_nothing", f"{name}_write"))
        config += f'[suite.{name}]\nkind = "command"\ncommand = ["{sandbox.path}/{program}"]\n'
    (sandbox.path / "many.toml").write_text(config)
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    out = sandbox.out()
    sandbox.proctor("run", "--config", sandbox.path / "many.toml", "--out", out, "--jobs", "4",
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, hard)))
    cases = report(out)["cases"]
    check(len(cases) == 4, cases)
    has_pid = "%p" in PATTERN or Path("/proc/sys/kernel/core_uses_pid").read_text().strip() != "0"
    for case in cases:
        evidence = case["attempts"][-1]["evidence"]
        own = evidence["lines"][0].startswith(f"crashed in {case['id'].partition('/')[0]}_write at ")
        told = re.match("no core of process |no core: .*, another one crashed there",
                        evidence["lines"][0]) and "frame" not in evidence
        check(own or (told and not has_pid), case["id"], evidence)
        print("its own" if own else "none", case["id"])
    check(not list(sandbox.path.glob("core*")), "left behind:", list(sandbox.path.iterdir()))


def one_of_another_directory(sandbox):
    needs_a_core()
    program = compiled(sandbox, "writes.c", PROGRAM)
    (sandbox.path / "below").mkdir()
    shown, attempt, _ = run(sandbox, 1 << 30, program, "below")
    if not PATTERN.startswith("/"):
        check(re.search(r"evidence: +no core of process \d+ was found: ", shown), shown)
        check(attempt["evidence"]["core"] is None, attempt["evidence"])


def one_of_another_case_with_the_same_pid(sandbox):
    """A process of another PID namespace has the pid of the case there, and leaves `core` where that of the case would be;
    only the environment says whose it is."""
    needs_a_core()
    if PATTERN.startswith("/") or sandbox.why_not("pidns"):
        skip(f"needs pidns, and cores in the directory of the program: kernel.core_pattern is {PATTERN}")
    if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        skip("needs unshare --pid")
    program = compiled(sandbox, "writes.c", PROGRAM)
    (sandbox.path / "below").mkdir()
    same = "echo $(($$ - 1)) >/proc/sys/kernel/ns_last_pid"
    for mark, taken in (("$PROCTOR_CONTAINMENT", True), ("another/1", False)):
        crash = f'PROCTOR_CONTAINMENT={mark} unshare --pid --fork sh -c "{same}; {program}; :"; exec {program} below'
        shown, attempt, _ = run(sandbox, 1 << 30, "sh", "-c", crash, options=("--containment", "pidns"))
        check(("evidence:      crashed in write_to_nothing" in shown) == taken, mark, shown)
        check((attempt["evidence"]["core"] is not None) == taken, mark, attempt["evidence"])


def of_ranks_that_of_who_answers(sandbox):
    """Their leader is our supervisor, which has not crashed."""
    needs_a_core()
    program = compiled(sandbox, "writes.c", PROGRAM)
    script = f"case $RANK in 0) exit 0;; 1) exec {program};; 2) trap '' TERM; while :; do sleep 0.1; done;; esac"
    (sandbox.path / "ranks.toml").write_text(
        f'[suite.three]\nkind = "command"\nranks = 3\ngrace = "300ms"\ncommand = ["sh", "-c", {json.dumps(script)}]\n')
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    for layer in LAYERS:
        if sandbox.why_not(layer):
            continue
        out = sandbox.out()
        done = sandbox.proctor("run", "three", "--config", sandbox.path / "ranks.toml", "--out", out, "--containment", layer,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))
        check(f"evidence:      crashed in write_to_nothing at {sandbox.path}/writes.c:3\n" in done.stdout, layer, done.stdout)
        [attempt] = report(out)["cases"][0]["attempts"]
        check(attempt["evidence"]["core"]["bytes"] > 0, attempt["evidence"])
        print(f"ok {layer}")


def of_exec_only_that_of_the_command(sandbox):
    """The runner ends by the command's signal, and leaves no core of its own."""
    needs_a_core()
    program = compiled(sandbox, "writes.c", PROGRAM)
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    done = sandbox.proctor("exec", "--out", sandbox.out(), "--", program,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))
    check(done.returncode == -signal.SIGSEGV, done.returncode, done.stderr)
    check(f"proctor: evidence:      crashed in write_to_nothing at {sandbox.path}/writes.c:3\n" in done.stderr, done.stderr)
    check(not list(sandbox.path.glob("core*")), "a core of the runner:", list(sandbox.path.iterdir()))


def without_one(sandbox):
    """The hard limit forbids it: what to set. Elsewhere a program takes it whatever the limit is: which."""
    shown, attempt, _ = run(sandbox, 0, "sh", "-c", "kill -SEGV $$")
    line = re.search(r"^evidence: +(.*)$", shown, re.MULTILINE)[1]
    if IS_FILE:
        check(line.startswith("no core: ") and "ulimit -" in line, line)
    else:
        check("core" in line and ("coredumpctl gdb" in line or "kernel.core_pattern" in line), line)
    check(attempt["evidence"]["core"] is None and not attempt["evidence"]["file"], attempt["evidence"])


def not_of_every_signal(sandbox):
    shown, attempt, _ = run(sandbox, 0, "sh", "-c", "kill -KILL $$")
    check("evidence:" not in shown and "evidence" not in attempt, shown)


def what_it_says_of_its_end(sandbox):
    shown, _, _ = run(sandbox, 0, compiled(sandbox, "throws.cc", THROWS))
    check("  | terminate called after throwing an instance of 'std::runtime_error'\n" in shown, shown)
    check("  |   what():  no card in slot 3\n" in shown, shown)
    shown, _, _ = run(sandbox, 0, sys.executable, "-X", "faulthandler", "-c", "import ctypes; ctypes.string_at(0)")
    check("  | Fatal Python error: Segmentation fault\n" in shown, shown)
    check('  |   File "<string>", line 1 in <module>\n' in shown, shown)


def under_a_debugger(sandbox):
    """The advised line works as it is typed; here with a debugger that needs no hands."""
    if not shutil.which("gdb"):
        skip("needs gdb")
    program = compiled(sandbox, "writes.c", PROGRAM)
    done = sandbox.proctor("run", "--out", sandbox.out(), "--debugger", "gdb -nx -batch -ex run -ex backtrace --args", "--",
                           program)
    check("Program received signal SIGSEGV" in done.stdout and "write_to_nothing" in done.stdout, done.stdout, done.stderr)


if __name__ == "__main__":
    os.umask(0o022)
    run_scenarios([without_one, not_of_every_signal, what_it_says_of_its_end, under_a_debugger],
                  own_tests=[a_core_is_kept_and_read, of_a_case_only_the_last_one_is_kept, one_is_allowed_where_the_soft_limit_is_0,
                             of_many_at_once_each_has_its_own_or_none, of_ranks_that_of_who_answers, of_exec_only_that_of_the_command, one_of_another_directory,
                             one_of_another_case_with_the_same_pid])
