#!/usr/bin/env python3
"""Devices in doubt are examined: those that fail are drained, those that pass go on; a sick machine ends the run."""

import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from harness import BIN, Sandbox, check, report, skip, wait_until, write_config

SIMULATOR = "libproctor_ze_sim.so"
SICK = "kernel.skip:dev=0"  # of the first card: every call succeeds, and nothing is computed


def xpu(*command):
    return {"kind": "command", "command": list(command), "backend": "xpu", "gpus": 1}


def crash():
    return xpu("/bin/sh", "-c", "kill -SEGV $$")


def losing():
    """A case that loses its card for everybody."""
    return xpu("env", "PROCTOR_SIM_FAULTS=state.card_lost", str(BIN / "memory_xpu"),
               "--gtest_filter=Copy.HostToDeviceIsByteExact")


def run(sandbox, suites, *arguments, faults=None, **more):
    config = sandbox.path / "health.toml"
    write_config(config, suites)
    env = {**sandbox.env, **({"PROCTOR_SIM_FAULTS": faults} if faults else {})}
    done = sandbox.proctor("run", "--config", config, "--out", sandbox.out(), *arguments, env=env, **more)
    return done, report(sandbox.last_out())


def found(document, what):
    return [entry for entry in document["health"] if entry["finding"] == what]


def outcomes(document):
    return [f"{case['outcome']}({case['reason']})" if case["reason"] else case["outcome"] for case in document["cases"]]


def devices(document, suite):
    case = next(case for case in document["cases"] if case["suite"] == suite)
    return case["attempts"][-1]["devices"] if case["attempts"] else []


def passes(sandbox):
    """A crash casts a doubt, the probe removes it: the next case gets the same card."""
    done, document = run(sandbox, {"crash": crash(), "next": xpu("/bin/true")}, "--sim", "xpu:1x1")
    check(done.returncode == 1, "exit", done.returncode, done.stdout, done.stderr)
    check(outcomes(document) == ["crash(signal:11)", "pass"], outcomes(document))
    passed = found(document, "probe_passed")
    check(len(passed) == 1 and passed[0]["case"].startswith("crash/"), document["health"])
    check(not found(document, "drained"), document["health"])
    print("ok a healthy card goes on after a crash")


def no_doubt(sandbox):
    """A card whose cases end well is not examined, nor one of a case that was not started."""
    suites = {"good": xpu("/bin/true"), "none": xpu(str(no_program(sandbox)))}
    done, document = run(sandbox, suites, "--sim", "xpu:1x1")
    check(done.returncode == 1 and not document["health"], done.returncode, document["health"])
    check(outcomes(document) == ["pass", "error(spawn:ENOEXEC)"], outcomes(document))
    check(document["cases"][1]["owner"] == "setup", document["cases"][1]["owner"])
    print("ok nothing is examined without a doubt")


def proven(sandbox):
    """With --probe-devices each card is examined once, before its first case; a sick one gets none."""
    suites = {f"good{i}": xpu("/bin/true") for i in range(4)}
    done, document = run(sandbox, suites, "--sim", "xpu:2x1", "--jobs", "1", "--probe-devices")
    used = {device for case in document["cases"] for device in case["devices"]}
    passed = [entry["device"] for entry in found(document, "probe_passed")]
    check(done.returncode == 0 and sorted(passed) == sorted(used), done.returncode, used, document["health"])
    done, document = run(sandbox, suites, "--sim", "xpu:2x1", "--jobs", "1", "--probe-devices", faults=SICK)
    check(done.returncode == 0 and outcomes(document) == ["pass"] * 4, done.returncode, outcomes(document))
    check({devices(document, suite)[0] for suite in suites} == {"xpu-sim:1"}, "a case ran on the sick card")
    check(found(document, "probe_failed") and found(document, "drained"), document["health"])
    print("ok each card is examined before its first case where it is asked for")


