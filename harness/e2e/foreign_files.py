#!/usr/bin/env python3
"""What a case or another user may have put where we read and write: FIFOs, links, mounts, files that are full of holes,
results for the next case. Nothing of it blocks, leads elsewhere, passes or is lost."""

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import subprocess
import time
from pathlib import Path

from harness import BIN, ROOT, check, of_type, records, report, run_scenarios, skip, write_config

READERS = (["report", "render", "{}"], ["report", "merge", "{}", "--out", "merged"], ["report", "diff", "{}", "{}"],
           ["report", "render", "--format", "page", "{}", "--out", "page.html"], ["report", "render", "--format", "github", "{}"],
           ["rerun", "{}"], ["finish", "{}"], ["history", "add", "{}", "--db", "history.sqlite"], ["gate", "{}", "--policy", "gate.toml"])


def shell_suites(sandbox, suites, *options, wrap=None):
    """Each suite is one case, in this order."""
    table = {name: {"command": ["/bin/sh", "-c", script], "kind": "command"} for name, script in suites.items()}
    write_config(sandbox.path / "proctor.toml", table)
    out = sandbox.out()
    command = sandbox.command("run", "--out", out, "--jobs", "1", *options)
    done = subprocess.run(wrap(command) if wrap else command, cwd=sandbox.path, env=sandbox.env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", timeout=120)
    return done, out


def outcomes(out):
    return {case["id"]: case["outcome"] for case in report(out)["cases"]}


def fifos_for_logs(sandbox):
    """The log of the next case, its drafts and the copy of the record."""
    plant = 'cd "$PROCTOR_RUN_DIR"; mkfifo logs/z/sh.1.log run.json.new; ln -s /etc/passwd logs/y/sh.1.log; '
    plant += 'mkfifo "$XDG_RUNTIME_DIR/proctor/runs/20200101T000000Z-000000.json"'
    done, out = shell_suites(sandbox, {"a": plant, "y": "echo said by y", "z": "echo said by z"})
    check(done.returncode == 0, done.returncode, done.stdout, done.stderr)
    for name in "yz":
        log = out / "logs" / name / "sh.1.log"
        check(log.is_file() and not log.is_symlink() and f"said by {name}" in log.read_text(), log)
    elsewhere = sandbox.path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "sh.1.log").write_text("precious")
    plant = f'cd "$PROCTOR_RUN_DIR/logs"; rm -rf z; ln -s {elsewhere} z'
    done, out = shell_suites(sandbox, {"a": plant, "z": "echo said by z"})
    check((elsewhere / "sh.1.log").read_text() == "precious", "a log was written elsewhere")
    check("said by z" in (out / "logs/z/sh.1.log").read_text() and not (out / "logs/z").is_symlink(), "no log")

    # The next run looks through the records.
    check(sandbox.proctor("run", "--out", sandbox.out(), "--", "true", timeout=60).returncode == 0, "the next run")


def fifo_for_a_journal(sandbox):
    check(sandbox.proctor("run", "--out", "good", "--", "true").returncode == 0, "run")
    (sandbox.path / "gate.toml").write_text("[gate]\n[[cell]]\nname = \"a\"\nsuites = [\"*\"]\n")
    for kind in ("fifo", "link", "holes"):
        bad = sandbox.path / kind
        bad.mkdir()
        journal = bad / "journal.jsonl"
        if kind == "fifo":
            os.mkfifo(journal)
        elif kind == "link":
            journal.symlink_to(sandbox.path / "good" / "journal.jsonl")
        else:
            with open(journal, "wb") as file:
                file.truncate(1 << 40)
        for words in READERS:
            words = [word.format(kind) for word in words]
            done = sandbox.proctor(*words, timeout=60)
            check(done.returncode in (2, 75), kind, words, done.returncode, done.stdout, done.stderr)
            check("proctor: " in done.stderr or done.stdout, kind, words, "without a word")
    # Who names the directory by a link means where it leads.
    (sandbox.path / "latest").symlink_to("good")
    check(sandbox.proctor("report", "render", "latest").returncode == 0, "a link to a run")


