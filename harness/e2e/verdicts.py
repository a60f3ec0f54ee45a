#!/usr/bin/env python3
"""Whose problem it is, and which exit code: a suite that cannot be listed, a report that cannot be written, errors that
are the same on every machine, and simulated devices that nobody asked for.

    verdicts.py [SCENARIO...]
"""

import glob
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from harness import BIN, check, check_sums, report, run_scenarios, skip, write_config

SIMULATOR = "libproctor_ze_sim.so"


def command(*words, **more):
    return {"kind": "command", "command": list(words), **more}


def script(sandbox, name, text):
    path = sandbox.path / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def lists_nothing(sandbox, name="broken"):
    """A program of kind gtest whose listing dies with words of its own."""
    return {"kind": "gtest", "command": [script(sandbox, name, "echo 'libtorch_cuda.so: cannot open' >&2; exit 127\n")]}


def run(sandbox, suites, *arguments, **more):
    config = sandbox.path / "verdicts.toml"
    write_config(config, suites)
    done = sandbox.proctor("run", "--config", config, "--out", sandbox.out(), *arguments, **more)
    out = sandbox.last_out()
    return done, report(out) if (out / "report.json").is_file() else None


def outcomes(document):
    return {case["id"]: case["outcome"] + (f"({case['reason']})" if case["reason"] else "") for case in document["cases"]}


def red_in(path):
    """{(classname, name)} of the testcases with a failure or an error."""
    root = ElementTree.parse(path).getroot()
    bad = [case for case in root.iter("testcase") if case.find("failure") is not None or case.find("error") is not None]
    suites = root.iter("testsuite")
    check(sum(int(suite.get("failures")) + int(suite.get("errors")) for suite in suites) == len(bad), path, "miscounts")
    return {(case.get("classname"), case.get("name")) for case in bad}


def unlisted(sandbox):
    """One red case of the suite's name, with the program's words; the others run; reports exist."""
    suites = {"broken": lists_nothing(sandbox), "fine": command("true")}
    done, document = run(sandbox, suites)
    check(done.returncode == 1 and document, "exit", done.returncode, done.stderr)
    check_sums(document)
    check(outcomes(document) == {"broken": "error(discovery)", "fine/true": "pass"}, outcomes(document))
    case = document["cases"][0]
    check("libtorch_cuda.so: cannot open" in case["note"] and case["owner"] == "code", case["note"], case["owner"])
    check("libtorch_cuda.so: cannot open" in done.stdout, "the console does not have its words:", done.stdout)
    last = [line for line in done.stdout.splitlines() if line.startswith("ERROR broken: ")]
    check(len(last) == 1 and "libtorch_cuda.so: cannot open" in last[0], "its line at the end does not have them:", done.stdout)
    out = sandbox.last_out()
    check(red_in(out / "junit.xml") == {("broken", "broken")}, red_in(out / "junit.xml"))
    check("libtorch_cuda.so: cannot open" in (out / "junit" / "broken.none.xml").read_text(), "JUnit lacks its words")
    for words in (["list"], ["plan", "-o", "plan.json"], ["run", "--dry-run"]):
        refused = sandbox.proctor(*words, "--config", sandbox.path / "verdicts.toml")
        check(refused.returncode == 2 and "cannot open" in refused.stderr, words, refused.returncode, refused.stderr)
    alone, document = run(sandbox, {"broken": lists_nothing(sandbox)})
    check(alone.returncode == 1 and outcomes(document) == {"broken": "error(discovery)"}, alone.returncode, document)
    print("ok", case["note"])


