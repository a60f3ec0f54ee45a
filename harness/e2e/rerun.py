#!/usr/bin/env python3
"""Trying again: the third attempt is on another device, `rerun` repeats a run, `--each-device` tells code from card."""

import hashlib
import json
import subprocess
import sys

from harness import BIN, Sandbox, check, check_sums, of_type, records, report, skip, write_config

SIMULATOR = "libproctor_ze_sim.so"
SIM = ("--sim", "xpu:4x1")


def on_card(bad, then="exit 1"):
    """Bad on the card with this mask only."""
    return f'if [ "$ZE_AFFINITY_MASK" = "{bad}" ]; then {then}; fi'


def suite(script, **more):
    return {"kind": "command", "command": ["sh", "-c", script], "backend": "xpu", "gpus": 1, **more}


def run(sandbox, suites, *arguments):
    config = sandbox.path / "again.toml"
    write_config(config, suites)
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--out", out, *arguments)
    document = report(out)
    check_sums(document)
    return done, document


def attempts(document, index=0):
    return [(attempt["outcome"], attempt["devices"][0]) for attempt in document["cases"][index]["attempts"]]


def fails_on_the_first_card(sandbox):
    """A case that is bad wherever it goes first, and good elsewhere: two attempts there, the third on another card."""
    mark = sandbox.path / "first"
    script = f'[ -e {mark} ] || echo "$ZE_AFFINITY_MASK" > {mark}; [ "$ZE_AFFINITY_MASK" != "$(cat {mark})" ]'
    done, document = run(sandbox, {"card": suite(script, retries=2)}, *SIM)
    tried = attempts(document)
    check([outcome for outcome, _ in tried] == ["fail", "fail", "pass"], tried)
    check(tried[0][1] == tried[1][1] != tried[2][1], "the second attempt is not where the first was:", tried)
    check(document["cases"][0]["marks"] == ["device_suspect"], document["cases"][0]["marks"])
    check(any(warning["code"] == "device_suspect" and tried[0][1] in warning["text"]
              for warning in document["warnings"]), document["warnings"])
    check(done.returncode == 75, "exit", done.returncode, done.stdout)
    again = sandbox.proctor("rerun", sandbox.last_out(), "--failed", "--out", sandbox.out())
    check("--case card/sh" in again.stderr, "what made the machine red runs again:", again.stdout, again.stderr)
    print("ok a suspect card costs two attempts, and is named")


def fails_everywhere(sandbox):
    done, document = run(sandbox, {"code": suite("exit 1", retries=3)}, *SIM)
    cards = [card for _, card in attempts(document)]
    check(done.returncode == 1 and len(cards) == 4, done.returncode, cards)
    check(len(set(cards)) == 3 and cards[0] == cards[1], "from the third on each has a card of its own:", cards)
    done, document = run(sandbox, {"code": suite("exit 1", retries=2)}, "--sim", "xpu:1x1")
    check(done.returncode == 1 and len(attempts(document)) == 3, "with one card:", done.returncode, attempts(document))
    print("ok what fails everywhere is the code's")


def flaky(sandbox):
    script = f'echo x >> {sandbox.path}/tries; [ "$(wc -l < {sandbox.path}/tries)" -ge 2 ]'
    (sandbox.path / "tries").touch()
    for arguments, code in (((), 1), (("--flaky", "pass:100%"), 0), (("--flaky", "pass:2%"), 0), (("--flaky", "pass:0%"), 1)):
        (sandbox.path / "tries").write_text("")
        done, document = run(sandbox, {"flaky": suite(script, retries=1)}, *SIM, *arguments)
        check(document["cases"][0]["marks"] == ["flaky"], document["cases"][0])
        check(done.returncode == code and "flaky: 1 of 1" in done.stdout, arguments, done.returncode, done.stdout)
    print("ok a flaky case is red unless the policy has a budget for it")


