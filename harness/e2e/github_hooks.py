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
        self.variables = {"PROCTOR": str(BIN), "PROCTOR_HOOK_SIM": self.machine("xpu:2x1")}

    def machine(self, topology):
        return f"{topology},state={self.path / 'machine'}"

    def run(self, *steps, hooks=HOOKS, after=None, **variables):
        """A job between the hooks of started and completed; what the runner's .env says is for both, `after` for the last."""
        completed = self.path / "completed.sh"
        completed.write_text("".join(f"export {name}='{value}'\n" for name, value in (after or {}).items()) +
                             f"exec bash {hooks}/job-completed.sh\n")
        os.environ.update(self.variables, **variables)
        job = self.job(hooks={"started": hooks / "job-started.sh", "completed": completed})
        try:
            job.run(steps or [{"run": "true"}])
        finally:
            for name in {*self.variables, *variables}:
                os.environ.pop(name, None)
        return job

    def programs(self, **scripts):
        """A directory of programs, each a script of sh."""
        directory = self.path / "programs"
        directory.mkdir()
        for name, script in scripts.items():
            (directory / name).write_text(f"#!/bin/sh\n{script}\n")
            (directory / name).chmod(0o755)
        return directory

    def node(self):
        """A device node of a directory that stands for /dev."""
        node = self.path / "dev" / "dri" / "renderD128"
        node.parent.mkdir(parents=True)
        node.touch()
        return node


def refuses(job, *words):
    check(job.status == "failure" and [record.outcome for record in job.records] == ["skipped"], "it started:", job.text)
    check(all(word in job.text for word in words), words, job.text)


def good_machine(sandbox):
    """Of sixteen devices: a language that passes over the blank between two columns sorts device 1 behind device 10."""
    languages = sandbox.path / "languages"
    languages.mkdir()
    made = subprocess.run(["localedef", "-i", "en_US", "-f", "UTF-8", languages / "en_US.UTF-8"], capture_output=True, text=True)
    if made.returncode != 0:
        print(f"only in the language C: {made.stderr}")
    job = sandbox.run(PROCTOR_HOOK_SIM=sandbox.machine("xpu:16x1"), LOCPATH=str(languages), LC_ALL="C" if made.returncode else "en_US.UTF-8")
    check(job.status == "success" and job.text.count("16 devices answer, 0 do not") == 2, job.text)


def sick_machine(sandbox):
    refuses(sandbox.run(PROCTOR_SIM_FAULTS="memory.corrupt_copy"), "0 devices answer, 2 do not")


def no_health_program(sandbox):
    """Nothing is known of a device then, and a job does not start."""
    directory = sandbox.path / "bin"
    directory.mkdir()
    for name in ("proctor", "proctor-guard", "proctor-probe-xpu", "libproctor_ze_sim.so"):
        shutil.copy2(BIN / name, directory)
    refuses(sandbox.run(PROCTOR=str(directory)), "no health probe can check it", "0 devices answer, 0 do not")


def breaks_in_the_job(sandbox):
    """A device that breaks is red and drained; the next job starts beside it, unless it needs both."""
    job = sandbox.run(after={"PROCTOR_SIM_FAULTS": FAULT})
    check(job.status == "failure" and "1 devices answer, 1 do not" in job.text, job.text)
    check("xpu-sim:1 does not answer as it should" in job.text, job.text)
    job = sandbox.run()
    check(job.status == "success" and "1 devices answer, 0 do not" in job.text, "it goes on with one:", job.text)
    refuses(sandbox.run(PROCTOR_HOOK_MIN_DEVICES="2"), "needs 2 devices")


def lost_in_the_job(sandbox):
    """A run stops using a device that it cannot reach any more, and does not drain it: the hook does, so that the next job
    gets another one. No simulated device is lost in this way. The journal of the run is therefore changed."""
    lose = """sed -i 's/"xpu-sim:1","finding":"probe_passed"/"xpu-sim:1","finding":"lost"/' "$RUNNER_TEMP"/../proctor-hook/probe.*/*/journal.jsonl"""
    fake = sandbox.programs(proctor=f'{BIN}/proctor "$@"; code=$?; [ "$1" != run ] || {lose}; exit $code')
    job = sandbox.run(after={"PROCTOR": str(fake)})
    check(job.status == "failure" and "1 devices answer, 1 do not" in job.text, job.text)
    check("xpu-sim:1 is drained since" in job.text and "runner hook: the device is lost" in job.text, job.text)
    job = sandbox.run()
    check(job.status == "success" and "1 devices answer, 0 do not" in job.text, "the next job gets it:", job.text)


def vanishes_in_the_job(sandbox):
    """A card that has left the bus answers nobody, and is not there to be sick: it is missed by name."""
    job = sandbox.run(after={"PROCTOR_HOOK_SIM": sandbox.machine("xpu:1x1")})
    check(job.status == "failure" and "1 devices answer, 0 do not" in job.text and "xpu-sim:1 was there" in job.text, job.text)
    check("xpu-sim:0 was there" not in job.text, job.text)