def names_first(sandbox, done, sentence):
    """The first line of the console's end, of the page and of summary.md is this one, and names no other card as unhealthy."""
    out = sandbox.last_out()
    end = done.stdout.rstrip().split("\n\n")[-1].splitlines()
    check(end[0].startswith(sentence), "the end of the console:", done.stdout)
    summary = (out / "summary.md").read_text().splitlines()[0].replace("\\", "")
    check(re.match(r"# Proctor: [A-Z ]+: " + re.escape(sentence), summary), "summary.md:", summary)
    title = re.search("<h1><span[^>]*>[^<]*</span> (.*?)</h1>", (out / "index.html").read_text()).group(1)
    check(html.unescape(title).split(": ", 1)[1].startswith(sentence), "the page:", title)
    check(end[0].count(" is unhealthy") == 1, title)


def no_program(sandbox):
    path = sandbox.path / "no_program"
    path.write_bytes(b"\x7fELF that is none")
    path.chmod(0o755)
    return path


def fails(sandbox):
    """A card that computes nothing is drained; what was bad on it is the machine's, and is taken again elsewhere."""
    suites = {"sums": xpu(str(BIN / "health_xpu")), **{f"next{i}": xpu("/bin/true") for i in range(4)}}
    done, document = run(sandbox, suites, "--sim", "xpu:3x1", "--jobs", "1", faults=SICK)
    check(done.returncode == 75, "exit", done.returncode, done.stdout, done.stderr)
    check(outcomes(document) == ["pass"] * 5, outcomes(document))
    case = document["cases"][0]
    check(case["marks"] == ["device_suspect"] and case["owner"] == "machine", case["marks"], case["owner"])
    tried = [(attempt["outcome"], attempt.get("marks", [])) for attempt in case["attempts"]]
    check(tried == [("fail", ["device_suspect"]), ("pass", [])], tried)
    sick = case["attempts"][0]["devices"]
    check(sick != case["attempts"][1]["devices"], case["attempts"])
    check(all(devices(document, f"next{i}") != sick for i in range(4)), "cases on", sick)
    words = found(document, "probe_failed")[0]["evidence"]
    check("expected" in words, "what the probe saw:", words)
    drained = found(document, "drained")
    check(len(drained) == 1 and drained[0]["evidence"].startswith("health_failed") and drained[0]["device"] == sick[0],
          document["health"])
    check("device_health_failed" in [warning["code"] for warning in document["warnings"]], document["warnings"])
    check("Drained devices" in (sandbox.last_out() / "summary.md").read_text(), "summary.md does not say it")
    check("owner:         machine" in done.stdout and "owner:         code" not in done.stdout, done.stdout)
    check(sick[0] in done.stdout.split("\nowner:")[1], "the card is not named:", done.stdout)
    junit = (sandbox.last_out() / "junit.xml").read_text()
    check("proctor.run.device_suspect" in junit and sick[0] in junit, "JUnit is not red for the card")
    well = case["attempts"][1]["devices"]
    moved = [line for line in done.stdout.splitlines() if line.startswith("MOVED ")]
    check(len(moved) == 2 and moved[0].endswith(f"{case['id']}  {sick[0]} -> {well[0]}"), "one line for the move:", moved)
    check("retrying" not in done.stdout and "device_suspect" not in done.stdout.lower(), done.stdout)
    names_first(sandbox, done, f"GPU {sick[0]} is unhealthy: its health probe failed after {case['id']}. The code passed on ")
    print("ok a sick card is drained, and its case is good elsewhere:", words)


def fails_in_a_batch(sandbox):
    """The cases of one process: all that were bad on the sick card are taken again, one by one."""
    script = sandbox.path / "test_cards.py"
    script.write_text("""import os, pytest
@pytest.mark.parametrize("n", range(3))
def test_card(n):
    assert n == 1 or os.environ["ZE_AFFINITY_MASK"] != "0"
""")
    suites = {"many": {"kind": "pytest", "command": [sys.executable, "-m", "pytest", "-q", str(script)], "backend": "xpu",
                       "gpus": 1, "process": "suite"}}
    if subprocess.run([sys.executable, "-m", "pytest", "--version"], capture_output=True).returncode != 0:
        return print("not checked: pytest is not installed")
    for card in range(3):  # which of them has mask 0
        done, document = run(sandbox, suites, "--sim", "xpu:3x1", faults=f"kernel.skip:dev={card}")
        tried = [[attempt["outcome"] for attempt in case["attempts"]] for case in document["cases"]]
        if found(document, "drained"):
            check(outcomes(document) == ["pass"] * 3 and done.returncode == 75, outcomes(document), done.stdout)
            check(tried == [["fail", "pass"], ["pass", "pass"], ["fail", "pass"]], tried)
            return print("ok what was bad in one process on a sick card:", tried)
        check(done.returncode == 1, "a well card, so the code's:", done.returncode, done.stdout)
    check(False, "no run met the sick card")


