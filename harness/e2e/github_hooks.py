#!/usr/bin/env python3
"""The runner's hooks see a sick device, a changed stack, what a job leaves on a device, and end nothing else."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

from github import HOOKS, GithubSandbox
from harness import BIN, check, misbehaving, new_token, survivors, wait_until

FAULT = "memory.corrupt_copy:dev=1"


class HookSandbox(GithubSandbox):
    def __init__(self):
        super().__init__()
        (self.path / "machine").mkdir()
        os.environ.pop("PROCTOR", None)
        self.variables = {"PROCTOR": str(BIN), "PROCTOR_HOOK_SIM": "xpu:2x1",
                          "PROCTOR_HOOK_SIM_STATE": str(self.path / "machine")}

    def run(self, steps, hooks=HOOKS, **variables):
        """A job between the hooks of started and completed; what the runner's .env says is for both."""
        os.environ.update(self.variables, **variables)
        job = self.job(hooks={name: hooks / f"job-{name}.sh" for name in ("started", "completed")})
        try:
            job.run(steps)
        finally:
            for name in {*self.variables, *variables}:
                del os.environ[name]
        return job


def good_machine(sandbox):
    job = sandbox.run([{"run": "true"}])
    check(job.status == "success", job.text)
    check(job.text.count("2 devices answer, 0 do not") == 2, job.text)


def steps_of(job):
    return [record.outcome for record in job.records]


def sick_machine(sandbox):
    job = sandbox.run([{"run": "true"}], PROCTOR_SIM_FAULTS="memory.corrupt_copy")
    check(job.status == "failure" and steps_of(job) == ["skipped"], "it started without a device:", job.text)


def breaks_in_the_job(sandbox):
    """A device that breaks is red and drained; the next job starts beside it, unless it needs both."""
    completed = sandbox.path / "completed.sh"
    completed.write_text(f"export PROCTOR_SIM_FAULTS='{FAULT}'\nexec bash {HOOKS}/job-completed.sh\n")
    os.environ.update(sandbox.variables)
    job = sandbox.job(hooks={"started": HOOKS / "job-started.sh", "completed": completed})
    check(job.run([{"run": "true"}]) == "failure", job.text)
    check("1 devices answer, 1 do not" in job.text and "xpu-sim:1 does not answer as it should" in job.text, job.text)
    drained = sandbox.proctor("devices", "--json", "--sim", "xpu:2x1", "--state-dir",
                              sandbox.path / "machine" / "leases")
    check('"device": "xpu-sim:1"' in drained.stdout, drained)
    job = sandbox.run([{"run": "true"}])
    check(job.status == "success" and "1 devices answer, 0 do not" in job.text, "it goes on with one:", job.text)
    job = sandbox.run([{"id": "step", "run": "true"}], PROCTOR_HOOK_MIN_DEVICES="2")
    check(job.status == "failure" and steps_of(job) == ["skipped"] and "needs 2 devices" in job.text, job.text)


def vanishes_in_the_job(sandbox):
    """A card that has left the bus answers nobody, and is not there to be sick: it is missed by name."""
    completed = sandbox.path / "completed.sh"
    completed.write_text(f"export PROCTOR_HOOK_SIM=xpu:1x1\nexec bash {HOOKS}/job-completed.sh\n")
    os.environ.update(sandbox.variables)
    job = sandbox.job(hooks={"started": HOOKS / "job-started.sh", "completed": completed})
    check(job.run([{"run": "true"}]) == "failure", job.text)
    check("1 devices answer, 0 do not" in job.text and "xpu-sim:1 was there" in job.text, job.text)
    check("xpu-sim:0 was there" not in job.text, job.text)


def holders(sandbox):
    """Who has a device node open: this job's process ends, somebody else's is named and lives."""
    nodes = sandbox.path / "dev"
    (nodes / "dri").mkdir(parents=True)
    (nodes / "dri" / "renderD128").touch()
    mine, other = new_token(), new_token()
    node = nodes / "dri" / "renderD128"
    stranger = subprocess.Popen(misbehaving("sleep-forever", other), stdin=node.open(),
                                stdout=subprocess.DEVNULL)
    try:
        hold = " ".join(misbehaving("sleep-forever", mine))
        job = sandbox.run([{"run": f"setsid {hold} <{node} >/dev/null 2>&1 & "
                                    "until grep -q misbehaving /proc/$!/cmdline; do :; done"}],
                          PROCTOR_HOOK_DEV=str(nodes))
        check(job.status == "success", job.text)
        check("of this job, which is killed" in job.text and mine in job.text, job.text)
        check(f"is held by pid {stranger.pid}, which is not of this job" in job.text, job.text)
        check(stranger.poll() is None, "the hook ended a process of somebody else")
        wait_until(lambda: not survivors(mine), 10, "end of the job's process")
    finally:
        stranger.kill()
        stranger.wait()


