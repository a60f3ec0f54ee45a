#!/usr/bin/env python3
"""One plan, several machines, one report: shards are disjoint, complete, and the same wherever they are computed.

    shards.py [SCENARIO...]
"""

import json
import shutil
import signal

from harness import check, killed, of_type, records, report, run_scenarios, wait_until, write_config

SUITES = [f"suite{number:02}" for number in range(12)]


def make_plan(sandbox, commands=None, **limits):
    """Twelve cases that pass, unless `commands` says otherwise."""
    commands = {**{name: ["true"] for name in SUITES}, **(commands or {})}
    write_config(sandbox.path / "proctor.toml",
                 {name: {"kind": "command", "command": command, "backend": "none", **limits}
                  for name, command in commands.items()})
    done = sandbox.proctor("plan", "-o", "plan.json")
    check(done.returncode == 0 and f"{len(commands)} cases of" in done.stdout, done.stdout, done.stderr)


def run_shard(sandbox, shard, *options, directory=None, **more):
    """Exit code and report of one shard."""
    out = directory or sandbox.out()
    done = sandbox.proctor("run", "--plan", "plan.json", "--shard", shard, "--out", out, *options, **more)
    check((out / "report.json").exists(), done.stdout, done.stderr)
    return killed(done), report(out), out


def ids(document):
    return [case["id"] for case in document["cases"]]


def refused(sandbox, *words, says, env=None):
    done = sandbox.proctor(*words, env={**sandbox.env, **(env or {})})
    check(done.returncode == 2, words, "gave", done.returncode, done.stdout, done.stderr)
    for word in says:
        check(word in done.stderr, words, "does not say", word, ":", done.stderr)


def shards_add_up(sandbox):
    make_plan(sandbox)
    seen = []
    for index in range(1, 5):
        code, document, _ = run_shard(sandbox, f"{index}/4")
        check(code == 0, "shard", index, "gave", code)
        check(document["run"]["shard"]["planned"] == 12, document["run"]["shard"])
        seen += ids(document)
    check(sorted(seen) == [f"{name}/true" for name in SUITES], "not every case once:", seen)

    # Wherever it is computed: from the config, by a scheduler's variables, in another directory.
    second = ids(run_shard(sandbox, "2/4")[1])
    check(second, "shard 2/4 has no case")
    dry = sandbox.proctor("run", "--shard", "2/4", "--dry-run").stdout.splitlines()
    check([line for line in dry if line.endswith("/true")] == second, "without --plan:", dry)
    for env in ({"PROCTOR_SHARD": "2/4"}, {"JOB_COMPLETION_INDEX": "1", "PROCTOR_SHARD_COUNT": "4"},
                {"SLURM_ARRAY_TASK_ID": "11", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_MAX": "13",
                 "SLURM_ARRAY_TASK_COUNT": "4"}):
        check(ids(run_shard(sandbox, "auto", env={**sandbox.env, **env})[1]) == second, env)
    other = sandbox.path / "other"
    other.mkdir()
    shutil.copy(sandbox.path / "plan.json", other / "plan.json")
    done = sandbox.proctor("run", "--plan", "plan.json", "--shard", "2/4", "--dry-run", cwd=other)
    check([line for line in done.stdout.splitlines() if line.endswith("/true")] == second, done.stdout, done.stderr)


def wherever_it_starts(sandbox):
    """In the root directory too, and in one that the plan happens to name."""
    make_plan(sandbox, {"suite00": ["ls", "/usr"]})
    digest = json.loads((sandbox.path / "plan.json").read_text())["digest"]
    for place in ("/usr", "/"):
        out = sandbox.out()
        done = sandbox.proctor("run", "--plan", sandbox.path / "plan.json", "--out", out, cwd=place)
        check(done.returncode == 0 and report(out)["run"]["shard"]["plan"] == digest, place, done.stdout, done.stderr)


def the_plan_decides(sandbox):
    """Limits are those of the plan, whatever the config says by now, and on a machine without it."""
    make_plan(sandbox, {"suite00": ["sleep", "60"]}, timeout="1s", grace="1s")
    (sandbox.path / "proctor.toml").write_text("[suite.other]\ncommand = [\"false\"]\n")
    done = sandbox.proctor("run", "--plan", "plan.json", "--out", sandbox.out())
    document = report(sandbox.last_out())
    outcomes = {case["id"]: case["outcome"] for case in document["cases"]}
    check(done.returncode == 1 and outcomes.pop("suite00/sleep") == "timeout", done.stdout)
    check(len(outcomes) == 11 and set(outcomes.values()) == {"pass"}, outcomes)
    again = next(line for line in done.stdout.splitlines() if line.startswith("rerun:"))
    check("--plan plan.json --case suite00/sleep" in again, again)
    done = sandbox.proctor("rerun", sandbox.last_out(), "--case", "suite01/true", "--out", sandbox.out())
    check(done.returncode == 0 and ids(report(sandbox.last_out())) == ["suite01/true"], done.stdout, done.stderr)