def lost_in_a_batch(sandbox):
    """One test of a file loses the card: those before and behind it are judged on another one, or not at all."""
    if subprocess.run([sys.executable, "-m", "pytest", "--version"], capture_output=True).returncode != 0:
        return print("not checked: pytest is not installed")
    (sandbox.path / "test_cards.py").write_text(f"""import os, subprocess
def copy(faults=""):
    command = ["{BIN / 'memory_xpu'}", "--gtest_filter=Copy.HostToDeviceIsByteExact"]
    assert subprocess.run(command, env={{**os.environ, "PROCTOR_SIM_FAULTS": faults}}).returncode == 0
def test_before(): copy()
def test_fails(): assert os.environ["BEFORE"] == "1"
def test_loses():
    try: copy("state.card_lost")
    except AssertionError: raise RuntimeError("ZE_RESULT_ERROR_DEVICE_LOST") from None
def test_behind(): copy()
def test_last(): copy()
""")
    suites = {"t": {"kind": "pytest", "command": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_cards.py"],
                    "backend": "xpu", "gpus": 1}}
    done, document = run(sandbox, suites, "--sim", "xpu:2x1", "--env", "BEFORE=1")
    check(done.returncode == 75, done.returncode, done.stdout, done.stderr)
    said = outcomes(document)
    check(said[:2] == ["pass", "pass"] and said[2].startswith("device_lost(") and said[3:] == ["pass", "pass"], said, done.stdout)
    check([case["marks"] for case in document["cases"]] == [["invalidated"], ["invalidated"], [], ["device_suspect"], ["device_suspect"]], document["cases"])
    done, document = run(sandbox, suites, "--sim", "xpu:2x1", "--env", "BEFORE=0")
    check(done.returncode == 1 and outcomes(document)[1] == "fail", "it fails on the other card, too:", done.returncode, outcomes(document))
    done, document = run(sandbox, suites, "--sim", "xpu:1x1", "--env", "BEFORE=0")
    said = outcomes(document)
    check(said[2].startswith("device_lost(") and set(said[:2] + said[3:]) == {"notrun(device_lost)"}, said)
    check(done.returncode == 75, done.returncode, done.stdout)
    print("ok a test that loses the card makes no other test of its file red")


def costs_no_retry(sandbox):
    """After a sick card the case has all of its retries, and what it then says counts."""
    count = sandbox.path / "count"
    script = f"echo x >> {count}; exit 1"
    done, document = run(sandbox, {"bad": {**xpu("/bin/sh", "-c", script), "retries": 1}}, "--sim", "xpu:3x1", faults=SICK)
    case = document["cases"][0]
    check(done.returncode == 1 and outcomes(document) == ["fail(exit:1)"], done.returncode, outcomes(document))
    check(len(case["attempts"]) == 3 and len(count.read_text().split()) == 3, case["attempts"])
    check([attempt.get("marks", []) for attempt in case["attempts"]] == [["device_suspect"], [], []], case["attempts"])
    check(case["owner"] == "code", case["owner"])
    print("ok a sick card costs no retry")


