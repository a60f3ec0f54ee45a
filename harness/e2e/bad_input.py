#!/usr/bin/env python3
"""Bad input: exit 2, a message that names value and place and the near miss, and nothing was started."""

import ctypes
import os

from harness import Sandbox, check, misbehaving, new_token, write_config

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2

# name, arguments, what the message must hold
COMMAND_LINES = [
    ("option", ["run", "--timout", "3s"], ["--timout", "--timeout"]),
    ("subcommand", ["rum"], ["rum", "run"]),
    ("suite", ["run", "atention"], ["atention", "attention"]),
    ("filter", ["run", "--filter", "nothing*"], ["nothing*"]),
    ("empty filter", ["run", "--filter", ""], ["--filter must not be empty"]),
    ("filter of a command", ["run", "--filter", "X", "--", "true"], ["--filter X", "`proctor list -- true`"]),
    ("retries", ["run", "--retries", "two"], ["--retries", "two", "a whole number from 0 to 100"]),
    ("no number", ["run", "--gpus", "two"], ["--gpus must be a whole number (got `two`)"]),
    ("case", ["run", "--case", "attention/none"], ["attention/none"]),
    ("timeout", ["run", "--timeout", "30"], ["30", "--timeout"]),
    ("timeout unit", ["run", "--timeout", "30sec"], ["30sec"]),
    ("memory cap", ["run", "--sim", "xpu:1x1", "--mem-cap", "512MB"], ["--mem-cap", "512MB", "'512M'"]),
    ("memory cap of nothing", ["run", "--sim", "xpu:1x1", "--mem-cap", "0"], ["--mem-cap", "'0'"]),
    ("memory cap that is a part", ["run", "--sim", "xpu:1x1", "--mem-cap", "0.5"], ["0.5", "no unit"]),
    ("memory cap that is none", ["run", "--sim", "xpu:1x1", "--mem-cap", "NaN"], ["NaN"]),
    ("memory cap below zero", ["run", "--mem-cap=-1G", "--", "true"], ["-1G", "below zero"]),
    ("memory cap without devices", ["run", "--mem-cap", "1G", "--", "true"], ["--mem-cap", "--backend"]),
    ("memory cap twice", ["run", "--mem-cap", "1G", "--mem-cap", "2G"], ["--mem-cap"]),
    ("memory cap of a plan", ["run", "--plan", "plan.json", "--mem-cap", "1G"], ["--plan", "--mem-cap"]),
    ("grace", ["run", "--grace", "-1s"], ["-1s"]),
    ("deadline", ["run", "--deadline", "soon"], ["soon"]),
    ("jobs", ["run", "--jobs", "many"], ["many"]),
    ("layer", ["run", "--containment", "cgruop"], ["cgruop", "cgroup"]),
    ("backend", ["run", "--backend", "cudda"], ["cudda", "cuda"]),
    ("topology", ["run", "--sim", "xpu:two"], ["xpu:two"]),
    ("tiles", ["run", "--sim", "xpu:2x5"], ["xpu:2x5", "1 to 4"]),
    ("machine file", ["run", "--sim", "missing.toml"], ["missing.toml", "--sim"]),
    ("simulated cuda", ["run", "--sim", "cuda:2,driver=intel"], ["cuda:2", "simgpu"]),
    ("simulator", ["run", "--sim", "xpu:2x2,driver=simgpuu"], ["simgpuu", "simgpu"]),
    ("explained case", ["explain", "DeviceMask.UnsetMaskShowsEveryDevic"], ["DeviceMask.UnsetMaskShowsEveryDevic", "`DeviceMask.UnsetMaskShowsEveryDevice`"]),
    ("former command", ["mask", "explain", "cuda", "0"], ["`proctor` has no command `mask`"]),
    ("self-tested backend", ["selftest", "--backend", "none"], ["cuda", "xpu"]),
    ("self-tested driver", ["selftest", "--sim", "xpu:4x2,driver=intel"], ["xpu:4x2,driver=intel"]),
    ("self-tested fault", ["selftest", "--fault", "copy.shrt"], ["copy.shrt", "copy.short"]),
    ("profile", ["run", "--profile", "c1"], ["c1", "ci"]),
    ("config", ["run", "--config", "missing.toml"], ["missing.toml"]),
    ("executable", ["run", "--", "./no-such-program"], ["no-such-program"]),
    ("joined twice", ["run", "--join", "a", "--join", "b"], ["--join"]),
    ("joined and elsewhere", ["run", "--join", "a", "--out", "b"], ["--join", "--out"]),
    ("joined in a file", ["run", "--join", "/dev/null"], ["--join /dev/null", "not a directory"]),
    ("step of ctest", ["ctest", "opne", "a"], ["opne", "open"]),
    ("opened in a file", ["ctest", "open", "/dev/null"], ["/dev/null"]),
    ("reported without a run", ["ctest", "report", "nowhere"], ["nowhere", "parts/"]),
    ("listed suite", ["ctest", "cases", "atention"], ["atention", "attention"]),
    ("mask", ["explain", "mask", "xpu", "0,,1"], ["0,,1"]),
    ("mask backend", ["explain", "mask", "xpo", "0"], ["xpo", "xpu"]),
    ("word about known failures", ["gate", "known-failures", "chek", "a.toml"], ["chek", "check"]),
    ("known failures", ["gate", "known-failures", "check", "missing.toml"], ["missing.toml"]),
    ("moment", ["gate", "known-failures", "check", "a.toml", "--as-of", "today"], ["--as-of", "today", "2026-11-23T12:00:00Z"]),
    ("most known failures", ["gate", "known-failures", "check", "a.toml", "--max=-1"], ["--max", "-1"]),
    ("option of known failures", ["gate", "known-failures", "check", "a.toml", "--plann", "p.json"], ["--plann", "--plan"]),
    ("run of a suggestion", ["gate", "known-failures", "suggest", "no-such-run", "--owner", "a", "--issue", "b"], ["no-such-run"]),
    ("owner", ["gate", "known-failures", "suggest", "no-such-run", "--issue", "b"], ["--owner"]),
    ("nobody", ["gate", "known-failures", "suggest", "no-such-run", "--owner", " ", "--issue", "b"], ["--owner"]),
    ("days", ["gate", "known-failures", "suggest", "no-such-run", "--owner", "a", "--issue", "b", "--days", "91"], ["--days", "91"]),
    ("journal", ["report", "render", "no-such-run"], ["no-such-run"]),
    ("format", ["report", "render", "a", "--format", "pgae"], ["pgae", "`page`"]),
    ("formats of two sorts", ["report", "render", "a", "--format", "json,github"], ["--format github cannot be combined"]),
    ("page without a place", ["report", "render", "a", "b", "--format", "page"], ["--format page requires --out"]),
    ("two runs", ["report", "render", "a", "b"], ["takes one run (got 2)", "--format page"]),
    ("history of no page", ["report", "render", "a", "--history", "h"], ["--history requires --format page"]),
    ("place of what GitHub shows", ["report", "render", "a", "--format", "github", "--out", "b"], ["--format github", "--out"]),
    ("annotations of no format", ["report", "render", "a", "--force"], ["--force requires --format github"]),
]