def selected_beside_unlisted(sandbox):
    """By name it is there where it may be meant, and nowhere else; a rerun is right when it can be listed again."""
    suites = {"broken": lists_nothing(sandbox), "fine": command("true")}
    for arguments, want in ((["fine"], ["fine/true"]), (["broken"], ["broken"]), (["--filter", "fine/*"], ["fine/true"]),
                            (["--filter", "broken/Moe*"], ["broken"]), (["--filter", "*true*"], ["broken", "fine/true"]),
                            (["--case", "broken/Moe.Big", "--case", "fine/true"], ["broken", "fine/true"]),
                            (["--exclude", "broken/*"], ["fine/true"]),
                            (["--exclude", "broken/Moe*"], ["broken", "fine/true"])):
        done, document = run(sandbox, suites, *arguments)
        check(document and list(outcomes(document)) == want, arguments, done.returncode, done.stderr, document)
        check(done.returncode == (1 if "broken" in want else 0), arguments, "exit", done.returncode)
    done, document = run(sandbox, suites)
    first = sandbox.last_out()
    (sandbox.path / "broken").write_text("""#!/bin/sh
[ "$1" = --gtest_list_tests ] && { echo Moe.; echo '  Big'; echo '  Small'; exit 0; }
exit 1
""")
    done = sandbox.proctor("rerun", first, "--failed", "--force", "--out", sandbox.out())
    ids = [case["id"] for case in report(sandbox.last_out())["cases"]]
    check(ids == ["broken/Moe.Big", "broken/Moe.Small"], "rerun:", ids, done.stderr)
    print("ok selection by name beside a suite that cannot be listed")


def shards_of_unlisted(sandbox):
    """It is in one shard, and in the merged run."""
    suites = {"broken": lists_nothing(sandbox), **{f"fine{i}": command("true") for i in range(4)}}
    parts, codes = [], []
    for index in (1, 2, 3):
        done, document = run(sandbox, suites, "--shard", f"{index}/3", "--min-executed", "0")
        parts.append(sandbox.last_out())
        codes.append(("broken" in outcomes(document), done.returncode))
    check(sorted(red for red, _ in codes) == [False, False, True], codes)
    check(all(code == (1 if red else 0) for red, code in codes), codes)
    merged = sandbox.out()
    done = sandbox.proctor("report", "merge", *parts, "--out", merged)
    check(done.returncode == 1, "the merged run is as red as its shard:", done.returncode, done.stderr)
    document = report(merged)
    check(outcomes(document)["broken"] == "error(discovery)" and document["run"]["exit_code"] == 1, outcomes(document))
    print("ok shards:", codes)


def same_on_every_machine(sandbox):
    """Neither a program that cannot be executed nor a result that contradicts itself is the machine's."""
    elf = sandbox.path / "elf"
    elf.write_bytes(b"\x7fELF that is none")
    elf.chmod(0o755)
    liar = script(sandbox, "liar", """say() { echo "{\\"v\\":1,\\"case\\":\\"A.B\\",$1}" >&$PROCTOR_EVENTS_FD; }
[ "$1" = --proctor-list ] && { say '"event":"case"'; exit 0; }
say '"event":"start"'; say '"event":"end","result":"pass"'; exit 1
""")
    suites = {"elf": command(str(elf)), "liar": {"kind": "proctor", "command": [liar]}}
    done, document = run(sandbox, suites)
    check(outcomes(document) == {"elf/elf": "error(spawn:ENOEXEC)", "liar.none/A.B": "error(result_mismatch)"},
          outcomes(document))
    check([case["owner"] for case in document["cases"]] == ["setup", "code"], document["cases"])
    check(done.returncode == 1 and "retry elsewhere" not in done.stdout, done.returncode, done.stdout)
    print("ok errors that another machine would have as well")


