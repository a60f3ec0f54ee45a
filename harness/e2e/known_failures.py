#!/usr/bin/env python3
"""Lists of known failures: an entry counts on its devices only, a predicted failure may pass, `check` names file and line,
`suggest` passes `check`."""

import datetime

from harness import check, report, run_scenarios, write_config

CARDS = '[[xpu]]\nname = "Flex 9"\ndevice_id = 0x0bd5\n\n[[xpu]]\nname = "Max 7"\ndevice_id = 0x0bd6\n'
TODAY = datetime.datetime.now(datetime.timezone.utc).date()


def entry(case, reason, **keys):
    values = {"case": case, "reason": reason, "owner": "us", "issue": "https://bugs.example/1", **keys}
    lines = [f'{key} = "{value}"' for key, value in values.items()]
    days = f"added = {TODAY}\nexpires = {TODAY + datetime.timedelta(days=30)}\n"
    return "[[known_failure]]\n" + "\n".join(lines) + "\n" + days


def run(sandbox, code, *arguments):
    done = sandbox.proctor("run", "--out", sandbox.out(), *arguments)
    check(done.returncode == code, arguments, "exit", done.returncode, done.stdout, done.stderr)
    return report(sandbox.last_out())


def counts_on_its_device(sandbox):
    """The same failure, on the model that the entry names and on another one, and of another backend."""
    (sandbox.path / "cards.toml").write_text(CARDS)
    write_config(sandbox.path / "proctor.toml",
                 {"gpu": {"kind": "command", "command": ["sh", "-c", "exit 3"], "backend": "xpu", "gpus": 1},
                  "host": {"kind": "command", "command": ["sh", "-c", "exit 3"], "backend": "none"}})
    known = sandbox.path / "known.toml"
    known.write_text(entry("*/sh", "exit:3", device="*Flex*"))
    common = ["--sim", "cards.toml", "--known-failures", "known.toml"]
    for device, outcome in (("xpu-sim:0", "xfail"), ("xpu-sim:1", "fail")):
        document = run(sandbox, 1, *common, "--devices", device)  # that of the host has no device, and stays red
        ended = {case["suite"]: case for case in document["cases"]}
        check(ended["gpu"]["outcome"] == outcome, device, ended["gpu"])
        check(ended["host"]["outcome"] == "fail", "an entry with a device counts without one")
        check(ended["gpu"].get("known_failure_location") == ("known.toml:1" if outcome == "xfail" else None), ended["gpu"])
    [listed] = document["run"]["known_failures"]["entries"]
    check((listed["days_left"], listed["hits"], listed["owner"]) == (30, 0, "us"), listed)
    known.write_text(entry("*/sh", "exit:3", backend="none"))
    document = run(sandbox, 1, *common)
    ended = {case["suite"]: case["outcome"] for case in document["cases"]}
    check(ended == {"gpu": "fail", "host": "xfail"}, ended)
    summary = (sandbox.last_out() / "summary.md").read_text()
    check("30 days left" in summary and "`known.toml:1`, 1 case now, us, https://bugs.example/1" in summary, summary)


def predicted_may_pass(sandbox):
    """As expected it is xfail; another reason is red; a pass is a pass, with a warning in the run and in every report."""
    known = sandbox.path / "known.toml"
    known.write_text(entry("*/sh", "exit:3").replace("[[known_failure]]\n", "[[known_failure]]\npredicted = true\n"))
    for code, outcome, ended in ((3, "xfail", 0), (4, "fail", 1), (0, "pass", 0)):
        write_config(sandbox.path / "proctor.toml",
                     {"a": {"kind": "command", "command": ["sh", "-c", f"exit {code}"]}})
        document = run(sandbox, ended, "--known-failures", "known.toml", "--strict")
        [case] = document["cases"]
        warned = [each["text"] for each in document["warnings"] if each["code"] == "case_warning"]
        check(case["outcome"] == outcome and len(warned) == (outcome == "pass"), code, case, warned)
    check(warned[0].startswith("a/sh: the failure that known.toml:1 predicts did not happen"), warned)
    check("https://bugs.example/1" in warned[0], warned)
    for name in ("summary.md", "index.html"):
        check("did not happen" in (sandbox.last_out() / name).read_text(), name, "does not warn")


def of_a_selection(sandbox):
    """Nobody knows of an entry whether it matches a case that was left out; of the whole, each one that matches none is named."""
    write_config(sandbox.path / "proctor.toml", {name: {"kind": "command", "command": ["true"]} for name in "ab"})
    (sandbox.path / "known.toml").write_text(entry("b/true", "*") + entry("gone/true", "*"))
    warned = lambda document: [each["text"] for each in document["warnings"] if each["code"] == "known_failure_unused"]
    for chosen in (["--case", "a/true"], ["--filter", "a/*"], ["--exclude", "b/*"], ["a"]):
        check(warned(run(sandbox, 0, "--known-failures", "known.toml", *chosen)) == [], chosen)
    [text] = warned(run(sandbox, 0, "--known-failures", "known.toml"))
    check("`gone/true` matches no planned case" in text, text)


