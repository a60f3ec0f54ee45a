#!/usr/bin/env python3
"""The first look at a red run: the last 60 lines of the console hold, for each failed case, what a developer asks first;
and what the console shows while a run lasts, in CI, at Ctrl-C and on a narrow terminal.

    first_look.py [SCENARIO...]
"""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios

from harness import Sandbox, check, of_type, records, report, run_scenarios, wait_until, write_config

CAUSES, FAILED, ALL = 10, 45, 120
# Case N fails if N < FAILED. Its line is that of cause N % CAUSES. Causes 0 and 1 say the same words, the words of
# cause 2 differ, and those of cause 3 are long.
SUITE = f"""#!/bin/sh
say() {{ printf '%s\\n' "$1" >&"$PROCTOR_EVENTS_FD"; }}
if [ "$1" = --proctor-list ]; then
  n=0
  while [ $n -lt {ALL} ]; do say '{{"v":1,"event":"case","case":"Kernel.N'$n'"}}'; n=$((n + 1)); done
  exit 0
fi
name=${{1#--proctor-case=}}
n=${{name#Kernel.N}}
cause=$((n % {CAUSES}))
if [ $n -lt {FAILED} ] && [ $n -lt "$(cat below)" ]; then
  case $cause in
  0 | 1) words="the result is wrong" ;;
  2) words="card $n says no" ;;
  3) words="$(printf '%0600d' $n)" ;;
  *) words="cause $cause\\\\nof its kind" ;;
  esac
  say '{{"v":1,"case":"'$name'","event":"fail","message":"'"$words"'","file":"src/kernels_test.cc","line":'$((100 + cause))'}}'
  say '{{"v":1,"case":"'$name'","event":"end","result":"fail"}}'
  exit 1
else
  say '{{"v":1,"case":"'$name'","event":"end","result":"pass"}}'
fi
"""


def write_suite(sandbox):
    path = sandbox.path / "suite.sh"
    path.write_text(SUITE.replace("cat below", f"cat {sandbox.path}/below"))
    path.chmod(0o755)
    (sandbox.path / "below").write_text(str(ALL))
    write_config(sandbox.path / "proctor.toml", {
        "s": {"kind": "proctor", "command": ["./suite.sh"], "backend": "xpu", "gpus": 1}})


def last_lines(sandbox):
    """45 failures of ten causes on several devices, of which 20 failed before."""
    write_suite(sandbox)
    words = ["run", "--sim", "xpu:2x2", "--subject", "dirty=false", "--subject"]
    before, out = sandbox.out(), sandbox.out()
    (sandbox.path / "below").write_text("20")
    done = sandbox.proctor(*words, "commit=" + "a" * 40, "--out", before)
    check(done.returncode == 1, done.stdout[-2000:], done.stderr)
    (sandbox.path / "below").write_text(str(ALL))
    check(sandbox.proctor("history", "add", "h.sqlite", before).returncode == 0, "no history")
    done = sandbox.proctor(*words, "commit=" + "b" * 40, "--history", "h.sqlite", "--out", out)
    check(done.returncode == 1, done.stdout[-2000:], done.stderr)
    last = done.stdout.splitlines()[-60:]
    failed = [case for case in report(out)["cases"] if case["outcome"] == "fail"]
    check(len(failed) == FAILED, len(failed))
    for case in failed:
        [line] = [line for line in last if f" {case['id']} on " in line]
        number = int(case["id"].rpartition(".N")[2])
        place = f"src/kernels_test.cc:{100 + number % CAUSES} {case['id']} on xpu-sim:"
        new = "FAIL NEW " if number >= 20 else "FAIL "
        since = "" if number >= 20 else f", first failed in {'a' * 12} (2 runs)"
        check(line.startswith(new + place) and since in line, case["id"], ":", line)
        words = case["attempts"][0]["failures"][0]["message"].partition("\n")[0]
        check(line.partition(": ")[2].startswith(words[:120]), case["id"], ":", line)
    marked = [line.startswith("FAIL NEW ") for line in last if line.startswith("FAIL ")]
    check(marked == [True] * 25 + [False] * 20, "new ones are not first:", marked)
    check(f"rerun all: proctor rerun {out.name} --failed" in last, last[-8:])
    check(last[-1] == f"exit 1 (FAILED: {FAILED} of {ALL:,} cases failed, with {CAUSES} causes)", last[-1])
    check(last[-2] == f"page: {out.name}/index.html", last[-2])
    again = sandbox.proctor("rerun", out.name, "--failed", "--out", sandbox.out())
    check(again.returncode == 1 and len(report(sandbox.last_out())["cases"]) == FAILED, again.stderr)


def blocks(sandbox):
    """Ten causes are ten blocks: the same words from two lines are two, different words from one line are one."""
    write_suite(sandbox)
    done = sandbox.proctor("run", "--sim", "xpu:2x2", "--out", sandbox.out())
    found = re.findall(r"(?m)^fail  (s\.xpu/Kernel\.N\d+)\n((?:  .*\n)+)where to look: (\S+)", done.stdout)
    check(sorted(place for _, _, place in found) == [f"src/kernels_test.cc:{100 + n}" for n in range(CAUSES)], found)
    check(done.stdout.count(" more like it: ") == CAUSES, done.stdout)
    messages = {place: message for _, message, place in found}
    check(messages["src/kernels_test.cc:104"] == "  cause 4\n  of its kind\n", messages)
    check(len(messages["src/kernels_test.cc:103"]) > 600, "it was cut:", messages)


