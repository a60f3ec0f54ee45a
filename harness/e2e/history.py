#!/usr/bin/env python3
"""What a history remembers of real runs: since when a case fails, whatever the order of imports; and what is refused.

    history.py [SCENARIO...]
"""

import fcntl
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

from harness import BIN, ROOT, Sandbox, check, of_type, records, report, run_scenarios, skip, wait_until, write_config
from subject import CI

SCHEMA = ROOT / "reports/schema/history.schema.json"
VALIDATE = "import json, jsonschema, sys; jsonschema.validate(json.loads(sys.argv[1]), json.load(open(sys.argv[2])))"
FAULT = "copy.short:min=65537"
CASE = "memory.xpu/Copy.HostToDeviceIsByteExact"


def history(sandbox, *words, code=0, **more):
    done = sandbox.proctor("history", *words, **more)
    check(done.returncode == code, words, "exit", done.returncode, done.stdout, done.stderr)
    return done


def size(sandbox, db):
    """What is in a file, all of which is checked for damage."""
    return history(sandbox, "prune", db, "--keep", "99").stdout


def show(sandbox, db, *options):
    text = history(sandbox, "show", db, "--json", *options).stdout
    done = subprocess.run([sys.executable, "-c", VALIDATE, text, str(SCHEMA)], capture_output=True, text=True)
    check(done.returncode == 0 or "No module named" in done.stderr, done.stderr, text)
    return json.loads(text)


def run(sandbox, *arguments, commit, code=0, **env):
    for name in CI:
        sandbox.env.pop(name, None)
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, "--subject", f"commit={commit}", "--subject", "branch=main", "--subject",
                           "dirty=false", *arguments, env={**sandbox.env, **env})
    check(done.returncode == code, arguments, "exit", done.returncode, done.stdout, done.stderr)
    return out


def script(sandbox, text):
    path = sandbox.path / "job"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def jobs(sandbox, codes):
    """A run of a command for each exit code, each at a commit of its own."""
    return [run(sandbox, "--", script(sandbox, f"exit {code}\n"), commit=f"{index:040x}", code=code)
            for index, code in enumerate(codes, 1)]


def since_when(sandbox):
    """A fault that is planted in the third run, and is in the fourth: the history says so, and of simulated cards."""
    words = ["memory", "--sim", "xpu:1x1", "--filter", "memory.xpu/Copy.*"]
    runs = [run(sandbox, *words, commit="a" * 40), run(sandbox, *words, commit="b" * 40)]
    faults = {"PROCTOR_SIM_FAULTS": FAULT}
    runs += [run(sandbox, *words, commit=letter * 40, code=1, **faults) for letter in "cd"]
    history(sandbox, "add", "h.sqlite", *runs)
    answer = show(sandbox, "h.sqlite")
    [third, fourth] = [records(out)[0]["run_id"] for out in runs[2:]]
    [failing] = [entry for entry in answer["failing"] if entry["case"] == CASE]
    check(failing["since"]["id"] == third and failing["since"]["commit"] == "c" * 40, failing)
    check(failing["last"]["run"]["id"] == fourth and failing["runs"] == 2, failing)
    check(failing["passed"]["commit"] == "b" * 40 and failing["variant"]["simulated"], failing)
    text = history(sandbox, "show", "h.sqlite").stdout
    [line] = [line for line in text.splitlines() if line.startswith(f"    {CASE} ")]
    check(f"{CASE} · first failed in {'c' * 12}, less than an hour ago · 2 runs · passed in {'b' * 12}" in line, text)
    [outcomes] = show(sandbox, "h.sqlite", "--case", CASE)["cases"]
    check([one["result_class"] for one in outcomes["outcomes"]] == ["failing", "failing", "passing", "passing"], outcomes)


def by_cause(sandbox):
    """Cases of one cause stand together, one line each; those of another cause have a heading of their own."""
    write_config(sandbox.path / "proctor.toml", {
        name: {"kind": "command", "command": [str(script(sandbox, 'exit "$1"\n')), code], "backend": "none"}
        for name, code in (("one", "3"), ("two", "3"), ("three", "4"))})
    runs = [run(sandbox, commit=letter * 40, code=1) for letter in "ab"]
    history(sandbox, "add", "h.sqlite", *runs)
    lines = history(sandbox, "show", "h.sqlite").stdout.splitlines()
    check(lines[1] == "3 cases fail, with 2 causes:", lines)
    heads = [line for line in lines[2:] if not line.startswith("    ")]
    check(len(heads) == 2 and heads[0].endswith(" (2 cases)"), lines)
    check(len(lines) == 7 and all(f" · first failed in {'a' * 12}, " in line and line.endswith(" · 2 runs") for line in lines[2:]
                                  if line not in heads), lines)