def holders(sandbox):
    """Who has a device node open: this job's process ends, somebody else's is named and lives."""
    mine, other, node = new_token(), new_token(), sandbox.node()
    with subprocess.Popen(misbehaving("sleep-forever", other), stdin=node.open(), stdout=subprocess.DEVNULL) as stranger:
        try:
            hold = " ".join(misbehaving("sleep-forever", mine))
            job = sandbox.run({"run": f"setsid {hold} <{node} >/dev/null 2>&1 & "
                                      "until grep -q misbehaving /proc/$!/cmdline; do :; done"},
                              PROCTOR_HOOK_DEV=str(node.parents[1]))
            check(job.status == "success" and mine in job.text and "of this job, which is killed" in job.text, job.text)
            check(f"is held by pid {stranger.pid}, which is not of this job" in job.text, job.text)
            check(stranger.poll() is None, "the hook ended a process of somebody else")
            wait_until(lambda: not survivors(mine), 10, "end of the job's process")
        finally:
            stranger.kill()


def foreign_words(sandbox):
    """The command line of a holder is text of others: it is one line, no command and no sequence for a terminal."""
    node = sandbox.node()
    words = "x\n::error::forged1\r::error::forged2 ##[error]forged3 \x1b]0;title\x07\u009b31m\u202e"
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", words], stdin=node.open()) as stranger:
        try:
            job = sandbox.run(PROCTOR_HOOK_DEV=str(node.parents[1]))
        finally:
            stranger.kill()
    named = [line for line in re.split(r"[\r\n]", job.text) if "forged" in line]
    check(len(named) == 2, "named by each hook, on one line:", named)
    for line in named:
        check(all(word in line for word in ("proctor-hook: ", "forged1", "forged2", "forged3")), line)
        check(line.isascii() and line.isprintable() and "##[" not in line, "obeyed:", repr(line))


def changed_stack(sandbox):
    """proctor says another driver at the end of the job than at its start."""
    stack = sandbox.path / "stack"
    stack.write_text('"value": "26.14"\n')
    fake = sandbox.programs(proctor=f'if [ "$1" = stack ]; then cat {stack}; else exec {BIN}/proctor "$@"; fi')
    job = sandbox.run({"run": f"echo '\"value\": \"25.40\"' >{stack}"}, PROCTOR=str(fake))
    check(job.status == "failure" and "the driver stack changed" in job.text and "25.40" in job.text, job.text)


def proctor_of_the_job(sandbox):
    """A job that adds its own proctor and its own tools to GITHUB_PATH decides nothing: those of an installation are run,
    where bin/proctor is a link."""
    prefix, ran = sandbox.path / "prefix", sandbox.path / "ran"
    hooks = shutil.copytree(HOOKS, prefix / "share" / "proctor" / "runner-hooks")
    (prefix / "bin").mkdir()
    (prefix / "bin" / "proctor").symlink_to(BIN / "proctor")
    own = sandbox.programs(**dict.fromkeys(("proctor", "sort", "timeout", "mktemp"), f"echo $0 >>{ran}"))
    del sandbox.variables["PROCTOR"]
    job = sandbox.run({"run": f"echo {own} >>$GITHUB_PATH"}, hooks=hooks)
    check(job.status == "success" and job.text.count("2 devices answer, 0 do not") == 2 and not ran.exists(), job.text)


def no_proctor(sandbox):
    """Hooks outside of an installation need PROCTOR, an absolute path: the current directory is the job's."""
    bare = shutil.copytree(HOOKS, sandbox.path / "bare" / "a" / "b")
    os.environ["PATH"] = f"{BIN}:{os.environ['PATH']}"
    (sandbox.workspace / "bin").symlink_to(BIN)
    del sandbox.variables["PROCTOR"]
    for variables in ({}, {"PROCTOR": ""}, {"PROCTOR": "bin"}, {"PROCTOR": str(sandbox.path / "none")}):
        refuses(sandbox.run(hooks=bare, **variables), "PROCTOR in the runner's .env file")


def hook_that_hangs(sandbox):
    began = time.monotonic()
    job = sandbox.run(PROCTOR=str(sandbox.programs(proctor="sleep 600")), PROCTOR_HOOK_LIMIT="0.5")
    check(job.status == "failure" and time.monotonic() - began < 60, "the limit of the hook did not hold", job.text)


SCENARIOS = {scenario.__name__: scenario for scenario in
             (good_machine, sick_machine, no_health_program, breaks_in_the_job, lost_in_the_job, vanishes_in_the_job,
              holders, foreign_words, changed_stack, proctor_of_the_job, no_proctor, hook_that_hangs)}


def main():
    for name in sys.argv[1:] or SCENARIOS:
        with HookSandbox() as sandbox:
            SCENARIOS[name](sandbox)
            print(f"ok {name}", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
