#!/usr/bin/env python3
"""Chaos: four runners of two users share one simulated machine of four cards. Misbehaving programs, real checks and
sick cards are mixed, and runners are killed at random.

    chaos.py [--minutes M] [--seed N]

After each round: no card was ever held by two cases at once (each case takes an exclusive lock of its card's file,
which its whole tree holds), no process is left, every planned case has one outcome, the card that fell sick is
drained after at most two more cases, and no other card is.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import harness
from harness import check, check_sums, misbehaving, new_token, of_type, records, report, skip, survivors, wait_until

CARDS = 4
USERS = (10001, 10002)
PROGRAMS = ("proctor", "proctor-guard", "proctor-probe-xpu", "libproctor_ze_sim.so", "memory_xpu",
            "kernels_xpu", "health_xpu", "misbehaving")
HELD_TWICE = 99
MODES = ("ignore-term", "child-ignores-term", "double-fork", "setsid", "leak-chatty", "leak-null", "polite-term")
MORE_CASES = 2  # that a card may get after the one in which it fell sick


def lost():
    return ["env", "PROCTOR_SIM_FAULTS=state.card_lost", *copies()]


def hung():
    return ["env", "PROCTOR_SIM_FAULTS=state.card_hung", *copies()]


def leaking():
    return ["env", "PROCTOR_SIM_FAULTS=sysman.leak_after_exit", str(harness.BIN / "memory_xpu"), "--helper",
            "leave_memory", str(256 << 20)]


SICKNESSES = (None, lost, hung, leaking)


def copies():
    return [str(harness.BIN / "memory_xpu"), "--gtest_filter=Copy.HostToDeviceIsByteExact"]


def kernels():
    return [str(harness.BIN / "kernels_xpu"), "--gtest_filter=Launch.EveryGroupRunsOnce"]


class Machine:
    """A simulated machine that all users share, with a lock file per card that shows who is really on it."""

    def __init__(self, path):
        self.state = path / "machine"
        self.cards = path / "cards"
        for directory, mode in ((self.state, 0o1777), (self.state / "leases", 0o1777), (self.cards, 0o755)):
            directory.mkdir()
            directory.chmod(mode)
        for card in range(CARDS):
            file = self.cards / str(card)
            file.touch()
            file.chmod(0o666)

    def alone_on_its_card(self, command):
        script = f'exec flock --nonblock --no-fork -E {HELD_TWICE} "{self.cards}/$ZE_AFFINITY_MASK" "$@"'
        return ["sh", "-c", script, "sh", *command]

    def drained(self):
        done = subprocess.run([harness.BIN / "proctor", "devices", "--sim", f"xpu:{CARDS}x1", "--json", "--state-dir",
                               self.state / "leases"], stdout=subprocess.PIPE, text=True, check=True)
        return {entry["device"] for entry in json.loads(done.stdout)["drained"]}


class Seat:
    """One runner of a round: who, what, and when it is killed, if it is."""

    def __init__(self, number, path, dice, machine, sickness):
        self.token = new_token()
        self.user = USERS[number % len(USERS)]
        self.path = path / f"seat{number}"
        self.out = self.path / "out"
        self.kill_after = None if sickness or dice.random() < 0.5 else dice.uniform(0.2, 6)
        self.path.mkdir()
        os.chown(self.path, self.user, self.user)
        self.suites = self.mix(dice, machine, sickness)
        harness.write_config(self.path / "chaos.toml", self.suites,
                             {"timeout": "2s", "grace": "200ms"}, {"memory_wait": "1s"})
        self.words = [harness.BIN / "proctor", "run", "--config", self.path / "chaos.toml", "--sim",
                      f"xpu:{CARDS}x1,state={machine.state}", "--jobs", dice.choice((2, 3, 4)), "--lease-wait", "2m",
                      "--out", self.out]

    def mix(self, dice, machine, sickness):
        commands = []
        for _ in range(dice.randint(10, 20)):
            mode = dice.choice(MODES)
            commands.append((mode, dice.choice((copies(), kernels(), ["sleep", "0.2"], misbehaving(mode, self.token)))))
        if sickness:
            commands.insert(dice.randrange(4), (sickness.__name__, sickness()))
        names = [f"{index:02}-{'sick' if sickness and name == sickness.__name__ else 'case'}"
                 for index, (name, _) in enumerate(commands)]
        return {name: {"kind": "command", "backend": "xpu", "gpus": 1, "command": machine.alone_on_its_card(command)}
                for name, (_, command) in zip(names, commands)}

    def as_user(self, words, **more):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.path), "XDG_RUNTIME_DIR": str(self.path),
                       "LC_ALL": "C.UTF-8"}
        return subprocess.Popen(list(map(str, words)), cwd=self.path, env=environment, user=self.user, group=self.user,
                                extra_groups=[], stdin=subprocess.DEVNULL, text=True, errors="replace", **more)

    def start(self):
        self.began = time.monotonic()
        self.process = self.as_user(self.words, stdout=open(self.path / "stdout", "w"), stderr=subprocess.STDOUT)

    def tick(self):
        """Kills the runner when its time has come; whether it has ended."""
        if self.kill_after is not None and time.monotonic() - self.began >= self.kill_after:
            self.process.send_signal(signal.SIGKILL)
        return self.process.poll() is not None

    def was_killed(self):
        return self.process.returncode == -signal.SIGKILL

    def finish(self):
        """The document of its report, whatever became of its runner."""
        wait_until(lambda: not survivors(self.token), 30, f"end of {survivors(self.token)}")
        if not of_type(records(self.out), "run_planned"):
            check(self.was_killed(), "no plan: exit", self.process.returncode, (self.path / "stdout").read_text())
            return None
        if self.was_killed():
            done = self.as_user([harness.BIN / "proctor", "finish", self.out], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
            said, _ = done.communicate(timeout=60)
            check(done.returncode == 0, "finish: exit", done.returncode, said)
        document = report(self.out)
        check_sums(document)
        check(document["summary"]["planned"] == len(self.suites), "planned:", document["summary"])
        return document


def attempts_of(document):
    for case in document["cases"]:
        for attempt in case["attempts"]:
            yield case, attempt


def moments(out):
    """[(wall clock in s, devices, case)] of the starts, and {(case, attempt): wall clock of its end}, from the journal."""
    journal = records(out)
    origin = datetime.fromisoformat(of_type(journal, "run_planned")[0]["started"]).timestamp()
    starts = [(origin + record["at_ms"] / 1000, record["devices"], record["case"])
              for record in of_type(journal, "attempt_started")]
    ends = {(record["case"], record["attempt"]): origin + record["at_ms"] / 1000
            for record in of_type(journal, "attempt_ended")}
    return starts, ends


def check_exclusive(documents):
    for document in documents:
        for case, attempt in attempts_of(document):
            check(attempt.get("exit", {}).get("code") != HELD_TWICE, case["id"], "met another case on", attempt["devices"])


def check_drained(machine, seats, sickness):
    if not sickness:
        check(not machine.drained(), "healthy cards are drained:", machine.drained())
        return "no card was sick"
    culprit = next(case for case in report(seats[0].out)["cases"] if "sick" in case["id"])
    check(culprit["attempts"], "the sick case never ran:", culprit)
    # What hangs on one card is tried on a second one, and on no third.
    cards = {attempt["devices"][0]: attempt["attempt"] for attempt in culprit["attempts"]}
    check(len(cards) == (2 if sickness is hung else 1), f"{sickness.__name__} on", cards)
    check(machine.drained() == set(cards), f"drained: {machine.drained()}, sick: {cards}, {culprit['outcome']}")
    later = {}
    for card, attempt in cards.items():
        fell_sick = moments(seats[0].out)[1][culprit["id"], attempt]
        later[card] = [case for seat in seats if of_type(records(seat.out), "run_planned") for when, devices, case
                       in moments(seat.out)[0] if when > fell_sick and card in devices]
        check(len(later[card]) <= MORE_CASES, f"{card} fell sick and got {later[card]}")
    return f"{sorted(cards)} {sickness.__name__}, {sum(map(len, later.values()))} more cases got them"


def play(number, seed):
    dice = random.Random(f"{seed}/{number}")
    path = Path(tempfile.mkdtemp(prefix="proctor-chaos-"))
    path.chmod(0o755)
    machine = Machine(path)
    sickness = dice.choice(SICKNESSES)
    seats = [Seat(index, path, dice, machine, sickness if index == 0 else None) for index in range(4)]
    for seat in seats:
        seat.start()
    wait_until(lambda: all([seat.tick() for seat in seats]), 300, "end of the four runs")
    documents = list(filter(None, [seat.finish() for seat in seats]))
    check_exclusive(documents)
    verdict = check_drained(machine, seats, sickness)
    ended = sum(case["outcome"] != "notrun" for document in documents for case in document["cases"])
    killed = sum(seat.was_killed() for seat in seats)
    print(f"round {number}: {verdict}; {ended} cases ended, {killed} of 4 runners killed", flush=True)
    shutil.rmtree(path)
    return ended, killed


def publish_programs():
    """Copies what runs to where every user may execute it."""
    public = Path(tempfile.mkdtemp(prefix="proctor-chaos-bin-"))
    public.chmod(0o755)
    for name in PROGRAMS:
        shutil.copy2(harness.BIN / name, public / name)
    shutil.copytree(harness.BIN / "kernels", public / "kernels")
    return public


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--round", type=int, help="only this one")
    options = parser.parse_args()
    if os.geteuid() != 0:
        skip("needs:root (two users)")
    print(f"chaos: {options.minutes:g} minutes, --seed {options.seed}", flush=True)
    harness.BIN = publish_programs()
    end = time.monotonic() + 60 * options.minutes
    number, cases, killed = 0, 0, 0
    if options.round is not None:
        play(options.round, options.seed)
        return 0
    while number == 0 or time.monotonic() < end:
        more_cases, more_killed = play(number, options.seed)
        number, cases, killed = number + 1, cases + more_cases, killed + more_killed
    check(killed > 0 and cases > 0, "a vacuous chaos:", cases, killed)
    print(f"ok {number} rounds, {cases} cases, {killed} runners killed")
    shutil.rmtree(harness.BIN)
    return 0


if __name__ == "__main__":
    sys.exit(main())