def devices(sandbox):
    """A device on which copies fail: how many attempts failed on it and on the others, by device and host."""
    words = ["memory", "--sim", "xpu:1x1", "--filter", "memory.xpu/Copy.*"]
    runs = [run(sandbox, *words, commit="a" * 40), run(sandbox, *words, commit="b" * 40, code=1, PROCTOR_SIM_FAULTS=FAULT)]
    history(sandbox, "add", "h.sqlite", *runs)
    text = history(sandbox, "devices", "h.sqlite", "--json").stdout
    done = subprocess.run([sys.executable, "-c", VALIDATE, text, str(SCHEMA)], capture_output=True, text=True)
    check(done.returncode == 0 or "No module named" in done.stderr, done.stderr, text)
    [device] = json.loads(text)["devices"]
    attempts = [attempt for out in runs for case in report(out)["cases"] for attempt in case["attempts"]
                if attempt["outcome"] not in ("skip", "notrun")]
    check((device["device"], device["runs"], device["attempts"], device["drains"]) == ("xpu-sim:0", 2, len(attempts), 0), device)
    check(device["failed_attempts"] == sum(attempt["outcome"] != "pass" for attempt in attempts) > 0, device, attempts)
    lines = history(sandbox, "devices", "h.sqlite").stdout.splitlines()
    check(lines[0] == "h.sqlite: 2 runs" and lines[1].split()[:2] == ["DEVICE", "HOST"], lines)
    check(lines[2].split()[:2] == ["xpu-sim:0", device["host"]], lines)
    check(json.loads(history(sandbox, "devices", "h.sqlite", "--json", "--since", "9999-01-01").stdout)["devices"] == [], "--since")


def stack_since_green(sandbox):
    """A run that is not green says what changed in the stack since the last one on this machine that was; a green one not."""
    version = sandbox.path / "host/sys/module/nvidia/version"
    version.parent.mkdir(parents=True)
    sandbox.run_keys(stack_root=sandbox.path / "host")
    words = ["memory", "--sim", "xpu:1x1", "--filter", CASE, "--history", "h.sqlite"]

    def changes(out):
        return [warning["text"] for warning in report(out)["warnings"] if warning["code"] == "stack_changed_since_pass"]

    version.write_text("580.65.06\n")
    green = run(sandbox, *words, commit="a" * 40)
    history(sandbox, "add", "h.sqlite", green)
    same = run(sandbox, *words, commit="b" * 40, code=1, PROCTOR_SIM_FAULTS=FAULT)
    check(not any("kmd.nvidia" in text for text in changes(same)), changes(same))
    version.write_text("580.95.05\n")
    red = run(sandbox, *words, commit="c" * 40, code=1, PROCTOR_SIM_FAULTS=FAULT)
    [text] = changes(red)
    check("kmd.nvidia 580.65.06 -> 580.95.05" in text and records(green)[0]["run_id"] in text and "a" * 12 in text, text)
    check("kmd.nvidia 580.65.06" in (red / "summary.md").read_text(), "the summary does not say it")
    check(changes(run(sandbox, *words, commit="d" * 40)) == [], "a green run needs no cause")


def any_order(sandbox):
    """The same answers, byte by byte, after imports in any order, one by one and together, and of another history."""
    runs = jobs(sandbox, [0, 0, 1, 1])
    ways = [runs, runs[::-1], [runs[2], runs[0], runs[3], runs[1]]]
    for index, way in enumerate(ways):
        for out in way if index else [way]:
            history(sandbox, "add", f"{index}.sqlite", *(out if isinstance(out, list) else [out]))
    history(sandbox, "add", "odd.sqlite", runs[0], runs[2])
    history(sandbox, "add", "even.sqlite", runs[1], runs[3] / "report.json", runs[2])
    added = history(sandbox, "add", "odd.sqlite", runs[0], "even.sqlite").stdout
    check("is already imported" in added and "even.sqlite: 2 runs added" in added, added)
    answers = [[history(sandbox, "show", f"{name}.sqlite", "--json", *options).stdout for options in
                ([], ["--case", "*"], ["--flaky"])] for name in (0, 1, 2, "odd")]
    check(all(answer == answers[0] for answer in answers), answers)
    check(json.loads(answers[0][0])["failing"][0]["runs"] == 2, answers[0][0])
    again = history(sandbox, "add", "0.sqlite", *runs).stdout
    check(again.count("is already imported") == 4 and "4 runs" in again, again)


