#!/usr/bin/env python3
"""Devices after a case: the next one starts when the memory is back; a card that is lost costs one case."""

import json
import re
import subprocess
import sys

from harness import BIN, Sandbox, check, of_type, records, report, skip, wait_until, write_config

SIMULATOR = "libproctor_ze_sim.so"
HELD = 320 << 20
CARDS, CASES, SICK = 4, 200, 3
LATE_US, LATE_SLOWLY_US = 1_000_000, 8_000_000


def command_suite(command, faults=""):
    return {"kind": "command", "command": [*(["env", f"PROCTOR_SIM_FAULTS={faults}"] if faults else []), *command],
            "backend": "xpu", "gpus": 1}


def run(sandbox, suites, *arguments):
    config = sandbox.path / "care.toml"
    write_config(config, suites)
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--out", out, *arguments)
    return done, report(out)


def warnings(document, code):
    return [warning["text"] for warning in document["warnings"] if warning["code"] == code]


def leaver(us=None):
    return command_suite([str(BIN / "memory_xpu"), "--helper", "leave_memory", str(HELD)],
                         "sysman.leak_after_exit" + (f":us={us}" if us else ""))


def copy():
    return command_suite([str(BIN / "memory_xpu"), "--gtest_filter=Copy.HostToDeviceIsByteExact"])


def late(sandbox, us=LATE_US):
    """Memory that comes back late is waited for, and nobody is blamed."""
    done, document = run(sandbox, {"leaver": leaver(us=us), "next": copy()}, "--sim", "xpu:1x1")
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
    waited = warnings(document, "device_waited")
    check(len(waited) == 1 and "after leaver/" in waited[0], "what the report says of the wait:", document["warnings"])
    event = [entry for entry in document["health"] if entry["finding"] == "waited"]
    # The simulator counts from when somebody first notices that the process has ended: before or at the first look.
    check(len(event) == 1 and event[0]["wait_ms"] * 1000 >= us / 2, "how long it was:", document["health"])
    journal = records(sandbox.last_out())
    started = [record["at_ms"] for record in of_type(journal, "attempt_started") if record["case"].startswith("next/")]
    check(started[0] >= event[0]["at_ms"], "the next case started before the memory was back:", started, event)
    print("ok", waited[0])


def slowly(sandbox):
    late(sandbox, us=LATE_SLOWLY_US)


def hung(sandbox):
    """A case after which nothing ends any more on its card may be unlucky once. The second card was well before it: it is
    not given a third. The probe's two deadlines on each are the price."""
    suites = {"sick": {**command_suite(copy()["command"], "state.card_hung"), "timeout": "1s", "grace": "0s"},
              **{f"next{i}": copy() for i in range(3)}}
    done, document = run(sandbox, suites, "--sim", "xpu:3x1", "--jobs", "1")
    check(done.returncode == 1, "exit", done.returncode, done.stdout, done.stderr)
    ended = [case["outcome"] for case in document["cases"]]
    check(ended == ["timeout"] + ["pass"] * 3, ended)
    case = document["cases"][0]
    check(len(case["attempts"]) == 2 and "well before it" in case["note"], case["attempts"], case["note"])
    drained = [entry["evidence"] for entry in document["health"] if entry["finding"] == "drained"]
    check(len(drained) == 2 and all("did not finish within 10s" in words for words in drained), document["health"])
    print("ok", case["note"])


def leaking(sandbox):
    """A card whose memory does not come back gets no more cases; the others go on."""
    suites = {"leaver": leaver(), **{f"next{i}": copy() for i in range(4)}}
    sandbox.run_keys(memory_wait="300ms")
    done, document = run(sandbox, suites, "--sim", "xpu:2x1")
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
    check(len(warnings(document, "device_memory_missing")) == 1, document["warnings"])
    devices = {case["id"].split("/")[0]: case["attempts"][-1]["devices"] for case in document["cases"]}
    sick = devices["leaver"]
    # The case that ran beside it had the other card; of the rest none gets the sick one.
    check(all(devices[name] != sick for name in devices if name != "leaver"), "cases on the sick card:", devices)
    print("ok the leaking card was taken out after one case")


def lost(sandbox):
    """One card of four is lost in one case: one device_lost, no other case is the worse for it."""
    tiny = command_suite([str(BIN / "health_xpu")])  # copies, computes and compares
    suites = {f"case{i:03}": tiny for i in range(1, CASES + 1)}
    suites[f"case{SICK:03}"] = command_suite(copy()["command"], "state.card_lost")
    done, document = run(sandbox, suites, "--sim", f"xpu:{CARDS}x1", "--jobs", str(CARDS))
    check(done.returncode == 75, "exit", done.returncode, done.stdout, done.stderr)
    ended = {case["id"].split("/")[0]: case["outcome"] for case in document["cases"]}
    check([name for name, outcome in ended.items() if outcome == "device_lost"] == [f"case{SICK:03}"],
          "device_lost:", ended)
    check(sum(outcome == "pass" for outcome in ended.values()) == CASES - 1, "the others:", ended)
    journal = of_type(records(sandbox.last_out()), "attempt_started")
    starts = [(record["case"].split("/")[0], record["devices"]) for record in journal]
    sick = next(card for name, card in starts if name == f"case{SICK:03}")
    after = starts[[name for name, _ in starts].index(f"case{SICK:03}") + 1:]
    check(all(card != sick for _, card in after), "cases on the lost card:", after)
    check(len({tuple(card) for _, card in after}) == CARDS - 1, "not all of the other cards were used:", after)
    check(sum(entry["finding"] == "drained" for entry in document["health"]) == 1, document["health"])
    print(f"ok one of {CARDS} cards lost: 1 device_lost, {CASES - 1} pass on the others")


