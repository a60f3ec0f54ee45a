#!/usr/bin/env python3
"""`proctor slurm run`, and the plain way of docs/how-to/slurm.md, on a real Slurm: each scenario has a cluster of its own
(slurm_cluster.py), which needs root, slurm-wlm and munge. Those named `without_...` are the sample of it for `./dev test`.

    slurm.py [SCENARIO...]
"""

import json
import os
import re
import shutil
import signal
import subprocess
import textwrap
import time
from pathlib import Path

from harness import BIN, ROOT, check, killed, of_type, records, report, run_scenarios, skip, wait_until, write_config
from slurm_cluster import Cluster

PAGE = ROOT / "docs" / "how-to" / "slurm.md"
SUITES = [f"suite{number:02}" for number in range(12)]
# Ends when the file is there; so long is a defect.
WAITS_FOR_GO = ["sh", "-c", "n=0; while ! [ -e go ] && [ $n -lt 3000 ]; do sleep 0.1; n=$((n+1)); done; [ -e go ]"]


def write_plan(sandbox, *words):
    done = sandbox.proctor("plan", "-o", "plan.json", *words)
    check(done.returncode == 0, done.stdout, done.stderr)


def write_suites(sandbox, commands=None, **keys):
    commands = {**{name: ["true"] for name in SUITES}, **(commands or {})}
    write_config(sandbox.path / "proctor.toml",
                 {name: {"kind": "command", "command": command, "backend": "none", "timeout": "10m", "grace": "1s", **keys}
                  for name, command in commands.items()})
    write_plan(sandbox)


def slurm_env(sandbox, cluster):
    return {**sandbox.env, **cluster.env}


def slurm_run(sandbox, cluster, *words, env=None):
    """With the plan of write_plan()."""
    return sandbox.proctor("slurm", "run", "--plan", "plan.json", *words, env={**slurm_env(sandbox, cluster), **(env or {})})


class Started:
    """`proctor slurm run` while it runs; what it says is in a file."""

    def __init__(self, sandbox, cluster, *words):
        self.said = sandbox.path / "said"
        with open(self.said, "wb") as output:
            self.process = subprocess.Popen(sandbox.command("slurm", "run", "--plan", "plan.json", *words), cwd=sandbox.path, stdout=output,
                                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                                            env=slurm_env(sandbox, cluster))
        sandbox.started.append(self.process)
        self.wait_for("job ")
        self.job = re.search(r"^job (\d+): ", self.text(), re.M)[1]

    def text(self):
        return self.said.read_text(errors="replace")

    def wait_for(self, words):
        wait_until(lambda: words in self.text() or self.process.poll() is not None, 120, words)
        check(words in self.text(), "it ended without", words, ":", self.text())

    def end(self):
        try:
            self.process.wait(timeout=180)
        except subprocess.TimeoutExpired:
            self.process.kill()
            check(False, "slurm run does not end:", self.text())
        return killed(self.process)


def begun(directory):
    """Ids of the cases that have begun."""
    return {record["case"] for record in of_type(records(directory), "attempt_started")}


def wait_for_start(*directories):
    for directory in directories:
        wait_until(lambda directory=directory: begun(directory), 120, f"case that begins in {directory}")