def foreign_words(sandbox):
    """The command line of a holder is text of others: it is one line, no command and no sequence for a terminal."""
    nodes = sandbox.path / "dev"
    (nodes / "dri").mkdir(parents=True)
    (nodes / "dri" / "renderD128").touch()
    words = "x\n::error::forged1\r::error::forged2 ##[error]forged3 \x1b]0;title\x07\u009b31m\u202e"
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", words],
                                stdin=(nodes / "dri" / "renderD128").open())
    try:
        job = sandbox.run([{"run": "true"}], PROCTOR_HOOK_DEV=str(nodes))
        named = [line for line in re.split(r"[\r\n]", job.text) if "forged" in line]
        check(len(named) == 2, "named by each hook, on one line:", named)
        for line in named:
            check(all(word in line for word in ("proctor-hook: ", "forged1", "forged2", "forged3")), line)
            check(line.isascii() and line.isprintable() and "##[" not in line, "obeyed:", repr(line))
    finally:
        stranger.kill()
        stranger.wait()


def changed_stack(sandbox):
    """proctor says another driver at the end of the job than at its start."""
    fake = sandbox.path / "fake"
    fake.mkdir()
    (fake / "proctor").write_text(f'#!/bin/sh\nif [ "$1" = stack ]; then cat "$STACK"; else exec {BIN}/proctor "$@"; fi\n')
    (fake / "proctor").chmod(0o755)
    stack = sandbox.path / "stack"
    stack.write_text('"value": "26.14"\n')
    job = sandbox.run([{"run": f"echo '\"value\": \"25.40\"' >{stack}"}], PROCTOR=str(fake), STACK=str(stack))
    check(job.status == "failure" and "the driver stack changed" in job.text and "25.40" in job.text, job.text)


def installed_hooks(sandbox):
    """As they lie below a prefix, with bin/proctor a link."""
    prefix = sandbox.path / "prefix"
    shutil.copytree(HOOKS, prefix / "share" / "proctor" / "runner-hooks")
    (prefix / "bin").mkdir()
    (prefix / "bin" / "proctor").symlink_to(BIN / "proctor")
    return prefix / "share" / "proctor" / "runner-hooks"


def proctor_of_the_job(sandbox):
    """A job that adds its own proctor and its own tools to GITHUB_PATH decides nothing: the machine's are run."""
    own = sandbox.path / "own"
    own.mkdir()
    for name in ("proctor", "sort", "timeout", "mktemp"):
        (own / name).write_text(f"#!/bin/sh\necho $0 >>{own}/ran\nexit 0\n")
        (own / name).chmod(0o755)
    del sandbox.variables["PROCTOR"]
    hooks = installed_hooks(sandbox)
    job = sandbox.run([{"run": f"echo {own} >>$GITHUB_PATH"}], hooks=hooks)
    ran = (own / "ran").read_text() if (own / "ran").exists() else ""
    check(ran == "" and job.text.count("2 devices answer, 0 do not") == 2, ran, job.text)
    check(job.status == "success", job.text)


def no_proctor(sandbox):
    """Hooks outside of an installation need PROCTOR, an absolute path: the current directory is the job's."""
    bare = sandbox.path / "bare" / "a" / "b"
    shutil.copytree(HOOKS, bare)
    os.environ["PATH"] = f"{BIN}:{os.environ['PATH']}"
    (sandbox.workspace / "bin").symlink_to(BIN)
    for variables in ({}, {"PROCTOR": ""}, {"PROCTOR": "bin"}, {"PROCTOR": str(sandbox.path / "none")}):
        del sandbox.variables["PROCTOR"]
        job = sandbox.run([{"run": "true"}], hooks=bare, **variables)
        check(job.status == "failure" and "PROCTOR in the runner's .env file" in job.text, variables, job.text)
        sandbox.variables["PROCTOR"] = str(BIN)


def sixteen_devices_in_any_language(sandbox):
    """A language that passes over the blank between two columns sorts device 1 behind device 10."""
    languages = sandbox.path / "languages"
    languages.mkdir()
    made = subprocess.run(["localedef", "-i", "en_US", "-f", "UTF-8", languages / "en_US.UTF-8"], capture_output=True, text=True)
    if made.returncode != 0:
        return print(f"not tried: {made.stderr}")
    job = sandbox.run([{"run": "true"}], PROCTOR_HOOK_SIM="xpu:16x1", LOCPATH=str(languages), LC_ALL="en_US.UTF-8")
    check(job.text.count("16 devices answer, 0 do not") == 2, job.text)


def hook_that_hangs(sandbox):
    fake = sandbox.path / "fake"
    fake.mkdir()
    (fake / "proctor").write_text("#!/bin/sh\nsleep 600\n")
    (fake / "proctor").chmod(0o755)
    began = time.monotonic()
    job = sandbox.run([{"run": "true"}], PROCTOR=str(fake), PROCTOR_HOOK_LIMIT="0.5")
    check(job.status == "failure", job.text)
    check(time.monotonic() - began < 60, "the limit of the hook did not hold")


SCENARIOS = {scenario.__name__: scenario for scenario in
             (good_machine, sick_machine, breaks_in_the_job, vanishes_in_the_job, holders,
              foreign_words, changed_stack, proctor_of_the_job, no_proctor, sixteen_devices_in_any_language, hook_that_hangs)}


def main():
    for name in sys.argv[1:] or SCENARIOS:
        with HookSandbox() as sandbox:
            SCENARIOS[name](sandbox)
            print(f"ok {name}", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