def flaky(sandbox):
    """Ten runs of one commit that disagree, and one that disagrees with itself."""
    marker = sandbox.path / "marker"
    runs = [run(sandbox, "--", script(sandbox, f"exit {code}\n"), commit="a" * 40, code=code)
            for code in [0] * 8 + [1]]
    again = script(sandbox, f"test -e {marker} || {{ touch {marker}; exit 1; }}\n")
    runs.append(run(sandbox, "--retries", "1", "--flaky", "pass:0%", "--", again, commit="b" * 40, code=1))
    history(sandbox, "add", "h.sqlite", *runs[:-1])
    check(show(sandbox, "h.sqlite", "--flaky")["flaky"] == [], "a word about a case of nine runs")
    history(sandbox, "add", "h.sqlite", runs[-1])
    [found] = show(sandbox, "h.sqlite", "--flaky")["flaky"]
    check((found["runs"], found["inconsistent_runs"], found["rate"]) == (10, 2, 0.2), found)
    check(0.05 < found["low"] < 0.06 and 0.50 < found["high"] < 0.52, found)


def runs_record_themselves(sandbox):
    """--history makes the file and adds the run after its end, once; what was before is told before that end."""
    job = script(sandbox, "exit ${CODE:-0}\n")
    for letter, code in (("a", 0), ("b", 1), ("c", 1)):
        out = run(sandbox, "--history", "h.sqlite", "--", job, commit=letter * 40, code=code, CODE=str(code))
        check([record["type"] for record in records(out)][-2:] == ["run_ended", "reports_rendered"], records(out)[-3:])
    check(of_type(records(out), "case_past")[0]["failing_runs"] == 1, records(out))
    check("is already imported" in history(sandbox, "add", "h.sqlite", out).stdout, "another journal than that of the run")
    [failing] = show(sandbox, "h.sqlite")["failing"]
    check(failing["runs"] == 2 and failing["since"]["commit"] == "b" * 40, failing)
    (sandbox.path / "empty.sqlite").touch()
    done = sandbox.proctor("exec", "--history", "empty.sqlite", "--", "true")
    check(done.returncode == 0 and done.stderr == "", done.stderr)
    check("1 run, " in size(sandbox, "empty.sqlite"), "exec")


def a_gate_believes_them(sandbox):
    """A run that failed or was flaky has records of its past, and nothing behind its end."""
    marker = sandbox.path / "marker"
    again = f"test -e {marker} || {{ touch {marker}; exit 1; }}"
    cells = [f'[[cell]]\nsuite = "{name}"\nbackend = "none"\n' for name in ("bad", "shaky")]
    (sandbox.path / "gate.toml").write_text("version = 1\n[gate]\nhardware = false\n" + "".join(cells))
    write_config(sandbox.path / "proctor.toml", {
        "bad": {"kind": "command", "command": ["sh", "-c", "exit ${CODE:-0}"]},
        "shaky": {"kind": "command", "command": ["sh", "-c", again]}})
    words = ["--history", "h.sqlite", "--retries", "1", "--flaky", "pass:100%"]
    marker.touch()
    run(sandbox, *words, commit="a" * 40)
    marker.unlink()
    runs = [run(sandbox, "bad", *words, commit="b" * 40, code=1, CODE="1"), run(sandbox, "shaky", *words, commit="b" * 40)]
    check(all(of_type(records(out), "case_past") for out in runs), "no past")
    done = sandbox.proctor("gate", "--policy", "gate.toml", "--json", "gate.json", *runs)
    check(done.returncode == 1 and "journal" not in done.stdout, done.returncode, done.stdout, done.stderr)