def each_device(sandbox):
    """The others go on, and the table counts the sick one."""
    config = sandbox.path / "each.toml"
    write_config(config, {"card": xpu(str(BIN / "health_xpu"))})
    done = sandbox.proctor("run", "--config", config, "--out", sandbox.out(), "--sim", "xpu:3x1", "--repeat", "3",
                           "--each-device", env={**sandbox.env, "PROCTOR_SIM_FAULTS": SICK})
    document = report(sandbox.last_out())
    check(done.returncode == 75 and outcomes(document) == ["pass"], done.returncode, outcomes(document))
    check(document["cases"][0]["marks"] == ["device_suspect"], document["cases"][0]["marks"])
    counts = {}
    for attempt in document["cases"][0]["attempts"]:
        counts.setdefault(attempt["devices"][0], []).append(attempt["outcome"])
    sick = found(document, "drained")[0]["device"]
    check(counts.pop(sick) == ["fail"], "the sick card got more attempts:", counts)
    check(sorted(counts.values()) == [["pass"] * 3] * 2, "the others did not go on:", counts)
    check(f"{sick}: found unhealthy" in done.stdout and document["cases"][0]["owner"] == "machine", done.stdout)
    names_first(sandbox, done, f"GPU {sick} is unhealthy: its health probe failed after {document['cases'][0]['id']}. The code")
    counted(sandbox)
    print("ok --each-device goes on without the sick card, and counts it")


def counted(sandbox):
    """What the unhealthy card could not run is counted, and passes by what the others say."""
    suites = {"sums": xpu(str(BIN / "health_xpu")), **{f"next{i}": xpu("/bin/true") for i in range(3)}}
    config = sandbox.path / "counted.toml"
    write_config(config, suites)
    done = sandbox.proctor("run", "--config", config, "--out", sandbox.out(), "--sim", "xpu:3x1", "--jobs", "1",
                           "--each-device", env={**sandbox.env, "PROCTOR_SIM_FAULTS": SICK})
    document = report(sandbox.last_out())
    check(done.returncode == 75 and outcomes(document) == ["pass"] * 4, done.returncode, outcomes(document))
    check("  3 cases were not run on xpu-sim:0.\n" in done.stdout, done.stdout)
    listed = [line for line in done.stdout.splitlines() if "next" in line and not line.startswith(("  ", "PASS  "))]
    check(not listed, "listed one by one:", listed)


def executed_once(sandbox):
    """`exec` starts its command once, and its exit code is passed on; the card is drained all the same."""
    done = sandbox.proctor("exec", "--out", sandbox.out(), "--sim", "xpu:3x1", "--gpus", "1", "--", BIN / "health_xpu",
                           env={**sandbox.env, "PROCTOR_SIM_FAULTS": SICK})
    document = report(sandbox.last_out())
    check(done.returncode == 1 and len(document["cases"][0]["attempts"]) == 1, done.returncode, done.stderr)
    check(document["cases"][0]["attempts"][0]["marks"] == ["device_suspect"], document["cases"][0])
    check(document["cases"][0]["owner"] == "machine", document["cases"][0]["owner"])
    check(found(document, "drained"), document["health"])
    print("ok exec starts its command once")


def lost_and_reset(sandbox):
    """A card that is lost is drained; where the policy allows it, it is reset and goes on."""
    suites = {"lose": losing(), "next": xpu("/bin/true")}
    lost, kept = run(sandbox, suites, "--sim", "xpu:1x1")
    check(outcomes(kept)[1] == "notrun(device_lost)" and not found(kept, "reset"), outcomes(kept), kept["health"])
    names_first(sandbox, lost, f"GPU xpu-sim:0 is unhealthy: it was lost after {kept['cases'][0]['id']}")
    sandbox.run_keys(reset="unhealthy")
    done, document = run(sandbox, suites, "--sim", "xpu:1x1")
    check(done.returncode in (1, 75) and outcomes(document)[1] == "pass", done.returncode, outcomes(document))
    # It is taken again on the card that is well now, and loses it again: then it is the case.
    check([entry["finding"] for entry in document["health"]] == ["lost", "reset", "probe_passed"] * 2, document["health"])
    check("healthy before it" in document["cases"][0]["note"] and done.returncode == 1, document["cases"][0])
    check("device_reset" in [warning["code"] for warning in document["warnings"]], document["warnings"])
    print("ok", found(document, "reset")[0]["evidence"])


