#!/usr/bin/env python3
"""Whether `proctor accept` finds the broken device, and only that one, on simulated machines.

    accept.py [SCENARIO...]      the scenarios of `./dev test`
    accept.py table [PART/PARTS] every planted fault (accept_faults.py), and the controls (./dev test --full accept)
    accept.py try TEXT...        the rows whose names contain one of the texts

Both exit with 1 if a verdict is wrong, and count the outcomes of each class of faults.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

from accept_faults import SMALL, Outcome, Row, devices_of, judge, make_rows
from harness import ROOT, Sandbox, check, of_type, records, report, run_scenarios, wait_until

# Rows whose device and action are fixed.
FAULTS = [
    Row("half PCIe width", "sysman.link_narrow:dev=2", "cuda:4", 1, "cuda-sim:2", "reseat"),
    Row("slow PCIe generation", "sysman.link_slow:dev=1", "cuda:4", 1, "cuda-sim:1", "reseat"),
    Row("all NVLinks down", "sysman.links_down:dev=3", "cuda:4", 1, "cuda-sim:3", "reseat"),
    Row("link that repeats packets", "sysman.replay_pcie_packets:dev=0", "cuda:4", 1, "cuda-sim:0", "reseat"),
    Row("pending row remap", "sysman.remap_pending:dev=2", "cuda:4", 1, "cuda-sim:2", "reset"),
    Row("failed row remap", "sysman.remap_failed:dev=2", "cuda:4", 1, "cuda-sim:2", "replace"),
    Row("recovery action reset", "sysman.reset_needed:dev=1", "cuda:4", 1, "cuda-sim:1", "reset"),
    Row("other firmware", "sysman.firmware_differs:dev=2", "cuda:6", 1, "cuda-sim:2", "fix software"),
    Row("ECC off", "sysman.ecc_off:dev=2", "cuda:6", 1, "cuda-sim:2", "fix software"),
    Row("power brake under load", "sysman.throttled:dev=1", "cuda:4", 1, "cuda-sim:1", "reseat"),
    Row("corrected errors under load", "sysman.corrected_errors_under_load:dev=1", "cuda:4", 1, "cuda-sim:1", "replace"),
    Row("half PCIe width", "sysman.link_narrow:dev=1", "xpu:2x2", 1, "xpu-sim:1", "reseat"),
    Row("link that repeats packets", "sysman.replay_pcie_packets:dev=1", "xpu:2x2", 1, "xpu-sim:1", "reseat"),
    Row("worn memory", "sysman.request_memory_replacement:dev=0", "xpu:2x2", 1, "xpu-sim:0", "replace"),
    Row("reset reason", "sysman.report_false_reset_reason:dev=0", "xpu:2x2", 1, "xpu-sim:0", "reset"),
    Row("power supply under load", "sysman.throttled:dev=0", "xpu:2x2", 1, "xpu-sim:0", "reseat"),
    Row("corrected errors under load", "sysman.corrected_errors_under_load:dev=1", "xpu:2x2", 1, "xpu-sim:1", "replace"),
    Row("query that hangs", "sysman.hang:dev=1", "cuda:4", 1, "cuda-sim:1", "reset"),
    Row("card off the bus", "state.card_lost:dev=1,after=20", "cuda:4", 1, "cuda-sim:1", "reset"),
    Row("uncorrected errors under load", "sysman.uncorrected_errors_under_load:dev=1", "cuda:4", 2, "cuda-sim:1", "reset"),
    Row("temperature over its limit", "sysman.exceed_temperature_limit:dev=1", "cuda:4", 2, "cuda-sim:1", "reseat"),
    Row("frozen sensor", "sysman.repeat_first_answer:dev=1,api=nvmlDeviceGetMemoryInfo", "cuda:4", 2, "cuda-sim:1", "reset"),
    Row("multiply-add that rounds twice", "kernel.fma_unfused:dev=1", "cuda:4", 2, "cuda-sim:1", "replace"),
    Row("shuffles between wrong lanes", "kernel.swap_shuffled_lanes:dev=1", "cuda:4", 2, "cuda-sim:1", "replace"),
    Row("doubles computed as floats", "kernel.fp64_as_fp32:dev=1", "xpu:2x2", 2, "xpu-sim:1", "replace"),
    Row("atomics that come apart", "kernel.racy_atomics:dev=1", "xpu:2x2", 2, "xpu-sim:1", "replace"),
    Row("wrong byte in copies", "memory.corrupt_copy:dev=1,at=17", "cuda:4", 2, "cuda-sim:1", "replace"),
    Row("copies from a card to others that do nothing", "copy.skip_peer_copy:dev=2", "cuda:4", 2, "cuda-sim:2", "replace"),
    Row("copies that end early", "copy.short:dev=1", "cuda:4", 2, "cuda-sim:1", "replace"),
    Row("bit flips of one core", "kernel.flip_stored_bits:dev=1,core=3", "cuda:4" + SMALL, 3, "cuda-sim:1", "replace"),
    Row("wrong special function of one core", "kernel.flip_math_result_bit:dev=2,core=5", "cuda:4" + SMALL, 3, "cuda-sim:2", "replace"),
    Row("wrong products of one core", "kernel.fma_unfused:dev=0,core=2", "cuda:4" + SMALL, 3, "cuda-sim:0", "replace"),
    Row("several bit flips of one core", "kernel.flip_stored_bits:dev=1,core=7,xor=0x81", "xpu:2x2" + SMALL, 3, "xpu-sim:1", "replace"),
    Row("wrong shuffles of one core", "kernel.swap_shuffled_lanes:dev=0,core=1", "xpu:2x2" + SMALL, 3, "xpu-sim:0", "replace"),
    Row("stuck bit at 70 % of the memory", "memory.stuck_bit:dev=2,share=70", "cuda:4:mem=1GiB", 3, "cuda-sim:2", "replace"),
    Row("slow link between devices", "copy.delay_peer_copy:dev=2", "cuda:4" + SMALL, 3, "cuda-sim:2", "reseat"),
]

MACHINES = ROOT / "fixtures/simgpu/machines"
# Good devices near a limit, and good devices that lack something.
CONTROLS = [
    ("a link that was idle", "sysman.link_slow:dev=1,times=2", ("--level", 1, "--sim", "cuda:4")),
    ("memory that comes back late", "sysman.leak_after_exit:us=200000", ("--level", 1, "--sim", "xpu:2x2")),
    ("cards of both vendors", "", ("--level", 1, "--sim", "cuda:4,xpu:2x2")),
    ("a card without ECC", "", ("--level", 1, "--sim", MACHINES / "ecc-off.toml")),
    ("a process without privileges", "", ("--level", 1, "--sim", MACHINES / "no-privileges.toml")),
    ("eight cards", "", ("--level", 1, "--sim", "cuda:8")),
    ("a single card", "", ("--level", 2, "--sim", "cuda:1")),
    ("a card that a desktop uses", "", ("--level", 2, "--sim", MACHINES / "display.toml")),
    ("a card with a coherent link to the host", "", ("--level", 2, "--sim", MACHINES / "gh200.toml")),
    ("a card whose memory is that of the host", "", ("--level", 2, "--sim", MACHINES / "integrated.toml")),
    ("cards beside which the host's memory is listed", "", ("--level", 2, "--sim", MACHINES / "system-memory.toml")),
    ("cards below WSL 2", "", ("--level", 1, "--sim", MACHINES / "wsl.toml")),
]


def accept(sandbox, *arguments, faults="", timeout=600):
    """(the finished process, what --json says)"""
    file = sandbox.path / "accept.json"
    file.unlink(missing_ok=True)
    environment = {**sandbox.env, "PROCTOR_SIM_FAULTS": faults}
    out = sandbox.out()
    done = subprocess.run(
        sandbox.command("accept", "--json", file, "--out", out, *arguments), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env=environment, timeout=timeout)
    return done, json.loads(file.read_text()) if file.exists() else None


def verdicts(document):
    return {device["id"]: (device["verdict"], device["action"]) for device in document["devices"]}


def plant(sandbox, row):
    """Runs `accept` with the fault of `row`, and judges what comes of it."""
    started = time.monotonic()
    try:
        done, document = accept(sandbox, "--level", row.level, "--sim", row.sim, *row.more, faults=row.fault)
    except subprocess.TimeoutExpired as late:
        return Outcome("wrong", f"no verdict within {late.timeout} s", late.timeout)
    if document is None:
        return Outcome("wrong", f"no verdict, exit code {done.returncode}", 0)
    run = sandbox.last_out()
    failed = [case["id"] for case in report(run)["cases"] if case["outcome"] in ("fail", "crash", "timeout")]
    log = run / "sim_faults.jsonl"
    fired = log.exists() and log.stat().st_size > 0
    word, why = judge(row, verdicts(document), failed, fired)
    if done.returncode != document["exit_code"]:
        word, why = "wrong", f"exit code {done.returncode} and not {document['exit_code']}"
    shutil.rmtree(run)
    return Outcome(word, why, round(time.monotonic() - started, 1))


def find(sandbox, row):
    outcome = plant(sandbox, row)
    if outcome.word == "missed" and not outcome.why.startswith("every") and row.device and "tile=" not in row.fault:
        everywhere = re.sub(r"(:|,)dev=\d+", r"\1", row.fault).replace(":,", ":").rstrip(":,")
        outcome = plant(sandbox, row._replace(fault=everywhere, device=""))
    return outcome


# ---- the scenarios of ./dev test ----

def healthy_devices_pass(sandbox):
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:4,xpu:2x2")
    check(set(verdicts(document).values()) == {("passed", None)}, verdicts(document), done.stdout)
    check(done.returncode == 0 and document["simulated"], done.returncode, document["simulated"])
    check("simulated: no evidence about hardware" in done.stdout, done.stdout)


def one_broken_device_fails(sandbox):
    for planted in FAULTS:
        if planted.fault.split(":")[0] in ("sysman.link_narrow", "sysman.remap_pending", "sysman.request_memory_replacement"):
            outcome = find(sandbox, planted)
            check(outcome.word == "right", planted, outcome)


def a_machine_is_compared_with_what_it_should_have(sandbox):
    expected = sandbox.path / "machine.toml"
    written = sandbox.proctor("devices", "--sim", "cuda:4", "--expect-file", expected)
    check(written.returncode == 0, written.stdout, written.stderr)
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:4", "--expect", expected)
    check(done.returncode == 0, verdicts(document), done.stdout)
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:5", "--expect", expected)
    check(done.returncode == 3 and "not listed: cuda-sim:4" in document["gaps"][0], document["gaps"], done.stdout)
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:3", "--expect", expected)
    missing = [device for device, verdict in verdicts(document).items() if verdict == ("failed", "reseat")]
    check(done.returncode == 1 and len(missing) == 1 and missing[0].startswith("missing:GPU-"), verdicts(document))
    expected.write_text(expected.read_text().replace("pcie_width = 16", "pcie_width = 32"))
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:4", "--expect", expected)
    check(set(verdicts(document).values()) == {("failed", "reseat")}, verdicts(document))


def a_device_that_failed_is_drained_until_it_passes(sandbox):
    state = sandbox.path / "machine"
    machine = ["--level", 1, "--sim", f"cuda:2,state={state}"]
    accept(sandbox, *machine, "--drain", faults="sysman.remap_failed:dev=1")
    leases = state / "leases"
    refused = sandbox.proctor("devices", "undrain", "cuda-sim:1", "--state-dir", leases)
    check(refused.returncode == 2 and "only after it passes there" in refused.stderr, refused.stdout, refused.stderr)
    done, document = accept(sandbox, *machine, faults="sysman.remap_failed:dev=1")
    check(verdicts(document)["cuda-sim:1"] == ("failed", "replace"), verdicts(document), done.stdout)
    done, document = accept(sandbox, *machine)
    check(done.returncode == 0 and "cuda-sim:1 gets cases again" in done.stdout, verdicts(document), done.stdout)


def a_device_that_a_run_drained_is_tested_and_undrained(sandbox):
    """What the run advises works: the device is drained, and is tested all the same."""
    machine = ["--sim", f"cuda:2,state={sandbox.path}/machine"]
    ran = sandbox.proctor("run", *machine, "--out", sandbox.out(), "--gpus", "1", "--backend", "cuda", "--each-device",
                          "--probe-devices", "--", "/bin/true",
                          env={**sandbox.env, "PROCTOR_SIM_FAULTS": "kernel.skip:dev=1"})
    check(ran.returncode == 75 and "GPU cuda-sim:1 is unhealthy" in ran.stdout, ran.stdout, ran.stderr)
    check("test the device: proctor accept --devices cuda-sim:1 " in ran.stdout, ran.stdout)
    done, document = accept(sandbox, "--level", 1, *machine, "--devices", "cuda-sim:1")
    check(done.returncode == 0 and "cuda-sim:1 gets cases again" in done.stdout, verdicts(document), done.stdout)


def mistakes_are_named(sandbox):
    bad = sandbox.path / "bad.toml"
    bad.write_text('[[model]]\nname = "A"\ncount = 1\nuuids = ["x", "y"]\n')
    for arguments, words in ((["--expect", bad], "contradict"), (["--hours", "3"], "--level 4"),
                             (["--level", "7"], "--level"), (["--expect", sandbox.path / "none.toml"], "none.toml")):
        done, document = accept(sandbox, "--sim", "cuda:1", *arguments)
        check(done.returncode == 2 and words in done.stdout and document is None, arguments, done.stdout)
    bad.write_text('[[model]]\nname = "A"\ncount = 1\n')
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:1", "--expect", bad)
    check(verdicts(document)["cuda-sim:0"] == ("incomplete", None), verdicts(document))


def end_of_console(text, headline):
    """The lines from the verdict on, which nothing follows but the table, the reasons and what was not tried."""
    check(f"\n{headline}\n" in text, "no line", headline, "in", text)
    lines = text[text.index(f"\n{headline}\n") + 1:].splitlines()
    check(lines[1].startswith("level 1 · ") and "simulated: no evidence about hardware" in lines[1], lines)
    check(lines[3].startswith("DEVICE ") and lines[3].endswith("ACTION"), lines)
    last = " ".join(line.strip() for line in lines[[line.startswith("not tried: ") for line in lines].index(True):])
    check(last.endswith(", the fabric between machines"), lines)
    return lines


def reports_show_the_acceptance_first(sandbox):
    done, _ = accept(sandbox, "--level", 1, "--sim", "cuda:4")
    check(done.returncode == 0 and "exit 0 (passed)" in end_of_console(done.stdout, "PASSED: 4 of 4 GPUs")[1], done.stdout)
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:4", faults="memory.corrupt_copy:dev=2,at=17,min=4096")
    out = sandbox.last_out()
    details = "1 of 4 GPUs: replace cuda-sim:2"
    lines = end_of_console(done.stdout, f"FAILED: {details}")
    check(done.returncode == 1 == document["exit_code"] and "exit 1 (failed)" in lines[1], done.returncode, lines)
    check([line.split()[-2:] for line in lines[4:8]] == [["passed", "-"]] * 2 + [["failed", "replace"]] + [["passed", "-"]], lines)
    check(any(line == "  next    proctor accept --level 1 --sim cuda:4 --devices cuda-sim:2" for line in lines), lines)
    for words in ("Exit code 75", "exit 75", "proctor run memory", "NOTRUN", "not run: its device"):
        check(words not in done.stdout, words, "in", done.stdout)
    page, summary = ((out / name).read_text() for name in ("index.html", "summary.md"))
    check(f"<title>Failed: {details} · Proctor</title>" in page and "Exit code <strong>1</strong>." in page, page[:4000])
    check("Started as <code>proctor accept --json " in page and "another machine" not in page, page[:4000])
    check(page.index('id="acceptance"') < page.index('class="folded"') < page.index('id="cases"'), "the order of the page")
    check(summary.startswith(f"# Proctor: FAILED: {details} (exit code 1)\n") and "another machine" not in summary, summary)
    # Reports that are rendered again are made of accept.json too.
    again = sandbox.proctor("report", "render", out, "--format", "html,markdown")
    check(again.returncode == 0 and (out / "index.html").read_text() == page, again.stdout, again.stderr)
    check((out / "summary.md").read_text() == summary, "another summary")
    document["run_id"] = "another"
    (out / "accept.json").write_text(json.dumps(document))
    sandbox.proctor("report", "render", out, "--format", "html,markdown")
    for name in ("index.html", "summary.md"):
        text = (out / name).read_text()
        check("accept.json is ignored: another run wrote it" in text and details not in text, name, text[:4000])


def an_interrupted_acceptance_says_so(sandbox):
    out, said = sandbox.out(), sandbox.path / "said"
    with said.open("w") as file:
        process = subprocess.Popen(sandbox.command("accept", "--level", 2, "--sim", "cuda:2", "--out", out), stdout=file,
                                   stderr=subprocess.STDOUT, env=sandbox.env, cwd=sandbox.path)
    sandbox.started.append(process)
    wait_until(lambda: (out / "journal.jsonl").exists() and of_type(records(out), "attempt_started"), 60, "first case")
    process.send_signal(signal.SIGINT)
    sandbox.finish(process)
    text, document = said.read_text(), json.loads((out / "accept.json").read_text())
    check(process.returncode == -signal.SIGINT and document["exit_code"] == 128 + signal.SIGINT, process.returncode, document)
    check("\nINTERRUPTED: stopped by SIGINT\n" in text and "exit 130 (interrupted)" in text, text)
    check("Interrupted: stopped by SIGINT</h1>" in (out / "index.html").read_text(), "the page")


def a_budget_has_room_for_what_is_required(sandbox):
    for budget in ("0s", "3s"):
        done, document = accept(sandbox, "--level", 2, "--sim", "cuda:1", "--budget", budget)
        check(done.returncode == 2 and document is None, done.returncode, done.stdout)
        check(f"--budget {budget} is too small" in done.stdout and "--budget 189s." in done.stdout, done.stdout)
    done, document = accept(sandbox, "--level", 1, "--sim", "cuda:1", "--budget", "9s")
    check(document["omitted_steps"] == ["inventory"] and done.returncode == 0, document["omitted_steps"], done.stdout)


# ---- --full accept ----

def try_control(sandbox, what, fault, arguments):
    started = time.monotonic()
    done, document = accept(sandbox, *arguments, faults=fault)
    found = verdicts(document) if document else {}
    good = {verdict for verdict, _ in found.values()} == {"passed"} and done.returncode == 0
    why = "" if good else f"exit code {done.returncode}: {found}"
    return Outcome("right" if good else "wrong", why, round(time.monotonic() - started, 1))


def all_tries():
    """{key: a function of a sandbox that returns the outcome}"""
    rows, without = make_rows(FAULTS)
    print("no check of accept lists:", *without)
    rows.sort(key=lambda row: (row.level, devices_of(row.sim)))  # the cheapest first
    tries = {row.key(): lambda sandbox, row=row: find(sandbox, row) for row in rows}
    for control in CONTROLS:
        tries[f"control: {control[0]}"] = lambda sandbox, control=control: try_control(sandbox, *control)
    return tries


def table(wanted):
    """Tries the keys of wanted(tries), and exits with 1 if a verdict is wrong."""
    tries = all_tries()
    found = {}
    for name in wanted(list(tries)):
        with Sandbox() as sandbox:
            found[name] = tries[name](sandbox)
        print(f"{found[name].word:10} {name}: {found[name].why} ({found[name].seconds:.1f} s)", flush=True)
    counts = {}
    for name, outcome in found.items():
        counts.setdefault(re.split("[.:]", name)[0], Counter())[outcome.word] += 1
    for kind, words in counts.items():
        print(f"{kind}: {', '.join(f'{count} {word}' for word, count in words.items())}")
    wrong = [f"{name}: {outcome.why}" for name, outcome in found.items() if outcome.word == "wrong"]
    check(not wrong, f"{len(wrong)} wrong verdicts:", *wrong)


def main():
    words = sys.argv[1:]
    if words[:1] == ["table"]:
        part, parts = (int(number) for number in words[1].split("/")) if len(words) > 1 else (1, 1)
        return table(lambda names: names[part - 1::parts])
    if words[:1] == ["try"]:
        return table(lambda names: [name for name in names if any(text in name for text in words[1:])])
    run_scenarios([healthy_devices_pass, one_broken_device_fails, a_machine_is_compared_with_what_it_should_have,
                   a_device_that_failed_is_drained_until_it_passes, a_device_that_a_run_drained_is_tested_and_undrained,
                   mistakes_are_named, reports_show_the_acceptance_first, an_interrupted_acceptance_says_so,
                   a_budget_has_room_for_what_is_required])


if __name__ == "__main__":
    main()
