#!/usr/bin/env python3
"""Cases with ranks: N processes, one containment, one verdict; each with a card of its own, and none with what the
caller calls a rank."""

import json
import re
import sys
from pathlib import Path

from harness import BIN, Sandbox, check, new_token, report, survivors, write_config

STAND_IN = BIN / "cuda_sim" / "libcudart.so.13"
STRAY = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "3", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}


def run(sandbox, suites, *arguments, env=None):
    config = sandbox.path / "ranks.toml"
    write_config(config, {name: {"kind": "command", **keys} for name, keys in suites.items()})
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--out", out, *arguments, env={**sandbox.env, **(env or {})})
    check((out / "report.json").exists(), "no report:", done.stdout, done.stderr)
    cases = {case["suite"]: case for case in report(out)["cases"]}
    return done, cases, out


def verdict(case):
    return case["outcome"] + (f"({case['reason']})" if case["reason"] else "")


def ranks_of(case):
    return case["attempts"][-1]["ranks"]


def shell(script):
    return ["sh", "-c", script]


def each_knows_who_it_is(sandbox):
    """With and without stray variables of the caller; ranks meet in a directory that is gone afterwards."""
    script = """env > {0}/$RANK.env; : > $PROCTOR_RENDEZVOUS/$RANK
        while [ $(ls $PROCTOR_RENDEZVOUS | wc -l) -lt 4 ]; do :; done; echo met as $RANK""".format(sandbox.path)
    ports = set()
    for stray in ({}, STRAY):
        done, cases, out = run(sandbox, {"four": {"command": shell(script), "ranks": 4}}, env=stray)
        check(done.returncode == 0 and verdict(cases["four"]) == "pass", done.stdout)
        seen = []
        for rank in range(4):
            env = dict(line.split("=", 1) for line in (sandbox.path / f"{rank}.env").read_text().splitlines() if "=" in line)
            check((env["RANK"], env["WORLD_SIZE"], env["LOCAL_RANK"], env["LOCAL_WORLD_SIZE"]) == (str(rank), "4", str(rank), "4"), env)
            check(env["MASTER_ADDR"] == "127.0.0.1" and not Path(env["PROCTOR_RENDEZVOUS"]).exists(), env)
            check(re.fullmatch(r"\S+/\d+", env.get("PROCTOR_CONTAINMENT", "")), "who leaves it is found by this", env)
            seen.append((env["MASTER_PORT"], env["PROCTOR_RENDEZVOUS"]))
            one = ranks_of(cases["four"])[rank]
            check((one["rank"], one["outcome"], one["exit"]["code"]) == (rank, "pass", 0), one)
            check(f"met as {rank}\n" in (out / one["output"]["log"]).read_text(), one)
        check(len(set(seen)) == 1, seen)
        ports.add(seen[0][0])
        together = (out / cases["four"]["attempts"][0]["output"]["log"]).read_text()
        check(all(f"[{rank}] met as {rank}\n" in together for rank in range(4)), together)
    check(len(ports) == 2 and "29500" not in ports, ports)
    done, _, _ = run(sandbox, {"one": {"command": shell('test -z "$RANK$WORLD_SIZE$LOCAL_RANK$MASTER_ADDR$MASTER_PORT"')}}, env=STRAY)
    check(done.returncode == 0, "a case without ranks has the caller's", done.stdout)
    print("ok", sorted(ports))


def first_bad_rank_answers(sandbox):
    token = new_token()
    sleeper = f"exec {BIN}/misbehaving sleep-forever --token {token}"
    scripts = {"crash": "[ $RANK = 2 ] && kill -SEGV $$; exit 0",
               "others": f"[ $RANK = 1 ] && exit 3; {sleeper}"}
    done, cases, out = run(sandbox, {name: {"command": shell(script), "ranks": 3, "grace": "300ms", "timeout": "60s"}
                                     for name, script in scripts.items()})
    check(done.returncode == 1, done.returncode, done.stdout)
    check(verdict(cases["crash"]) == "crash(signal:11)" and "rank 2" in cases["crash"]["message"], cases["crash"])
    check(verdict(cases["others"]) == "fail(exit:3)", cases["others"])
    check([rank["stopped_by_proctor"] for rank in ranks_of(cases["others"])] == [True, False, True], ranks_of(cases["others"]))
    check("rank 1: fail(exit:3)" in (out / "junit.xml").read_text(), "JUnit does not say which rank it was")
    check(not survivors(token), survivors(token))
    print("ok", cases["crash"]["message"])