# name, PROCTOR_SIM_FAULTS, arguments after `run`, what the message must hold
FAULTS = [
    ("fault name", "memory.corupt_copy", ["--sim", "xpu:2x2"], ["memory.corupt_copy", "memory.corrupt_copy"]),
    ("fault key", "memory.corrupt_copy:att=1", ["--sim", "xpu:2x2"], ["att", "at"]),
    ("fault value", "memory.corrupt_copy:at=one", ["--sim", "xpu:2x2"], ["one"]),
    ("fault of no card", "memory.corrupt_copy:dev=2", ["--sim", "xpu:2x2"], ["dev=2", "xpu:2x2"]),
    ("fault on hardware", "memory.corrupt_copy", [], ["memory.corrupt_copy", "--sim"]),
    ("fault on Intel's driver", "memory.corrupt_copy", ["--sim", "xpu:2x2,driver=intel"], ["simgpu"]),
]

# name, text of the file, what the message must hold
CONFIGS = [
    ("key", '[suite.attention]\ncomand = ["true"]\n', ["comand", "command", "bad.toml", "2"]),
    ("table", '[suit.attention]\ncommand = ["true"]\n', ["suit", "suite"]),
    ("kind", '[suite.attention]\nkind = "gtset"\ncommand = ["true"]\n', ["gtset", "gtest"]),
    ("duration", '[suite.attention]\ncommand = ["true"]\ntimeout = "5x"\n', ["5x", "timeout"]),
    ("type", '[suite.attention]\ncommand = ["true"]\nretries = "two"\n', ["retries"]),
    ("min_version", 'min_version = "99.0"\n[suite.attention]\ncommand = ["true"]\n', ["99.0", "min_version"]),
    ("no TOML", "[suite.attention\n", ["bad.toml", "1"]),
    ("a key of nothing", "\n[.a]\n", ["bad.toml:2"]),
    ("a deep key", "\n[a" + ".a" * 1_000_000 + "]\n", ["bad.toml:2", "32 dots"]),
    ("executable", '[suite.attention]\ncommand = ["./no-such-program"]\n', ["no-such-program"]),
]