def last_fails(sandbox):
    """Without another card there is no verdict, and the rest is not run."""
    done, document = run(sandbox, {"crash": crash(), "next": xpu("/bin/true")}, "--sim", "xpu:1x1", faults=SICK)
    check(outcomes(document) == ["notrun(device_unhealthy)"] * 2, outcomes(document))
    check(done.returncode == 75 and document["cases"][0]["owner"] == "machine", done.returncode, document["cases"][0])
    check(document["cases"][0]["attempts"][0]["outcome"] == "crash", document["cases"][0]["attempts"])
    print("ok the last card fails: no verdict on the case, and the rest is not run on it")


def without_program(sandbox):
    """Without a program that can ask, nothing is known, and that is said once."""
    place = sandbox.path / "bin"
    place.mkdir()
    for name in ("proctor", "proctor-guard", "proctor-probe-xpu", SIMULATOR):
        shutil.copy2(BIN / name, place / name)
    config = sandbox.path / "alone.toml"
    write_config(config, {"one": crash(), "two": crash(), "three": xpu("/bin/true")})
    out = sandbox.out()
    done = subprocess.run([place / "proctor", "run", "--config", config, "--out", out, "--sim", "xpu:1x1"],
                          cwd=sandbox.path, env=sandbox.env, capture_output=True, text=True, timeout=120)
    check(done.returncode == 1, "exit", done.returncode, done.stdout, done.stderr)
    document = report(out)
    check([entry["finding"] for entry in document["health"]] == ["unknown"], document["health"])
    check(outcomes(document)[2] == "pass", outcomes(document))
    print("ok without the program:", document["health"][0]["evidence"])


def leave_dirty(sandbox, machine):
    """A killed runner leaves the first card dirty."""
    ready = sandbox.path / "ready"
    config = sandbox.path / "hold.toml"
    write_config(config, {"hold": xpu("/bin/sh", "-c", f"echo up > {ready}; exec sleep 1000")})
    held = sandbox.start("run", "--config", config, "--out", sandbox.out(), *machine)
    wait_until(ready.exists, 30, "the case that holds the card")
    os.kill(held.pid, signal.SIGKILL)
    held.wait()


def dirty(sandbox):
    """A card whose holder died is examined before it is used."""
    machine = ["--sim", f"xpu:1x1,state={sandbox.path}/machine"]
    leave_dirty(sandbox, machine)
    done, document = run(sandbox, {"next": xpu("/bin/true")}, *machine)
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
    check([entry["finding"] for entry in document["health"]] == ["probe_passed"], document["health"])
    done, document = run(sandbox, {"later": xpu("/bin/true")}, *machine)
    check(done.returncode == 0 and not document["health"] and not document["warnings"], document["warnings"])
    print("ok a card that was left dirty is examined once")


def dirty_and_sick(sandbox):
    """One that fails is never used; its case runs elsewhere."""
    machine = ["--sim", f"xpu:2x1,state={sandbox.path}/machine"]
    leave_dirty(sandbox, machine)
    done, document = run(sandbox, {"next": xpu("/bin/true")}, *machine, faults=SICK)
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
    drained = found(document, "drained")
    check(len(drained) == 1 and devices(document, "next") not in ([], [drained[0]["device"]]), document["health"])
    print("ok", drained[0]["device"], "was left dirty and is sick: it is drained before its first case")


