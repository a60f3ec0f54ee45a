#!/usr/bin/env python3
"""A machine that is lost in the middle of a run costs what it had not finished, and nothing is proven twice.

    lost_machines.py [SCENARIO...]
"""

import json

from harness import check, killed, of_type, records, report, run_scenarios, wait_until, write_config

NAMES = [f"suite{number:02}" for number in range(12)]
OUTCOMES = {"suite02": "fail"}  # the others pass


def make_suites(sandbox, waits=("suite05", "suite08")):
    """Each of `waits` runs until there is a file with its name."""
    suites = {name: "exit 0" for name in NAMES}
    suites["suite02"] = "echo from the case; exit 4"
    for name in waits:
        suites[name] = f"while ! [ -e {sandbox.path}/{name} ]; do sleep 0.05; done"
    write_config(sandbox.path / "proctor.toml",
                 {name: {"kind": "command", "command": ["sh", "-c", script], "backend": "none"}
                  for name, script in suites.items()})


def make_plan(sandbox, *options):
    done = sandbox.proctor("plan", "-o", "plan.json", *options)
    check(done.returncode == 0, done.stdout, done.stderr)
    return done.stdout


def lose(sandbox, waiting, *words):
    """A run whose runner is killed while the suite `waiting` runs: its directory."""
    out = sandbox.out()
    process = sandbox.start("run", *words, "--jobs", "1", "--out", out)
    wait_until(lambda: any(start["case"].startswith(waiting) for start in of_type(records(out), "attempt_started"))
               or process.poll() is not None, 60, waiting)
    process.kill()
    sandbox.finish(process)
    return out


def resume(sandbox, *lost, **more):
    out = sandbox.out()
    done = sandbox.proctor("run", "--resume", lost[-1], "--out", out, **more)
    check((out / "report.json").exists(), done.stdout, done.stderr)
    return done, out


def merged(sandbox, *runs):
    out = sandbox.out()
    done = sandbox.proctor("report", "merge", *runs, "--out", out)
    check((out / "report.json").exists(), done.stdout, done.stderr)
    return done.returncode, report(out)


def outcomes(document):
    found = [(case["id"].split("/")[0], case["outcome"]) for case in document["cases"]]
    check(len(dict(found)) == len(found), "a case is there twice:", found)
    return dict(found)


def check_whole(code, document):
    check(outcomes(document) == {name: OUTCOMES.get(name, "pass") for name in NAMES}, outcomes(document))
    check(code == 1 and document["run"]["exit_code"] == 1, code, document["run"]["exit_code"])
    check(not any(w["code"] == "part_incomplete" for w in document["warnings"]), document["warnings"])


def refused(sandbox, *words, says):
    done = sandbox.proctor(*words)
    check(done.returncode == 2, words, "gave", done.returncode, done.stdout, done.stderr)
    for word in says:
        check(word in done.stderr, words, "does not say", word, ":", done.stderr)


def a_run_goes_on(sandbox):
    """Killed, resumed, killed again, and resumed again."""
    make_suites(sandbox)
    lost = lose(sandbox, "suite05")
    check(sandbox.proctor("report", "render", lost).returncode == 0, "no reports of what was lost")
    before = outcomes(report(lost))
    check(before["suite02"] == "fail" and before["suite05"] == "notrun" and before["suite11"] == "notrun", before)

    again = sandbox.out()
    (sandbox.path / "suite05").touch()
    process = sandbox.start("run", "--resume", lost, "--out", again)
    wait_until(lambda: any(start["case"].startswith("suite08") for start in of_type(records(again), "attempt_started"))
               or process.poll() is not None, 60, "suite08")
    process.kill()
    sandbox.finish(process)

    (sandbox.path / "suite08").touch()
    done, last = resume(sandbox, again)
    check(killed(done) == 0, done.stdout, done.stderr)
    rest = report(last)["run"]["remaining"]
    ids = [report_of["run"]["id"] for report_of in map(report, (lost,))] + [records(again)[0]["run_id"]]
    check(rest["runs"] == ids and rest["planned"] == 12, rest, ids)
    check("suite05" not in outcomes(report(last)), "it was proven already")
    check(f"proctor report merge {lost} {again} {last}" in done.stdout, done.stdout)

    check_whole(*merged(sandbox, lost, again, last))
    check_whole(*merged(sandbox, last, lost, again))
    refused(sandbox, "report", "merge", lost, last, "--out", sandbox.out(), says=["left, and that run is not given"])
    done = sandbox.proctor("run", "--resume", last)
    check(done.returncode == 0 and "nothing to resume" in done.stdout, done.stdout, done.stderr)


