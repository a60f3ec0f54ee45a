#!/usr/bin/env python3
"""The runner's hooks see a sick device, a changed stack, what a job leaves on a device, and end nothing else."""

import os
import re
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
        self.variables = {"PROCTOR": str(BIN), "PROCTOR_HOOK_SIM": "xpu:2x1",
                          "PROCTOR_HOOK_SIM_STATE": str(self.path / "machine")}

    def run(self, steps, **variables):
        """A job between the hooks of started and completed; what the runner's .env says is for both."""
        os.environ.update(self.variables, **variables)
        job = self.job(hooks={name: HOOKS / f"job-{name}.sh" for name in ("started", "completed")})
        try:
            job.run(steps)
        finally:
            for name in variables:
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
        check("is still held by this job's pid" in job.text and mine in job.text, job.text)
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
    (fake / "health_xpu").symlink_to(BIN / "health_xpu")
    stack = sandbox.path / "stack"
    stack.write_text('"value": "26.14"\n')
    job = sandbox.run([{"run": f"echo '\"value\": \"25.40\"' >{stack}"}], PROCTOR=str(fake), STACK=str(stack))
    check(job.status == "failure" and "the driver stack changed" in job.text and "25.40" in job.text, job.text)


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
             (good_machine, sick_machine, breaks_in_the_job, vanishes_in_the_job, holders, foreign_words, changed_stack, hook_that_hangs)}


def main():
    for name in sys.argv[1:] or SCENARIOS:
        with HookSandbox() as sandbox:
            SCENARIOS[name](sandbox)
            print(f"ok {name}", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