def shards(sandbox):
    """Shards of one plan are runs of their own, until their merged run takes their place."""
    write_config(sandbox.path / "proctor.toml",
                 {f"s{index}": {"kind": "command", "command": ["true"], "backend": "none"} for index in range(6)})
    check(sandbox.proctor("plan", "-o", "plan.json").returncode == 0, "no plan")
    parts = [run(sandbox, "--plan", "plan.json", "--shard", f"{index}/2", commit="a" * 40) for index in (1, 2)]
    check(sandbox.proctor("report", "merge", *parts, "--out", "whole").returncode == 0, "no merge")
    history(sandbox, "add", "h.sqlite", *parts)
    check("2 runs, 6 cases, 6 results" in size(sandbox, "h.sqlite"), "shards")
    mine = run(sandbox, "--plan", "plan.json", "--shard", "1/2", "--history", "merged.sqlite", commit="a" * 40)
    check(not (sandbox.path / "merged.sqlite").exists(), "a shard records itself")
    for _ in range(2):
        done = sandbox.proctor("report", "merge", mine, parts[1], "--out", "recorded", "--history", "merged.sqlite")
        check(done.returncode == 0 and done.stderr == "", done.stdout, done.stderr)
        check("1 run, 6 cases, 6 results" in size(sandbox, "merged.sqlite"), "a merge records")
    for order in ([parts[0], "whole", parts[1]], ["whole", *parts]):
        history(sandbox, "add", "h.sqlite", *order)
        check("1 run, 6 cases, 6 results" in size(sandbox, "h.sqlite"), order)
    whole = records(sandbox.path / "whole")[0]["run_id"]
    again = run(sandbox, "--plan", "plan.json", "--shard", "2/2", commit="a" * 40)
    check(sandbox.proctor("report", "merge", parts[0], again, "--out", "repeated").returncode == 0, "no merge")
    repeated = records(sandbox.path / "repeated")[0]["run_id"]
    check(repeated != whole, "two runs with one id")
    for index, order in enumerate((["whole", "repeated"], ["repeated", "whole", parts[1]], [again, "repeated", parts[0], "whole"])):
        history(sandbox, "add", f"{index}.sqlite", *order)
        newest = show(sandbox, f"{index}.sqlite")
        check(newest["runs"] == 1 and newest["newest"]["id"] == repeated, order, newest)
    check({one["run"]["id"] for case in show(sandbox, "h.sqlite", "--case", "*")["cases"] for one in case["outcomes"]}
          == {whole}, "not of the merged run")


def old_runs(sandbox):
    runs = jobs(sandbox, [0, 1, 0])
    history(sandbox, "add", "h.sqlite", *runs)
    check("0 runs removed" in history(sandbox, "prune", "h.sqlite", "--keep", "90d").stdout, "90d")
    check("2 runs removed" in history(sandbox, "prune", "h.sqlite", "--keep", "1").stdout, "1")
    check(show(sandbox, "h.sqlite")["newest"]["id"] == records(runs[2])[0]["run_id"], "the newest is gone")
    began = int(time.time())
    wait_until(lambda: int(time.time()) > began, 5, "next second")
    check("1 run removed" in history(sandbox, "prune", "h.sqlite", "--keep", "0d").stdout, "0d")


