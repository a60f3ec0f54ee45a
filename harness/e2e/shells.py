#!/usr/bin/env python3
"""zsh and fish complete the command line of proctor: the real shells are asked, each where it is installed."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time

from harness import BIN, ROOT, check, run_scenarios, skip, write_config

COMPLETION = ROOT / "harness/cli/completion"
# What each Tab offers, as zsh itself takes it, and the line that the shell then has.
ZSHRC = """
PS1= ; unsetopt zle_bracketed_paste 2>/dev/null
fpath=($COMPLETION $fpath)
autoload -Uz compinit && compinit -u -D
compadd() { local -a taken; builtin compadd -O taken "$@"; print -rl -- $taken >> $OFFERED; builtin compadd "$@" }
offer() { zle complete-word; print -r -- "LINE $BUFFER" >> $OFFERED; BUFFER= }
zle -N offer
bindkey '^T' offer
print ready >> $OFFERED
"""


def needs(shell):
    if shutil.which(shell) is None:
        skip(f"needs {shell}")


def prepare(sandbox):
    """A configuration, and a run whose case has a name that must not be a command."""
    script = sandbox.path / "a b;$(touch x).sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    write_config(sandbox.path / "proctor.toml", {"attention": {"kind": "command", "command": ["./a b;$(touch x).sh"]},
                                                 "moe": {"kind": "command", "command": ["true"]}})
    done = sandbox.proctor("run", "attention")
    check(done.returncode == 0, done.stdout, done.stderr)
    (sandbox.path / "a_file.json").write_text("{}")
    sandbox.env["PATH"] = f"{BIN}:{sandbox.env['PATH']}"


def judge(offered, sandbox):
    """`offered`: the words that the shell takes for a line."""
    check({"run", "report", "init"} <= offered("proctor ") and "manual" not in offered("proctor "), offered("proctor "))
    check(offered("proctor ru") == {"run"}, "a command:", offered("proctor ru"))
    check({"render", "diff"} <= offered("proctor report "), "commands of a command:", offered("proctor report "))
    check(offered("proctor run --hier") == {"--hierarchy"}, "an option:", offered("proctor run --hier"))
    check(offered("proctor run --hierarchy ") == {"composite", "flat", "combined"}, "values:", offered("proctor run --hierarchy "))
    check(offered("proctor run --hierarchy=f") == {"--hierarchy=flat"}, "a value behind =:", offered("proctor run --hierarchy=f"))
    check({"gtest", "pytest"} <= offered("proctor run --kind "), "kinds:", offered("proctor run --kind "))
    check(offered("proctor run ") == {"attention", "moe"}, "suites:", offered("proctor run "))
    check(offered("proctor log att") == {"attention/a b;$(touch x).sh"}, "ids:", offered("proctor log att"))
    check(offered("proctor explain xid:7") >= {"xid:79"}, "rules, with a colon:", offered("proctor explain xid:7"))
    check("a_file.json" in offered("proctor gate --policy a_f"), "files:", offered("proctor gate --policy a_f"))
    check("a_file.json" in offered("proctor exec -- cat a_f"), "files of a command:", offered("proctor exec -- cat a_f"))
    check(not (sandbox.path / "x").exists(), "an id was executed")


def fish(sandbox):
    needs("fish")
    prepare(sandbox)
    seen = {}

    def offered(line):
        script = 'source $argv[1]; complete -C $argv[2]'
        done = subprocess.run(["fish", "--no-config", "-c", script, COMPLETION / "proctor.fish", line], cwd=sandbox.path,
                              env=sandbox.env, capture_output=True, text=True, timeout=60)
        check(done.returncode == 0 and not done.stderr, line, done.stdout, done.stderr)
        seen[line] = done.stdout
        return {each.partition("\t")[0] for each in done.stdout.splitlines()}
    judge(offered, sandbox)
    check("\tRun tests" in seen["proctor ru"] or "\t" in seen["proctor ru"], "no description:", seen["proctor ru"])


class Zsh:
    """A zsh on a terminal of its own. It answers in a file, so that nothing has to be read from the screen."""

    def __init__(self, sandbox):
        self.answers = sandbox.path / "offered"
        self.answers.touch()
        (sandbox.path / "zdot").mkdir()
        (sandbox.path / "zdot/.zshrc").write_text(ZSHRC)
        env = {**sandbox.env, "ZDOTDIR": str(sandbox.path / "zdot"), "OFFERED": str(self.answers),
               "COMPLETION": str(COMPLETION), "TERM": "dumb"}
        ours, its = pty.openpty()
        self.process = subprocess.Popen(["zsh", "-d", "-i"], stdin=its, stdout=its, stderr=its, cwd=sandbox.path, env=env,
                                        start_new_session=True)
        os.close(its)
        self.terminal = ours
        self.read = 0
        self.until(lambda line: line == "ready")

    def until(self, is_last):
        """The lines of the file up to that one; the screen is emptied meanwhile."""
        screen, deadline = b"", time.monotonic() + 60
        while time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.02)[0]:
                screen += os.read(self.terminal, 65536)
            lines = self.answers.read_text().splitlines()[self.read:]
            for number, line in enumerate(lines):
                if is_last(line):
                    self.read += number + 1
                    return lines[:number]
        check(False, "zsh does not answer:", screen, self.answers.read_text())

    def offered(self, line):
        os.write(self.terminal, line.encode() + b"\x14")
        return {word for word in self.until(lambda answer: answer.startswith("LINE ")) if word}

    def line_after(self, line):
        os.write(self.terminal, line.encode() + b"\x14")
        last = []
        self.until(lambda answer: answer.startswith("LINE ") and not last.append(answer))
        return last[0].removeprefix("LINE ")

    def close(self):
        os.close(self.terminal)
        self.process.kill()
        self.process.wait()


def zsh(sandbox):
    needs("zsh")
    prepare(sandbox)
    shell = Zsh(sandbox)
    try:
        judge(shell.offered, sandbox)
        check(shell.line_after("proctor run --hier") == "proctor run --hierarchy ", "the line is completed")
        check(shell.line_after("proctor log att") == r"proctor log attention/a\ b\;\$\(touch\ x\).sh ", "and quoted:",
              shell.line_after("proctor log att"))
    finally:
        shell.close()


if __name__ == "__main__":
    sys.exit(run_scenarios([], [zsh, fish]))
