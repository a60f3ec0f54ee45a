#!/usr/bin/env python3
"""Several runs of one user that cannot see each other: no run touches another one that lives, and each sweeps the dead ones.

    living_runs.py [SCENARIO...]      (PROCTOR_ROUNDS=N, default 4; PROCTOR_SEED=N repeats a run)

The runs are in PID, time, mount and user namespaces of their own, in any mixture. Some see a /proc without a boot id,
with hidden processes, or with the boot id of another machine. They share their records and scratch directories.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from containment import behind_hidden_proc
from harness import (cgroups_of, check, misbehaving, new_token, of_type, records, run_scenarios, skip, survivors,
                     wait_until, write_config)

# Each is a command that ends with the words "$@".
PID = (("", []), ("pid", ["--pid", "--fork", "--kill-child"]), ("pid+proc", ["--pid", "--fork", "--kill-child", "--mount-proc"]))
TIME = (("", []), ("time", ["--time", "--boottime", "100000"]), ("time-", ["--time", "--boottime", "-50"]))
USER = (("", []), ("user", ["--user", "--map-root-user"]))
PROC = (("", ""), ("no boot id", "mount -t proc -o subset=pid none /proc; "),
        ("hidepid", "mount -t proc -o hidepid=2 none /proc; "),
        ("other boot", 'mount --bind "$BOOT_ID" /proc/sys/kernel/random/boot_id; '))
INIT = (("", 'exec "$@"'), ("below init", '"$@"; exit $?'))


class Place:
    """Namespaces, and a /proc in them."""

    def __init__(self, choose):
        names, options, self.proc = [], [], ""
        for name, more in (choose(PID), choose(TIME), choose(USER)):
            names.append(name)
            options += more
        name, proc = choose(PROC)
        own_proc = "--mount-proc" in options
        if "--user" not in options or (own_proc and "mount --bind" not in proc):  # else the kernel refuses the mount
            names.append(name)
            self.proc = proc
        name, ending = choose(INIT)
        self.name = "+".join(part for part in [*names, name] if part) or "plain"
        self.options = ["unshare", "--mount", "--propagation", "private", *options, "sh", "-ec", self.proc + ending, "sh"]

    def wrap(self, command):
        return [*self.options, *command]

    def works(self, sandbox):
        """A runner that cannot see its own processes refuses to run."""
        if "--pid" in self.options and "--mount-proc" not in self.options and "mount -t proc" not in self.proc:
            return False
        done = sandbox_run(sandbox, self.wrap(sandbox.command("run", "--out", sandbox.out(), "--", "true")))
        if done.returncode != 0:
            print("not here:", self.name, done.stderr.strip().splitlines()[-1:], flush=True)
        return done.returncode == 0


def places(sandbox, seed):
    """Without end, those that this machine has."""
    boot_id = sandbox.path / "boot_id"
    boot_id.write_text("01234567-89ab-cdef-0123-456789abcdef\n")
    sandbox.env["BOOT_ID"] = str(boot_id)
    choose = random.Random(seed).choice
    known = {}
    while True:
        place = Place(choose)
        if place.name not in known:
            known[place.name] = place.works(sandbox)
        if known[place.name]:
            yield place


def runner_below(pid):
    """The process that is `proctor` itself, as this namespace sees it."""
    try:
        if (Path("/proc") / str(pid) / "comm").read_text() == "proctor\n":
            return pid
        children = (Path("/proc") / str(pid) / "task" / str(pid) / "children").read_text().split()
    except OSError:
        return None
    return next(filter(None, (runner_below(int(child)) for child in children)), None)


class LivingRun:
    """A run whose one case does not end by itself."""

    def __init__(self, sandbox, place):
        self.sandbox, self.place, self.token, self.out = sandbox, place, new_token(), sandbox.out()
        config = sandbox.path / f"{self.token}.toml"
        write_config(config, {"stuck": {"kind": "command", "command": misbehaving("sleep-forever", self.token)}},
                     {"timeout": "10m"})
        self.process = sandbox.start("run", "--config", config, "--out", self.out, wrap=place.wrap)
        wait_until(lambda: (of_type(records(self.out), "attempt_started") and survivors(self.token))
                   or self.process.poll() is not None, 60, f"start of a run in {place.name}")
        check(self.process.poll() is None, place.name, "ended:",
              self.process.stderr.read() if self.process.poll() is not None else "")
        self.runner = runner_below(self.process.pid)
        check(self.runner, "no runner below", self.process.pid)
        self.record = json.loads((self.out / "run.json").read_text())
        self.private = sandbox.path / "state/proctor/runs" / f"{self.record['run_id']}.json"
        self.scratch = [Path(path) for path in self.record["scratch"]]

    def check_untouched(self, *after):
        check(self.process.poll() is None and survivors(self.token), self.place.name, "was ended by", *after)
        check(self.private.exists() and (self.out / "run.json").exists(), self.place.name, "lost its record to", *after)
        check(all(path.is_dir() for path in self.scratch), self.place.name, "lost its scratch to", *after)

    def kill(self):
        os.kill(self.runner, signal.SIGKILL)
        self.process.communicate()
        wait_until(lambda: not survivors(self.token), 30, f"end of the case of {self.place.name}")

    def check_swept(self, *by):
        left = [path for path in (self.private, self.out / "run.json", *self.scratch) if path.exists()]
        left += cgroups_of(self.record["run_id"])
        check(not left, self.place.name, "was not swept by", *by, left)

    def end(self):
        os.kill(self.runner, signal.SIGTERM)
        self.process.communicate(timeout=60)
        ends = [record["verdict"] for record in of_type(records(self.out), "case_ended")]
        check([(end["outcome"], end["reason"]) for end in ends] == [("notrun", "interrupted")], self.place.name, ends)


def go(sandbox, place, *words):
    done = sandbox_run(sandbox, place.wrap(sandbox.command(*words)))
    return done, done.stdout + done.stderr


def sandbox_run(sandbox, command):
    return subprocess.run(command, cwd=sandbox.path, env=sandbox.env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=180)


def next_run(sandbox, place):
    done, text = go(sandbox, place, "run", "--out", sandbox.out(), "--", "true")
    check(done.returncode == 0, place.name, done.returncode, text)
    return text


def skip_without_namespaces():
    if os.geteuid() != 0:
        skip("needs:root")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("needs:namespaces")


def any_mixture(sandbox):
    """Of two runs one is killed. The other one and a third run look at both."""
    skip_without_namespaces()
    rounds = int(os.environ.get("PROCTOR_ROUNDS", "4"))
    seed = int(os.environ.get("PROCTOR_SEED", random.randrange(1 << 30)))
    print(f"PROCTOR_SEED={seed}", flush=True)
    choose = random.Random(seed)
    found = places(sandbox, seed)
    seen = set()
    for number in range(rounds):
        one, two, third = next(found), next(found), next(found)
        seen |= {one.name, two.name, third.name}
        what = f"round {number}: {one.name} | {two.name} | {third.name}"
        runs = [LivingRun(sandbox, one), LivingRun(sandbox, two)]
        runs[0].check_untouched(what)
        choose.shuffle(runs)
        dead, living = runs
        if choose.random() < 0.5:
            text = next_run(sandbox, third)
            check(dead.record["run_id"] not in text, what, "named a living run:", text)
            dead.check_untouched(what)
        dead.kill()
        text = next_run(sandbox, third)
        check(living.record["run_id"] not in text, what, "named a living run:", text)
        dead.check_swept(what, text)
        living.check_untouched(what, text)
        for options in ([], ["--stop"]) if third.name.startswith(("user", "time", "pid")) else ([],):
            done, text = go(sandbox, third, "finish", living.out, *options)
            if options and done.returncode == 0:  # where /proc shows the runner, it may stop it
                break
            check(done.returncode == 2 and "still alive" in text, what, "finish", options, done.returncode, text)
            living.check_untouched(what, "finish", options)
        else:
            living.end()
            continue
        living.process.communicate(timeout=60)
        check(not survivors(living.token), what, "a process is left")
    check(len(seen) > min(rounds, 8), "too few mixtures work here:", seen)
    print(f"{rounds} rounds in {len(seen)} mixtures: no living run was touched, each dead one was swept")


def nested_and_hidden(sandbox):
    """The case of an ordinary user's run starts a run. /proc hides the outer runner from the inner one."""
    skip_without_namespaces()
    home = sandbox.path / "home"
    with behind_hidden_proc(sandbox) as (proctor, as_user):
        for layer in ("pidns", "subreaper"):
            inner = (f"{proctor} run --out {home}/inner-{layer} -- true && "
                     f"ls -d $(grep -o '/[^\"]*/pr-[A-Za-z0-9]*' {home}/{layer}/run.json)")
            done = sandbox_run(sandbox, as_user(proctor, "run", "--containment", layer, "--out", layer, "--", "sh", "-c", inner))
            check(done.returncode == 0, layer, done.returncode, done.stdout, done.stderr)
            log = "".join(path.read_text() for path in (home / layer / "logs").rglob("*.log"))
            check("scratch" not in log and "after the end" not in log, layer, "the inner run swept:", log)