def runners_of(directory):
    """Processes whose command line has the directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(directory).encode() in (process / "cmdline").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            pass
    return found


def outcomes(document):
    return {case["id"]: (case["outcome"], case["reason"]) for case in document["cases"]}


def as_unsharded(document):
    """What does not depend on time, host or the number of runs."""
    return {case["id"]: [(attempt["outcome"], attempt.get("exit_code")) for attempt in case["attempts"]] + [case["outcome"]]
            for case in document["cases"]}, document["summary"], document["run"]["plan_digest"]


def lines_to_go_on(text):
    """[sbatch ..., proctor report merge ...]"""
    lines = text.rpartition("To run the remaining cases, and to merge them:\n")[2].splitlines()
    check(len(lines) >= 2, "it does not say how to go on:", text)
    return [line.strip() for line in lines[:2]]


def by_hand(sandbox, cluster, *lines):
    """As a person runs them."""
    env = slurm_env(sandbox, cluster)
    env["PATH"] = f"{env['PATH']}:{BIN}"
    return subprocess.run(["sh", "-c", "\n".join(lines)], cwd=sandbox.path, env=env, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)


# ---- an array ----


def four_way_array(sandbox):
    """The union of the shards is the plan, no device is used by two at once, and the report is that of an unsharded run."""
    taken = ("d=taken/$SLURMD_NODENAME-$ZE_AFFINITY_MASK; mkdir $d || exit 9; sleep 0.3; rmdir $d; "
             "[ $0 != suite03 ]")
    write_suites(sandbox, {name: ["sh", "-c", taken, name] for name in SUITES})
    (sandbox.path / "taken").mkdir()
    with Cluster(nodes=2) as cluster:
        done = slurm_run(sandbox, cluster, "--out", "out", "--shards=4", "--gres=gpu:1", "--", "--jobs", "1")
    out = sandbox.path / "out"
    check(done.returncode == 1, done.stdout, done.stderr)
    check("suite03" in done.stdout and "exit 1" in done.stdout and "FAIL" in done.stdout, done.stdout)
    shards = [report(out / f"shard-{number}") for number in range(1, 5)]
    ids = [case["id"] for shard in shards for case in shard["cases"]]
    planned = [case["id"] for case in json.loads((out / "plan.json").read_text())["cases"]]
    check(sorted(ids) == sorted(planned) and len(ids) == 12, "the shards are not the plan:", ids)
    check(not list((sandbox.path / "taken").iterdir()), "a device was taken and not given back")
    write_suites(sandbox, {"suite03": ["false"]})
    whole = sandbox.out()
    alone = sandbox.proctor("run", "--plan", out / "plan.json", "--jobs", "1", "--out", whole,
                            env={**sandbox.env, "SLURMD_NODENAME": "here", "ZE_AFFINITY_MASK": "0"})
    check(alone.returncode == 1, alone.stdout, alone.stderr)
    check(as_unsharded(report(out / "merged")) == as_unsharded(report(whole)), "the merged report is another one")
    bad = next(case for case in report(out / "merged")["cases"] if case["outcome"] == "fail")
    check((out / "merged" / bad["attempts"][0]["output"]["log"]).exists(), "its log is not there")


def balanced_plan(sandbox):
    """It has its own number of shards. The status of a green run is 0."""
    write_suites(sandbox)
    with Cluster(nodes=2) as cluster:
        done = slurm_run(sandbox, cluster, "--out", "out", "--shards=4", "--gres=gpu:1")
        check(done.returncode == 0 and "4 shards of 12 cases" in done.stdout, done.stdout, done.stderr)
        check(sandbox.proctor("history", "add", "runs.db", sandbox.path / "out" / "merged").returncode == 0, "no history")
        write_plan(sandbox, "--shards=3", "--balance", "runs.db")
        other = slurm_run(sandbox, cluster, "--out", "other", "--shards=2")
        check(other.returncode == 2 and "balanced for 3 shards" in other.stderr, other.stderr)
        even = slurm_run(sandbox, cluster, "--out", "even", "--", "--quiet")
        check(even.returncode == 0 and "3 shards of 12 cases" in even.stdout, even.stdout, even.stderr)


def no_wait(sandbox):
    """The line that it prints merges what the job did."""
    write_suites(sandbox, {"suite05": ["false"]})
    with Cluster() as cluster:
        done = slurm_run(sandbox, cluster, "--out", "out", "--shards=3", "--no-wait", "--", "--quiet")
        check(done.returncode == 0, done.stdout, done.stderr)
        job = re.search(r"^job (\d+): 3 shards of 12 cases", done.stdout, re.M)[1]
        merge = re.search(r"^when it has ended: (.*)$", done.stdout, re.M)[1]
        wait_until(lambda: set(cluster.states(job).values()) <= {"COMPLETED", "FAILED"}, 120, "end of the job")
        merged = by_hand(sandbox, cluster, merge)
    check(merged.returncode == 1 and len(report(sandbox.path / "out" / "merged")["cases"]) == 12, merged.stdout)


# ---- tasks that end early ----


def cancelled_task(sandbox):
    """Its report is complete, the other shards go on, and the lines that it prints run the rest."""
    write_suites(sandbox, {name: WAITS_FOR_GO for name in SUITES})
    out = sandbox.path / "out"
    with Cluster() as cluster:
        run = Started(sandbox, cluster, "--out", "out", "--shards=2", "--", "--jobs", "1")
        wait_for_start(out / "shard-1", out / "shard-2")
        cluster.run("scancel", f"{run.job}_1")
        wait_until((out / "shard-1" / "report.json").exists, 60, "report of the cancelled task")
        run.wait_for("shard 1: its task ended as CANCELLED")
        (sandbox.path / "go").touch()
        check(run.end() == 3, run.text())
        cancelled = report(out / "shard-1")
        check(all(case["outcome"] == "notrun" for case in cancelled["cases"]), outcomes(cancelled))
        check(len(report(out / "merged")["cases"]) == 12, "not the whole plan")
        check(all(outcome == "pass" for outcome, _ in outcomes(report(out / "shard-2")).values()), "the other shard")
        rest = by_hand(sandbox, cluster, *lines_to_go_on(run.text()))
        check(rest.returncode == 0, rest.stdout)
    found = outcomes(report(out / "merged-2"))
    check(len(found) == 12 and all(outcome == "pass" for outcome, _ in found.values()), found)


def requeued_task(sandbox):
    """It goes on with its rest in the next directory, and the merged run has each case once."""
    write_suites(sandbox, {name: WAITS_FOR_GO for name in SUITES[:6]})
    out = sandbox.path / "out"
    with Cluster() as cluster:
        run = Started(sandbox, cluster, "--out", "out", "--shards=2", "--", "--jobs", "1")
        wait_for_start(out / "shard-1", out / "shard-2")
        cluster.run("scontrol", "requeue", f"{run.job}_1")
        run.wait_for("shard 1: its task was requeued")
        wait_until(lambda: cluster.states(run.job).get("1") == "PENDING", 60, "task that waits again")
        (sandbox.path / "go").touch()
        # A requeued task waits for two minutes (22.05).
        cluster.run("scontrol", "update", f"JobId={run.job}_1", "StartTime=now")
        check(run.end() == 0, run.text())
    check((out / "shard-1.2" / "report.json").exists(), "no second directory")
    found = report(out / "merged")
    check(len(found["cases"]) == 12 and all(outcome == "pass" for outcome, _ in outcomes(found).values()), outcomes(found))


def time_limit(sandbox):
    """Slurm's TERM comes before its KILL: the report is complete."""
    write_suites(sandbox, {"suite00": ["sleep", "600"]})
    with Cluster() as cluster:
        done = slurm_run(sandbox, cluster, "--out", "out", "--shards=1", "--time=1", "--", "--jobs", "12")
    shard = report(sandbox.path / "out" / "shard-1")
    check(done.returncode == 3, done.stdout, done.stderr)
    found = outcomes(shard)
    check(found.pop("suite00/sleep") == ("notrun", "interrupted"), outcomes(shard))
    check(all(outcome == "pass" for outcome, _ in found.values()), found)
    check(of_type(records(sandbox.path / "out" / "shard-1"), "run_ended"), "its journal has no end")