def a_host_that_cannot(sandbox):
    """A case that this machine cannot run is a skip with its reason; its id stays."""
    write_config(sandbox.path / "proctor.toml", {
        "big": {"kind": "command", "command": ["true"], "backend": "cuda", "gpus": 2},
        "small": {"kind": "command", "command": ["true"], "backend": "none"}})
    check(sandbox.proctor("plan", "-o", "plan.json").returncode == 0, "no plan")
    code, document, _ = run_shard(sandbox, "1/1", "--sim", "cuda:1")
    found = {case["id"]: (case["outcome"], case["reason"]) for case in document["cases"]}
    outcome, reason = found["big/true"]
    check(code == 0 and found["small/true"] == ("pass", ""), code, found)
    # The simulator may not have been built.
    check(outcome == "skip" and (reason == "needs:devices>=2" or reason.startswith("library_missing:")), found)


def bad_input(sandbox):
    make_plan(sandbox)
    plan = json.loads((sandbox.path / "plan.json").read_text())
    for shard, word in (("0/3", "0/3"), ("4/3", "4/3"), ("1/0", "1/0"), ("x", "(got x)"), ("auto", "PROCTOR_SHARD")):
        refused(sandbox, "run", "--plan", "plan.json", "--shard", shard, says=[word])
    for change, word in (({"version": 99}, "version 99"), ({"size": "full"}, "changed after"), ({"format": "x"}, "not a Proctor plan")):
        (sandbox.path / "bad.json").write_text(json.dumps({**plan, **change}))
        refused(sandbox, "run", "--plan", "bad.json", says=["bad.json", word])
    refused(sandbox, "run", "--plan", "nothing.json", says=["--plan nothing.json"])
    refused(sandbox, "run", "--plan", "plan.json", "--", "true", says=["--plan", "`--`"])
    for option in (["--backend", "none"], ["--timeout", "1s"], ["suite01"], ["--suite-arg", "size=full"], ["--config", "proctor.toml"]):
        refused(sandbox, "run", "--plan", "plan.json", *option, says=["--plan", option[0] if "-" in option[0] else "suites"])
    refused(sandbox, "run", "--plan", "plan.json", "--case", "suite01/tru", says=["suite01/true"])
    refused(sandbox, "plan", says=["--output"])
    refused(sandbox, "plan", "-o", "no/such/directory/plan.json", says=["-o", "no/such/directory"])


def run_all(sandbox, count, *options, **more):
    return [run_shard(sandbox, f"{index}/{count}", *options, **more)[2] for index in range(1, count + 1)]


def merged(sandbox, *reports):
    out = sandbox.out()
    done = sandbox.proctor("report", "merge", *reports, "--out", out)
    check((out / "report.json").exists(), done.stdout, done.stderr)
    return done.returncode, report(out), out


def merge_is_the_whole(sandbox):
    """As if one machine had run it all: cases, files, logs, exit code."""
    make_plan(sandbox, {"suite03": ["sh", "-c", "echo from the case; exit 4"]})
    parts = run_all(sandbox, 3)
    whole = sandbox.out()
    check(sandbox.proctor("run", "--plan", "plan.json", "--out", whole).returncode == 1, "the whole is not red")
    core = parts[0] / "evidence" / "sh" / "sh.1.core"
    core.parent.mkdir(parents=True)
    with core.open("wb") as file:
        file.truncate(1 << 30)
    code, document, out = merged(sandbox, parts[2], parts[0] / "report.json", parts[1] / "journal.jsonl")
    [copy] = out.rglob("sh.1.core")
    check(copy.stat().st_size == 1 << 30 and copy.stat().st_blocks * 512 < 1 << 20, "a core lost its holes:", copy.stat())
    outcomes = lambda cases: {(case["id"], case["outcome"], case["reason"]) for case in cases["cases"]}
    check(code == 1 and outcomes(document) == outcomes(report(whole)), code, outcomes(document))
    check(document["summary"] == report(whole)["summary"], document["summary"])
    check(document["run"]["plan_digest"] == report(whole)["run"]["plan_digest"], "another plan")
    names = lambda path: sorted(p.relative_to(path).as_posix() for p in path.rglob("*.xml"))
    check(names(out) == names(whole) and (out / "summary.md").exists(), names(out))
    bad = next(case for case in document["cases"] if case["outcome"] == "fail")
    check("from the case" in (out / bad["attempts"][0]["output"]["log"]).read_text(), "its log is not there")
    done = sandbox.proctor("report", "render", out)
    check(done.returncode == 0 and "exit code is 1" in done.stdout, done.stdout, done.stderr)
    done = sandbox.proctor("report", "render", "--format", "github", out, "--force")
    check(done.stdout.startswith("::error title=suite03/"), done.stdout)
    check("--plan plan.json --case suite03/sh" in (out / "summary.md").read_text(), "no rerun command")