def skip_by_exit_code(sandbox):
    """Only with the code that the suite declares."""
    suites = {"declared": command("sh", "-c", "exit 77", skip_code=77), "other": command("sh", "-c", "exit 77", skip_code=4),
              "none": command("sh", "-c", "exit 77")}
    done, document = run(sandbox, suites)
    check(outcomes(document) == {"declared/sh": "skip(exit:77)", "other/sh": "fail(exit:77)", "none/sh": "fail(exit:77)"},
          outcomes(document))
    check(done.returncode == 1, done.returncode, done.stdout)
    for suite, says in ((command("true", skip_code=0), "`skip_code`"), ({"kind": "pytest", "command": ["pytest"], "skip_code": 5},
                                                                   'skip_code with kind "pytest"')):
        config = sandbox.path / "bad.toml"
        write_config(config, {"bad": suite})
        done = sandbox.proctor("run", "--config", config, "--out", sandbox.out())
        check(done.returncode == 2 and says in done.stderr, done.returncode, done.stderr)
    print("ok exit codes that are skips")


def unexpected_pass(sandbox):
    """Of a foreign suite it is not red in any place."""
    test = sandbox.path / "test_x.py"
    test.write_text("import pytest\n@pytest.mark.xfail\ndef test_mended(): pass\n")
    if subprocess.run([sys.executable, "-m", "pytest", "--version"], capture_output=True).returncode != 0:
        skip("package_missing:pytest")
    suites = {"x": {"kind": "pytest", "command": [sys.executable, "-m", "pytest", "-q", str(test)], "retries": 2}}
    done, document = run(sandbox, suites, "--fail-fast")
    out = sandbox.last_out()
    check(done.returncode == 0 and document["cases"][0]["outcome"] == "xpass", done.returncode, document["cases"][0])
    check(document["cases"][0]["owner"] == "none" and len(document["cases"][0]["attempts"]) == 1, document["cases"][0])
    check(not red_in(out / "junit.xml") and "\nowner:" not in done.stdout, done.stdout)
    summary = (out / "summary.md").read_text()
    check("Passed unexpectedly" in summary and "<pre>" not in summary, summary)
    again = sandbox.proctor("rerun", out, "--failed")
    check(again.returncode == 0 and "nothing to run again" in again.stdout, again.returncode, again.stdout)
    check("::error" not in sandbox.proctor("report", "render", "--format", "github", out).stdout, "an annotation calls it an error")
    print("ok an unexpected pass of a foreign suite is green everywhere, and named")


def no_report_no_green(sandbox):
    """A report that cannot be written is exit 75, and the console says which; the code's red stays the code's."""
    for body, want in (("", 75), ("exit 1", 1)):
        suites = {"s": command("sh", "-c", f'rm -rf "$PROCTOR_RUN_DIR"/report.json; mkdir "$PROCTOR_RUN_DIR"/report.json; {body}')}
        done, _ = run(sandbox, suites)
        check(done.returncode == want and "report.json" in done.stdout + done.stderr, done.returncode, done.stdout, done.stderr)
        out = sandbox.last_out()
        check(("proctor.run", "report_not_written") in red_in(out / "junit.xml"), red_in(out / "junit.xml"))
        check("report_not_written" in (out / "summary.md").read_text(), "summary.md does not say it")
    done = sandbox.proctor("exec", "--out", sandbox.out(), "--", "sh", "-c", 'mkdir "$PROCTOR_RUN_DIR"/junit.xml')
    check(done.returncode == 75 and "junit.xml" in done.stderr, "exec:", done.returncode, done.stderr)
    place = sandbox.path / "place"
    place.mkdir()
    done, document = run(sandbox, {"s": command("rm", "-rf", str(place))}, "--junit", place / "junit.xml")
    check(done.returncode == 75 and document["run"]["exit_code"] == 75, "--junit:", done.returncode, document["run"])
    check("place/junit.xml" in done.stdout + done.stderr, done.stdout, done.stderr)
    print("ok no report, no green")