def all_lost(sandbox):
    """Without a card that is left the rest is notrun: nothing fails for it."""
    suites = {"first": command_suite(copy()["command"], "state.card_lost"), "second": copy(), "third": copy()}
    done, document = run(sandbox, suites, "--sim", "xpu:1x1")
    check(done.returncode == 75, "exit", done.returncode, done.stdout, done.stderr)
    ended = [(case["outcome"], case["reason"]) for case in document["cases"]]
    check(ended[0][0] == "device_lost" and ended[1:] == [("notrun", "device_lost")] * 2, ended)
    print("ok the last card is lost: the rest is notrun(device_lost)")


def drained(sandbox):
    """What one run finds lost, no later run uses until a person says that it is well."""
    state = sandbox.path / "machine"
    shared = ["--sim", f"xpu:2x1,state={state}"]
    done, _ = run(sandbox, {"first": command_suite(copy()["command"], "state.card_lost")}, *shared)
    check(done.returncode == 75, "exit", done.returncode, done.stdout, done.stderr)
    listed = sandbox.proctor("devices", "--sim", "xpu:2x1", "--json", "--state-dir", state / "leases")
    out = json.loads(listed.stdout)["drained"]
    check(len(out) == 1 and out[0]["reason"] == "lost", "drained:", out)

    sick = out[0]["device"]
    states = {device["id"]: device["state"] for device in json.loads(listed.stdout)["devices"]}
    check(states.pop(sick) == "drained" and list(states.values()) == ["idle"], listed.stdout)
    text = sandbox.proctor("devices", "--sim", "xpu:2x1", "--state-dir", state / "leases").stdout
    check([line.split() for line in text.splitlines()][1] == ["ID", "MODEL", "PCI", "MEMORY", "STATE"], text)
    check(re.search(f"^{sick} .* drained$", text, re.M) and re.search(f"^{sick} is drained since ", text, re.M), text)
    done, document = run(sandbox, {f"next{i}": copy() for i in range(3)}, *shared)
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
    used = {device for case in document["cases"] for device in case["attempts"][-1]["devices"]}
    check(sick not in used and used, f"cases on {sick}, which is drained:", used)
    check(len(warnings(document, "device_drained")) == 1, document["warnings"])

    near = sandbox.proctor("devices", "undrain", sick + "0", "--state-dir", state / "leases")
    check(near.returncode == 2 and sick in near.stderr, "a near miss:", near.returncode, near.stderr)
    back = sandbox.proctor("devices", "undrain", sick, "--state-dir", state / "leases")
    check(back.returncode == 0, "undrain:", back.returncode, back.stderr)
    wrong = sandbox.proctor("devices", "drain", "xpu-sim:7", "--reason", "typo", "--sim", "xpu:2x1", "--state-dir",
                            state / "leases")
    check(wrong.returncode == 2 and "xpu-sim:0" in wrong.stderr, "an unknown device:", wrong.returncode, wrong.stderr)
    for card in ("xpu-sim:0", "xpu-sim:1"):
        by_hand = sandbox.proctor("devices", "drain", card, "--reason", "smells", "--sim", "xpu:2x1", "--state-dir",
                                  state / "leases")
        check(by_hand.returncode == 0 and "smells" in by_hand.stdout, by_hand.stdout, by_hand.stderr)
    done, document = run(sandbox, {"last": copy()}, *shared)
    check(done.returncode == 75, "exit without a device:", done.returncode, done.stdout, done.stderr)
    check(document["cases"][0]["outcome"] == "notrun", document["cases"])
    print("ok", sick, "stays drained until somebody undrains it")


def held(sandbox):
    """`proctor devices` shows which device a run holds, and which run it is."""
    state = sandbox.path / "machine"
    leases = ["--sim", "xpu:2x1", "--state-dir", state / "leases"]
    out = sandbox.path / "holder"
    holder = subprocess.Popen(sandbox.command("exec", "--sim", f"xpu:2x1,state={state}", "--gpus", "1", "--out", out,
                                              "--", "/bin/sleep", "600"), env=sandbox.env, cwd=sandbox.path,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def states():
        return {device["state"]: device for device in
                json.loads(sandbox.proctor("devices", "--json", *leases).stdout)["devices"]}

    try:
        wait_until(lambda: "held" in states(), 60, "a held device")
        device = states()["held"]
        check("idle" in states() and device["held_by"]["pid"] == holder.pid, states())
        check(device["held_by"]["run"] == records(out)[0]["run_id"], device)
        text = sandbox.proctor("devices", *leases).stdout
        check(re.search(f"^{device['id']} .* held$", text, re.M), text)
        check(f"{device['id']} is held by pid {holder.pid} " in text and device["held_by"]["run"] in text, text)
    finally:
        holder.terminate()
        holder.wait(60)
    check(set(states()) == {"idle"}, states())
    print("ok the holder of a device is named")


def main():
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    for test in (slowly, hung) if "--slow" in sys.argv else (late, leaking, lost, all_lost, drained, held):
        with Sandbox() as sandbox:
            test(sandbox)


if __name__ == "__main__":
    sys.exit(main())