# name, text of the file given to --sim, what the message must hold
MACHINES = [
    ("key", "[[xpu]]\ntile = 2\n", ["machine.toml:2", "`tile`", "`tiles`"]),
    ("table", "[[xpuu]]\n", ["machine.toml:1", "`xpuu`", "`xpu`"]),
    ("value", '[[xpu]]\nfp64 = "no"\n', ["machine.toml:2", "`fp64`", '"no"', "true or false"]),
    ("size", '[[xpu]]\nmemory = "16GB"\n', ["machine.toml:2", "`memory`", "16GB"]),
    ("identity", '[[xpu]]\n[[xpu]]\npci = "0000:03:00.0"\n', ["machine.toml:2", "0000:03:00.0"]),
    ("no TOML", "[[xpu]\n", ["machine.toml:1"]),
    ("a key of nothing", "\n[[.a]]\n", ["machine.toml:2"]),
    ("no card", "\n", ["machine.toml", "[[xpu]]"]),
]


def refused(sandbox, name, arguments, words, **more):
    out = sandbox.out()
    if arguments[0] == "run" and not {"--out", "--join"} & {*map(str, arguments)}:
        arguments = ["run", "--out", out, *arguments[1:]]
    done = sandbox.proctor(*arguments, **more)
    text = done.stdout + done.stderr
    check(done.returncode == 2, f"{name}: exit {done.returncode}\n{text}")
    for word in words:
        check(word in done.stderr, f"{name}: the message lacks `{word}`\n{text}")
    check(not (out / "journal.jsonl").exists(), f"{name}: a run was started")
    print(f"ok {name}: {done.stderr.splitlines()[0]}")


def output_directories(sandbox):
    used = sandbox.path / "used"
    used.mkdir()
    (used / "file").write_text("mine")
    refused(sandbox, "not empty", ["run", "--out", used], [str(used)])
    check((used / "file").read_text() == "mine", "the user's file is gone")
    plain = sandbox.path / "plain"
    plain.write_text("")
    refused(sandbox, "below a file", ["run", "--out", plain / "out"], [str(plain)])
    refused(sandbox, "not writable", ["run", "--out", "/proc/proctor-out"], ["/proc/proctor-out"])
    refused(sandbox, "junit", ["run", "--junit", "/proc/x/junit.xml"], ["/proc/x"])


def own_directory(sandbox):
    """Where a run has no directory of its own, it says how to name another one."""
    locked = sandbox.path / "locked"
    locked.mkdir(mode=0o555)
    done = sandbox.proctor("run", "--", "true", cwd=locked, preexec_fn=obey_permissions)
    check(done.returncode == 2 and f"{locked} is not writable" in done.stderr and "--out DIR" in done.stderr,
          done.returncode, done.stderr)


def commands_that_do_not_start(sandbox):
    """What is in the way, in the words of the file: as `exec` and `run` say it."""
    me = f"uid {os.geteuid()}"
    theirs = sandbox.path / "theirs.sh"
    theirs.write_text("#!/bin/sh\n")
    theirs.chmod(0o700 if os.geteuid() == 0 else 0o600)
    if os.geteuid() == 0:
        os.chown(theirs, 65534, 65534)
    garbage = sandbox.path / "garbage"
    garbage.write_bytes(b"\x01\x02\x03garbage\n")
    garbage.chmod(0o755)
    lost = sandbox.path / "lost.sh"
    lost.write_text("#!/no/such/interpreter\n")
    lost.chmod(0o755)
    owner = "65534" if os.geteuid() == 0 else str(os.geteuid())
    for name, command, code, words in (
            ("theirs", theirs, 126, ["cannot be executed by", me, f"{theirs.stat().st_mode & 0o777:04o}", owner, "chmod"]),
            ("a directory", sandbox.path, 126, ["is a directory"]),
            ("garbage", garbage, 126, ["neither ELF for this machine nor a script with `#!`"]),
            ("no interpreter", lost, 127, ["an interpreter or a loader that does not exist"])):
        done = sandbox.proctor("exec", "--out", sandbox.out(), "--", command, preexec_fn=obey_permissions)
        check(done.returncode == code and all(word in done.stderr for word in [str(command), *words]), name,
              done.returncode, done.stderr)
        print(f"ok {name}: {done.stderr.splitlines()[0]}")
        if name in ("theirs", "a directory"):
            refused(sandbox, f"{name}, as a suite", ["run", "--", command], words, preexec_fn=obey_permissions)
    done = sandbox.proctor("exec", "--timeout", "1s", "./ok.sh")
    check(done.returncode == 125 and "Put the command after `--`: proctor exec [OPTIONS] -- ./ok.sh" in done.stderr, done.stderr)