def each_device(sandbox):
    """25 times on each of four cards, one of which is bad."""
    config = sandbox.path / "again.toml"
    write_config(config, {"card": suite(on_card(2)), "fine": suite("true"), "host": {
        "kind": "command", "command": ["true"], "backend": "none"}})
    first = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--out", first, *SIM, "--repeat", "8")
    check(done.returncode in (0, 1), "exit", done.returncode, done.stderr)
    out = sandbox.out()
    done = sandbox.proctor("rerun", first, "--case", "card/sh", "--case", "fine/sh", "--case", "host/true",
                           "--repeat", "25", "--each-device", "--out", out)
    check(done.returncode != 2, "refused:", done.stderr)
    document = report(out)
    check_sums(document)
    cases = {case["suite"]: case for case in document["cases"]}
    counts = {}
    for attempt in cases["card"]["attempts"]:
        counts.setdefault(attempt["devices"][0], []).append(attempt["outcome"])
    check(len(counts) == 4 and all(len(outcomes) == 25 for outcomes in counts.values()), counts)
    bad = [card for card, outcomes in counts.items() if "fail" in outcomes]
    check(len(bad) == 1 and set(counts[bad[0]]) == {"fail"}, counts)
    check(f"{bad[0]}: it fails there more often than chance explains" in done.stdout, "the table:", done.stdout)
    check("no failure" not in done.stdout and cases["fine"]["outcome"] == "pass", done.stdout)
    check(f"GPU {bad[0]} is unhealthy: " in done.stdout and "(p = " in done.stdout, "the first line of the end:", done.stdout)
    check(len(cases["host"]["attempts"]) == 25, "without devices it runs as ever")
    check(cases["card"]["outcome"] == "fail" and done.returncode == 75, "it is the card's:", done.returncode, done.stdout)
    print("ok the table tells the card from the code")


def each_pair(sandbox):
    """A case for two devices runs on each two neighbours of a ring."""
    config = sandbox.path / "pairs.toml"
    pair = {"kind": "command", "backend": "cuda", "gpus": 2}
    write_config(config, {"fine": {**pair, "command": ["true"]},
                          "bad": {**pair, "command": ["/bin/sh", "-c", 'case "$PROCTOR_DEVICES" in *cuda-sim:1*) exit 1;; esac']}})
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--out", out, "--sim", "cuda:4", "--each-device", "--repeat", "2")
    cases = {case["suite"]: case for case in report(out)["cases"]}
    ring = [["cuda-sim:0", "cuda-sim:1"], ["cuda-sim:0", "cuda-sim:3"], ["cuda-sim:1", "cuda-sim:2"], ["cuda-sim:2", "cuda-sim:3"]]
    for case in cases.values():
        check(sorted(attempt["devices"] for attempt in case["attempts"]) == sorted(ring * 2), case["attempts"])
    check(cases["fine"]["outcome"] == "pass" and cases["bad"]["outcome"] == "fail", cases)
    failed = {tuple(attempt["devices"]) for attempt in cases["bad"]["attempts"] if attempt["outcome"] == "fail"}
    check(failed == {("cuda-sim:0", "cuda-sim:1"), ("cuda-sim:1", "cuda-sim:2")}, failed)
    check(done.returncode == 1 and "is unhealthy" not in done.stdout, "no set names the device:", done.returncode, done.stdout)
    print("ok a case for two devices goes round the ring")


def rerun(sandbox):
    """Only what was bad; the run's own options; the exit code is the new run's."""
    write_config(sandbox.path / "proctor.toml", {"good": suite("true"), "bad": suite("exit 1"), "worse": suite("kill -9 $$")})
    first = sandbox.out()
    sandbox.proctor("run", "--out", first, *SIM)
    out = sandbox.out()
    done = subprocess.run(sandbox.command("rerun", first, "--failed", "--repeat", "2", "--out", out), cwd="/",
                          env=sandbox.env, capture_output=True, text=True, timeout=60)
    document = report(out)
    check(done.returncode == 1, "exit", done.returncode, done.stderr)
    check(sorted(case["suite"] for case in document["cases"]) == ["bad", "worse"], document["cases"])
    check(document["run"]["sim"]["topology"] == "xpu:4x1" and len(document["cases"][0]["attempts"]) == 2, document["run"])
    near = sandbox.proctor("rerun", first, "--case", "good/shh")
    check(near.returncode == 2 and "Did you mean `good/sh`?" in near.stderr, near.returncode, near.stderr)
    short = sandbox.out()
    done = sandbox.proctor("rerun", first, "--case", "bad/sh", "-qj2", "--timeout", "9s", "--out", short)
    check(done.returncode == 1 and "containment" not in done.stdout, "quiet:", done.stdout, done.stderr)
    again = sandbox.proctor("rerun", short, "-j3", "--timeout", "off", "--dry-run")
    check("--timeout off --jobs 3" in again.stderr and "9s" not in again.stderr and "-j 2" not in again.stderr, again.stderr)
    nothing = sandbox.proctor("rerun", sandbox.path)
    check(nothing.returncode == 2, nothing.returncode, nothing.stderr)
    green = sandbox.out()
    sandbox.proctor("run", "good", "--out", green, *SIM)
    done = sandbox.proctor("rerun", green, "--failed")
    check(done.returncode == 0 and "nothing to run again" in done.stdout, done.returncode, done.stdout)
    opaque = sandbox.out()
    sandbox.proctor("exec", "--out", opaque, "--", "false")
    done = sandbox.proctor("rerun", opaque, "--failed")
    check(done.returncode == 1 and "exec -- false" in done.stderr, done.returncode, done.stderr)
    done = sandbox.proctor("rerun", opaque, "--repeat", "3")
    check(done.returncode == 2 and "proctor exec" in done.stderr, done.returncode, done.stderr)
    latest(sandbox)
    print("ok rerun repeats what was bad, the way it ran")