def whole_shard(sandbox):
    """A run that can be merged."""
    plan, out = sandbox.path / "plan.json", sandbox.out()
    check(sandbox.proctor("plan", "-o", plan, "--", "true").returncode == 0, "plan")
    done = sandbox.proctor("run", "--plan", plan, "--shard", "1/1", "--out", out)
    check(done.returncode == 0, done.stdout, done.stderr)
    return out


def holes_and_links_are_not_merged(sandbox):
    out = whole_shard(sandbox)
    evidence = out / "evidence"
    evidence.mkdir(exist_ok=True)
    with open(evidence / "holes.txt", "wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(evidence / "fifo.txt")
    (evidence / "passwd.txt").symlink_to("/etc/passwd")
    merged = sandbox.proctor("report", "merge", out, "--out", "merged", timeout=60)
    check(merged.returncode == 0, merged.stdout, merged.stderr)
    [copy] = (sandbox.path / "merged").rglob("holes.txt")
    check(copy.stat().st_blocks < 1000, "the holes were filled:", copy.stat().st_blocks)
    check(not list((sandbox.path / "merged").rglob("passwd.txt")), "a link was followed")

    shutil.rmtree(evidence)
    evidence.symlink_to(ROOT / "docs")
    merged = sandbox.proctor("report", "merge", out, "--out", "again", timeout=60)
    check(merged.returncode == 0, merged.stderr)
    check(not list((sandbox.path / "again").rglob("containment.md")), "the evidence of a link was copied")


def results_planted_for_the_next(sandbox):
    """A program whose kind is told by its result file, and that writes none."""
    quits = sandbox.path / "quits.sh"
    result = {"benchmarks": [{"name": "spin", "run_name": "spin", "run_type": "iteration", "iterations": 1,
                              "real_time": 1, "cpu_time": 1, "time_unit": "ns"}]}
    quits.write_text('#!/bin/sh\ncase "$*" in *list_tests=true*) echo spin;; *) exit 0;; esac\n')
    quits.chmod(0o755)
    planted = json.dumps(result)
    plant = """for d in $(grep -o '/[^"]*/pr-[A-Za-z0-9]*' "$PROCTOR_RUN_DIR/run.json"); do for n in $(seq 1 50); do
    [ -e $d/$n ] || echo "$0" > $d/$n; done; ls $d; done"""
    write_config(sandbox.path / "proctor.toml", {"a": {"command": ["/bin/sh", "-c", plant, planted], "kind": "command"},
                                                 "b": {"command": [str(quits)], "kind": "benchmark"}})
    done = sandbox.proctor("run", "--out", "out", "--jobs", "1")
    check(done.returncode != 0, "a result that another case wrote passes:", done.stdout, done.stderr)
    got = outcomes(sandbox.path / "out")
    check(got["a/sh"] == "pass" and got["b/spin"] != "pass", got)
    check("\n50\n" in re.sub(r".*\| ", "", (sandbox.path / "out/logs/a/sh.1.log").read_text()), "nothing was planted")


def in_own_mounts(command):
    return ["unshare", "--mount", "--propagation", "private", *command]


MOUNTS = """#!/bin/sh
say() {{ printf '%s\\n' "$1" >&"$PROCTOR_EVENTS_FD"; }}
case "$1" in
  --proctor-list) say '{{"v":1,"event":"case","case":"A.B","severity":"gate"}}' ;;
  *) say '{{"v":1,"case":"A.B","event":"start","t_ns":0}}'
     mkdir -p x && touch f && mount --bind {dear} "{where}" && mount --bind {dear}/data f
     say '{{"v":1,"case":"A.B","event":"end","result":"pass"}}' ;;
esac
"""


def a_dev_without_null(sandbox):
    """It is named, and no layer is tried."""
    if subprocess.run(in_own_mounts(["true"]), capture_output=True).returncode != 0:
        skip("needs root and mounts of its own")
    empty = "mount -t tmpfs none /dev; "
    devs = {"empty": empty, "a file": empty + "echo text >/dev/null; ", "a directory": empty + "mkdir /dev/null; ",
            "another device": empty + "mknod /dev/null c 1 5; ", "no input": empty + "exec <&-; "}
    for name, script in devs.items():
        for words in (["run", "--out", sandbox.out(), "--", "true"], ["exec", "--out", sandbox.out(), "--", "true"],
                      ["list", "--", "true"]):
            began = time.monotonic()
            done = subprocess.run(in_own_mounts(["sh", "-ec", script + 'exec "$@"', "sh", *sandbox.command(*words)]),
                                  cwd=sandbox.path, env=sandbox.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=120)
            check(done.returncode in (75, 125) and "/dev/null" in done.stderr and "mknod" in done.stderr, name, words,
                  done.returncode, done.stdout, done.stderr)
            check(time.monotonic() - began < 10, name, words, "took", time.monotonic() - began)


def a_mount_is_not_emptied(sandbox):
    """A case of root mounts what is dear to somebody below its directory, on it, and on the one above."""
    if subprocess.run(in_own_mounts(["true"]), capture_output=True).returncode != 0:
        skip("needs root and mounts of its own")
    dear = sandbox.path / "dear"
    for directory in (dear, dear / "1"):
        directory.mkdir()
        (directory / "data").write_text("dear")
    place = Path("/tmp") / secrets.token_hex(3)  # a run takes only a short one
    place.mkdir(mode=0o700)
    try:
        for where in ("$TMPDIR/x", "$TMPDIR", "$TMPDIR/.."):
            suite = sandbox.path / "mounts.sh"
            suite.write_text(MOUNTS.format(dear=dear, where=where))
            suite.chmod(0o755)
            out = sandbox.out()
            done = subprocess.run(in_own_mounts(sandbox.command("run", "--out", out, "--containment", "subreaper", "--kind",
                                                                "proctor", "--", suite)),
                                  cwd=sandbox.path, env={**sandbox.env, "TMPDIR": str(place)}, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=120)
            check((dear / "data").exists() and (dear / "1" / "data").exists(), where, "DATA LOSS", done.stdout, done.stderr)
            check(outcomes(out) == {"mounts_sh.none/A.B": "pass"}, where, outcomes(out), done.stdout, done.stderr)
            warnings = [warning["text"] for warning in of_type(records(out), "warning") if warning["code"] == "scratch_not_removed"]
            if where != "$TMPDIR/..":  # which hides the directory, and is not in it
                check(warnings and "another file system is mounted there" in warnings[0], where, warnings, done.stdout, done.stderr)
            check("another file system is mounted there" in done.stderr, where, done.stderr)
    finally:
        shutil.rmtree(place)  # the mounts ended with their namespace


def old_runs_with_a_mount(sandbox):
    if subprocess.run(in_own_mounts(["true"]), capture_output=True).returncode != 0:
        skip("needs root and mounts of its own")
    dear = sandbox.path / "dear"
    dear.mkdir()
    (dear / "data").write_text("dear")
    sandbox.run_keys(keep=1)
    script = f'set -e; "$0" run -- true >&2; mkdir proctor-out/latest/logs/x; '
    script += f'mount --bind {dear} proctor-out/latest/logs/x; "$0" run -- true >&2'
    done = subprocess.run(in_own_mounts(["sh", "-c", script, *sandbox.command()]), cwd=sandbox.path, env=sandbox.env,
                          capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, done.stderr)
    check((dear / "data").exists(), "DATA LOSS")


def a_directory_of_records_that_another_user_made(sandbox):
    """Who is faster to make /tmp/proctor-UID takes nothing from the runs of that user."""
    if subprocess.run(in_own_mounts(["true"]), capture_output=True).returncode != 0:
        skip("needs root and mounts of its own")
    if BIN.resolve().is_relative_to("/tmp"):
        skip("the programs lie where another file system is mounted")
    script = """set -e; mount -t tmpfs -o mode=1777 none /tmp; cd /tmp; unset XDG_RUNTIME_DIR
    mkdir proctor-$(id -u); chown 65534 proctor-$(id -u)
    "$0" run --out one -- sh -c 'ls -d /tmp/proctor-*/runs/*.json' >&2
    "$0" run --out two -- true >&2
    cat one/logs/sh/sh.1.log; ls -d proctor-* proctor-*/runs/seals/* | cat; cat one/journal.jsonl two/journal.jsonl"""
    done = subprocess.run(in_own_mounts(["sh", "-c", script, *sandbox.command()]), env=sandbox.env, capture_output=True,
                          text=True, timeout=120)
    check(done.returncode == 0, done.stdout, done.stderr)
    check("run_record" not in done.stdout and "journal_digest_not_saved" not in done.stdout, done.stdout)
    names = [line for line in done.stdout.splitlines() if line.startswith("proctor-")]
    check(len([name for name in names if "/seals/" in name]) == 2, names)
    check(len([name for name in names if "/" not in name]) == 2, "each run makes one of its own:", names)


def places_of_reports(sandbox):
    memory = Path("/dev/shm") / f"proctor-e2e-{os.getpid()}"
    try:
        done = sandbox.proctor("run", "--out", memory / "x", "--", "true")
        check(done.returncode == 0 and (memory / "x" / "report.json").exists(), done.returncode, done.stderr)
    finally:
        shutil.rmtree(memory, ignore_errors=True)

    check(sandbox.proctor("run", "--", "true").returncode == 0, "run")
    latest = sandbox.path / "proctor-out" / "latest"
    before = {path: path.read_bytes() for path in latest.rglob("*") if path.is_file()}
    for name in ("journal.jsonl", "junit.xml", "mine.xml", "logs/mine.xml"):
        done = sandbox.proctor("run", "--junit", f"proctor-out/latest/{name}", "--", "true")
        check(done.returncode == 2 and "is the directory of another run" in done.stderr, name, done.returncode, done.stderr)
    check(before == {path: path.read_bytes() for path in latest.rglob("*") if path.is_file()}, "another run was changed")

    for name, code in {"e.xml": 0, "junit.xml": 0, "journal.jsonl": 2, "run.json": 2}.items():
        out = sandbox.out()
        out.mkdir()
        done = sandbox.proctor("run", "--out", out, "--junit", out / name, "--", "true")
        check(done.returncode == code, name, done.returncode, done.stderr)
        check(code != 0 or 'failures="0"' in (out / name).read_text(), name)
    out = sandbox.out()
    out.mkdir()
    (out / "notes").touch()
    done = sandbox.proctor("run", "--out", out, "--junit", out / "e.xml", "--", "true")
    check(done.returncode == 2 and "it is not empty" in done.stderr, done.returncode, done.stderr)


def an_answer_that_is_lost_is_no_green(sandbox):
    out = whole_shard(sandbox)
    commands = (["--help"], ["--version"], ["run", "--dry-run", "--", "true"], ["list", "--", "true"], ["finish", out],
                ["report", "render", out], ["report", "merge", out, "--out", "merged"])
    with open("/dev/full", "w") as full:
        for words in commands:
            plain = sandbox.proctor(*words)
            check(plain.returncode == 0, words, plain.returncode, plain.stderr)
            shutil.rmtree(sandbox.path / "merged", ignore_errors=True)
            done = sandbox.proctor(*words, stdout=full)
            check(done.returncode == 75 and "to stdout" in done.stderr, words, done.returncode, done.stderr)
        check(sandbox.proctor("doctor", stdout=full).returncode != 0, "doctor")


def a_reader_that_pauses_gets_the_verdict(sandbox):
    """As `| less` does."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    suite = {"command": ["/bin/sh", "-c", "echo no; exit 1"], "kind": "command"}
    write_config(sandbox.path / "proctor.toml", {f"s{number}": suite for number in range(60)})
    process = subprocess.Popen(sandbox.command("run", "--out", "out"), cwd=sandbox.path, env=sandbox.env,
                               stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.DEVNULL)
    os.close(write)
    report_file = sandbox.path / "out" / "report.json"
    while not report_file.exists():
        time.sleep(0.05)
    time.sleep(3)
    with os.fdopen(read, "rb") as reader:
        text = reader.read().decode(errors="replace")
    check(process.wait(60) == 1, process.returncode)
    check(len(text) > 4096 and "exit 1 (" in text and "page: " in text, len(text), text[-300:])


def endless(path, kind):
    """Makes what a checkout can contain instead of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    return path


def inputs_without_an_end(sandbox):
    """No input blocks the runner or fills its memory."""
    check(sandbox.proctor("run", "--out", "good", "--", "true").returncode == 0, "run")
    for kind in ("device", "holes", "fifo"):
        place = sandbox.path / kind
        project = endless(place / "proctor.toml", kind).parent
        done = sandbox.proctor("run", "--dry-run", cwd=project, timeout=20)
        words = "is longer than 16 MiB" if kind == "holes" else "is not a regular file"
        check(done.returncode == 2 and f"proctor.toml {words}" in done.stderr, kind, done.returncode, done.stderr)
        for name in ("etc/os-release", "var/lib/dpkg/status", "etc/debian_version"):
            endless(place / "root" / name, kind)
        sandbox.run_keys(stack_root=place / "root")
        for words in (["doctor", "--root", place / "root"], ["stack", "capture", "--root", place / "root"],
                      ["run", "--out", place / "run", "--", "true"]):
            done = sandbox.proctor(*words, timeout=20)
            check(done.returncode in (0, 1, 2, 75) and "internal error" not in done.stderr, kind, words, done.stderr)
    sandbox.run_keys()
    commands = (["run", "--dry-run", "--config", "{}", "--", "true"], ["run", "--known-failures", "{}", "--", "true"],
                ["run", "--plan", "{}"], ["gate", "known-failures", "check", "{}"], ["doctor", "--rules", "{}"],
                ["report", "diff", "good", "{}"],
                ["accept", "--expect", "{}"], ["gate", "--check", "{}"], ["stack", "lint", "{}"],
                ["history", "show", "{}"], ["run", "--sim", "{}", "--", "true"])
    for number, words in enumerate(commands):
        for kind in ("device", "holes"):
            file = endless(sandbox.path / f"{kind}{number}.toml", kind)
            done = sandbox.proctor(*[word.format(file) for word in words], timeout=20)
            check(done.returncode in (1, 2, 75) and "internal error" not in done.stderr and file.name in done.stderr,
                  kind, words, done.returncode, done.stdout, done.stderr)


def pipes_that_are_typed(sandbox):
    """For `<(...)`, bash passes the name of a pipe, which can be read only once."""
    (sandbox.path / "suite.toml").write_text('[suite.a]\ncommand = ["/bin/true"]\nkind = "command"\n')
    (sandbox.path / "known.toml").write_text('[[known_failure]]\ncase = "nothing/*"\noutcome = "fail"\nreason = "exit:*"\n'
                                             'issue = "I-1"\nexpires = 2030-01-01\n')
    out = sandbox.out()
    line = f"exec {BIN}/proctor run --config <(cat suite.toml) --known-failures <(cat known.toml) --out {out}"
    done = subprocess.run(["bash", "-c", line], cwd=sandbox.path, env=sandbox.env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    check(done.returncode == 0 and "known_failure_unused" in (out / "journal.jsonl").read_text(), done.returncode,
          done.stdout, done.stderr)
    digests = [file["sha256"] for file in of_type(records(out), "run_planned")[0]["inputs"]]
    check(digests == [hashlib.sha256((sandbox.path / "suite.toml").read_bytes()).hexdigest()], digests)


if __name__ == "__main__":
    run_scenarios((fifos_for_logs, fifo_for_a_journal, holes_and_links_are_not_merged, results_planted_for_the_next,
                   places_of_reports, an_answer_that_is_lost_is_no_green, a_reader_that_pauses_gets_the_verdict,
                   inputs_without_an_end, pipes_that_are_typed),
                  (a_dev_without_null, a_mount_is_not_emptied, old_runs_with_a_mount, a_directory_of_records_that_another_user_made))
