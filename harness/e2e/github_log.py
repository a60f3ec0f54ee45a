#!/usr/bin/env python3
"""What a step of GitHub Actions shows of a run, and that nothing which a test prints is ever obeyed there.

    github_log.py [SCENARIO...]
"""

import json
import re
import signal
import subprocess
import sys

from harness import ROOT, check, killed, of_type, records, run_scenarios, wait_until, write_config

sys.path.insert(0, str(ROOT / "fixtures"))

from github_runner.commands import CommandReader  # noqa: E402

HOSTILE = r"::error::forged\n \t::stop-commands::x\n##[error]forged ##[group]g\r::set-output name=v::1\n\302\240::debug::d\n"


class StepLog:
    """What the runner obeys in a log."""

    def __init__(self, data):
        self.reader, self.obeyed = CommandReader(), []
        for line in re.split(r"[\r\n]", data.decode(errors="replace")):
            if command := self.reader.read(line):
                self.obeyed.append(command)


def step(sandbox, *words, **env):
    """What the command printed, stderr after stdout, as one step's log."""
    done = subprocess.run(sandbox.command(*words), cwd=sandbox.path, env={**sandbox.env, "GITHUB_ACTIONS": "true", **env},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return killed(done), done.stdout


def hostile_exec(sandbox):
    command = ["--", "sh", "-c", f"printf '{HOSTILE}'; printf '{HOSTILE}' >&2; printf '#'; sleep 0.1; printf '#[error]y'"]
    code, log = step(sandbox, "exec", "--out", sandbox.out(), *command)
    check(code == 0 and not StepLog(log).obeyed, "obeyed:", StepLog(log).obeyed, log)
    check(log.count(b"\\") >= 11 and b"--workflow-commands" in log, "not told:", log)
    check(of_type(records(sandbox.last_out()), "warning")[0]["code"] == "workflow_commands", "not in the report")
    code, log = step(sandbox, "exec", "--workflow-commands", "--out", sandbox.out(), *command)
    check(code == 0 and b"\\" not in log and StepLog(log).obeyed, "the flag does nothing:", log)
    code, log = step(sandbox, "exec", "--out", sandbox.out(), *command, GITHUB_ACTIONS="")
    check(b"\\" not in log and b"proctor:" not in log, "changed outside of a step:", log)
    file = sandbox.path / "data"
    with file.open("wb") as data:
        subprocess.run(sandbox.command("exec", "--out", sandbox.out(), *command), env={**sandbox.env, "GITHUB_ACTIONS": "true"},
                       cwd=sandbox.path, stdout=data, stderr=subprocess.DEVNULL, timeout=60, check=True)
    check(b"\\" not in file.read_bytes(), "a file is no log")


def hostile_list(sandbox):
    """The names of cases are text of others, too; what names one with a line break is no list."""
    suite = sandbox.path / "test_names.py"
    suite.write_text("import pytest\n@pytest.mark.parametrize('x', ['##[error]forged', '\\u202eforged', '\\x9bforged'])\n"
                     "def test_it(x): pass\n")
    write_config(sandbox.path / "proctor.toml", {"names": {"kind": "pytest", "backend": "none", "command": [
        "/usr/bin/python3", "-m", "pytest", "-q", str(suite)]}})
    if subprocess.run(["/usr/bin/python3", "-m", "pytest", "--version"], capture_output=True).returncode != 0:
        print("skipped: pytest is not installed (Debian: python3-pytest)")
        return
    for more in ([], ["--json"]):
        code, log = step(sandbox, "list", "names", *more)
        check(code == 0 and log.count(b"forged") >= 3 and not StepLog(log).obeyed, "obeyed:", log)
    check(json.loads(log)["cases"][0]["name"], "no longer JSON:", log)


def own_terminal(sandbox):
    """--no-capture: the case writes into the log itself, and the step obeys again afterwards."""
    code, log = step(sandbox, "exec", "--no-capture", "--out", sandbox.out(), "--", "sh", "-c", f"printf '{HOSTILE}no newline'")
    check(code == 0 and not StepLog(log).obeyed, "obeyed:", log)
    check([command.text for command in StepLog(log + b"::notice::ours\n").obeyed] == ["ours"], "still stopped:", log)


def hostile_run(sandbox):
    """Ids, reasons and messages reach the console, the annotations and the summary."""
    write_config(sandbox.path / "proctor.toml", {
        "good": {"kind": "command", "command": ["true"], "backend": "none"},
        "bad": {"kind": "command", "command": ["sh", "-c", f"printf '{HOSTILE}' >&2; exit 3", "##[error]", "\n::error::x"],
                "backend": "none"}})
    code, log = step(sandbox, "run", "--out", sandbox.out())
    obeyed = StepLog(log).obeyed
    check(code == 1 and [command.name for command in obeyed] == ["group", "endgroup"], "not one group alone:", obeyed, log)
    check(obeyed[0].text.startswith("output of bad/") and not obeyed[0].properties, "group:", obeyed)

    summary, outputs = sandbox.path / "summary.md", sandbox.path / "outputs"
    summary.write_text("# before\n")
    code, log = step(sandbox, "report", "render", "--format", "github", sandbox.last_out(), GITHUB_STEP_SUMMARY=str(summary), GITHUB_OUTPUT=str(outputs))
    obeyed = StepLog(log).obeyed
    check(code == 0 and [command.name for command in obeyed] == ["error"], "not one error:", log)
    check("bad/" in obeyed[0].properties["title"] and "owner:         code\n" in obeyed[0].text, "annotation:", obeyed)
    check(summary.read_text().startswith("# before\n# Proctor: FAILED"), "summary:", summary.read_text()[:80])
    out = sandbox.last_out()
    check(outputs.read_text() == "verdict=failed\nexit-code=1\nretry=false\ntotal=2\npassed=1\nfailed=1\nskipped=0\nflaky=0\n"
          f"report={out}\njunit={out}/junit.xml\npage={out}/index.html\n",
          "outputs:", outputs.read_text())


def each_only_where_it_is_wanted(sandbox):
    out = sandbox.out()
    check(sandbox.proctor("run", "--out", out, "--", "true").returncode == 0, "not green")
    done = sandbox.proctor("report", "render", "--format", "github", out)
    check(done.returncode == 0 and "::" not in done.stdout and "--force" in done.stdout, "unasked:", done.stdout)
    done = sandbox.proctor("report", "render", "--format", "github", out, "--force")
    check(done.returncode == 0 and done.stdout == "", "a green run needs no annotation:", done.stdout)

    full = sandbox.path / "full.md"
    full.write_bytes(b"x" * (1024 * 1024 * 9 // 10 - 600))
    done = sandbox.proctor("report", "render", "--format", "github", out, env={**sandbox.env, "GITHUB_STEP_SUMMARY": str(full)})
    check(done.returncode == 0 and full.stat().st_size <= 1024 * 1024 * 9 // 10, "too much:", full.stat().st_size)
    check(b"**Cut**" in full.read_bytes(), "the cut is not stated")
    full.write_bytes(b"x" * 1024 * 1024)
    for variables, word in (({"GITHUB_STEP_SUMMARY": str(full)}, "1048576 bytes"),
                            ({"GITHUB_OUTPUT": str(sandbox.path / "no" / "file")}, "GITHUB_OUTPUT")):
        done = sandbox.proctor("report", "render", "--format", "github", out, env={**sandbox.env, **variables})
        check(done.returncode in (2, 75) and word in done.stderr, word, done.returncode, done.stderr)
    done = sandbox.proctor("report", "render", "--format", "github", sandbox.path / "nothing")
    check(done.returncode == 2 and "does not exist" in done.stderr, done.stderr)


def interrupted(sandbox):
    out, outputs = sandbox.out(), sandbox.path / "outputs"
    process = sandbox.start("run", "--out", out, "--", "sleep", "60")
    wait_until(lambda: of_type(records(out), "attempt_started"), 30, "start")
    process.send_signal(signal.SIGTERM)
    sandbox.finish(process)
    (out / "index.html").unlink()  # as after a kill
    step(sandbox, "report", "render", "--format", "github", out, GITHUB_OUTPUT=str(outputs))
    check(outputs.read_text() == "verdict=interrupted\nexit-code=143\nretry=false\ntotal=1\npassed=0\nfailed=0\nskipped=0\n"
          f"flaky=0\nreport={out}\njunit={out}/junit.xml\npage=\n", outputs.read_text())


if __name__ == "__main__":
    run_scenarios((hostile_exec, hostile_list, own_terminal, hostile_run, each_only_where_it_is_wanted, interrupted))
