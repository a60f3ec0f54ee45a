#!/usr/bin/env python3
"""[group.NAME]: few cases of a group run at once, and others start before those that wait."""

import json

from harness import check, records, report, run_scenarios

JOBS = 6  # more than there are cases
# Leaves its mark, and ends when the marks that it waits for are there.
MEET = 'cd "$MARKS"; : > "$0"; for other in "$@"; do until test -e "$other"; do sleep 0.02; done; done'


def configure(sandbox, suites, max_at_once=None):
    """suites: {name: (marks to wait for, other keys)}"""
    marks = sandbox.path / "marks"
    marks.mkdir(exist_ok=True)
    lines = [] if max_at_once is None else [f"[group.licence]\nmax = {max_at_once}\n"]
    for name, (others, keys) in suites.items():
        table = {"kind": "command", "command": ["sh", "-c", MEET, name, *others], "backend": "none", **keys}
        lines.append(f"[suite.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
        lines.append(f'env = {{MARKS = "{marks}"}}\n')
    (sandbox.path / "proctor.toml").write_text("".join(lines))


def run(sandbox, *words):
    for mark in (sandbox.path / "marks").iterdir():
        mark.unlink()
    done = sandbox.proctor("run", "--jobs", JOBS, "--out", sandbox.out(), *words)
    check(done.returncode == 0, words, "exit", done.returncode, done.stdout, done.stderr)
    check(all(case["outcome"] == "pass" for case in report(sandbox.last_out())["cases"]), done.stdout)
    return records(sandbox.last_out())


def most_at_once(journal, names):
    """Of the cases of these suites, by the order of the events."""
    running, most = set(), 0
    for record in journal:
        if record.get("case", "").split("/")[0] not in names:
            continue
        if record["type"] == "attempt_started":
            running.add(record["case"])
            most = max(most, len(running))
        elif record["type"] == "attempt_ended":
            running.remove(record["case"])
    return most


def members(group="licence"):
    """All wait for the case that is planned last, and this one for the first two."""
    in_group = {"group": group} if group else {}
    suites = {"a1": (["a2", "z"], in_group), "a2": (["a1", "z"], in_group)}
    suites |= {name: (["z"], in_group) for name in ("a3", "a4")}
    return {**suites, "z": (["a1", "a2"], {})}


GROUP = ("a1", "a2", "a3", "a4")


def others_start_before_those_that_wait(sandbox):
    configure(sandbox, members(), max_at_once=2)
    sandbox.run_keys(order="planned")
    journal = run(sandbox)
    check(most_at_once(journal, GROUP) == 2, "at once:", most_at_once(journal, GROUP))
    started = [record["case"].split("/")[0] for record in journal if record["type"] == "attempt_started"]
    check(started[:3] == ["a1", "a2", "z"] and len(started) == 5, "order of starts:", started)
    configure(sandbox, members(group=None))
    check(most_at_once(run(sandbox), GROUP) == 4, "the group alone holds them back")


def one_that_waits_holds_no_device(sandbox):
    """Two cards: the case beside the first one of the group gets the second card, although another one is before it."""
    card = {"backend": "xpu", "gpus": 1}
    suites = {"a1": (["z"], {**card, "group": "licence"}), "a2": ([], {**card, "group": "licence"}), "z": (["a1"], card)}
    configure(sandbox, suites, max_at_once=1)
    sandbox.run_keys(order="planned")
    journal = run(sandbox, "--sim", f"xpu:2x1,state={sandbox.path}/machine")
    check(most_at_once(journal, ("a1", "a2")) == 1, "at once:", most_at_once(journal, ("a1", "a2")))


def a_plan_carries_it(sandbox):
    configure(sandbox, members(), max_at_once=2)
    sandbox.run_keys(order="planned")
    listed = {case["suite"]: case.get("group") for case in json.loads(sandbox.proctor("list", "--json").stdout)["cases"]}
    check(listed == {**{name: {"name": "licence", "max": 2} for name in GROUP}, "z": None}, listed)
    check(sandbox.proctor("plan", "-o", "plan.json").returncode == 0, "no plan")
    plan = json.loads((sandbox.path / "plan.json").read_text())
    check(plan["groups"] == {"licence": 2}, plan["groups"])
    configure(sandbox, members(group=None))
    check(most_at_once(run(sandbox, "--plan", "plan.json"), GROUP) == 2, "with the plan")


def mistakes(sandbox):
    for suites, max_at_once, words in ((members("license"), 2, ("proctor.toml:7: `group` is \"license\"", "Did you mean `licence`?")),
                                       (members(None), 2, ("proctor.toml:1: no suite and no case is in [group.licence]",)),
                                       (members(), 0, ("proctor.toml:2: `max` in [group.licence] is 0",))):
        configure(sandbox, suites, max_at_once)
        done = sandbox.proctor("run")
        check(done.returncode == 2 and all(text in done.stderr for text in words), words, done.returncode, done.stderr)


if __name__ == "__main__":
    run_scenarios([others_start_before_those_that_wait, one_that_waits_holds_no_device, a_plan_carries_it, mistakes])