def ctrl_c(sandbox):
    """Cancels the job, merges what there is, and ends by the signal; of a shard that never began it says so."""
    write_suites(sandbox, {name: WAITS_FOR_GO for name in SUITES})
    out = sandbox.path / "out"
    with Cluster() as cluster:
        run = Started(sandbox, cluster, "--out", "out", "--shards=2", "--", "--jobs", "1")
        wait_for_start(out / "shard-1", out / "shard-2")
        run.process.send_signal(signal.SIGINT)
        check(run.end() == 128 + signal.SIGINT, run.text())
        check(not cluster.run("squeue", "--noheader").stdout.strip(), "tasks are left")
        found = outcomes(report(out / "merged"))
        check(len(found) == 12 and {outcome for outcome, _ in found.values()} == {"notrun"}, found)

        never = Started(sandbox, cluster, "--out", "never", "--shards=2", "--gres=gpu:4", "--", "--jobs", "1")
        wait_until(lambda: begun(sandbox.path / "never" / "shard-1") or begun(sandbox.path / "never" / "shard-2"), 120, "one")
        never.wait_for(", 1 wait: ")
        never.process.send_signal(signal.SIGTERM)
        check(never.end() == 128 + signal.SIGTERM, never.text())
        check("has no journal (Slurm: CANCELLED" in never.text(), never.text())
        check(not (sandbox.path / "never" / "merged").exists(), "half a plan was merged")
        lines_to_go_on(never.text())


