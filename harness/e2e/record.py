#!/usr/bin/env python3
"""The record of a run cannot be bent: a journal that is not what its runner wrote is named, and never green.

    record.py [SCENARIO...]
"""

import os
import shutil
import sys

from harness import check, report, run_scenarios, wait_until, write_config

CHANGED = "the journal was changed after its runner wrote it"
# The last case of three finds the journal and does to it what its argument says.
CASE = """import os, sys
path, how = sys.argv[1:]
text = open(path).read()
if how == "rewrite":
    new = text.replace('"outcome":"fail"', '"outcome":"pass"').replace('"jobs":1', '"jobs":2')
elif how == "cut":
    new = "".join(line for line in text.splitlines(True) if '"case":"bad/' not in line)
elif how == "grow":
    new = text + '{"v":2,"type":"case_ended","case":"bad/true","verdict":{"outcome":"pass","reason":""}}\\n'
elif how == "replace":
    os.rename(path, path + ".old")
    new = open(path + ".old").read()[:-1] + " "
elif how == "link":
    os.rename(path, path + ".old")
    os.symlink(path + ".old", path)
    sys.exit()
elif how == "remove":
    os.unlink(path)
    sys.exit()
open(path, "w").write(new)
"""


def run(sandbox, how, bad="false"):
    """Of three cases, one after the other, the second fails unless `bad` is another command."""
    script = sandbox.path / "case.py"
    script.write_text(CASE)
    out = sandbox.out()
    attack = [sys.executable, str(script), str(out / "journal.jsonl"), how] if how else ["true"]
    write_config(sandbox.path / "record.toml", {name: {"kind": "command", "command": command} for name, command in
                                                (("good", ["true"]), ("bad", [bad]), ("last", attack))})
    done = sandbox.proctor("run", "--jobs", "1", "--config", sandbox.path / "record.toml", "--out", out)
    return done, out


def codes(document):
    return [warning["code"] for warning in document["warnings"]]


def changed_by_a_case(sandbox):
    """The runner knows what it wrote: its own reports are true, and it says that the journal is not."""
    for how in ("rewrite", "cut", "grow", "replace", "link", "remove"):
        done, out = run(sandbox, how)
        document = report(out)
        check(done.returncode == 1, how, "exit", done.returncode, done.stdout, done.stderr)
        check([case["outcome"] for case in document["cases"]] == ["pass", "fail", "pass"], how, document["cases"])
        check("journal_changed" in codes(document), how, "is not said:", document["warnings"])
        done, out = run(sandbox, how, bad="true")
        check(done.returncode == 75, how, "of a good run: exit", done.returncode, done.stdout)


def commands(out, sandbox):
    """All that make something of a journal: (words, environment)."""
    outputs = sandbox.path / "outputs"
    outputs.write_text("")
    yield ["report", "render", out], {}
    yield ["finish", out], {}
    yield ["report", "render", "--format", "github", out, "--force"], {"GITHUB_OUTPUT": str(outputs)}


def check_not_green(sandbox, out, how):
    for words, env in commands(out, sandbox):
        done = sandbox.proctor(*words, env={**sandbox.env, **env})
        check(CHANGED in done.stdout, how, words, "does not say so:", done.stdout, done.stderr)
        if env:
            outputs = (sandbox.path / "outputs").read_text()
            check("verdict=passed" not in outputs and "exit-code=0" not in outputs, how, outputs)
    check(report(out)["run"]["exit_code"] in (1, 75), how, report(out)["run"])


def changed_afterwards(sandbox):
    """A later step changes it: finish and report compare it with the private copy of what was written."""
    for how in ("rewrite", "cut", "grow"):
        for bad in ("false", "true"):
            _, out = run(sandbox, "", bad)
            for words, env in commands(out, sandbox):
                done = sandbox.proctor(*words, env={**sandbox.env, **env})
                check(CHANGED not in done.stdout, "a true journal is doubted:", done.stdout)
            journal = out / "journal.jsonl"
            text = journal.read_text()
            lines = text.splitlines(True)
            if how == "rewrite":
                text = text.replace('"command_line"', '"command_lime"').replace('"outcome":"fail"', '"outcome":"pass"')
            elif how == "cut":
                text = "".join(lines[:-1])
            else:
                text += lines[-1]
            journal.write_text(text)
            check_not_green(sandbox, out, how)


def only_the_journal_is_left(sandbox):
    """Elsewhere its own digests show a record that was changed, taken out or put in."""
    _, out = run(sandbox, "")
    shutil.rmtree(sandbox.path / "state" / "proctor")
    text = (out / "journal.jsonl").read_text()
    lines = text.splitlines(True)
    check(all('"sum":"' in line for line in lines), "a record without a digest")
    for how, changed in (("rewrite", text.replace('"outcome":"fail"', '"outcome":"pass"')),
                         ("cut", "".join(line for line in lines if '"type":"case_ended","case":"bad/' not in line)),
                         ("grow", text + '{"v":2,"type":"run_ended","finished":"x","at_ms":1}\n'),
                         ("garbage", text + "garbage\n")):
        (out / "journal.jsonl").write_text(changed)
        check_not_green(sandbox, out, how)
    (out / "journal.jsonl").write_text(text)
    done = sandbox.proctor("report", "render", out)
    check(CHANGED not in done.stdout and report(out)["run"]["exit_code"] == 1, done.stdout)


