#!/usr/bin/env python3
"""What goes wrong outside of the tests while a run is on: the run goes on and says so.

    mishaps.py [SCENARIO...]
"""

import os
import shutil
import signal
import subprocess
import sys

from harness import (BIN, SKIP, Sandbox, check, check_sums, misbehaving, new_token, of_type, records, report,
                     write_config)


def three_suites(sandbox, **more):
    token = new_token()
    config = sandbox.path / "three.toml"
    suites = {"first": misbehaving("print", token, "hello"), "second": misbehaving("exit", token, "3"),
              "third": misbehaving("sleep-forever", token)}
    limits = {"third": {"timeout": "500ms"}}  # the others end by themselves
    write_config(config, {name: {"kind": "command", "command": command, **limits.get(name, {})} for name, command in suites.items()},
                 more)
    return ["run", "--config", config, "--jobs", 1]


def check_three(out):
    document = report(out)
    check_sums(document)
    got = {case["suite"]: case["outcome"] for case in document["cases"]}
    check(got == {"first": "pass", "second": "fail", "third": "timeout"}, got)
    return document


def closed_stdout(sandbox):
    """No stdout at all, and a reader that went away."""
    arguments = three_suites(sandbox)
    out = sandbox.out()
    command = sandbox.command(*arguments, "--out", out)
    done = subprocess.run(["bash", "-c", '"$@" >&-', "bash", *command], env=sandbox.env, cwd=sandbox.path,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
    check(done.returncode == 1, "closed: exit", done.returncode, done.stderr)
    check_three(out)
    out = sandbox.out()
    reader, writer = os.pipe()
    os.close(reader)
    done = sandbox.proctor(*arguments, "--out", out, stdout=writer)
    os.close(writer)
    check(done.returncode == 1, "broken pipe: exit", done.returncode, done.stderr)
    document = check_three(out)
    check(document["warnings"], "the report does not say that the console was lost")


def disk_full(sandbox):
    """A run directory of one MiB, and a case that writes more."""
    disk = sandbox.path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        return "needs root and mount"
    try:
        token = new_token()
        config = sandbox.path / "full.toml"
        write_config(config, {
            "before": {"kind": "command", "command": misbehaving("print", token, "before")},
            "flood": {"kind": "command", "command": misbehaving("flood", token, str(16 << 20))},
            "later": {"kind": "command", "command": misbehaving("exit", token, "3")}})
        done = sandbox.proctor("run", "--config", config, "--jobs", 1, "--out", disk / "out")
        text = done.stdout + done.stderr
        check(done.returncode in (1, 75), "exit", done.returncode, text)
        check(text.count("report.json") == 1 and f"in {disk / 'out'}: No space left" in text,
              "the full disk is not told once, with the reports and their directory:", text)
        check("exit code 3" in text, "the case after the flood was not run, or is not shown:", text)
    finally:
        subprocess.run(["umount", disk], check=True)
    return None


def print_pass(sandbox):
    """A proctor-kind suite that prints PASS and exits 0 without events."""
    config = sandbox.path / "print.toml"
    write_config(config, {"liar": {"kind": "proctor", "command": misbehaving("print-pass", new_token())}})
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--out", out)
    check(done.returncode == 1, "exit", done.returncode, done.stdout)
    (case,) = report(out)["cases"]
    check((case["outcome"], case["reason"]) == ("error", "no_result"), case)


def ad_hoc_gtest(sandbox):
    """A GoogleTest program after --, no config: recognised, one process per case, ids of the framework."""
    binary = BIN / "proctor_base_test"
    listed = subprocess.run([binary, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    count = sum(line.startswith("  ") for line in listed.splitlines())
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, "--", binary)
    check(done.returncode == 0, "exit", done.returncode, done.stdout, done.stderr)
    check("gtest" in done.stdout, "the header does not name the kind:", done.stdout)
    document = report(out)
    check_sums(document)
    check(document["summary"]["planned"] == count, document["summary"], "listed", count)
    kinds = {case["kind"] for case in records(out)[0]["cases"]}
    check(kinds == {"gtest"}, kinds)


def spawn_refused(sandbox):
    """A program that cannot be executed when its turn comes is an error of its own, not exit 127 of a test."""
    program = sandbox.path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    config = sandbox.path / "spawn.toml"
    write_config(config, {"broken": {"kind": "command", "command": [str(program)]}})
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--out", out)
    check(done.returncode == 1, "exit", done.returncode, done.stdout, done.stderr)
    (case,) = report(out)["cases"]
    check((case["outcome"], case["reason"]) == ("error", "spawn:ENOENT"), case)


def budget(sandbox):
    """--deadline: what no longer fits is notrun(run_limit), and the exit code says incomplete."""
    config = sandbox.path / "budget.toml"
    write_config(config, {f"s{index}": {"kind": "command", "command": ["/bin/sleep", "600" if index else "0"]} for index in range(4)})
    out = sandbox.out()
    done = sandbox.proctor("run", "--config", config, "--jobs", 1, "--deadline", "3s", "--out", out)
    check(done.returncode == 3, "exit", done.returncode, done.stdout)
    document = report(out)
    check_sums(document)
    check(document["summary"]["pass"] >= 1 and document["summary"]["notrun"] >= 2, document["summary"])
    check({case["reason"] for case in document["cases"] if case["outcome"] == "notrun"} == {"run_limit"}, document)
    check(of_type(records(out), "run_ended"), "the journal has no end")


def ignored_sigchld(sandbox):
    """A caller that ignores SIGCHLD, as daemons do: how each case ended is known all the same, in each layer that works."""
    for arguments in (["run", "--out", sandbox.out()], ["run", "--out", sandbox.out(), "--containment", "subreaper"], ["exec"]):
        done = sandbox.proctor(*arguments, "--", "sh", "-c", "exit 3",
                               preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        check(done.returncode == (3 if arguments == ["exec"] else 1), arguments, done.returncode, done.stdout, done.stderr)


SCENARIOS = {"closed-stdout": closed_stdout, "disk-full": disk_full, "print-pass": print_pass,
             "ad-hoc-gtest": ad_hoc_gtest, "spawn-refused": spawn_refused, "budget": budget,
             "ignored-sigchld": ignored_sigchld}


def main():
    wanted = sys.argv[1:] or list(SCENARIOS)
    skipped = 0
    for name in wanted:
        with Sandbox() as sandbox:
            why = SCENARIOS[name](sandbox)
        skipped += bool(why)
        print(f"skipped {name}: {why}" if why else f"ok {name}", flush=True)
    return SKIP if skipped == len(wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