def node_that_fails(sandbox):
    """Named with its state, exit 75, and the line that goes on."""
    write_suites(sandbox, {name: WAITS_FOR_GO for name in SUITES})
    out = sandbox.path / "out"
    with Cluster(nodes=2) as cluster:
        run = Started(sandbox, cluster, "--out", "out", "--shards=2", "--no-requeue", "--gres=gpu:4", "--", "--jobs", "1")
        wait_for_start(out / "shard-1", out / "shard-2")
        node = cluster.run("squeue", "--noheader", "--array", f"--jobs={run.job}_1", "--format=%N").stdout.strip()
        cluster.end_node(node)
        cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
        for pid in runners_of(out / "shard-1"):  # they are on this host, which goes on
            os.kill(pid, signal.SIGKILL)
        run.wait_for(f"shard 1: its task ended as NODE_FAIL on {node}")
        (sandbox.path / "go").touch()
        check(run.end() == 75, run.text())
        check("--array=1 " in lines_to_go_on(run.text())[0], run.text())
        cluster.start_node(node)


def task_without_a_journal(sandbox):
    """What it said is shown."""
    write_suites(sandbox)
    with Cluster() as cluster:
        done = slurm_run(sandbox, cluster, "--out", "out", "--shards=2", "--", "--known-failures", "missing.toml")
    check(done.returncode == 75, done.stdout, done.stderr)
    check("shard 1/2 has no journal (Slurm: FAILED" in done.stdout and "missing.toml" in done.stdout, done.stdout)


# ---- Slurm itself ----


def controller_restarts(sandbox):
    """In the middle, by a kill: said once, and the run is green."""
    write_suites(sandbox, {name: WAITS_FOR_GO for name in SUITES[:4]})
    out = sandbox.path / "out"
    with Cluster() as cluster:
        run = Started(sandbox, cluster, "--out", "out", "--shards=2", "--", "--jobs", "1")
        wait_for_start(out / "shard-1", out / "shard-2")
        cluster.end_controller()
        run.wait_for("the controller does not respond")
        cluster.start_controller()
        run.wait_for("the controller responds again")
        (sandbox.path / "go").touch()
        check(run.end() == 0, run.text())
        check(run.text().count("does not respond") == 1, run.text())


def controller_stays_away(sandbox):
    """The run ends when each shard is complete."""
    write_suites(sandbox, {name: WAITS_FOR_GO for name in SUITES[:4]})
    out = sandbox.path / "out"
    with Cluster() as cluster:
        run = Started(sandbox, cluster, "--out", "out", "--shards=2", "--", "--jobs", "1")
        wait_for_start(out / "shard-1", out / "shard-2")
        cluster.end_controller()
        run.wait_for("the controller does not respond")
        (sandbox.path / "go").touch()
        check(run.end() == 0, run.text())
        check("responds again" not in run.text() and len(report(out / "merged")["cases"]) == 12, run.text())


def refused_jobs(sandbox):
    """Named, exit 2 or 75, and the directory stays free for the next try."""
    write_suites(sandbox)
    with Cluster() as cluster:
        for words, says in ((["-p", "nowhere"], "invalid partition"), (["--gres=gpu:9"], "sbatch exited with 1"),
                            (["--no-such-option"], "no-such-option")):
            done = slurm_run(sandbox, cluster, "--out", "bad", "--shards=2", *words)
            check(done.returncode == 2 and says in done.stderr, words, done.returncode, done.stdout, done.stderr)
        for words, says in ((["--"], "--shards"), (["--shards=0", "--"], "--shards"), (["--shards=2", "--array=1-2", "--"], "--array"),
                            (["--shards=2", "memory"], "`memory`"), (["--shards=2", "--", "--out", "x"], "--out"),
                            (["--shards=2", "--", "--jbos", "1"], "--jobs"), (["--shards=2", "--", "memory"], "suite")):
            done = slurm_run(sandbox, cluster, *words)
            check(done.returncode == 2 and says in done.stderr, words, done.returncode, done.stdout, done.stderr)
        # Of one whose devices no node has, Slurm keeps a record as FAILED.
        check(not (jobs := cluster.run("squeue", "--noheader").stdout.strip()), "a refused job was submitted:", jobs)
        done = sandbox.proctor("slurm", "run", "--plan", "missing.json", "--shards=2", env=slurm_env(sandbox, cluster))
        check(done.returncode == 2 and "missing.json" in done.stderr, done.returncode, done.stderr)
        strange = sandbox.path / "strange"
        strange.mkdir()
        (strange / "sbatch").write_text("#!/bin/sh\necho Submitted batch job 12\n")
        (strange / "sbatch").chmod(0o755)
        done = slurm_run(sandbox, cluster, "--out", "strange-out", "--shards=2", "--",
                         env={"PATH": f"{strange}:{os.environ['PATH']}"})
        check(done.returncode == 75 and "no number" in done.stderr, done.returncode, done.stderr)
        check((sandbox.path / "strange-out" / "plan.json").exists(), "the plan of a job that may run is gone")
        bare = sandbox.path / "bare"
        bare.mkdir()
        (bare / "true").symlink_to(shutil.which("true"))
        done = slurm_run(sandbox, cluster, "--out", "bad", "--shards=2", "--", env={"PATH": str(bare)})
        check(done.returncode == 2 and "sbatch" in done.stderr and "slurm-client" in done.stderr, done.returncode, done.stderr)
        cluster.end_controller()
        done = slurm_run(sandbox, cluster, "--out", "bad", "--shards=2", "--")
        check(done.returncode == 75 and "Unable to contact" in done.stderr, done.stderr)
        check(not (sandbox.path / "bad").exists(), "a directory without a job is left")
        cluster.start_controller()