def is_judged(sandbox):
    """Each line that is wrong is named with its file, exit 1; a plan says what the entries match."""
    write_config(sandbox.path / "proctor.toml", {"a": {"kind": "command", "command": ["true"]}})
    check(sandbox.proctor("plan", "-o", "plan.json").returncode == 0, "no plan")
    known = sandbox.path / "known.toml"

    def judge(code, text, *arguments):
        known.write_text(text)
        done = sandbox.proctor("gate", "known-failures", "check", "known.toml", *arguments)
        check(done.returncode == code, text, arguments, "exit", done.returncode, done.stdout, done.stderr)
        return done.stdout

    good = entry("a/true", "exit:1")
    said = judge(0, good, "--plan", "plan.json", "--max", "1")
    check(said.splitlines() == ["known.toml:1: 30 days left: `a/true`", "known.toml: 1 known failure, 0 errors",
                               "not checked without --history: whether they still fail"], said)
    check("without --plan" in judge(0, good), "it hides what it did not look at")
    later = TODAY + datetime.timedelta(days=31)
    said = judge(1, good, "--as-of", f"{later}T23:59:59Z")
    check("known.toml:1: expired: known failure `a/true` expired on" in said and "1 day ago" in said, said)
    check("known.toml:8: unused: known failure `a/tru`" in judge(1, good + entry("a/tru", "*"), "--plan", "plan.json"),
          "an entry for nothing")
    check("known.toml:8: over_cap:" in judge(1, good + good, "--max", "1"), "one too many")
    check("known.toml:1: no_owner:" in judge(1, entry("a/true", "*", owner="")), "nobody's")
    check("known.toml:1: whole_suite:" in judge(1, entry("a/*", "*")), "a whole suite")


def is_remembered(sandbox):
    """A history tells what is no longer hit, and what passed."""
    mended = sandbox.path / "mended"
    write_config(sandbox.path / "proctor.toml",
                 {"a": {"kind": "command", "command": ["sh", "-c", f"test -e {mended}"]}})
    known = sandbox.path / "known.toml"
    lists = [entry("a/sh", "exit:1").replace(f"added = {TODAY}", f"added = {TODAY - datetime.timedelta(days=days)}")
             for days in (0, 20)]

    def judge(code, text, *arguments):
        known.write_text(text)
        done = sandbox.proctor("gate", "known-failures", "check", "known.toml", "--history", "h.db", *arguments)
        check(done.returncode == code, text, arguments, "exit", done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def remember():
        known.write_text(lists[1])
        run(sandbox, 0, "--known-failures", "known.toml")
        done = sandbox.proctor("history", "add", "h.db", sandbox.last_out())
        check(done.returncode == 0, done.stdout, done.stderr)

    check("h.db" in judge(2, lists[0]), "a history that is not there")
    remember()
    judge(0, lists[1])
    later = TODAY + datetime.timedelta(days=16)
    check("known.toml:1: not_hit:" in judge(1, lists[1], "--as-of", f"{later}"), "an entry that nothing hit for 15 days")
    mended.touch()
    remember()
    check("known.toml:1: passed:" in judge(1, lists[1]), "an expected failure that passed")


def suggestions_pass(sandbox):
    """What is suggested for a run passes `check` with its plan, and makes the next run green."""
    write_config(sandbox.path / "proctor.toml",
                 {"exits": {"kind": "command", "command": ["sh", "-c", "exit 3"]},
                  "exits_too": {"kind": "command", "command": ["sh", "-c", "exit 3"]},
                  "crashes": {"kind": "command", "command": ["sh", "-c", "kill -SEGV $$"]},
                  "good": {"kind": "command", "command": ["true"]}})
    check(sandbox.proctor("plan", "-o", "plan.json").returncode == 0, "no plan")
    run(sandbox, 1)
    done = sandbox.proctor("gate", "known-failures", "suggest", sandbox.last_out(), "--owner", 'a "b"', "--issue", "https://bugs/1")
    check(done.returncode == 0 and done.stdout.count("[[known_failure]]") == 2, "one for each cause:", done.stdout, done.stderr)
    (sandbox.path / "known.toml").write_text(done.stdout)
    judged = sandbox.proctor("gate", "known-failures", "check", "known.toml", "--plan", "plan.json")
    check(judged.returncode == 0, done.stdout, judged.stdout, judged.stderr)
    document = run(sandbox, 0, "--known-failures", "known.toml")
    check((document["summary"]["xfail"], document["summary"]["pass"]) == (3, 1), document["summary"])
    done = sandbox.proctor("gate", "known-failures", "suggest", sandbox.last_out(), "--owner", "a", "--issue", "b")
    check(done.returncode == 0 and done.stdout == "" and "nothing to suggest" in done.stderr, done.stdout, done.stderr)


run_scenarios([counts_on_its_device, predicted_may_pass, of_a_selection, is_judged, is_remembered, suggestions_pass])
