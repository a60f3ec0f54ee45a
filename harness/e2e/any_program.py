#!/usr/bin/env python3
"""Programs that know nothing of Proctor, as a new user types them: they get devices of the vendor whose library they
need, are listed with them, and are told what is missing."""

import os
import re
import shutil
import subprocess

from harness import BIN, check, is_sanitized, report, run_scenarios, skip, write_config

# As vendors' own test programs do: main() asks the driver before it looks at its flags, and prints what it likes.
PROGRAM = """#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
extern "C" int zeInit(unsigned);
extern "C" int zeDriverGet(unsigned*, void**);
TEST(Device, IsThere) { unsigned count = 0; EXPECT_EQ(zeDriverGet(&count, nullptr), 0); EXPECT_EQ(count, 1u); }
TEST(Device, Other) { EXPECT_STREQ(getenv("WORD"), "said"); }
int main(int argc, char** argv) {
  puts("  Banner of a driver:\\n    version 1.\\nNo.");
  if (zeInit(0) != 0) { fputs("main: no device, giving up\\n", stderr); abort(); }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
"""


def build(sandbox):
    source, program = sandbox.path / "program.cc", sandbox.path / "program"
    source.write_text(PROGRAM)
    if is_sanitized():
        skip("a sanitized library needs a sanitized program")
    compiler = shutil.which("c++") or skip("needs a compiler")
    done = subprocess.run([compiler, "-std=c++17", source, "-o", program, "-lgtest", "-lze_loader", "-lpthread"],
                          capture_output=True, text=True)
    check(done.returncode == 0, done.stderr)
    return "./program"


def cases_of(sandbox):
    return {case["id"]: case["outcome"] for case in report(sandbox.last_out())["cases"]}


def listed_and_run_on_a_device(sandbox):
    program = build(sandbox)
    done = sandbox.proctor("run", "--sim", "xpu:2x1", "--env", "WORD=said", "--out", sandbox.out(), "--", program)
    check(done.returncode == 0, done.stdout, done.stderr)
    check("1 of 2 for each case: needs libze_loader.so.1 (--gpus 0: none)" in done.stdout, done.stdout)
    check("backend xpu, 2 cases" in done.stdout, done.stdout)
    check(cases_of(sandbox) == {"program/Device.IsThere": "pass", "program/Device.Other": "pass"}, cases_of(sandbox))
    for case in report(sandbox.last_out())["cases"]:
        check(len(case["devices"]) == 1, "not one device each:", case["devices"])

    done = sandbox.proctor("list", "--sim", "xpu:1x1", "--", program)
    check(done.stdout == "program/Device.IsThere\nprogram/Device.Other\n", done.stdout, done.stderr)


def without_a_device(sandbox):
    program = build(sandbox)
    done = sandbox.proctor("run", "--sim", "cuda:1", "--out", sandbox.out(), "--", program)
    check(done.returncode == 3, done.returncode, done.stdout)
    check("no xpu device was found here; next: `proctor doctor`, or simulate devices" in done.stdout, done.stdout)
    check("main: no device, giving up" in done.stdout, "its own words are missing:", done.stdout)
    check(cases_of(sandbox) == {"program": "skip"}, cases_of(sandbox))
    # Nobody knows its tests here: each that is asked for by name may be one of them.
    for option in (("--filter", "Device.*"), ("--case", "program/Device.IsThere"), ("--case", "program"),
                   ("--exclude", "program/Device.Other")):
        done = sandbox.proctor("run", "--sim", "cuda:1", "--out", sandbox.out(), *option, "--", program)
        check(done.returncode == 3 and cases_of(sandbox) == {"program": "skip"}, option, done.returncode, done.stderr)
    done = sandbox.proctor("run", "--sim", "cuda:1", "--out", sandbox.out(), "--filter", "other/*", "--", program)
    check(done.returncode == 2 and "matches none" in done.stderr, done.returncode, done.stderr)
    plan = sandbox.path / "plan.toml"
    done = sandbox.proctor("plan", "--sim", "cuda:1", "-o", plan, "--", program)
    check(done.returncode == 2 and "main: no device, giving up" in done.stderr and "--sim" in done.stderr, done.stderr)
    check(not plan.exists(), "a plan of a suite that is unknown")