# ---- the plain way ----


def block_of_page(language):
    text = re.search(rf"^```{language}$\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    check(text, PAGE, "has no block of", language)
    return textwrap.dedent(text[1])


def plain_way(sandbox):
    """The script of the page, as it is there."""
    write_suites(sandbox, {"suite07": ["false"]})
    (sandbox.path / "tests.sbatch").write_text(block_of_page("sh"))
    with Cluster(nodes=2) as cluster:
        planned = by_hand(sandbox, cluster, "proctor plan -o plan.json && sbatch --wait tests.sbatch")
        check(planned.returncode == 1, planned.stdout)
        merged = by_hand(sandbox, cluster, "proctor report merge proctor-out/shard-* --out proctor-out/merged")
    check(merged.returncode == 1 and len(report(sandbox.path / "proctor-out" / "merged")["cases"]) == 12, merged.stdout)


# ---- without a cluster, in ./dev test ----

# Enough of Slurm for one array of processes on this machine.
SBATCH = r"""#!/bin/sh
wait=no
for word; do
  case $word in
    --array=1-*) tasks=$(seq "${word#--array=1-}") ;;
    --array=*) tasks=$(echo "${word#--array=}" | tr , ' ') ;;
    --output=*) output=${word#--output=} ;;
    --wait) wait=yes ;;
    --refuse) echo "sbatch: error: refused" >&2; exit 1 ;;
  esac
done
rm -f JOB/*
for task in $tasks; do
  SLURM_ARRAY_TASK_ID=$task setsid sh -c 'echo $$ >"JOB/$1"; exec sh "$2"' sh "$task" "$word" \
    >"${output%%%*}$task.out" 2>&1 </dev/null &
  until [ -s "JOB/$task" ]; do sleep 0.02; done  # it has left this process group, which ends with sbatch
done
[ $wait = no ] || wait
echo 17
"""
SQUEUE = """#!/bin/sh
[ ! -e AWAY ] || . AWAY
for file in JOB/*; do
  case $(sed 's/.*) //' "/proc/$(cat "$file")/stat") in
    "" | Z*) state=COMPLETED ;;
    *) state=RUNNING ;;
  esac
  echo "${file##*/}|$state|None|here"
done 2>/dev/null
"""
SCANCEL = """#!/bin/sh
[ ! -e AWAY ] || . AWAY
for file in JOB/*; do kill "$(cat "$file")"; done
"""


class NoCluster:
    """Three scripts in the place of Slurm's. `away` has what squeue and scancel do without their controller."""

    def __init__(self, sandbox):
        self.path, self.away, job = sandbox.path / "bin", sandbox.path / "away", sandbox.path / "job"
        self.path.mkdir()
        job.mkdir()
        for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)):
            (self.path / name).write_text(text.replace("JOB", str(job)).replace("AWAY", str(self.away)))
            (self.path / name).chmod(0o755)
        self.env = {"PATH": f"{self.path}:{os.environ['PATH']}"}