def first_bad_rank_answers_before_the_grace_is_over(sandbox):
    """The time limit comes before the grace is over: it still is that rank, in its own words, however much others say."""
    script = "[ $RANK = 1 ] && { echo the reason is here; exit 3; }; while :; do echo noise noise noise noise; done"
    done, cases, out = run(sandbox, {"early": {"command": shell(script), "ranks": 2, "grace": "60s", "timeout": "3s"}})
    check(done.returncode == 1 and verdict(cases["early"]) == "fail(exit:3)", verdict(cases["early"]), done.stdout)
    check("rank 1: fail(exit:3)" in cases["early"]["message"], cases["early"]["message"])
    check("the reason is here" in (out / "junit.xml").read_text(), "the words of the rank are not in JUnit")
    print("ok", cases["early"]["message"])


def limit_names_who_had_not_ended(sandbox):
    token = new_token()
    done, cases, _ = run(sandbox, {"hang": {"command": shell(f"[ $RANK = 1 ] && exec {BIN}/misbehaving child-ignores-term --token {token}; exit 0"), "ranks": 3,
                                            "timeout": "5s", "grace": "200ms"}})
    check(done.returncode == 1 and verdict(cases["hang"]) == "timeout", done.stdout)
    check("had not ended: rank 1" in cases["hang"]["message"], cases["hang"]["message"])
    check([rank["outcome"] for rank in ranks_of(cases["hang"])] == ["pass", None, "pass"], ranks_of(cases["hang"]))
    check(not survivors(token), survivors(token))
    print("ok", cases["hang"]["message"])


def a_card_each(sandbox):
    """Counted in cards: four of CUDA, four of two tiles each of Intel. Each rank sees its own, as device 0."""
    if not STAND_IN.exists():
        return print("not checked: the simulated CUDA Runtime was not built")
    script = "echo $CUDA_VISIBLE_DEVICES/$ZE_AFFINITY_MASK $PROCTOR_DEVICES"
    suites = {name: {"command": shell(script), "backend": backend, "ranks": ranks}
              for name, backend, ranks in (("cuda4", "cuda", 4), ("cuda5", "cuda", 5), ("xpu2", "xpu", 2), ("xpu3", "xpu", 3))}
    done, cases, out = run(sandbox, suites, "--sim", "xpu:2x2,cuda:4", "--backend", "all")
    check(done.returncode == 0, done.stdout)
    check(verdict(cases["cuda5"]) == "skip(needs:cards>=5)", cases["cuda5"])
    check(verdict(cases["xpu3"]) == "skip(needs:cards>=3)", cases["xpu3"])
    for name, count in (("cuda4", 4), ("xpu2", 2)):
        masks, leased = set(), set()
        for rank in ranks_of(cases[name]):
            said = (out / rank["output"]["log"]).read_text().split("| ", 1)[1].split(" ", 1)
            devices = [device["id"] for device in json.loads(said[1])]
            check(devices == rank["devices"] and len(devices) == 1, devices, rank)
            masks.add(said[0])
            leased.add(devices[0])
        check(len(masks) == count and len(leased) == count, masks, leased)
        check(sorted(leased) == sorted(cases[name]["devices"]), leased, cases[name]["devices"])
    print("ok", sorted(masks))


def too_few_cards_are_refused(sandbox):
    """--require-card-per-rank: nothing is started, and the card is named that two ranks would share."""
    for each, sim, said in ((1, "xpu:2x2", "ranks 0 and 2 would share xpu-sim:0"), (1, "xpu:3x1", None),
                            (2, "xpu:5x1", "ranks 0 and 2 would share xpu-sim:0"), (2, "xpu:1x2", "they need 6 cards, and here are 1\n")):
        suites = {"three": {"command": shell("true"), "backend": "xpu", "gpus": each, "ranks": 3}}
        config, out = sandbox.path / "cards.toml", sandbox.out()
        write_config(config, suites)
        done = sandbox.proctor("run", "--config", config, "--out", out, "--sim", sim, "--require-card-per-rank", *suites)
        if said:
            check(done.returncode == 75 and said in done.stderr and "three" in done.stderr, done.stderr)
            check(not out.exists(), "something was started")
        else:
            check(done.returncode == 0, done.stdout, done.stderr)
    print("ok --require-card-per-rank")


