#!/usr/bin/env python3
"""Tests that [[skip]] writes off: every output says why, who and until when, and nothing of it is hidden from the gate."""

import datetime
import hashlib
import json

from harness import check, of_type, records, report, report_files, run_scenarios

TODAY = datetime.datetime.now(datetime.timezone.utc).date()
YESTERDAY, LATER = (TODAY + datetime.timedelta(days=days) for days in (-1, 30))
REASON = "waits for driver 580"
WORDS = f"{REASON} (jane, until {LATER})"
# Two cases, each of which leaves a file where it ran.
PROGRAM = """#!/bin/sh
say() { printf '{"v":1,"case":"%s","event":%s}\\n' "$name" "$1" >&"$PROCTOR_EVENTS_FD"; }
if [ "$1" = --proctor-list ]; then
  for name in A.One A.Two; do say '"case"'; done
  exit
fi
name=${1#--proctor-case=}
say '"start"'
: > "$MARKS/$name"
say '"end","result":"pass"'
"""


def skip_of(case, expires=LATER):
    return f'[[skip]]\ncase = "{case}"\nreason = "{REASON}"\nowner = "jane"\nexpires = {expires}\n'


def configure(sandbox, skips, suites=("unit",)):
    program = sandbox.path / "unit.sh"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    marks = sandbox.path / "marks"
    marks.mkdir(exist_ok=True)
    tables = [f'[suite.{name}]\nkind = "proctor"\ncommand = ["{program}"]\nbackend = "none"\nenv = {{MARKS = "{marks}"}}\n'
              for name in suites]
    (sandbox.path / "proctor.toml").write_text("".join(tables) + skips)


def run(sandbox, *words, code=0):
    """The cases that left a file, the report, and the console."""
    marks = sandbox.path / "marks"
    for mark in marks.iterdir():
        mark.unlink()
    done = sandbox.proctor("run", "--out", sandbox.out(), *words)
    check(done.returncode == code, words, "exit", done.returncode, done.stdout, done.stderr)
    return {mark.name for mark in marks.iterdir()}, report(sandbox.last_out()), done.stdout


def warned(document):
    return [(each["code"], each["text"]) for each in document["warnings"] if each["code"].startswith("skip_")]


def everything_says_so(sandbox):
    configure(sandbox, skip_of("unit.none/*One"))
    ran, document, console = run(sandbox)
    check(ran == {"A.Two"}, "these ran:", ran)
    ended = {case["id"]: (case["outcome"], case["reason"]) for case in document["cases"]}
    check(ended == {"unit.none/A.One": ("skip", f"config:{WORDS}"), "unit.none/A.Two": ("pass", "")}, ended)
    check((document["summary"]["planned"], document["summary"]["skip"]) == (2, 1), document["summary"])
    check(WORDS in console, "the console does not say why:", console)
    formats, _ = report_files(sandbox)
    for name, file in (("junit", "junit.xml"), ("markdown", "summary.md"), ("html", "index.html"), ("ctrf", "ctrf.json")):
        check(name in formats, f"no format {name}:", formats)
        done = sandbox.proctor("report", "render", sandbox.last_out(), "--format", name)
        check(done.returncode == 0, name, done.stdout, done.stderr)
        check(WORDS in (sandbox.last_out() / file).read_text(), file, "does not say why")
    [planned] = of_type(records(sandbox.last_out()), "run_planned")
    check({"option": "[[skip]]", "value": "unit.none/*One", "covered_by": "rule"} in planned["restrictions"]["options"],
          planned["restrictions"])
    listed = {case["id"]: case.get("config_skip") for case in json.loads(sandbox.proctor("list", "--json").stdout)["cases"]}
    check(listed["unit.none/A.Two"] is None and listed["unit.none/A.One"]["owner"] == "jane", listed)
    for words, code in ((["--fail-on-skip"], 3), (["--fail-on-skip=config:*"], 3), (["--fail-on-skip=needs:*"], 0),
                        (["--case", "unit.none/A.One"], 3)):  # nothing was executed
        ran, _, _ = run(sandbox, *words, code=code)
        check("A.One" not in ran, words, "started it")


