#!/usr/bin/env python3
"""Bad input: exit 2, a message that names value and place and the near miss, and nothing was started."""

import os

from harness import Sandbox, check, misbehaving, new_token, write_config

# name, arguments, what the message must hold
COMMAND_LINES = [
    ("option", ["run", "--timout", "3s"], ["--timout", "--timeout"]),
    ("subcommand", ["rum"], ["rum", "run"]),
    ("suite", ["run", "atention"], ["atention", "attention"]),
    ("filter", ["run", "--filter", "nothing*"], ["nothing*"]),
    ("case", ["run", "--case", "attention/none"], ["attention/none"]),
    ("timeout", ["run", "--timeout", "30"], ["30", "--timeout"]),
    ("timeout unit", ["run", "--timeout", "30sec"], ["30sec"]),
    ("grace", ["run", "--grace", "-1s"], ["-1s"]),
    ("deadline", ["run", "--deadline", "soon"], ["soon"]),
    ("jobs", ["run", "--jobs", "many"], ["many"]),
    ("layer", ["run", "--containment", "cgruop"], ["cgruop", "cgroup"]),
    ("backend", ["run", "--backend", "cudda"], ["cudda", "cuda"]),
    ("topology", ["run", "--sim", "xpu:two"], ["xpu:two"]),
    ("profile", ["run", "--profile", "c1"], ["c1", "ci"]),
    ("config", ["run", "--config", "missing.toml"], ["missing.toml"]),
    ("executable", ["run", "--", "./no-such-program"], ["no-such-program"]),
    ("mask", ["mask", "lint", "xpu", "0,,1"], ["0,,1"]),
    ("mask backend", ["mask", "lint", "xpo", "0"], ["xpo", "xpu"]),
    ("journal", ["report", "render", "no-such-run"], ["no-such-run"]),
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
    ("executable", '[suite.attention]\ncommand = ["./no-such-program"]\n', ["no-such-program"]),
]


def refused(sandbox, name, arguments, words, **more):
    out = sandbox.out()
    if arguments[0] == "run" and "--out" not in arguments:
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


def unreadable_config(sandbox):
    secret = sandbox.path / "secret.toml"
    secret.write_text("")
    secret.chmod(0)
    if os.geteuid() != 0:  # root reads everything
        refused(sandbox, "unreadable", ["run", "--config", secret], [str(secret)])
    refused(sandbox, "a directory", ["run", "--config", sandbox.path], [str(sandbox.path)])


def main():
    with Sandbox() as sandbox:
        good = sandbox.path / "proctor.toml"
        ran = sandbox.path / "ran"
        write_config(good, {"attention": {"kind": "command", "command": ["/usr/bin/touch", str(ran)]}})
        good.write_text(good.read_text() + '[profile.ci]\ntimeout = "5m"\n')
        for name, arguments, words in COMMAND_LINES:
            refused(sandbox, name, arguments, words)
        output_directories(sandbox)
        unreadable_config(sandbox)
        bad = sandbox.path / "bad.toml"
        for name, text, words in CONFIGS:
            bad.write_text(text)
            refused(sandbox, f"config: {name}", ["run", "--config", bad], words)
        check(not ran.exists(), "the command of a refused plan was started")
        done = sandbox.proctor("run", "--out", sandbox.out())
        check(done.returncode == 0 and ran.exists(), "the good config fails:", done.stdout, done.stderr)
        done = sandbox.proctor("run", "--dry-run", "--", *misbehaving("sleep-forever", new_token()))
        check(done.returncode == 0, "dry run:", done.stderr)


if __name__ == "__main__":
    main()