def through_an_overlay(sandbox):
    """A copy of the records, whose locks are not those of the runners: what is not proven dead is left alone and named."""
    skip_without_namespaces()
    state, layers = sandbox.path / "state", sandbox.path / "layers"
    layers.mkdir()
    overlay = ('mount -t tmpfs none "$1"; mkdir "$1/up" "$1/work"; '
               'mount -t overlay -o "lowerdir=$2,upperdir=$1/up,workdir=$1/work" none "$2"; shift 2; exec "$@"')
    place = Place(lambda choices: choices[0])
    place.options = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", overlay, "sh", layers, state]
    if not place.works(sandbox):
        skip("needs:overlay")
    run = LivingRun(sandbox, Place(lambda choices: choices[0]))
    text = next_run(sandbox, place)
    check(run.record["run_id"] in text and "is left alone" in text and str(run.private) in text, "it is not named:", text)
    run.check_untouched(text)
    (run.out / "run.json").rename(run.out / "away")  # whose lock would prove that it lives
    shutil.copy(run.out / "away", run.out / "run.json")
    done, text = go(sandbox, place, "finish", "--stop", run.out)
    check(done.returncode == 75 and "may be alive" in text, done.returncode, text)
    run.check_untouched(text)
    (run.out / "away").rename(run.out / "run.json")
    run.end()


if __name__ == "__main__":
    run_scenarios((any_mixture,), own_tests=(nested_and_hidden, through_an_overlay))