def a_shard_goes_on(sandbox):
    """Its rest and the other shards are the whole."""
    make_suites(sandbox, waits=NAMES[3:6])
    make_plan(sandbox)
    plan = json.loads((sandbox.path / "plan.json").read_text())["digest"]
    shard_of = lambda index: sandbox.proctor(
        "run", "--plan", "plan.json", "--shard", f"{index}/3", "--dry-run").stdout
    index = next(index for index in (1, 2, 3) if "suite04/" in shard_of(index))
    first = next(name for name in NAMES[3:6] if f"{name}/" in shard_of(index))
    lost = lose(sandbox, first, "--plan", "plan.json", "--shard", f"{index}/3")
    with (lost / "journal.jsonl").open("a") as journal:
        journal.write('{"v":2,"type":"attempt_en')  # the machine went down while it wrote
    for name in NAMES[3:6]:
        (sandbox.path / name).touch()
    runs = [lost]
    for other in {1, 2, 3} - {index}:
        runs.append(sandbox.out())
        sandbox.proctor("run", "--plan", "plan.json", "--shard", f"{other}/3", "--out", runs[-1])
    done, out = resume(sandbox, lost)
    run = report(out)["run"]
    check(run["shard"]["index"] == index and run["remaining"]["plan"] == plan and run["remaining"]["shards"] == 3, run)
    check_whole(*merged(sandbox, *runs, out))
    refused(sandbox, "report", "merge", *runs[:2], out, "--out", sandbox.out(), says=["is missing"])


def the_rest_is_a_plan(sandbox):
    """What two lost machines left is divided again."""
    make_suites(sandbox, waits=NAMES[:2] + NAMES[3:])
    make_plan(sandbox)
    runs = [lose(sandbox, "suite", "--plan", "plan.json", "--shard", f"{index}/2") for index in (1, 2)]
    for name in NAMES:
        (sandbox.path / name).touch()
    done = sandbox.proctor("plan", "--remaining", *runs, "-o", "rest.json", "--shards", "2")
    check(done.returncode == 0 and "2 shards" in done.stdout, done.stdout, done.stderr)
    for index in (1, 2):
        runs.append(sandbox.out())
        done = sandbox.proctor("run", "--plan", "rest.json", "--shard", f"{index}/2", "--out", runs[-1])
        check(report(runs[-1])["run"]["remaining"]["planned"] == 12, done.stdout, done.stderr)
    check_whole(*merged(sandbox, *runs))
    refused(sandbox, "report", "merge", *runs[:-1], "--out", sandbox.out(), says=["shard 2/2 is missing"])
    done = sandbox.proctor("plan", "--remaining", *runs, "-o", "none.json")
    check(done.returncode == 0 and "nothing remains to be run" in done.stdout, done.stdout, done.stderr)
    check(not (sandbox.path / "none.json").exists(), "a plan without cases")

    (sandbox.path / "plan.json").rename(sandbox.path / "moved.json")
    refused(sandbox, "plan", "--remaining", *runs[:2], "-o", "x.json", says=["plan.json", "--plan FILE"])
    done = sandbox.proctor("plan", "--remaining", *runs[:2], "--plan", "moved.json", "-o", "x.json")
    check(done.returncode == 0, done.stdout, done.stderr)
    refused(sandbox, "plan", "--remaining", *runs[:2], "--plan", "rest.json", "-o", "x.json",
            says=["rest.json is not the plan of these runs"])


