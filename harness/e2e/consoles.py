#!/usr/bin/env python3
"""What people see, as files that a person can read: testdata/consoles/*.txt. Each is a command line and its output, in
a pipe or on a terminal, with what differs from run to run replaced. `consoles.py --update` writes them anew."""

import fcntl
import os
import pty
import re
import resource
import select
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

from harness import BIN, Sandbox, check, is_sanitized

GOLDEN = Path(__file__).resolve().parent / "testdata" / "consoles"

FILES = {
    "passes.sh": "echo fine\n",
    "fails.sh": "echo checking the card\necho 'expected 0xA5, got 0x00'\nexit 3\n",
    "long.sh": "seq -f 'step %g of 100' 100\nexit 1\n",
    "crashes.sh": "echo about to crash\nkill -SEGV $$\n",
    "flaky.sh": 'test -e flag && exit 0\ntouch flag\necho "the card was not there yet"\nexit 3\n',
    "leaves.sh": "sleep 600 &\nexit 0\n",
    "hangs.sh": "echo working\nexec sleep 600\n",
    # Only one of them speaks: the lines of two come in any order.
    "rank.sh": '[ "$RANK" = 0 ] && exit 0\necho "rank $RANK of $WORLD_SIZE is up"\necho "waiting for rank 0"\nexec sleep 600\n',
    "serves.sh": "echo listening on port 8000\nexec sleep 600\n",
    "serves_badly.sh": "trap 'echo cannot save: disk full >&2; exit 3' TERM\nsleep 600 &\n"
                       "echo listening on port 8000\nwait\n",
    "counts.sh": "seq 3\nprintf '\\033]0;a title\\007and no newline'\n",
    "writes.c": "__attribute__((noinline)) void write_to_nothing(char* p) { *(volatile char*)p = 1; }\n"
                "int main(int argc, char** argv) {\n  write_to_nothing(argc > 1 ? argv[0] : 0);\n  return 0;\n}\n",
    "ranks.toml": '[suite.step]\nkind = "command"\ncommand = ["./rank.sh"]\nranks = 2\n',
    "leaks.toml": '[suite.leaves]\nkind = "command"\ncommand = ["./leaves.sh"]\nleaks = "fail"\n',
    "proctor.toml": "".join(f'[suite.{name}]\nkind = "command"\ncommand = ["./{name}.sh"]\n'
                            for name in ("passes", "fails", "crashes")),
    "many.toml": "".join(f'[suite.card{n:02}]\nkind = "command"\ncommand = ["./fails.sh"]\n' for n in range(12)),
    "needs.toml": "".join(f'[suite.{name}]\nkind = "command"\ncommand = ["./passes.sh"]\nbackend = "xpu"\n'
                          for name in ("one", "two")),
}
# name -> columns of the terminal (0: a pipe), arguments
CONSOLES = {
    "suites": (0, ["run", "-j1"]),
    "suites-80-columns": (80, ["run", "-j1"]),
    "suites-40-columns": (40, ["run", "-j1"]),
    "quiet": (0, ["run", "-q", "-j1"]),
    "all-output": (0, ["run", "passes", "--show-output", "all", "--durations", "1"]),
    "no-output": (0, ["run", "fails", "--show-output", "none"]),
    "log": (0, ["log", "fails.sh", "--timestamps"]),
    "long-output": (0, ["run", "--", "./long.sh"]),
    "alike": (0, ["run", "-j1", "--config", "many.toml"]),
    "flaky": (0, ["run", "--retries", "1", "--", "./flaky.sh"]),
    "leaves-a-process": (0, ["run", "--", "./leaves.sh"]),
    "hangs": (0, ["run", "--timeout", "1s", "--", "./hangs.sh"]),
    "hanging-rank": (0, ["run", "--config", "ranks.toml", "--timeout", "1s"]),
    "crash": (0, ["run", "--", "./crashes.sh"]),
    "crash-of-exec": (0, ["exec", "--", "./crashes.sh"]),
    "crash-with-a-core": (0, ["run", "--", "./writes"]),
    "forbidden-leak": (0, ["run", "--config", "leaks.toml"]),
    "live-output": (0, ["run", "--show-output", "live", "--", "./counts.sh"]),
    "all-output-of-attempts": (0, ["run", "--show-output", "all", "--retries", "1", "--", "./flaky.sh"]),
    "server-stopped": (0, ["exec", "--ready-regex", "listening", "--", "./serves.sh"]),
    "server-that-ends-badly": (0, ["exec", "--ready-regex", "listening", "--", "./serves_badly.sh"]),
    "server-never-ready": (0, ["exec", "--ready-regex", "listening", "--ready-timeout", "1s", "--", "./hangs.sh"]),
    "no-device": (0, ["run", "--config", "needs.toml"]),
    "too-few": (0, ["run", "passes", "--min-executed", "5"]),
    "in-ci": (0, ["run", "-j1"]),
    "in-github-actions": (0, ["run", "-j1"]),
    "mistakes": (0, ["run", "passes.sh"]),
    "mistakes-filter": (0, ["run", "--filter", "crash"]),
    "mistakes-not-there": (0, ["exec", "--", "./pases.sh"]),
}
# What the program says when it is sent SIGTERM, as by `kill`.
STOPPED_AFTER = {"server-stopped": "listening", "server-that-ends-badly": "listening"}
VARIABLES = {"in-ci": {"CI": "true"}, "in-github-actions": {"CI": "true", "GITHUB_ACTIONS": "true"}}
# Elsewhere no core becomes a file, or nobody can read it.
WITH_A_CORE = {"crash-with-a-core"}
CORES_ARE_FILES = Path("/proc/sys/kernel/core_pattern").read_text()[0] not in "|@\n" and \
    resource.getrlimit(resource.RLIMIT_CORE)[1] != 0 and shutil.which("gdb") and shutil.which("cc")