def bad_input(sandbox):
    """Named, exit 2, and nothing is written."""
    [good] = jobs(sandbox, [0])
    (sandbox.path / "text").write_text("x" * 5000)
    history(sandbox, "add", "h.sqlite", good)
    os.symlink("h.sqlite", sandbox.path / "link")
    os.mkfifo(sandbox.path / "fifo")
    cut = sandbox.path / "cut"
    shutil.copytree(good, cut)
    (cut / "journal.jsonl").write_text((good / "journal.jsonl").read_text()[:100])
    changed = sandbox.path / "changed"
    shutil.copytree(good, changed)
    (changed / "journal.jsonl").write_text((good / "journal.jsonl").read_text().replace('"outcome":"pass"', '"outcome":"fail"'))
    before = (sandbox.path / "h.sqlite").read_bytes()
    for words, says in [
            (["add", "new.sqlite", "nowhere"], "nowhere"), (["add", "new.sqlite", sandbox.path], "journal.jsonl"),
            (["add", "new.sqlite", changed], "was changed after its runner wrote it"), (["add", "h.sqlite", changed], "was changed after its runner wrote it"),
            (["add", "new.sqlite", cut], str(cut)), (["add", "new.sqlite", good, "nowhere"], "nowhere"), (["add", "h.sqlite", good, "nowhere"], "nowhere"),
            (["add", "text", good], "not an SQLite file"), (["add", good, good], "it is a directory"),
            (["add", "link", good], "it is a link"), (["add", "fifo", good], "not a regular file"),
            (["add", "none/h.sqlite", good], "none"), (["add", "/proc/h.sqlite", good], "/proc/h.sqlite"),
            (["add", "h.sqlite"], "RUN_DIR"),
            (["show", "missing"], "there is no such file"), (["show", "text"], "not an SQLite file"),
            (["show", "link"], "it is a link"), (["show", "h.sqlite", "--since", "soon"], "soon"),
            (["show", "h.sqlite", "--branch", "mian"], "`mian`"), (["show", "h.sqlite", "--flakyy"], "--flaky"),
            (["show", "h.sqlite", "--branch", "main", "--all-branches"], "--all-branches"),
            (["prune", "missing", "--keep", "1"], "there is no such file"),
            (["prune", "h.sqlite", "--keep", "some"], "some"), (["prune", "h.sqlite", "--keep", "2026-99-99"], "2026-99-99"),
            (["prune", "h.sqlite", "--keep", "9999-01-01"], "in the future"),
            (["show", "h.sqlite", "--since", "2026-02-30"], "2026-02-30"),
            (["show", "h.sqlite", "--branch", "mian"], "main"), (["show", "h.sqlite", "--branch", "other"], "`main`"),
            (["add", "h.sqlite", "text"], "text is not a Proctor run directory or a report in one"), (["prune", "h.sqlite", "--keep", "-1"], "-1"),
            (["show", "h.sqlite", "--wait", "1"], "--wait"),
            (["devices", "missing"], "there is no such file"), (["devices", "text"], "not an SQLite file"),
            (["devices", "link"], "it is a link"), (["devices", "h.sqlite", "--since", "soon"], "soon"),
            (["shwo", "h.sqlite"], "show")]:
        done = history(sandbox, *words, code=2)
        check(says in done.stderr and done.stdout == "", words, "does not say", says, ":", done.stderr)
    check((sandbox.path / "h.sqlite").read_bytes() == before, "something was written")
    left = {path.name for path in sandbox.path.iterdir()}
    check("new.sqlite" not in left and not [name for name in left if name.endswith("-journal")], left)