def one_device(sandbox):
    """Failures on one device only: the console says so, and what to run next works."""
    out = sandbox.out()
    failed = sandbox.path / "failed"
    failed.touch()
    # On a busy machine the other device could get nearly all cases: there they wait for two failures.
    script = (f"case $PROCTOR_DEVICES in *xpu-sim:0*) echo x >> {failed}; exit 1 ;; esac; "
              f"until test $(wc -l < {failed}) -ge 2; do sleep 0.05; done")
    text = "".join(f'[suite.s{n}]\nkind = "command"\nbackend = "xpu"\ngpus = 1\n'
                   f'command = ["sh", "-c", "{script}"]\n' for n in range(12))
    (sandbox.path / "proctor.toml").write_text(text)
    done = sandbox.proctor("run", "--sim", "xpu:2x1", "--out", out)
    check(done.returncode == 1, done.stdout, done.stderr)
    [line] = re.findall(r"(?m)^ *Code or device\? proctor (rerun \S+ .*)$", done.stdout)
    check(re.search(r"(?m)^(All \d+ failures ran only on|GPU xpu-sim:0 is suspect: \d+ of \d+ attempts failed on) xpu-sim:0\b", done.stdout), done.stdout)
    again = sandbox.proctor(*line.split(), "--out", sandbox.out())
    check(again.returncode == 75 and "-> xpu-sim:0" in again.stdout, again.returncode, again.stdout, again.stderr)


def retried(sandbox):
    """A failed attempt that is retried is there while the run lasts."""
    script = "test -e seen && { test -e go || exec sleep 600; exit 0; }; touch seen; exit 3"
    write_config(sandbox.path / "proctor.toml", {"flaky": {"kind": "command", "command": ["sh", "-c", script]}})
    out = sandbox.out()
    process = subprocess.Popen(sandbox.command("run", "--retries", "1", "--out", out), cwd=sandbox.path, env=sandbox.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    line = ""
    while line is not None and "retrying" not in line:
        line = process.stdout.readline() or None
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[0]
    check(line and re.fullmatch(r"FAIL 1/2, retrying +\d+ ms  flaky/sh  \(exit code 3\)\n", line), line, rest)


def interrupted(sandbox):
    """Ctrl-C: the case that was cut short is nobody's problem."""
    write_config(sandbox.path / "proctor.toml", {"long": {"kind": "command", "command": ["sleep", "600"]}})
    out = sandbox.out()
    process = subprocess.Popen(sandbox.command("run", "--out", out), cwd=sandbox.path, env=sandbox.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: of_type(records(out), "attempt_started"), 60, "start")
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=60)[0]
    check("owner:         none (interrupted)" in text and "setup" not in text, text)
    check("INTERRUPTED long/sleep: cut short: the run was stopped by signal 2 (SIGINT)" in text, text)
    check(text.splitlines()[-1] == "exit 130 (INTERRUPTED: stopped by signal 2 (SIGINT))", text)
    check(report(out)["cases"][0]["owner"] == "none", report(out)["cases"][0])
    check(not re.search(r"\d cases? failed", (out / "summary.md").read_text()), (out / "summary.md").read_text())


def in_ci(sandbox):
    """Only what failed has a line; a terminal, or -v, shows the rest."""
    write_config(sandbox.path / "proctor.toml", {
        "good": {"kind": "command", "command": ["true"]}, "bad": {"kind": "command", "command": ["false"]}})
    for value, words, shown in (("true", (), False), ("1", (), False), ("false", (), True), ("true", ("-v",), True)):
        done = sandbox.proctor("run", *words, "--out", sandbox.out(), env={**sandbox.env, "CI": value})
        check(("\nPASS " in done.stdout) == shown, value, words, done.stdout)
        check("\nFAIL  " in done.stdout and "\nFAIL bad/false: " in done.stdout, done.stdout)


def narrow(sandbox):
    """On 40 columns no list line breaks in the middle of its message."""
    write_config(sandbox.path / "proctor.toml", {
        "a_long_name_of_a_suite": {"kind": "command", "command": ["sh", "-c", "exit 3"]}})
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    process = subprocess.Popen(sandbox.command("run", "--out", sandbox.out()), cwd=sandbox.path,
                               env={**sandbox.env, "TERM": "xterm"}, stdin=writer, stdout=writer, stderr=writer)
    os.close(writer)
    text = b""
    try:
        while piece := os.read(reader, 65536):
            text += piece
    except OSError:  # the other end is closed
        pass
    process.wait(60)
    lines = re.sub(r"\x1b\[\d*[mK]", "", text.decode()).replace("\r\n", "\n").split("\n")
    at = lines.index("FAIL a_long_name_of_a_suite/sh:")
    check(lines[at + 1] == "  exited with code 3", lines[at:])
    os.close(reader)


if __name__ == "__main__":
    run_scenarios([last_lines, blocks, one_device, retried, interrupted, in_ci, narrow])