def no_journal_no_green(sandbox):
    """A journal that lost records is no better: /dev/full stands in for a disk."""
    if os.geteuid() != 0:
        skip("needs:root (a file system of its own)")
    out = sandbox.out()
    out.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(out)], capture_output=True)
    if mounted.returncode != 0:
        skip("needs:mount")
    try:
        fill = f'dd if=/dev/zero of="{out}/filler" bs=4k 2>/dev/null; exit 0'
        config = sandbox.path / "full.toml"
        write_config(config, {"a": command("sh", "-c", fill), **{f"b{i}": command("true") for i in range(3)}})
        done = sandbox.proctor("run", "--config", config, "--out", out, "--jobs", "1")
        check(done.returncode == 75, "exit", done.returncode, done.stdout, done.stderr)
        check("journal.jsonl" in done.stdout + done.stderr, "not said which:", done.stdout, done.stderr)
    finally:
        subprocess.run(["umount", "-l", str(out)], check=True)
    print("ok no journal, no green")


def old_junit(sandbox):
    """The file of an earlier run never survives as if it were of this one."""
    file = sandbox.path / "junit.xml"

    def old():
        file.write_text('<testsuites name="old" tests="1" failures="0" errors="0"/>')

    old()
    done, _ = run(sandbox, {"s": command("sh", "-c", f'cp {file} {sandbox.path}/during')}, "--junit", file)
    check(done.returncode == 0 and not red_in(file), done.returncode, file.read_text())
    check(("proctor.run", "no_report") in red_in(sandbox.path / "during"), "while it runs the file is not red")
    for arguments in (["--filter", "none*"], ["--timeout", "soon"], ["--shard", "7/3"]):
        old()
        done, _ = run(sandbox, {"s": command("true")}, "--junit", file, *arguments)
        check(done.returncode == 2 and ("proctor.run", "no_report") in red_in(file), arguments, done.returncode, file.read_text())
        check("refused" in file.read_text(), file.read_text())
    old()
    before = file.read_text()
    done, _ = run(sandbox, {"s": command("true")}, "--junit", file, "--dry-run")
    check(done.returncode == 0 and file.read_text() == before, "a dry run has no report to write")
    print("ok the file of --junit is never an old one")


def junit_is_red(sandbox):
    """What is no case is one of the suite proctor.run, in every file set."""
    tries = sandbox.path / "tries"
    flaky = command("sh", "-c", f'echo x >> {tries}; [ "$(wc -l < {tries})" -ge 2 ]', retries=1)
    for suites, arguments, name, code in (({"s": flaky}, [], "flaky", 1),
                                          ({"s": command("true")}, ["--min-executed", "2"], "min_executed", 3)):
        done, document = run(sandbox, suites, *arguments)
        out = sandbox.last_out()
        check(done.returncode == code, name, done.returncode, done.stdout)
        check(red_in(out / "junit.xml") == {("proctor.run", name)}, name, red_in(out / "junit.xml"))
        check(red_in(out / "junit" / "proctor.run.xml") == {("proctor.run", name)}, name)
    print("ok JUnit is red where the exit code is")


CLOCKS = """say() { printf '{"v":1,"case":"%s","event":%s}\\n' "$name" "$1" >&"$PROCTOR_EVENTS_FD"; }
case "$1" in
  --proctor-list)
    for name in never_begins late_to_begin never_ends fails_and_never_ends hangs; do
      printf '{"v":1,"event":"case","case":"%s"}\\n' $name >&"$PROCTOR_EVENTS_FD"
    done
    exit ;;
esac
name=${1#--proctor-case=}
case $name in never_begins) exec sleep 1000 ;; late_to_begin) sleep 1 ;; esac
say '"start"'
case $name in hangs) exec sleep 1000 ;; fails*) say '"end","result":"fail"'; exec sleep 1000 ;; esac
say '"end","result":"pass"'
[ $name != never_ends ] || exec sleep 1000
"""