def leaving(sandbox):
    """What a check announces about a rank is no failure, if it comes so."""
    suite = sandbox.path / "suite.sh"
    suite.write_text("""#!/bin/sh
say() { echo "{\\"v\\":1,\\"case\\":\\"$name\\",$1}" >&$PROCTOR_EVENTS_FD; }
if [ "$1" = --proctor-list ]; then
  for name in A.Killed A.Stopped A.NotSo; do say '"event":"case","devices":0,"ranks":2'; done
  exit 0
fi
name=${1#--proctor-case=}
say '"event":"start"'
if [ $RANK = 1 ]; then
  case $name in
    A.Killed) say '"event":"leave","how":"signal:9"'; kill -9 $$ ;;
    A.Stopped) say '"event":"leave","how":"ended"'; kill -STOP $$ ;;
    A.NotSo) say '"event":"leave","how":"signal:9"'; exit 0 ;;
  esac
fi
say '"event":"end","result":"pass"'
""")
    suite.chmod(0o755)
    config = sandbox.path / "leaving.toml"
    write_config(config, {"leaving": {"kind": "proctor", "command": [str(suite)]}})
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--out", out)
    found = {case["id"].split("/")[1]: verdict(case) for case in report(out)["cases"]}
    expected = {"A.Killed": "pass", "A.Stopped": "pass", "A.NotSo": "fail(rank_ended:exit:0)"}
    check(found == expected and done.returncode == 1, found, done.stdout)
    listed = json.loads(sandbox.proctor("list", "--config", config, "--json").stdout)
    check({case["ranks"] for case in listed["cases"]} == {2}, listed)
    print("ok", found)


def who_kills_all_is_the_code(sandbox):
    """Supervisor and siblings are processes of the case; a skip needs the code that the suite declares."""
    scripts = {"all": "[ $RANK = 1 ] && kill -9 $PPID; exec sleep 60", "sibling": "[ $RANK = 1 ] && pkill -9 -P $PPID; exec sleep 60",
               "skips": "exit 77", "fails": "exit 77"}
    more = {"skips": {"skip_code": 77}}
    done, cases, _ = run(sandbox, {name: {"command": shell(script), "ranks": 2, "timeout": "30s", "grace": "200ms", **more.get(name, {})}
                                   for name, script in scripts.items()})
    found = {name: (verdict(case), case["owner"]) for name, case in cases.items()}
    check({name: said for name, (said, _) in found.items()} == {
        "all": "crash(signal:9)", "sibling": "crash(signal:9)", "skips": "skip(exit:77)", "fails": "fail(exit:77)"}, found)
    check(done.returncode == 1 and {found[name][1] for name in ("all", "sibling", "fails")} == {"code"}, found, done.stdout)
    print("ok", found)


def bad_input(sandbox):
    for keys, words in (({"kind": "gtest", "ranks": 2}, 'ranks with kind "gtest"'), ({"ranks": -1}, "ranks"),
                        ({"ranks": 1000}, "1000"), ({"rank": 2}, "ranks")):
        config = sandbox.path / "bad.toml"
        write_config(config, {"bad": {"kind": "command", "command": ["true"], **keys}})
        done = sandbox.proctor("run", "--config", config, "--out", sandbox.out())
        check(done.returncode == 2 and words in done.stderr, keys, done.returncode, done.stderr)
    print("ok bad input")


def main():
    with Sandbox() as sandbox:
        each_knows_who_it_is(sandbox)
        first_bad_rank_answers(sandbox)
        first_bad_rank_answers_before_the_grace_is_over(sandbox)
        limit_names_who_had_not_ended(sandbox)
        leaving(sandbox)
        who_kills_all_is_the_code(sandbox)
        bad_input(sandbox)
        too_few_cards_are_refused(sandbox)
        a_card_each(sandbox)


if __name__ == "__main__":
    sys.exit(main())