def without_a_path(sandbox):
    """A caller without PATH: its command is found in the default places, when it is planned and when it is started; one
    that is nowhere is the caller's mistake."""
    environment = {name: value for name, value in sandbox.env.items() if name != "PATH"}
    done = sandbox.proctor("run", "--out", sandbox.out(), "--", "true", env=environment)
    check(done.returncode == 0 and cases_of(sandbox) == {"true/true": "pass"}, done.returncode, done.stdout, done.stderr)
    done = sandbox.proctor("run", "--out", sandbox.out(), "--", "no-such-program", env=environment)
    check(done.returncode == 2 and "no-such-program" in done.stderr, done.returncode, done.stderr)
    done = sandbox.proctor("exec", "--", "true", env=environment)
    check(done.returncode == 0, done.returncode, done.stderr)
    done = sandbox.proctor("exec", "--", "no-such-program", env=environment)
    check(done.returncode == 127, done.returncode, done.stderr)


def one_that_only_mentions_a_library(sandbox):
    """It may open the driver, or only have its name in it: without a device it runs as ever."""
    source, program = sandbox.path / "mentions.c", sandbox.path / "mentions"
    source.write_text('#include <stdio.h>\nint main(void) { return puts("libze_loader.so.1") < 0; }\n')
    subprocess.run(["cc", source, "-o", program], check=True)
    for more, devices in ((("--sim", "cuda:1"), 0), (("--sim", "xpu:1x1"), 1)):
        done = sandbox.proctor("run", *more, "--out", sandbox.out(), "--", "./mentions")
        [case] = report(sandbox.last_out())["cases"]
        check(done.returncode == 0 and case["outcome"] == "pass" and len(case["devices"]) == devices, more, done.stdout)


def chosen_devices(sandbox):
    program = build(sandbox)
    devices = sandbox.proctor("run", "--sim", "xpu:3x1,cuda:2", "--devices", "xpu:1,xpu-sim:2", "--env", "WORD=said",
                              "--repeat", "4", "--out", sandbox.out(), "--", program)
    check(devices.returncode == 0, devices.stdout, devices.stderr)
    used = {id for case in report(sandbox.last_out())["cases"] for attempt in case["attempts"] for id in attempt["devices"]}
    check(used <= {"xpu-sim:1", "xpu-sim:2"} and used, used)
    for spec, words in {"0,0": "which is named twice", "9": "there is no device `9`", "-1": "`-1` cannot name a device",
                        "xpu:3": "there is no device `xpu:3`", "xpu-": "`xpu-` matches 3 devices",
                        "xpu:0,,": "`` cannot name a device"}.items():
        for command in ("run", "list", "exec"):
            done = sandbox.proctor(command, "--sim", "xpu:3x1", f"--devices={spec}",
                                   *(("--gpus", "1") if command == "exec" else ()), "--", program)
            code = 75 if "there is no" in words else 125 if command == "exec" else 2
            check(done.returncode == code, command, spec, done.returncode, done.stderr)
            check(words in done.stderr and "There are: xpu-sim:0 (0000:" in done.stderr, command, spec, done.stderr)
    masked = sandbox.proctor("run", "--sim", "cuda:2", "--devices", "cuda-sim:0", "--", program,
                             env={**sandbox.env, "CUDA_VISIBLE_DEVICES": "0"})  # the faster one: cuda-sim:1
    check("The caller's CUDA_VISIBLE_DEVICES=0 hides others." in masked.stderr, masked.stderr)


