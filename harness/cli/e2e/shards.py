#!/usr/bin/env python3
"""One plan, several machines, one report: shards are disjoint, complete, and the same wherever they are computed.

    shards.py [SCENARIO...]
"""

import json
import shutil
import sys
import time

from harness import Sandbox, check, killed, report, write_config

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
                {"SLURM_ARRAY_TASK_ID": "11", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "4"}):
        check(ids(run_shard(sandbox, "auto", env={**sandbox.env, **env})[1]) == second, env)
    other = sandbox.path / "other"
    other.mkdir()
    shutil.copy(sandbox.path / "plan.json", other / "plan.json")
    done = sandbox.proctor("run", "--plan", "plan.json", "--shard", "2/4", "--dry-run", cwd=other)
    check([line for line in done.stdout.splitlines() if line.endswith("/true")] == second, done.stdout, done.stderr)


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
        "big": {"kind": "command", "command": ["true"], "backend": "cuda", "devices": 2},
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
    for shard, word in (("0/3", "0/3"), ("4/3", "4/3"), ("1/0", "1/0"), ("x", "`x`"), ("auto", "PROCTOR_SHARD")):
        refused(sandbox, "run", "--plan", "plan.json", "--shard", shard, says=[word])
    for change, word in (({"version": 2}, "version 2"), ({"size": "full"}, "changed after"), ({"format": "x"}, "no plan")):
        (sandbox.path / "bad.json").write_text(json.dumps({**plan, **change}))
        refused(sandbox, "run", "--plan", "bad.json", says=["bad.json", word])
    refused(sandbox, "run", "--plan", "nothing.json", says=["--plan nothing.json"])
    refused(sandbox, "run", "--plan", "plan.json", "--", "true", says=["plan.json", "`--`"])
    for option in (["--backend", "none"], ["--timeout", "1s"], ["suite01"], ["--size", "full"], ["--config", "proctor.toml"]):
        refused(sandbox, "run", "--plan", "plan.json", *option, says=["--plan", option[0] if "-" in option[0] else "suites"])
    refused(sandbox, "run", "--plan", "plan.json", "--case", "suite01/tru", says=["suite01/true"])
    refused(sandbox, "plan", says=["--output"])
    refused(sandbox, "plan", "-o", "no/such/directory/plan.json", says=["-o", "no/such/directory"])


SCENARIOS = {function.__name__: function for function in
             (shards_add_up, the_plan_decides, a_host_that_cannot, bad_input)}


def main():
    for name in sys.argv[1:] or SCENARIOS:
        started = time.monotonic()
        with Sandbox() as sandbox:
            SCENARIOS[name](sandbox)
        print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