def without_a_cluster(sandbox):
    """A refusal, a red case, a runner that is killed, the lines that run its rest; and Ctrl-C."""
    write_suites(sandbox, {"suite03": ["false"], **{name: WAITS_FOR_GO for name in SUITES[4:]}})
    out, cluster = sandbox.path / "out", NoCluster(sandbox)
    done = slurm_run(sandbox, cluster, "--out", "out", "--shards=2", "--refuse")
    check(done.returncode == 2 and "refused" in done.stderr and not out.exists(), done.returncode, done.stderr)
    run = Started(sandbox, cluster, "--out", "out", "--shards=2", "--", "--jobs", "1")
    wait_for_start(out / "shard-1", out / "shard-2")
    for pid in runners_of(out / "shard-1"):
        os.kill(pid, signal.SIGKILL)
    (sandbox.path / "go").touch()
    check(run.end() in (1, 3), run.text())
    check(len(report(out / "merged")["cases"]) == 12, run.text())
    rest = by_hand(sandbox, cluster, *lines_to_go_on(run.text()))
    check(rest.returncode == 1, rest.stdout)
    found = outcomes(report(out / "merged-2"))
    check(found.pop("suite03/false")[0] == "fail" and len(found) == 11, found)
    check({outcome for outcome, _ in found.values()} == {"pass"}, found)

    (sandbox.path / "go").unlink()
    stopped = Started(sandbox, cluster, "--out", "stopped", "--shards=2", "--", "--jobs", "1")
    wait_for_start(sandbox.path / "stopped" / "shard-1", sandbox.path / "stopped" / "shard-2")
    stopped.process.send_signal(signal.SIGINT)
    check(stopped.end() == 128 + signal.SIGINT, stopped.text())
    check(len(report(sandbox.path / "stopped" / "merged")["cases"]) == 12, stopped.text())


def without_an_answer(sandbox):
    """A run with complete shards ends while the controller is silent. Ctrl-C ends the wait for one that hangs."""
    write_suites(sandbox, {name: WAITS_FOR_GO for name in SUITES[:4]})
    out, cluster = sandbox.path / "out", NoCluster(sandbox)
    silent = Started(sandbox, cluster, "--out", "out", "--shards=2", "--", "--jobs", "1")
    wait_for_start(out / "shard-1", out / "shard-2")
    cluster.away.write_text("echo squeue: error: Unable to contact slurm controller >&2; exit 1\n")
    silent.wait_for("the controller does not respond")
    (sandbox.path / "go").touch()
    check(silent.end() == 0 and len(report(out / "merged")["cases"]) == 12, silent.text())

    (sandbox.path / "go").unlink()
    cluster.away.unlink()
    hangs, out = Started(sandbox, cluster, "--out", "hangs", "--shards=2", "--", "--jobs", "1"), sandbox.path / "hangs"
    wait_for_start(out / "shard-1", out / "shard-2")
    asked = sandbox.path / "asked"
    cluster.away.write_text(f"echo ${{0##*/}} >>{asked}; exec sleep 1000\n")
    for command in ("squeue", "scancel"):
        wait_until(lambda command=command: asked.exists() and command in asked.read_text(), 120, command)
        hangs.process.send_signal(signal.SIGINT)
    began = time.monotonic()
    check(hangs.end() == 128 + signal.SIGINT, hangs.text())
    check(time.monotonic() - began < 20, "the second Ctrl-C waits for scancel:", hangs.text())
    check("it still runs: scancel 17" in hangs.text() and "does not respond" not in hangs.text(), hangs.text())
    (sandbox.path / "go").touch()
    # The runner writes this record after its last report. An earlier end of the test leaves files behind.
    rendered = lambda shard: "reports_rendered" in (out / shard / "journal.jsonl").read_text()
    wait_until(lambda: all(rendered(shard) for shard in ("shard-1", "shard-2")), 120, "their ends")


def without_room(sandbox):
    """The run is refused before it submits a job. mishaps.py fills the disk during a run."""
    write_suites(sandbox)
    small, cluster = sandbox.path / "small", NoCluster(sandbox)
    small.mkdir()
    done = slurm_run(sandbox, cluster, "--out", "/proc/nowhere", "--shards=2")
    check(done.returncode in (2, 75) and "/proc/nowhere" in done.stderr, done.returncode, done.stderr)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", small], stderr=subprocess.DEVNULL).returncode:
        skip("needs root and mount")
    try:
        (small / "fill").write_bytes(b"x" * (256 << 10))
        done = slurm_run(sandbox, cluster, "--out", small / "out", "--shards=2")
        check(done.returncode == 75 and "No space left" in done.stderr, done.returncode, done.stdout, done.stderr)
        check(not (small / "out").exists(), "a directory without a job is left")
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)


SCENARIOS = (four_way_array, balanced_plan, no_wait, cancelled_task, requeued_task, time_limit, ctrl_c, node_that_fails,
             task_without_a_journal, controller_restarts, controller_stays_away, refused_jobs, plain_way)

if __name__ == "__main__":
    run_scenarios(SCENARIOS, (without_a_cluster, without_an_answer, without_room))