def configuration_above(sandbox):
    top, below = sandbox.path / "top", sandbox.path / "top" / "a" / "b"
    below.mkdir(parents=True)
    (top / "proctor.toml").write_text('[suite.mine]\nkind = "command"\ncommand = ["./here.sh"]\n')
    (top / "here.sh").write_text("#!/bin/sh\ntest -e here.sh\n")
    (top / "here.sh").chmod(0o755)
    done = sandbox.proctor("run", "mine", cwd=below)
    check(done.returncode == 2, "taken from outside of a repository:", done.stdout)
    (top / ".git").mkdir()
    done = sandbox.proctor("run", "mine", "--out", sandbox.out(), cwd=below)
    check(done.returncode == 0 and "  config       ../../proctor.toml\n" in done.stdout, done.stdout, done.stderr)
    (sandbox.path / "proctor.toml").write_text("broken")
    done = sandbox.proctor("run", "mine", "--out", sandbox.out(), cwd=below)
    check(done.returncode == 0, "a file above the repository was read:", done.stderr)


def devices_that_nobody_gets(sandbox):
    for command, code in (("run", 2), ("exec", 125)):
        done = sandbox.proctor(command, "--sim", "xpu:2x1", "--devices", "xpu:1", "--backend", "none", "--", "true")
        check(done.returncode == code and "no selected case uses a device" in done.stderr, command, done.returncode, done.stderr)
    done = sandbox.proctor("list", "--sim", "xpu:2x1", "--devices", "xpu:9", "--", "true")
    check(done.returncode == 75 and "there is no device `xpu:9`" in done.stderr, done.stderr)


def not_for_want_of_a_device(sandbox):
    """What cannot be started is no program that waits for a device."""
    bad = sandbox.path / "bad"
    bad.write_text("#!/no/such/interpreter\n")
    bad.chmod(0o755)
    done = sandbox.proctor("run", "--backend", "cuda", "--allow-no-device", "--kind", "gtest", "--out", sandbox.out(),
                           "--", "./bad")
    check(done.returncode == 1 and "error · discovery" in done.stdout, done.returncode, done.stdout)


def a_file_of_somebody_else_above(sandbox):
    if os.geteuid() != 0:
        skip("needs:root")
    top, below = sandbox.path / "shared", sandbox.path / "shared" / "work"
    below.mkdir(parents=True)
    (top / ".git").mkdir()
    (top / "proctor.toml").write_text('[suite.evil]\ncommand = ["touch", "pwned"]\n')
    for path in (top / ".git", top / "proctor.toml"):
        os.chown(path, 65534, 65534)
        done = sandbox.proctor("run", "--out", sandbox.out(), cwd=below)
        check(done.returncode == 2 and "belongs to another user" in done.stderr, done.returncode, done.stderr, done.stdout)
        check(not (top / "pwned").exists(), "it was run")
        os.chown(path, 0, 0)
    check(sandbox.proctor("list", cwd=below).stdout == "evil/touch\n", "ours is not read")


def forbidden_leaks(sandbox):
    """A good case that leaves a process behind; of a process that several share, who may have left it."""
    for leaks, code in ((), 0), (("--leaks", "warn"), 0), (("--leaks", "fail"), 1):
        done = sandbox.proctor("run", *leaks, "--out", sandbox.out(), "--", "sh", "-c", "sleep 600 & exit 0")
        check(done.returncode == code, leaks, done.stdout)
        [case] = report(sandbox.last_out())["cases"]
        check((case["outcome"], case["reason"], case["marks"]) == (("fail", "leaky", ["leaky"]) if code else
                                                                   ("pass", "", ["leaky"])), case)
        for file in ("summary.md", "junit.xml"):
            check("sleep 600" in (sandbox.last_out() / file).read_text(), "which process is not in", file)
    done = sandbox.proctor("run", "--leaks", "fial", "--", "true")
    check(done.returncode == 2 and "warn" in done.stderr and "fail" in done.stderr, done.returncode, done.stderr)
    shared = BIN / "plan_sample_catch2"
    if not shared.exists():
        return
    done = sandbox.proctor("run", "--process", "suite", "--leaks", "fail", "--case", "plan_sample_catch2/passes", "--case",
                           "plan_sample_catch2/leaks", "--out", sandbox.out(), "--", shared)
    cases = {case["id"].partition("/")[2]: case for case in report(sandbox.last_out())["cases"]}
    check({name: case["outcome"] for name, case in cases.items()} == {"passes": "pass", "leaks": "fail"}, cases)
    check(cases["leaks"]["attempts"][0]["termination"]["leaked_by"] == [f"plan_sample_catch2/{name}" for name in cases], cases)