def shards(sandbox):
    """A merge names the shard whose journal was changed, and is not green."""
    write_config(sandbox.path / "proctor.toml", {name: {"kind": "command", "command": ["true"]} for name in "abcd"})
    plan = sandbox.path / "plan.json"
    check(sandbox.proctor("plan", "-o", plan).returncode == 0, "no plan")
    parts = []
    for number in (1, 2):
        out = sandbox.out()
        check(sandbox.proctor("run", "--plan", plan, "--shard", f"{number}/2", "--out", out).returncode == 0, "not green")
        parts.append(out)
    done = sandbox.proctor("report", "merge", *parts, "--out", sandbox.out())
    check(done.returncode == 0 and CHANGED not in done.stdout, done)
    with (parts[1] / "journal.jsonl").open("a") as journal:
        journal.write("{}\n")
    done = sandbox.proctor("report", "merge", *parts, "--out", sandbox.out())
    check(done.returncode == 75 and f"shard 2/2: {CHANGED}" in done.stdout, done)


def killed_runner(sandbox):
    """SIGKILL at many moments leaves a journal that fits, with the record under way or without it."""
    script = 'i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo "$i"; done'
    write_config(sandbox.path / "many.toml", {f"case{i}": {"kind": "command", "command": ["sh", "-c", script]} for i in range(60)})
    for records in (1, 5, 20, 33, 60, 90, 121):
        out = sandbox.out()
        process = sandbox.start("run", "--jobs", "2", "--config", sandbox.path / "many.toml", "--out", out)
        journal = out / "journal.jsonl"
        wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= records, 60, f"{records} records")
        process.kill()
        process.communicate(timeout=60)
        done = sandbox.proctor("finish", out)
        check(done.returncode == 0 and CHANGED not in done.stdout, f"after {records} records:", done.stdout, done.stderr)


def exec_too(sandbox):
    out = sandbox.out()
    done = sandbox.proctor("exec", "--out", out, "--", "sh", "-c", f": >{out}/journal.jsonl")
    check(done.returncode == 75, "exec passes a zero on:", done)


def root_and_others(sandbox):
    """Root writes nothing where another user could lead it; links that lie in wait are replaced by everybody."""
    precious = sandbox.path / "precious"
    precious.write_text("mine")
    _, out = run(sandbox, "")
    for name in ("report.json", "junit.xml", "summary.md", "report.json.part", "junit.xml.part"):
        (out / name).unlink(missing_ok=True)
        (out / name).symlink_to(precious)
    junit = sandbox.path / "own.xml"
    junit.symlink_to(precious)
    (sandbox.path / "own.xml.new").symlink_to(precious)
    check(sandbox.proctor("report", "render", out).returncode == 0, "render")
    check(sandbox.proctor("run", "--out", sandbox.out(), "--junit", junit, "--", "true").returncode == 0, "run")
    check(precious.read_text() == "mine" and not junit.is_symlink() and "<testsuite" in junit.read_text(), "followed")
    link = sandbox.path / "link"
    (sandbox.path / "empty").mkdir()
    link.symlink_to(sandbox.path / "empty")
    done = sandbox.proctor("run", "--out", link, "--", "true")
    check(done.returncode == 2 and "it is a link" in done.stderr, "--out LINK:", done)
    if os.geteuid() != 0:
        print("skipped: needs:root to be root in a directory of another user")
        return
    theirs = sandbox.path / "theirs"
    theirs.mkdir()
    shutil.copytree(out, theirs / "run", symlinks=True)
    os.chown(theirs, 65534, 65534)
    for words in (["run", "--out", theirs / "new", "--", "true"], ["run", "--out", sandbox.out(), "--junit", theirs / "x.xml", "--", "true"],
                  ["exec", "--out", theirs / "new", "--", "true"], ["plan", "-o", theirs / "plan", "--", "true"],
                  ["report", "render", theirs / "run"], ["finish", theirs / "run"],
                  ["report", "merge", out, "--out", theirs / "new"]):
        done = sandbox.proctor(*words)
        check(done.returncode in (2, 125) and "uid 65534" in done.stderr and "PROCTOR_TRUST_USER" in done.stderr, words, done)
    check({path.name for path in theirs.iterdir()} == {"run"}, "written:", list(theirs.iterdir()))
    done = sandbox.proctor("run", "--out", theirs / "new", "--", "true", env={**sandbox.env, "PROCTOR_TRUST_USER": "65534"})
    check(done.returncode == 0, "whom root trusts:", done)


def open_files(sandbox):
    """A limit that is too low is said before anything starts, with the number; with that number it is enough."""
    ran = sandbox.path / "ran"
    write_config(sandbox.path / "many.toml",
                 {f"case{i}": {"kind": "command", "command": ["sh", "-c", f"echo >>{ran}; sleep 0.3"]} for i in range(40)})
    limited = lambda limit, *more: sandbox.proctor("run", "--config", sandbox.path / "many.toml", "--out", sandbox.out(),
                                                   *more, preexec_fn=lambda: set_limit(limit))
    for limit in (40, 100):
        done = limited(limit, "--jobs", "30")
        check(done.returncode == 2 and f"the limit is {limit}" in done.stderr and not ran.exists(), limit, done)
    done = limited(300, "--jobs", "30")
    needed = int(done.stderr.partition("ulimit -n ")[2].partition(";")[0])
    check(done.returncode == 2 and "--jobs" in done.stderr and not ran.exists(), done)
    done = limited(needed, "--jobs", "30")
    check(done.returncode == 0, "the number is too low:", needed, done.stdout, done.stderr)
    check("EMFILE" not in done.stdout and len(ran.read_text().splitlines()) == 40, "not all ran:", done.stdout)


def set_limit(limit):
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


if __name__ == "__main__":
    run_scenarios((changed_by_a_case, changed_afterwards, only_the_journal_is_left, shards, killed_runner, exec_too,
                   root_and_others, open_files))