def stopped(sandbox):
    """A run can be stopped while a probe hangs in a driver; nothing of it is left."""
    config = sandbox.path / "hang.toml"
    write_config(config, {"crash": crash(), "next": xpu("/bin/true")})
    held = sandbox.start("run", "--config", config, "--out", sandbox.out(), "--sim", "xpu:1x1",
                         env={"PROCTOR_SIM_FAULTS": "order.hang_in_sync"})

    def probes():
        children = Path(f"/proc/{held.pid}/task/{held.pid}/children").read_text().split()
        below = [pid for child in children for pid in Path(f"/proc/{child}/task/{child}/children").read_text().split()]
        return [pid for pid in below if b"health_xpu" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def hangs():
        try:
            return probes()
        except OSError:  # one that has just ended
            return []

    seen = []
    wait_until(lambda: seen.extend(hangs()) or seen, 30, "the probe")
    probe = seen[0]
    held.send_signal(signal.SIGTERM)
    sandbox.finish(held, seconds=30)
    check(not Path(f"/proc/{probe}").exists(), "the probe", probe, "outlives its run")
    ended = outcomes(report(sandbox.last_out()))
    check(ended[1] == "notrun(interrupted)", ended)
    print("ok a run is stopped while its probe hangs:", ended)


def breaker(sandbox):
    """So many machine outcomes in a row end the run."""
    suites = {f"case{i}": losing() for i in range(8)}
    shown = {}
    for limit, keys in ((5, {}), (2, {"max_machine_failures": 2}), (0, {"max_machine_failures": 0})):
        sandbox.run_keys(**keys)
        done, document = run(sandbox, suites, "--sim", "xpu:8x1", "--jobs", "1")
        check(done.returncode == 75, "exit", done.returncode, done.stdout, done.stderr)
        lost = limit or 8
        ended = outcomes(document)
        check(all(outcome.startswith("device_lost") for outcome in ended[:lost]), ended)
        check(ended[lost:] == ["notrun(machine_failures)"] * (8 - lost), ended)
        shown[limit] = lost
    print("ok the breaker: limit -> cases that were started", shown)


def undrain(sandbox):
    """A drained card comes back only when it is well, and nobody holds it."""
    state = sandbox.path / "machine"
    machine = ["--sim", f"xpu:2x1,state={state}"]
    done, document = run(sandbox, {"first": losing()}, *machine)
    check(done.returncode == 75, "exit", done.returncode, done.stdout, done.stderr)
    sick = found(document, "drained")[0]["device"]
    well = next(card for card in ("xpu-sim:0", "xpu-sim:1") if card != sick)

    def drained():
        listed = sandbox.proctor("devices", "--sim", "xpu:2x1", "--json", "--state-dir", state / "leases")
        return [entry["device"] for entry in json.loads(listed.stdout)["drained"]]

    def ask(card, *arguments):
        return sandbox.proctor("devices", "undrain", card, "--probe", *machine, *arguments)

    refused = ask(sick)
    check(refused.returncode == 75 and "stays drained" in refused.stdout, refused.stdout, refused.stderr)
    check(drained() == [sick], "drained:", drained())
    never = ask(well)
    check(never.returncode == 2 and "not drained" in never.stderr, never.returncode, never.stderr)

    ready = sandbox.path / "ready"
    config = sandbox.path / "hold.toml"
    write_config(config, {"hold": xpu("/bin/sh", "-c", f"echo up > {ready}; exec sleep 1000")})
    holder = sandbox.start("run", "--config", config, "--out", sandbox.out(), *machine)
    wait_until(ready.exists, 30, "the case that holds the card")
    by_hand = sandbox.proctor("devices", "drain", well, "--reason", "smells", "--sim", "xpu:2x1", "--state-dir",
                              state / "leases")
    check(by_hand.returncode == 0, by_hand.stdout, by_hand.stderr)
    busy = ask(well)
    check(busy.returncode == 75 and str(holder.pid) in busy.stderr, "held:", busy.returncode, busy.stderr)
    holder.send_signal(signal.SIGTERM)
    sandbox.finish(holder)
    back = ask(well)
    check(back.returncode == 0 and "gets cases again" in back.stdout, back.returncode, back.stdout, back.stderr)
    check(drained() == [sick], "drained:", drained())
    print("ok", back.stdout.strip())


def main():
    for name in (SIMULATOR, "kernels/basic.spv"):
        if not (BIN / name).exists():
            skip(f"missing:{name}")
    for test in (passes, no_doubt, proven, fails, fails_in_a_batch, lost_in_a_batch, costs_no_retry, each_device, executed_once, lost_and_reset,
                 last_fails, without_program, dirty, dirty_and_sick, stopped, breaker, undrain):
        with Sandbox() as sandbox:
            test(sandbox)


if __name__ == "__main__":
    sys.exit(main())