def clocks(sandbox):
    """A process that never begins, or never ends, has a limit of its own, and so has the case between."""
    suite = {"kind": "proctor", "command": [script(sandbox, "clocks", CLOCKS)], "timeout": "3s", "startup": "20s",
             "shutdown": "2s", "grace": "0s"}
    done, document = run(sandbox, {"clocks": {**suite, "startup": "2s"}}, "--filter", "*never_begins")
    check(outcomes(document) == {"clocks.none/never_begins": "timeout(startup)"}, outcomes(document))
    done, document = run(sandbox, {"clocks": suite, "shell": command("true", startup="1s")}, "--exclude", "*never_begins")
    check(outcomes(document) == {"clocks.none/late_to_begin": "pass", "clocks.none/never_ends": "timeout(shutdown)",
                                 "clocks.none/fails_and_never_ends": "fail", "clocks.none/hangs": "timeout", "shell/true": "pass"},
          outcomes(document))
    check("time_limit_unused" in [warning["code"] for warning in document["warnings"]], document["warnings"])
    check(done.returncode == 1, done.returncode)
    print("ok a process has clocks for its start and its end")


def is_simulated(sandbox, backend, environment, *words):
    """A run without --sim in this environment: it is simulated and says so, or it is refused."""
    sandbox.run_keys(state_dir=sandbox.path / "leases")  # not those of the machine
    done = sandbox.proctor("run", "--backend", backend, "--out", sandbox.out(), "--", *words,
                           env={**sandbox.env, "PROCTOR_SIM_STATE": str(sandbox.path / "simulated"), **environment})
    if done.returncode == 2:
        return "refused"
    document = report(sandbox.last_out())
    if not document["cases"][0]["devices"]:
        return f"no device: {document['cases'][0]['reason']}"
    check(document["run"]["simulated"] and document["cases"][0]["simulated"], backend, "calls itself real:", document["run"])
    check("simulated_driver" in [warning["code"] for warning in document["warnings"]], document["warnings"])
    check("no evidence about hardware" in done.stdout, done.stdout)
    said = document["hardware"]
    check({one["when"] for one in said} == {"start", "end"}, "not said at the start and at the end:", said)
    check(all(one["simulator"] and one["driver_file"] and not one["kernel_driver"] for one in said), "no simulator:", said)
    return "simulated"


def stand_in_xpu(sandbox):
    """Our simulator below the loader, by the environment alone, under its own name and another."""
    if not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    renamed = shutil.copy(BIN / SIMULATOR, sandbox.path / "libze_intel_gpu.so.1")
    for path in (BIN / SIMULATOR, renamed):
        print("ok", path, is_simulated(sandbox, "xpu", {"ZE_ENABLE_ALT_DRIVERS": str(path),
                                                        "PROCTOR_SIM_TOPOLOGY": "xpu:1x1"}, "/bin/true"))


def stand_in_cuda(sandbox):
    """The same of CUDA."""
    place = BIN / "cuda_sim"
    if not place.exists():
        skip("library_missing:cuda_sim")
    print("ok", is_simulated(sandbox, "cuda", {"LD_LIBRARY_PATH": str(place), "PROCTOR_SIM_TOPOLOGY": "cuda:1"},
                             "/bin/true"))


def stand_in_intel(sandbox):
    """Intel's own driver in its mode without hardware."""
    if not glob.glob("/usr/lib/*/libze_intel_gpu.so.1"):
        skip("package_missing:libze-intel-gpu1")
    if glob.glob("/dev/dri/renderD*"):
        skip("there is hardware here")
    print("ok", is_simulated(sandbox, "xpu", {
        "NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1", "UseAubStream": "0", "ProductFamilyOverride": "pvc",
        "HardwareInfoOverride": "2x4x8", "CreateMultipleRootDevices": "2"}, "/bin/true"))


if __name__ == "__main__":
    run_scenarios((unlisted, selected_beside_unlisted, shards_of_unlisted, same_on_every_machine, skip_by_exit_code, no_report_no_green,
                   old_junit, junit_is_red, clocks),
                  own_tests=(unexpected_pass, no_journal_no_green, stand_in_xpu, stand_in_cuda, stand_in_intel))