def expired_or_about_nothing(sandbox):
    """A warning names the line, and the case runs; what the command line left out may be meant."""
    lines = skip_of("unit.none/*One", YESTERDAY) + skip_of("unit.none/Gone") + skip_of("other.none/*")
    configure(sandbox, lines, suites=("unit", "other"))
    first = 11
    line = {name: first + 5 * i for i, name in enumerate(("expired", "gone"))}
    texts = [("skip_expired", f"proctor.toml:{line['expired']}: skip of `unit.none/*One` ({REASON}, jane) expired on {YESTERDAY}; "
              "its cases run"), ("skip_unused", f"proctor.toml:{line['gone']}: skip of `unit.none/Gone` matches no case")]
    for words in ([], ["unit"], ["--case", "unit.none/A.One"]):
        ran, document, _ = run(sandbox, *words)
        check("A.One" in ran, words, "ran", ran)
        check(warned(document) == texts, words, warned(document), "and not", texts)


def of_the_user(sandbox):
    """Nobody writes tests of a project off for himself."""
    configure(sandbox, "")
    file = sandbox.path / "config" / "proctor" / "proctor.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[run]\nkeep = 3\n" + skip_of("*"))
    done = sandbox.proctor("run")
    check(done.returncode == 2 and f"{file}:3: [[skip]] is not allowed in the user's own file" in done.stderr,
          done.returncode, done.stderr)


def digest(plan):
    return hashlib.sha256(json.dumps(plan, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def a_plan_carries_it(sandbox):
    configure(sandbox, skip_of("unit.none/*One"))
    file = sandbox.path / "plan.json"
    done = sandbox.proctor("plan", "-o", file)
    check(done.returncode == 0, done.stderr)
    configure(sandbox, "")
    ran, document, _ = run(sandbox, "--plan", file)
    check(ran == {"A.Two"}, "with the plan ran", ran)
    check(document["cases"][0]["reason"] == f"config:{WORDS}", document["cases"][0])
    plan = json.loads(file.read_text())
    check(plan.pop("digest") == digest(plan), "the digest is of something else")
    plan["cases"][0]["config_skip"]["expires"] = str(YESTERDAY)
    file.write_text(json.dumps({**plan, "digest": digest(plan)}))
    ran, document, _ = run(sandbox, "--plan", file)
    check(ran == {"A.One", "A.Two"}, "with a plan that is older than the last day ran", ran)
    check([code for code, _ in warned(document)] == ["skip_expired"], warned(document))


def a_release(sandbox):
    """Red, of a plan too, until the policy has the reason."""
    configure(sandbox, skip_of("unit.none/*One"))
    check(sandbox.proctor("plan", "-o", "plan.json").returncode == 0, "no plan")
    subject = ["--subject", "commit=c0ffee", "--subject", "dirty=false"]
    cell = '[[cell]]\nsuite = "unit"\nbackend = "none"\nhardware = false\nmin_executed = 1\n'
    allowed = '[skips]\n"config:waits for driver*" = "it is not released"\n'
    for planned in (False, True):
        run(sandbox, *subject, *(["--plan", "plan.json"] if planned else []))
        for skips in ("", allowed):
            (sandbox.path / "gate.toml").write_text(skips + cell + ('plan = "plan.json"\n' if planned else ""))
            done = sandbox.proctor("gate", "--policy", "gate.toml", "--json", "gate.json", sandbox.last_out())
            [judged] = json.loads((sandbox.path / "gate.json").read_text())["cells"]
            red = [rule["rule"] for rule in judged["rules"] if rule["verdict"] == "failed"]
            check(red == ([] if skips else ["skips"]), "red:", red, judged)
            check(done.returncode == (0 if skips else 1), done.returncode, done.stdout, done.stderr)
            check(skips or WORDS in done.stdout, "the gate does not say why:", done.stdout)


if __name__ == "__main__":
    run_scenarios([everything_says_so, expired_or_about_nothing, of_the_user, a_plan_carries_it, a_release])