def damaged(sandbox):
    """Whatever opens it refuses it with the same words, whoever damaged what, and writes nothing."""
    good, other = jobs(sandbox, [0, 1])
    history(sandbox, "add", "h.sqlite", good)
    history(sandbox, "add", "sound.sqlite", good)
    whole = (sandbox.path / "h.sqlite").read_bytes()

    def page_of(table):
        with sqlite3.connect(sandbox.path / "sound.sqlite") as database:
            return database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table]).fetchone()[0] - 1

    def zeroed(table):
        start = page_of(table) * 4096
        return whole[:start] + bytes(4096) + whole[start + 4096:]

    def changed(statement):
        place = sandbox.path / "changed.sqlite"
        place.write_bytes(whole)
        database = sqlite3.connect(place)
        with database:
            database.execute(statement)
        database.close()
        return place.read_bytes()

    for damage in (whole[:len(whole) // 2], zeroed("result"), zeroed("measure"), zeroed("run_by_commit"), zeroed("cause"),
                   changed("UPDATE result SET result_class = 1"), changed("DELETE FROM result"),
                   changed("UPDATE result SET outcome = 99"), changed("DELETE FROM test")):
        for words in (["show", "h.sqlite"], ["devices", "h.sqlite"], ["show", "h.sqlite", "--json"], ["add", "h.sqlite", other],
                      ["prune", "h.sqlite", "--keep", "0"], ["add", "h.sqlite", "sound.sqlite"],
                      ["add", "new.sqlite", "h.sqlite"]):
            (sandbox.path / "h.sqlite").write_bytes(damage)
            done = history(sandbox, *words, code=2)
            check("h.sqlite" in done.stderr and re.search("[Cc]reate (it|the history) again", done.stderr), words, done.stdout, done.stderr)
            check((sandbox.path / "h.sqlite").read_bytes() == damage, words, "wrote to it")
        check(not (sandbox.path / "new.sqlite").exists(), "made of a damaged one")


def no_such_case(sandbox):
    history(sandbox, "add", "h.sqlite", *jobs(sandbox, [0]))
    [case] = show(sandbox, "h.sqlite", "--case", "*")["cases"]
    for options in ([], ["--failing"], ["--flaky"]):
        text = history(sandbox, "show", "h.sqlite", "--case", case["case"] + "x", *options).stdout
        check(f"no such case; did you mean {case['case']}?" in text, text)


def output_that_cannot_be_written(sandbox):
    [good] = jobs(sandbox, [0])
    history(sandbox, "add", "h.sqlite", good)
    for words in (["show", "h.sqlite"], ["show", "h.sqlite", "--json"], ["add", "h.sqlite", good],
                  ["prune", "h.sqlite", "--keep", "5"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(sandbox.command("history", *words), cwd=sandbox.path, env=sandbox.env, stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        check(done.returncode == 75 and "stdout" in done.stderr, words, done.returncode, done.stderr)


def locked(sandbox):
    """Who holds the lock of a writer is waited for, and in the end named."""
    runs = jobs(sandbox, [0, 1])
    history(sandbox, "add", "h.sqlite", runs[0])
    with open(sandbox.path / "h.sqlite", "r+b") as file:  # as SQLite takes it: a byte at 1 GiB says that a change is under way
        fcntl.lockf(file, fcntl.LOCK_EX, 1, 0x40000001)
        done = history(sandbox, "add", "h.sqlite", runs[1], "--wait", "200ms", code=2)
        check("longer than 200ms" in done.stderr, done.stderr)
        check(show(sandbox, "h.sqlite")["runs"] == 1, "readers wait too")
        writer = subprocess.Popen(sandbox.command("history", "add", "h.sqlite", runs[1]), cwd=sandbox.path, env=sandbox.env,
                                  stdout=subprocess.PIPE)
        try:
            writer.wait(0.5)
            check(False, "it did not wait")
        except subprocess.TimeoutExpired:
            pass
    check(writer.wait(60) == 0 and show(sandbox, "h.sqlite")["runs"] == 2, "it gave up")


def a_writer_that_is_killed(sandbox):
    """In the middle of its import: the next command finds the old state."""
    write_config(sandbox.path / "proctor.toml", {f"suite{index:03}": {"kind": "command", "command": ["false"], "backend": "none"}
                                                 for index in range(60)})
    big = run(sandbox, commit="a" * 40, code=1)
    [small] = jobs(sandbox, [0])
    history(sandbox, "add", "h.sqlite", small)
    expected = show(sandbox, "h.sqlite")
    killed = 0
    for _ in range(20):
        writer = subprocess.Popen(sandbox.command("history", "add", "h.sqlite", big), cwd=sandbox.path, env=sandbox.env,
                                  stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: (sandbox.path / "h.sqlite-journal").exists() or writer.poll() is not None, 30, "import")
        finally:
            writer.send_signal(signal.SIGKILL)
        if writer.wait() == -signal.SIGKILL:
            killed += 1
            answer = show(sandbox, "h.sqlite")
            check(answer["runs"] in (1, 2), answer)
            check(answer["runs"] == 2 or answer == expected, answer)
            if answer["runs"] == 2:
                break
    pruned = history(sandbox, "prune", "h.sqlite", "--keep", "90d")  # it checks the whole file
    check(pruned.returncode == 0, killed, pruned.stderr)
    history(sandbox, "add", "h.sqlite", big)
    check(show(sandbox, "h.sqlite")["runs"] == 2, "it cannot be written any more")


def a_change_that_was_cut_short(sandbox):
    """Its writer is killed when its journal is on the disk: every command that reads finds the old state."""
    if not shutil.which("strace"):
        skip("needs strace")
    small, other = jobs(sandbox, [0, 1])
    history(sandbox, "add", "whole.sqlite", small)
    expected = show(sandbox, "whole.sqlite")

    def cut(name):
        shutil.copy(sandbox.path / "whole.sqlite", sandbox.path / name)
        for count in range(1, 12):  # the first sync of which both the journal and pages of the file are there
            done = subprocess.run(["strace", "-f", "-o", sandbox.path / "trace", "-e", "trace=fsync,fdatasync", "-e",
                                   f"inject=fsync,fdatasync:signal=KILL:when={count}",
                                   *sandbox.command("history", "add", name, other)], cwd=sandbox.path, env=sandbox.env,
                                  capture_output=True, text=True)
            if done.returncode == 0:
                skip("the history is written without a sync, or strace may not trace: " + done.stderr)
            journal = sandbox.path / (name + "-journal")
            if journal.exists() and journal.stat().st_size > 0 and journal.read_bytes()[:1] != b"\0":
                return
        check(False, "no journal was left")

    for words in (["show", "cut.sqlite"], ["prune", "cut.sqlite", "--keep", "9"], ["add", "new.sqlite", "cut.sqlite"]):
        cut("cut.sqlite")
        history(sandbox, *words)
        check(show(sandbox, "cut.sqlite") == expected, words, "has not undone it")
    cut("cut.sqlite")
    done = sandbox.proctor("report", "diff", "history:cut.sqlite@" + f"{1:040x}", small)
    check(done.returncode == 0, done.stderr)


def mounted(sandbox, options):
    """A tmpfs in a mount namespace of its own, as words in front of a shell's script."""
    place = sandbox.path / "disk"
    place.mkdir(exist_ok=True)
    if subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", place], capture_output=True).returncode != 0:
        skip("needs root, and to mount a tmpfs")
    return ["unshare", "--mount", "sh", "-ec", f'mount -t tmpfs -o {options} none "$0"; cd "$0"; ' + "{}", place]


def full_disk(sandbox):
    """The old state stays."""
    write_config(sandbox.path / "proctor.toml", {f"suite{index:03}": {"kind": "command", "command": ["false"], "backend": "none"}
                                                 for index in range(400)})
    big = run(sandbox, "--jobs", "8", commit="a" * 40, code=1)
    [small] = jobs(sandbox, [0])
    script_text = (f'"{BIN}/proctor" history add h.sqlite "{small}"; before=$(sha256sum h.sqlite); '
                   f'dd if=/dev/zero of=fill bs=4k 2>/dev/null || :; '
                   f'"{BIN}/proctor" history add h.sqlite "{big}" && exit 9; code=$?; '
                   f'test "$(sha256sum h.sqlite)" = "$before" || exit 8; '
                   f'"{BIN}/proctor" history show h.sqlite; exit $code')
    words = mounted(sandbox, "size=400k")
    words[4] = words[4].format(script_text)
    done = subprocess.run(words, capture_output=True, text=True, env=sandbox.env)
    check(done.returncode == 2 and "the disk is full" in done.stderr, done.returncode, done.stdout, done.stderr)
    check("h.sqlite: 1 run of" in done.stdout, done.stdout)


def read_only_disk(sandbox):
    [good] = jobs(sandbox, [1])
    words = mounted(sandbox, "size=1m")
    words[4] = words[4].format(f'"{BIN}/proctor" history add h.sqlite "{good}"; mount -o remount,ro .; '
                               f'"{BIN}/proctor" history show h.sqlite; '
                               f'"{BIN}/proctor" run --history h.sqlite --out "{sandbox.path}/run" -- true; '
                               f'"{BIN}/proctor" history add h.sqlite "{good}"')
    done = subprocess.run(words, capture_output=True, text=True, env=sandbox.env)
    [warning] = [each["text"] for each in report(sandbox.path / "run")["warnings"] if each["code"] == "history"]
    check("h.sqlite" in warning and "the run is not recorded" in warning, warning)
    check("1 case fails" in done.stdout, done.stdout, done.stderr)
    check(done.returncode == 2 and "h.sqlite" in done.stderr, done.returncode, done.stderr)


def another_users_directory(sandbox):
    """Root does not write where somebody else could lead its files elsewhere."""
    if os.geteuid() != 0:
        skip("needs root")
    [good] = jobs(sandbox, [0])
    theirs = sandbox.path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    done = history(sandbox, "add", theirs / "h.sqlite", good, code=2)
    check("nobody" in done.stderr or "65534" in done.stderr, done.stderr)
    check(not list(theirs.iterdir()), "something was written")


if __name__ == "__main__":
    run_scenarios([since_when, by_cause, devices, stack_since_green, any_order, flaky, runs_record_themselves,
                   a_gate_believes_them, shards, old_runs, bad_input,
                   damaged, no_such_case, output_that_cannot_be_written, locked, a_writer_that_is_killed,
                   a_change_that_was_cut_short],
                  own_tests=[full_disk, read_only_disk, another_users_directory])
