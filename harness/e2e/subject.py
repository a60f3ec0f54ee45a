#!/usr/bin/env python3
"""What a report says was tested: commit and checkout, the programs of the suites, the list of known failures."""

import hashlib
import os
import shutil
import subprocess

from harness import check, of_type, records, report, report_files, run_scenarios, skip, write_config

CI = [name for name in os.environ if name.startswith(("GITHUB_", "CI_", "BUILDKITE_", "GIT_"))]
CI += ["BUILD_URL", "BRANCH_NAME"]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def git(sandbox, *words):
    done = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=sandbox.path, text=True,
                          capture_output=True, env={**sandbox.env, "GIT_CONFIG_GLOBAL": "/dev/null"}, check=True)
    return done.stdout.strip()


def run(sandbox, *arguments, code=0, env=None):
    for name in CI:
        sandbox.env.pop(name, None)
    done = sandbox.proctor("run", "--out", sandbox.out(), *arguments, env={**sandbox.env, **(env or {})})
    check(done.returncode == code, arguments, "exit", done.returncode, done.stdout, done.stderr)
    return report(sandbox.last_out()) if code != 2 else done


def script(sandbox, text):
    path = sandbox.path / "program"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def a_checkout(sandbox):
    """Commit, branch and whether it is dirty, without and with a CI, and where git is missing."""
    if not shutil.which("git"):
        skip("needs git")
    program = script(sandbox, "exit 0\n")
    git(sandbox, "init", "-q", "-b", "main", ".")
    git(sandbox, "add", "program")
    git(sandbox, "commit", "-q", "-m", "first")
    commit = git(sandbox, "rev-parse", "HEAD")
    document = run(sandbox, "--", str(program))
    subject = document["run"]["subject"]
    check(subject["commit"] == {"value": commit, "source": ".git", "reason": None}, subject)
    check((subject["branch"]["value"], subject["dirty"]["value"]) == ("main", False), subject)
    check(subject["build"]["value"] is None and subject["build"]["reason"], subject)
    check(subject["checkout"] == str(sandbox.path.resolve()), subject)
    [planned] = of_type(records(sandbox.last_out()), "run_planned")
    check(planned["subject"]["commit"]["value"] == commit, "not in the plan")

    program.write_text("#!/bin/sh\nexit 0\n# changed\n")
    without_git = {"PATH": str(sandbox.path)}
    for env, dirty in (({}, True), (without_git, None)):
        subject = run(sandbox, "--", str(program), env=env)["run"]["subject"]
        check((subject["commit"]["value"], subject["dirty"]["value"]) == (commit, dirty), subject)
    check("git" in subject["dirty"]["reason"], subject)

    other = "a" * 40
    document = run(sandbox, "--", str(program), env={"GITHUB_SHA": other})
    check(document["run"]["subject"]["commit"] == {"value": other, "source": "GITHUB_SHA", "reason": None}, document["run"])
    [warning] = [warning["text"] for warning in document["warnings"] if warning["code"] == "subject"]
    check(other in warning and commit in warning, warning)
    document = run(sandbox, "--subject", "commit=r7", "--subject=dirty=false", "--", str(program), env={"GITHUB_SHA": other})
    subject = document["run"]["subject"]
    check(subject["commit"]["value"] == "r7" and subject["dirty"] == {"value": False, "source": "--subject", "reason": None},
          subject)
    check(not [warning for warning in document["warnings"] if warning["code"] == "subject"], document["warnings"])
    print("ok", commit)


def wrong_words(sandbox):
    """Refused before anything is started, also with a plan; a right one is taken with a plan."""
    write_config(sandbox.path / "proctor.toml", {"s": {"kind": "command", "command": ["true"]}})
    check(sandbox.proctor("plan", "-o", "plan.json").returncode == 0, "no plan")
    for arguments in ([], ["--plan", "plan.json"]):
        for words, hint in ((["comit=abc"], "Did you mean `commit`?"), (["commit=a", "commit=b"], "`commit` is given twice"),
                            (["commit="], "it has no value"), (["dirty=perhaps"], "neither true nor false")):
            done = run(sandbox, *arguments, *[f"--subject={word}" for word in words], code=2)
            check(hint in done.stderr, words, done.stderr)
            check(not sandbox.last_out().exists(), words, "left a run directory")
    document = run(sandbox, "--plan", "plan.json", "--subject", "commit=abc")
    check(document["run"]["subject"]["commit"]["value"] == "abc", document["run"]["subject"])
    print("ok wrong words are refused")


def programs(sandbox):
    """Each by size and digest; one that changes while cases run has none, and a warning; so has the list its digest."""
    program = script(sandbox, "exit 0\n")
    known = sandbox.path / "known.toml"
    known.write_text('[[known_failure]]\ncase = "none/*"\nreason = "*"\nsource = "s"\nexpires = 2099-01-01\n')
    write_config(sandbox.path / "proctor.toml", {"s": {"kind": "command", "command": [str(program), "a word"]}})
    document = run(sandbox, "--known-failures", "known.toml", "--suite-arg", "size=full")
    [suite] = document["suites"]
    check(suite["command"] == [str(program), "a word"] and suite["program"] == str(program), suite)
    check((suite["sha256"], suite["bytes"]) == (sha256(program), program.stat().st_size), suite)
    list_of_failures = document["run"]["known_failures"]
    check((list_of_failures["file"], list_of_failures["sha256"]) == ("known.toml", sha256(known)), document["run"])
    check((document["run"]["size"], document["run"]["profile"]) == ("full", None), document["run"])

    script(sandbox, 'cp "$0" "$0.new"; echo "# other" >> "$0.new"; mv "$0.new" "$0"\n')
    document = run(sandbox)
    [suite] = document["suites"]
    check(suite["sha256"] is None and "changed during the run" in suite["reason"], suite)
    check([warning for warning in document["warnings"] if warning["code"] == "program_changed"], document["warnings"])
    print("ok programs")


def formats(sandbox):
    """Any of them, anywhere; a word that is none is refused before anything is written."""
    run(sandbox, "--", "true")
    done = sandbox.proctor("report", "render", sandbox.last_out(), "--format", "all", "--out", "elsewhere/deep")
    names = sorted(path.name for path in (sandbox.path / "elsewhere/deep").iterdir())
    files = {file.split("/")[0] for of_format in report_files(sandbox)[0].values() for file in of_format}
    check(names == sorted(files), done.stderr, names, files)
    for words in (["--format", "jnit"], ["--format", ""], ["--format", "json,,ctrf"]):
        done = sandbox.proctor("report", "render", sandbox.last_out(), *words, "--out", "never")
        check(done.returncode == 2 and "there is no format" in done.stderr, words, done.stderr)
        check(not (sandbox.path / "never").exists(), words, "made a directory")
    (sandbox.path / "file").write_text("mine")
    done = sandbox.proctor("report", "render", sandbox.last_out(), "--out", "file")
    check(done.returncode != 0 and (sandbox.path / "file").read_text() == "mine", done.returncode, done.stderr)
    print("ok", names)


if __name__ == "__main__":
    run_scenarios([wrong_words, programs, formats], own_tests=[a_checkout])