def bad_faults(sandbox):
    for name, faults, arguments, words in FAULTS:
        sandbox.env["PROCTOR_SIM_FAULTS"] = faults
        refused(sandbox, name, ["run", *arguments], words)
    refused(sandbox, "faults of a self-test", ["selftest"], ["PROCTOR_SIM_FAULTS", "--fault"])
    del sandbox.env["PROCTOR_SIM_FAULTS"]


def obey_permissions():
    """Of the next program: root without the capabilities by which it reads everything."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        if ctypes.CDLL(None, use_errno=True).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 and os.geteuid() == 0:
            raise OSError(ctypes.get_errno(), "failed to drop a capability")


def unreadable_config(sandbox):
    secret = sandbox.path / "secret.toml"
    secret.write_text("")
    secret.chmod(0)
    refused(sandbox, "unreadable", ["run", "--config", secret], [str(secret)], preexec_fn=obey_permissions)
    refused(sandbox, "a directory", ["run", "--config", sandbox.path], [str(sandbox.path)])


def home_of_another_user(sandbox):
    """As sudo may leave it: its configuration is left out, and a warning says so."""
    home = sandbox.path / "theirs"
    if os.geteuid() == 0:
        home.mkdir(mode=0o700)
        os.chown(home, 65534, 65534)
    elif os.access("/root", os.X_OK):
        return
    else:
        home = "/root"
    kept = sandbox.env.pop("XDG_CONFIG_HOME")
    for arguments in (["run", "--out", sandbox.out()], ["list"], ["plan", "-o", sandbox.path / "of_theirs.json"]):
        done = sandbox.proctor(*arguments, "--", "true", env={**sandbox.env, "HOME": str(home)}, preexec_fn=obey_permissions)
        text = done.stdout + done.stderr
        check(done.returncode == 0, arguments, done.returncode, text)
        check(f"{home}/.config/proctor/proctor.toml: Permission denied" in text and "another user" in text, text)
    own = sandbox.path / "own"
    (own / ".config").mkdir(parents=True)
    (own / ".config").chmod(0)
    refused(sandbox, "own home that cannot be read", ["run", "--", "true"], [f"{own}/.config"],
            env={**sandbox.env, "HOME": str(own)}, preexec_fn=obey_permissions)
    (own / ".config").chmod(0o700)
    sandbox.env["XDG_CONFIG_HOME"] = kept


def no_toml_anywhere(sandbox):
    """The other files in TOML that a caller names."""
    stacks = sandbox.path / "stacks"
    stacks.mkdir()
    broken = stacks / "broken.toml"
    broken.write_text("\n[.a]\n")
    for name, arguments in (("known failures", ["run", "--known-failures", broken, "--", "true"]),
                            ("known failures that are judged", ["gate", "known-failures", "check", broken]),
                            ("the config of a list", ["list", "--config", broken]),
                            ("stack lock", ["stack", "render", "--dir", sandbox.path, "--check"]),
                            ("rules of the doctor", ["doctor", "--rules", broken])):
        refused(sandbox, name, arguments, ["broken.toml:2"])


def main():
    with Sandbox() as sandbox:
        good = sandbox.path / "proctor.toml"
        ran = sandbox.path / "ran"
        write_config(good, {"attention": {"kind": "command", "command": ["/usr/bin/touch", str(ran)]}})
        good.write_text(good.read_text() + '[profile.ci]\ntimeout = "5m"\n')
        for name, arguments, words in COMMAND_LINES:
            refused(sandbox, name, arguments, words)
        bad_faults(sandbox)
        output_directories(sandbox)
        own_directory(sandbox)
        commands_that_do_not_start(sandbox)
        unreadable_config(sandbox)
        home_of_another_user(sandbox)
        bad = sandbox.path / "bad.toml"
        for name, text, words in CONFIGS:
            bad.write_text(text)
            refused(sandbox, f"config: {name}", ["run", "--config", bad], words)
        machine = sandbox.path / "machine.toml"
        for name, text, words in MACHINES:
            machine.write_text(text)
            refused(sandbox, f"machine: {name}", ["run", "--sim", machine], words)
        machine.write_text("[[xpu]]\n")
        refused(sandbox, "machine: Intel's driver", ["run", "--sim", f"{machine},driver=intel"], ["simgpu"])
        no_toml_anywhere(sandbox)
        check(not ran.exists(), "the command of a refused plan was started")
        done = sandbox.proctor("run", "--out", sandbox.out())
        check(done.returncode == 0 and ran.exists(), "the good config fails:", done.stdout, done.stderr)
        done = sandbox.proctor("run", "--dry-run", "--", *misbehaving("sleep-forever", new_token()))
        check(done.returncode == 0, "dry run:", done.stderr)


if __name__ == "__main__":
    main()