def latest(sandbox):
    """Without a run directory it is the latest run, and a case has no suite where one has it; in either order."""
    sandbox.proctor("run", "good", "bad", *SIM)
    write_config(sandbox.path / "tests.toml", {"unit": {"kind": "command", "command": ["true"]}, "bad": suite("echo told; exit 1")})
    sandbox.proctor("run", "--config", "tests.toml", *SIM)
    done = sandbox.proctor("rerun", "--failed", "--dry-run")
    check("--case bad/sh" in done.stderr and "tests.toml" in done.stderr, done.stderr)
    done = sandbox.proctor("rerun", "--case", "true", "--dry-run")
    check("--case unit/true" in done.stderr, done.stderr)
    for words in (["sh"], ["bad/sh"], ["sh", "proctor-out/latest"], ["proctor-out/latest", "sh"]):
        done = sandbox.proctor("log", *words)
        check(done.returncode == 0 and done.stdout == "told\n", words, done.stdout, done.stderr)
    done = sandbox.proctor("log", "proctor-out/latest")
    check(done.returncode == 2 and "no case is given" in done.stderr, done.stderr)
    done = sandbox.proctor("rerun", "unit/true")
    check(done.returncode == 2 and "proctor rerun --case unit/true" in done.stderr, done.stderr)
    done = sandbox.proctor("rerun", "unit/tree")
    check(done.returncode == 2 and "Run directory unit/tree does not exist" in done.stderr, done.stderr)


def same_card(sandbox):
    """What was bad on the second of two cards is bad there again, also where another case was bad on the first."""
    for name in ("one", "two"):  # each waits for the other, so that each has a card of its own
        other = {"one": "two", "two": "one"}[name]
        (sandbox.path / f"{name}.sh").write_text(f"touch {name}; [ -e again ] || until [ -e {other} ]; do sleep 0.05; done\n"
                                                 f"echo $ZE_AFFINITY_MASK >> {name}.cards; exit 1\n")
    write_config(sandbox.path / "proctor.toml", {name: {**suite(""), "command": ["sh", f"{name}.sh"]} for name in ("one", "two")})
    first = sandbox.out()
    sandbox.proctor("run", "--out", first, "--sim", "xpu:2x1")
    (sandbox.path / "again").touch()
    for words in (["--failed"], ["--case", "one/sh"], ["--case", "two/sh"]):
        out = sandbox.out()
        done = sandbox.proctor("rerun", first, *words, "--out", out)
        check(done.returncode == 1, words, done.returncode, done.stderr)
        for case in report(out)["cases"]:
            had = [one for one in report(first)["cases"] if one["id"] == case["id"]][0]
            check(case["attempts"][0]["devices"] == had["attempts"][0]["devices"], words, case["attempts"], had["attempts"])
    again = sandbox.out()
    check("--pin" in sandbox.proctor("rerun", first, "--failed", "--out", again).stderr, "each is bound to its card")
    for words, left_out in (((again, "--failed"), "left out: --pin"), ((out, "--case", "two/sh"), "left out: --devices ")):
        each = sandbox.out()
        done = sandbox.proctor("rerun", *words, "--each-device", "--out", each)
        check(done.returncode == 1 and left_out in done.stderr, words, done.returncode, done.stderr)
        for case in report(each)["cases"]:
            check(len({attempt["devices"][0] for attempt in case["attempts"]}) == 2, "it had one card of two:", case)
    out = sandbox.out()
    done = sandbox.proctor("rerun", first, "--case", "two/sh", "--any-device", "--out", out)
    check(done.returncode == 1 and "--devices" not in done.stderr, done.returncode, done.stderr)
    print("ok each case has the card that it had")