def a_merge_repeats(sandbox):
    """The command of the docs, whose glob finds its own result the second time."""
    make_plan(sandbox)
    runs = sandbox.path / "runs"
    for index in (1, 2):
        done = sandbox.proctor("run", "--plan", "plan.json", "--shard", f"{index}/2", "--out", runs / str(index))
        check(done.returncode == 0, done.stdout, done.stderr)
    for _ in range(2):
        done = sandbox.proctor("report", "merge", *sorted(runs.iterdir()), "--out", runs / "all")
        check(done.returncode == 0 and done.stdout.startswith("2 runs: 12 planned"), done.stdout, done.stderr)
    first = records(runs / "all")[0]["run_id"]
    refused(sandbox, "report", "merge", runs / "1", "--out", runs / "all", says=["shard 2/2 is missing"])
    check(records(runs / "all")[0]["run_id"] == first, "a refused merge changed the earlier one")


def merge_refuses(sandbox):
    make_plan(sandbox)
    one, two, three = run_all(sandbox, 3)
    check(merged(sandbox, one, two, three)[0] == 0, "not green")
    out = sandbox.path / "never"
    refused(sandbox, "report", "merge", one, three, "--out", out, says=["shard 2/3 is missing"])
    refused(sandbox, "report", "merge", one, "gone", three, "--out", out, says=["gone does not exist"])
    refused(sandbox, "report", "merge", one, two, three, two, "--out", out, says=["shard 2/3 is given twice", str(two)])
    refused(sandbox, "report", "merge", one, two, three, "--out", one, says=["it is not empty"])
    whole = sandbox.out()
    sandbox.proctor("run", "suite01", "--out", whole)
    refused(sandbox, "report", "merge", one, whole, "--out", out, says=[f"{whole} is not a shard"])
    host = sandbox.path / "host" / "proc" / "sys" / "kernel"
    host.mkdir(parents=True)
    (host / "osrelease").write_text("5.4.0-else\n")
    sandbox.run_keys(stack_root=sandbox.path / "host")
    other = run_shard(sandbox, "2/3")[2]
    sandbox.run_keys()
    refused(sandbox, "report", "merge", one, other, three, "--out", out, says=["different stacks", str(other)])
    make_plan(sandbox, timeout="9s")
    other = run_shard(sandbox, "2/3")[2]
    refused(sandbox, "report", "merge", one, other, three, "--out", out, says=["other commands or limits", str(other)])
    check(not out.exists(), "a refused merge left files")


def a_shard_that_was_killed(sandbox):
    """What it did not run is missing in the whole, which is not green."""
    make_plan(sandbox, {name: ["sleep", "60"] for name in SUITES[:4]})
    slow = next(index for index in range(1, 4) if any(
        line.startswith("suite00/") for line in sandbox.proctor(
            "run", "--plan", "plan.json", "--shard", f"{index}/3", "--dry-run").stdout.splitlines()))
    parts = []
    for index in range(1, 4):
        out = sandbox.out()
        process = sandbox.start("run", "--plan", "plan.json", "--shard", f"{index}/3", "--out", out)
        wait_until(lambda: any(record["case"].endswith("/sleep") for record in of_type(records(out), "attempt_started"))
                   or process.poll() is not None, 60, "start")
        if index == slow:
            process.kill()
        else:
            process.send_signal(signal.SIGTERM)
        sandbox.finish(process)
        parts.append(out)
    code, document, _ = merged(sandbox, *parts)
    outcomes = {case["id"]: case["outcome"] for case in document["cases"]}
    check(code == 3 and len(outcomes) == 12 and outcomes["suite00/sleep"] == "notrun", code, outcomes)
    check(any(f"shard {slow}/3: its runner was killed" in w["text"] for w in document["warnings"]), document["warnings"])


if __name__ == "__main__":
    run_scenarios((shards_add_up, wherever_it_starts, the_plan_decides, a_host_that_cannot, bad_input, merge_is_the_whole,
                   a_merge_repeats, merge_refuses, a_shard_that_was_killed))
