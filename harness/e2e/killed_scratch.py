#!/usr/bin/env python3
"""Scratch directories of a runner that was killed: the next run and `proctor finish` remove them, and no others.

    killed_scratch.py [SCENARIO...]

Runs of other tests sweep as well: what is looked at is who is left, never who removed it.
"""

import os
import re
import secrets
import shutil
from pathlib import Path

import harness
from harness import (BIN, check, misbehaving, new_token, run_scenarios, survivors, wait_until, write_config)

SCRATCH = re.compile(r"/prp?-[A-Za-z0-9]{6}$")
HANGS = """#!/bin/sh
echo "$TMPDIR $PWD" >{said}
exec sleep 600
"""


def held_by(process):
    """The scratch directories that a runner has open."""
    found = []
    try:
        for entry in os.scandir(f"/proc/{process.pid}/fd"):
            path = os.readlink(entry.path)
            if SCRATCH.search(path):
                found.append(Path(path))
    except OSError:
        pass
    return found


def kill(process):
    process.kill()
    process.communicate()


def run_once(sandbox):
    done = sandbox.proctor("run", "--out", sandbox.out(), "--", "true")
    check(done.returncode == 0, "run:", done.returncode, done.stderr)


def check_gone(paths):
    """A guard may still be ending a case, which then has the moment to write once more: the next sweep takes that."""
    check(not any(path.exists() for path in paths), "left:", [str(path) for path in paths if path.exists()])


def without_record(sandbox):
    """Where the runner keeps its record is a file."""
    (sandbox.path / "state" / "proctor").touch()


def start_case(sandbox, token):
    write_config(sandbox.path / "scratch.toml", {"stuck": {"kind": "command", "command": misbehaving("sleep-forever", token)}},
                 {"timeout": "10m"})
    out = sandbox.out()
    process = sandbox.start("run", "--config", sandbox.path / "scratch.toml", "--out", out)
    wait_until(lambda: survivors(token) or process.poll() is not None, 60, "start of the case")
    check(process.poll() is None, "the run ended:", process.stderr.read() if process.poll() is not None else "")
    held = held_by(process)
    check(held and all(path.is_dir() for path in held), "no scratch directory is held:", held)
    for path in held:
        (path / "of_a_case").mkdir()
        (path / "of_a_case" / "file").write_text("text")
    return process, out, held


def killed_case(sandbox):
    token = new_token()
    process, out, held = start_case(sandbox, token)
    kill(process)
    wait_until(lambda: not survivors(token), 30, "end of the case")
    return out, held


def a_case_without_a_record(sandbox):
    without_record(sandbox)
    out, held = killed_case(sandbox)
    check(not (out / "run.json").exists(), "there is a record")
    run_once(sandbox)
    check_gone(held)


def finish_without_a_record(sandbox):
    without_record(sandbox)
    out, held = killed_case(sandbox)
    done = sandbox.proctor("finish", out)
    check(done.returncode == 0, "finish:", done.returncode, done.stdout, done.stderr)
    check_gone(held)


def a_case_with_a_record(sandbox):
    _, held = killed_case(sandbox)
    run_once(sandbox)
    check_gone(held)


def a_probe(sandbox):
    """Killed while a driver does not answer: nobody knows of the run yet, and there is no run directory."""
    programs = sandbox.path / "bin"
    programs.mkdir()
    for name in ("proctor", "proctor-guard"):
        shutil.copy2(BIN / name, programs / name)
    for name in ("proctor-probe-xpu", "proctor-probe-cuda"):
        (programs / name).write_text(HANGS.format(said=sandbox.path / "said"))
        (programs / name).chmod(0o755)
    usual, harness.BIN = harness.BIN, programs
    for sweep in (run_once, lambda sandbox: sandbox.proctor("finish", sandbox.path / "nowhere")):
        process = sandbox.start("devices")
        wait_until(lambda: (sandbox.path / "said").exists() or process.poll() is not None, 60, "start of a probe")
        check(process.poll() is None, "devices ended:", process.stderr.read() if process.poll() is not None else "")
        held = held_by(process)
        check(held, "no scratch directory is held")
        kill(process)
        (sandbox.path / "said").unlink()
        sweep(sandbox)
        check_gone(held)
    harness.BIN = usual


def discovery(sandbox):
    suite = sandbox.path / "hangs.sh"
    suite.write_text(HANGS.format(said=sandbox.path / "said"))
    suite.chmod(0o755)
    process = sandbox.start("run", "--out", sandbox.out(), "--kind", "proctor", "--", suite)
    wait_until(lambda: (sandbox.path / "said").exists(), 60, "start of the discovery")
    held = held_by(process)
    kill(process)
    run_once(sandbox)
    check_gone(held)


def of_a_living_runner(sandbox):
    token = new_token()
    process, out, held = start_case(sandbox, token)
    run_once(sandbox)
    sandbox.proctor("finish", out)  # refused: it is alive
    sandbox.proctor("finish", sandbox.path / "nowhere")
    check(all((path / "of_a_case" / "file").exists() for path in held), "swept from under a living runner:", held)
    kill(process)
    wait_until(lambda: not survivors(token), 30, "end of the case")
    run_once(sandbox)
    check_gone(held)


def links_and_directories_of_others(sandbox):
    """A case leaves what looks like a run's: a link, a directory with a link in it, one without the mark."""
    victim = sandbox.path / "victim"
    victim.mkdir()
    victim.chmod(0o1700)
    (victim / "file").write_text("dear")
    link, marked, plain, foreign = (Path("/tmp") / f"pr-{secrets.token_hex(3)}" for _ in range(4))
    etc = Path("/dev/shm") / f"pr-{secrets.token_hex(3)}"
    script = (f"ln -s {victim} {link}; ln -s /etc {etc}; mkdir -m 1700 {marked}; ln -s {victim} {marked}/link; "
              f"mkdir -m 700 {plain}; mkdir -m 1700 {foreign}")
    if os.geteuid() == 0:
        script += f"; chown 65534 {foreign}"
    try:
        done = sandbox.proctor("run", "--out", sandbox.out(), "--", "sh", "-c", script)
        check(done.returncode == 0, done.stderr)
        run_once(sandbox)
        check(link.is_symlink() and etc.is_symlink() and plain.is_dir(), "not its own was removed")
        check(not marked.exists(), "what has form, owner and mark of a dead run's is still there")
        check((victim / "file").exists() and Path("/etc/passwd").exists(), "DATA LOSS")
        check(foreign.is_dir() == (os.geteuid() == 0), "of another user:", foreign)
    finally:
        for path in (link, etc):
            path.unlink(missing_ok=True)
        for path in (plain, foreign, marked):
            shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    run_scenarios([a_case_without_a_record, finish_without_a_record, a_case_with_a_record, a_probe, discovery,
                   of_a_living_runner, links_and_directories_of_others])