def red_by_flaky(sandbox):
    """--failed takes the flaky cases where they made the run red, and only there."""
    script = f'echo x >> {sandbox.path}/tries; [ "$(wc -l < {sandbox.path}/tries)" -ge 2 ]'
    for more, again in (((), "case flaky/sh"), (("--flaky", "pass:100%"), "nothing to run again")):
        (sandbox.path / "tries").unlink(missing_ok=True)
        write_config(sandbox.path / "proctor.toml", {"flaky": {**suite(script, retries=1), "backend": "none", "gpus": 0},
                                                     "good": {"kind": "command", "command": ["true"]}})
        first = sandbox.out()
        sandbox.proctor("run", "--out", first, *more)
        done = sandbox.proctor("rerun", first, "--failed", "--out", sandbox.out())
        check(again in done.stdout + done.stderr and "good" not in done.stderr, more, done.stdout, done.stderr)
    print("ok --failed takes the flaky cases that made the run red")


def many(sandbox):
    """The command is printed on a line that can be read, however many cases were bad."""
    write_config(sandbox.path / "proctor.toml", {f"s{number}": {"kind": "command", "command": ["false"]} for number in range(60)})
    first = sandbox.out()
    sandbox.proctor("run", "--out", first)
    out = sandbox.out()
    done = sandbox.proctor("rerun", first, "--failed", "--out", out)
    line = [line for line in done.stderr.splitlines() if "again:" in line][0]
    check(line.count("--case") == 10 and "(and 50 more cases)" in line, line)
    check(len(report(out)["cases"]) == 60, done.stdout)
    print("ok the printed command is short")


def changed(sandbox):
    """What is not what the run had is named, with the digests; --force goes on."""
    program, config = sandbox.path / "bad.sh", sandbox.path / "proctor.toml"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    write_config(config, {"bad": {**suite(""), "command": ["./bad.sh"]}})
    machine = sandbox.path / "machine"
    first = sandbox.out()
    sandbox.proctor("run", "--out", first, "--sim", f"xpu:2x1,state={machine}")
    check(sandbox.proctor("rerun", first, "--out", sandbox.out()).returncode == 1, "unchanged it runs again")
    for path, text in ((program, "#!/bin/sh\nexit 1 #\n"), (config, config.read_text() + "# more\n")):
        before = path.read_text()
        path.write_text(text)
        then, now = (hashlib.sha256(one.encode()).hexdigest()[:12] for one in (before, text))
        done = sandbox.proctor("rerun", first, "--out", sandbox.out())
        check(done.returncode == 2 and f"{path.name}: sha256 was {then}, and is {now} now" in done.stderr, done.returncode, done.stderr)
        check("--force" in done.stderr, done.stderr)
        check(sandbox.proctor("rerun", first, "--force", "--out", sandbox.out()).returncode == 1, "--force goes on")
        path.write_text(before)
    config.unlink()
    done = sandbox.proctor("rerun", first, "--out", sandbox.out())
    check(done.returncode == 2 and "proctor.toml" in done.stderr, done.returncode, done.stderr)
    print("ok what changed is named")


def other_card(sandbox):
    """A card that is gone, or is another one in its place."""
    write_config(sandbox.path / "proctor.toml", {"bad": suite("exit 1")})
    first = sandbox.out()
    sandbox.proctor("run", "--out", first, *SIM, "--devices", "xpu-sim:3")
    journal = first / "journal.jsonl"
    text = journal.read_text()
    uuid = [device for device in of_type(records(first), "run_planned")[0]["devices"]][0]["uuid"]
    for old, new, word in (('"xpu:4x1"', '"xpu:2x1"', "xpu-sim:3 is not on this machine; its devices are xpu-sim:0, xpu-sim:1"),
                           (uuid, "00" * 16, f"xpu-sim:3 is another card: its UUID was {'00' * 16}, and is {uuid} now")):
        journal.write_text(text.replace(old, new))
        done = sandbox.proctor("rerun", first, "--case", "bad/sh", "--out", sandbox.out())
        check(done.returncode == 75 and word in done.stderr and "--any-device" in done.stderr, done.returncode, done.stderr)
        done = sandbox.proctor("rerun", first, "--case", "bad/sh", "--any-device", "--out", sandbox.out())
        check(done.returncode == 1, done.returncode, done.stderr)
    print("ok a card that is not the same is named")