def even_shards(sandbox):
    """By the history; every shard has the cases that the plan says, and the merged run is the whole."""
    scripts = {name: "exit 0" for name in NAMES}
    scripts.update({"suite00": "sleep 2", "suite01": "sleep 0.3", "suite02": "sleep 0.3; exit 4", "suite03": "sleep 0.3"})
    write_config(sandbox.path / "proctor.toml",
                 {name: {"kind": "command", "command": ["sh", "-c", script], "backend": "none"}
                  for name, script in scripts.items()})
    sandbox.proctor("run", "--out", sandbox.out())
    sandbox.proctor("history", "add", "history.db", sandbox.last_out())
    said = make_plan(sandbox, "--shards", "2", "--balance", "history.db")
    check("2 shards of" in said and "not in" not in said, said)
    plan = json.loads((sandbox.path / "plan.json").read_text())
    shard_of = {case["id"].split("/")[0]: case["shard"] for case in plan["cases"]}
    check(plan["shards"] == 2 and {shard_of[name] for name in NAMES[1:4]} == {3 - shard_of["suite00"]}, shard_of)
    runs = []
    for index in (1, 2):
        runs.append(sandbox.out())
        sandbox.proctor("run", "--plan", "plan.json", "--shard", f"{index}/2", "--out", runs[-1])
        check(set(outcomes(report(runs[-1]))) == {name for name in NAMES if shard_of[name] == index}, index)
    check_whole(*merged(sandbox, *runs))
    refused(sandbox, "run", "--plan", "plan.json", "--shard", "1/3", says=["--shard 1/3", "balanced for 2 shards"])
    plan["cases"][0]["shard"] = 3
    (sandbox.path / "bad.json").write_text(json.dumps(plan))
    refused(sandbox, "run", "--plan", "bad.json", says=["changed after it was made"])
    refused(sandbox, "plan", "-o", "x.json", "--balance", "history.db", says=["--shards"])
    refused(sandbox, "plan", "-o", "x.json", "--shards", "2", "--balance", "gone.db", says=["gone.db"])
    check("2 shards with about the same number of cases each" in make_plan(sandbox, "--shards", "2"), "not by number")


def bad_input(sandbox):
    make_suites(sandbox)
    lost = lose(sandbox, "suite05")
    for words, says in ((["--filter", "suite05*"], ["--filter"]), (["suite05"], ["suites"]), (["--", "true"], ["`--`"]),
                        (["--jobs", "3"], ["--jobs"])):
        refused(sandbox, "run", "--resume", lost, *words, says=["--resume", *says])
    refused(sandbox, "run", "--resume", "gone", says=["gone does not exist"])
    refused(sandbox, "run", "--resume", sandbox.path, says=["no journal.jsonl"])
    refused(sandbox, "plan", "--remaining", lost, "-o", "rest.json", says=[str(lost), "not started with --plan", "--resume"])
    refused(sandbox, "plan", "--remaining", lost, "-o", "rest.json", "--suite-arg", "size=full", says=["--remaining", "--suite-arg"])
    refused(sandbox, "plan", "-o", "rest.json", "--plan", "plan.json", says=["--remaining"])

    out = sandbox.out()
    process = sandbox.start("run", "--jobs", "1", "--out", out)
    wait_until(lambda: of_type(records(out), "attempt_started"), 60, "a start")
    refused(sandbox, "run", "--resume", out, says=["has not ended", "finish"])
    process.kill()
    sandbox.finish(process)

    (sandbox.path / "suite05").touch()
    (sandbox.path / "suite08").touch()
    config = sandbox.path / "proctor.toml"
    text = config.read_text()
    config.write_text(text.replace("echo from", "echo changed from"))
    refused(sandbox, "run", "--resume", lost, says=["this changed", "proctor.toml"])
    config.write_text(text)
    check(killed(resume(sandbox, lost)[0]) == 0, "it does not go on")


if __name__ == "__main__":
    run_scenarios((a_run_goes_on, a_shard_goes_on, the_rest_is_a_plan, even_shards, bad_input))