def live_output(sandbox):
    """Line by line, with the name of its case while several run. What would be a terminal's command is none."""
    script = """touch $0; while ! [ -e $1 ]; do sleep 0.05; done
                printf 'a line \\033[2Jof %s\\nno newline' $0; touch $0.done; while ! [ -e $1.done ]; do sleep 0.05; done"""
    write_config(sandbox.path / "proctor.toml", {name: {"kind": "command", "command": ["sh", "-c", script, name, other]}
                                                 for name, other in (("one", "two"), ("two", "one"))})
    done = sandbox.proctor("run", "-j2", "--show-output", "live", "--out", sandbox.out())
    check(done.returncode == 0, done.stdout, done.stderr)
    lines = done.stdout.splitlines()
    for name in ("one", "two"):
        shown = [line for line in lines if line.endswith(f"of {name}")]
        check(len(shown) == 1 and shown[0].startswith(f"{name}/sh | a line ") and "\033" not in shown[0], lines)
    check(sum(line.endswith("no newline") for line in lines) == 2, lines)


def output_of_a_shared_process(sandbox):
    """Each case of it shows what came since the one before: nothing twice."""
    done = sandbox.proctor("run", "--process", "suite,verify:off", "--show-output", "all", "--filter", "*Passes", "--out", sandbox.out(),
                           "--", BIN / "plan_listener_gtest")
    [log] = (sandbox.last_out() / "logs").rglob("*.log")
    shown = [line for line in done.stdout.splitlines() if line.startswith("  | ")]
    check(len(shown) == len(log.read_text().splitlines()) > 2, shown, log.read_text())


def a_run_of_proctor(sandbox):
    """It is not asked to list: it would start its command."""
    told = sandbox.path / "told"
    done = sandbox.proctor("run", "--out", sandbox.out(), "--", BIN / "proctor", "run", "--out", sandbox.path / "inner", "--",
                           "sh", "-c", 'echo "$0 $@" >>"$1"', "sh", told)
    check(done.returncode == 0, done.stdout, done.stderr)
    check(told.read_text() == f"sh {told}\n", "started once, and with its own words", told.read_text())
    check("command (judged by its exit code)" in done.stdout, done.stdout)


def built_in_suites_are_named_so(sandbox):
    """Without a proctor.toml, or with one without a suite, nothing runs that is not named, and the header says whose it is."""
    if not (BIN / "collectives_host").exists():
        return
    plan = ["run", "--dry-run", "--backend", "none"]
    done = sandbox.proctor("run")
    check(done.returncode == 2 and "No suites here" in done.stderr and "`proctor init`" in done.stderr, done.stderr)
    check(not (sandbox.path / "proctor-out").exists(), "nothing was started")
    own = sandbox.path / "proctor.toml"
    for text, why in ((None, "no proctor.toml was found"), ('[defaults]\ntimeout = "5s"\n', "no suite is in proctor.toml")):
        if text:
            own.write_text(text)
        done = sandbox.proctor(*plan, "--filter", "*")
        count = re.search(r"dry run: (\d+) cases", done.stdout)
        check(count and f"built in, {count[1]} cases, none of yours: {why}; " in done.stdout, done.stdout[:2000], done.stderr)
    check("none of yours" not in sandbox.proctor(*plan, "collectives").stdout, "who names a suite knows whose it is")
    own.write_text('[suite.mine]\ncommand = ["true"]\n')
    check("none of yours" not in sandbox.proctor("run", "--dry-run").stdout, "there is a suite of theirs")


run_scenarios([built_in_suites_are_named_so, a_run_of_proctor, forbidden_leaks, live_output, output_of_a_shared_process, listed_and_run_on_a_device, without_a_path, devices_that_nobody_gets, not_for_want_of_a_device, a_file_of_somebody_else_above, without_a_device, one_that_only_mentions_a_library, chosen_devices, configuration_above])