def dry_run(sandbox):
    """The plan; of what cannot show one, the line that would be started, as a shell takes it."""
    marker = sandbox.path / "started"
    write_config(sandbox.path / "proctor.toml", {"bad": suite(f"touch {marker}; exit 1")})
    first = sandbox.out()
    sandbox.proctor("run", "--out", first, *SIM)
    cards = sandbox.out()
    sandbox.proctor("run", "--out", cards, "--require-card-per-rank", *SIM)
    opaque = sandbox.out()
    sandbox.proctor("exec", "--out", opaque, "--", "sh", "-c", f"touch {marker}; exit 3")
    check(marker.exists(), "the runs did not run")
    marker.unlink()
    done = sandbox.proctor("rerun", first, "--dry-run")
    check(done.returncode == 0 and "bad/sh" in done.stdout, done.returncode, done.stdout, done.stderr)
    done = sandbox.proctor("rerun", cards, "--failed", "--dry-run")
    card = report(cards)["cases"][0]["attempts"][0]["devices"][0]
    line = f"{BIN}/proctor run --require-card-per-rank --sim xpu:4x1 --devices {card} --case bad/sh\n"
    check(done.returncode == 0 and done.stdout == line,
          done.returncode, done.stdout, done.stderr)
    done = sandbox.proctor("rerun", opaque, "--dry-run")
    check(done.returncode == 0 and done.stdout == f"{BIN}/proctor exec -- sh -c 'touch {marker}; exit 3'\n", done.returncode,
          done.stdout, done.stderr)
    check(not marker.exists(), "a dry run started something")
    again = subprocess.run(sandbox.command("rerun", opaque, "--dry-run"), cwd="/", env=sandbox.env, capture_output=True,
                           text=True, timeout=60).stdout
    check(again.startswith(f"cd {sandbox.path} && "), again)
    check(subprocess.run(again, shell=True, cwd="/", env=sandbox.env, stderr=subprocess.DEVNULL).returncode == 3, again)
    check(marker.exists(), "the printed line does not run it")
    print("ok a dry run prints what would be started")


def same_bytes(sandbox):
    """Words of any bytes are the same again, also on the printed line."""
    words = ("--env", "A=\udcff\x01\\x41", "--", "sh", "-c", 'printf %s "$A$1$0" | od -An -tx1 >> bytes; exit 1', "\x1b[31m", "caf\udce9")
    first = sandbox.out()
    sandbox.proctor("run", "--out", first, *words)
    for more in (("--failed",), (), ("--failed", "--dry-run")):
        done = sandbox.proctor("rerun", first, *more, *(() if more[1:] else ("--out", sandbox.out())))
        check(done.returncode == (0 if more[1:] else 1), more, done.returncode, done.stderr)
    line = done.stderr.split("again: ")[1].splitlines()[0].replace(" --dry-run", "")
    subprocess.run(["bash", "-c", line], cwd=sandbox.path, env=sandbox.env, capture_output=True, timeout=60)
    seen = (sandbox.path / "bytes").read_text().splitlines()
    check(len(seen) == 4 and set(seen) == {" ff 01 5c 78 34 31 63 61 66 e9 1b 5b 33 31 6d"}, seen, line)
    print("ok the words of a rerun have the same bytes")


def nothing_to_resume(sandbox):
    """The exit code and the reports are those of the run."""
    first, out, junit = sandbox.out(), sandbox.out(), sandbox.path / "resumed.xml"
    sandbox.proctor("run", "--out", first, "--", "sh", "-c", "echo told; exit 3")
    done = sandbox.proctor("run", "--resume", first, "--junit", junit, "--out", out, "--history", "history.sqlite")
    check(done.returncode == 1 and "nothing to resume" in done.stdout, done.returncode, done.stdout, done.stderr)
    check("<failure" in junit.read_text() and report(out)["run"]["exit_code"] == 1, "the reports", junit.read_text())
    shown = sandbox.proctor("history", "show", "history.sqlite")
    check("1 run" in shown.stdout, shown.stdout, shown.stderr)
    print("ok a run that left nothing is what it was")


def own_command_line(sandbox):
    """The words are those of main(): whoever cannot read /proc/self/cmdline records them too."""
    words = sandbox.command("run", "--out", sandbox.out(), "--", "sh", "-c", "exit 3")
    hidden = ["unshare", "--mount", "sh", "-ec", 'mount --bind /dev/null /proc/$$/cmdline; exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
        print("ok own_command_line: skipped, needs root and a mount namespace")
        return
    done = subprocess.run([*hidden, *words], cwd=sandbox.path, env=sandbox.env, capture_output=True, text=True, timeout=60)
    check(done.returncode == 1, done.returncode, done.stderr)
    check(records(sandbox.last_out())[0]["command_line"] == [str(word) for word in words], records(sandbox.last_out())[0])
    print("ok the recorded words are those of main()")


def main():
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    for test in (fails_on_the_first_card, fails_everywhere, flaky, each_device, each_pair, rerun, same_card, red_by_flaky, many, changed, other_card,
                 dry_run, same_bytes, nothing_to_resume, own_command_line):
        with Sandbox() as sandbox:
            test(sandbox)


if __name__ == "__main__":
    sys.exit(main())