# What is not the same twice, in this order.
REPLACED = [
    (r"(?m)^(evidence: +)(no core|its core).*$", r"\1no core: its size is limited to 0 (ulimit -Hc), which only root can raise"),
    (r"(?m)\(\d+\.\d MiB\)$", "(N.N MiB)"),
    (r"\d{8}T\d{6}Z-[0-9a-f]{6}", "RUN"),
    (r"proctor \d+\.\d+\.\d+ ", "proctor VERSION "),
    (r"(?m)^(  containment  ).*$", r"\1LAYER"),
    (r" +(?:\d+ ms|\d+\.\d s|\d+ min \d\d s) (?= )", "   S.SSSs "),
    (r"\d+\.\d{6} (out|err)", r"0.SSSSSS \1"),
    (r"(?m)· (\d+ ms|\d+\.\d s)(?= ·|$)", "· TIME"),
    (r"pid \d+", "pid PID"),
    (r"process \d+", "process PID"),
    (r"(?m)^((?:proctor: )?evidence: .*state S) .*$", r"\1 ..."),
    (r"(?m)^(?:proctor: )? {15}(?:native|kernel|py-spy|gdb|what|this|[a-z]+ \(|[a-z].*: ).*\n", ""),
    (r"\d+ at once", "N at once"),
    (r"\(no_driver\)", "(no_device)"),  # a machine may have Intel's driver without a card
]


def on_terminal(command, columns, sandbox):
    """What a terminal of that width was sent, without what it showed only for a moment."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, cwd=sandbox.path, env={**sandbox.env, "TERM": "xterm"}, stdin=writer, stdout=writer,
                               stderr=writer, close_fds=True)
    os.close(writer)
    text = b""
    while select.select([reader], [], [], 60)[0]:
        try:
            piece = os.read(reader, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        text += piece
    process.wait(60)
    os.close(reader)
    shown = text.decode(errors="replace").replace("\r\n", "\n")
    shown = re.sub(r"\r\x1b\[K[^\n\r]*(?=\r)", "", shown)  # a status line that another one replaced
    shown = re.sub(r"\r\x1b\[K", "", shown)
    return re.sub(r"\x1b\[(\d*)m", lambda code: "" if code[1] in ("0", "") else f"<{code[1]}>", shown)


def in_pipe(command, sandbox, stopped_after=None, variables=None):
    process = subprocess.Popen(command, cwd=sandbox.path, env={**sandbox.env, **(variables or {})}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = ""
    while stopped_after and stopped_after not in text:
        line = process.stdout.readline()
        check(line, "it ended before it said", stopped_after, ":", text)
        text += line
    if stopped_after:
        process.terminate()
    text += process.communicate(timeout=120)[0]
    return text + f"[exit {process.returncode}]\n"


def capture(name, sandbox):
    columns, arguments = CONSOLES[name]
    (sandbox.path / "flag").unlink(missing_ok=True)
    command = sandbox.command(*arguments)
    if name not in WITH_A_CORE:  # none at all; the other processes keep the limit
        command = ["sh", "-c", 'ulimit -c 0; exec "$@"', "sh", *command]
    text = on_terminal(command, columns, sandbox) if columns else \
        in_pipe(command, sandbox, STOPPED_AFTER.get(name), VARIABLES.get(name))
    text = text.replace(str(BIN / "proctor"), "proctor").replace(str(sandbox.path), "HERE")
    for pattern, instead in REPLACED:
        text = re.sub(pattern, instead, text)
    return f"$ proctor {' '.join(arguments)}\n{text}"


def main():
    update = sys.argv[1:] == ["--update"]
    failed = []
    with Sandbox() as sandbox:
        for name, text in FILES.items():
            path = sandbox.path / name
            path.write_text(f"#!/bin/sh\n{text}" if name.endswith(".sh") else text)
            path.chmod(0o755)
        if CORES_ARE_FILES:
            subprocess.run(["cc", "-g", "-fdebug-prefix-map=" + str(sandbox.path) + "=.", "writes.c", "-o", "writes"],
                           cwd=sandbox.path, check=True)
        for name in CONSOLES:
            if name == "no-device" and is_sanitized():
                print("not seen here: no-device, where Intel's driver may be asked, which no sanitizer stands")
                continue
            if name in WITH_A_CORE and (is_sanitized() or not CORES_ARE_FILES):
                print(f"not seen here: {name}, which needs gdb, cc, a kernel that writes cores to files, and no sanitizer")
                continue
            text = capture(name, sandbox)
            file = GOLDEN / f"{name}.txt"
            if update:
                GOLDEN.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            elif not file.exists() or file.read_text() != text:
                failed.append(name)
                shutil.copy(file, sandbox.path / "expected") if file.exists() else (sandbox.path / "expected").touch()
                (sandbox.path / "seen").write_text(text)
                subprocess.run(["diff", "-u", "expected", "seen"], cwd=sandbox.path)
    known = {f"{name}.txt" for name in CONSOLES}
    check(not failed, "another console than in testdata/consoles (consoles.py --update):", failed)
    check({path.name for path in GOLDEN.iterdir()} == known, "files that no command makes:", GOLDEN)
    print(f"ok {len(CONSOLES)} consoles")


main()
