#!/usr/bin/env python3
"""What Slurm itself does with a run on a node: its devices, scancel and preemption, the epilog and HealthCheckProgram.

    slurm_node.py [SCENARIO...]

Needs slurm-wlm and munge, and root. The devices are simulated; those that Slurm hands out are files.
"""

import json
import os
import re
import signal
from pathlib import Path

from harness import (BIN, check, check_sums, misbehaving, new_token, of_type, records, report, run_scenarios, skip,
                     survivors, wait_until, write_config)
from slurm_allocation import Records
from slurm_cluster import Cluster, slurm_or_skip

NOBODY = 65534


def shell(script):
    return ["sh", "-c", script]


def batch_script(sandbox, name, config, out, start="exec", sim="cuda:4"):
    script = sandbox.path / f"{name}.sh"
    script.write_text(f"""#!/bin/sh
export XDG_RUNTIME_DIR={sandbox.path}/state
{start} {BIN}/proctor run --config {config} --out {out} --sim {sim},state={sandbox.path}/machine
""")
    script.chmod(0o755)
    return script


def configure(sandbox, name, suites):
    config = sandbox.path / f"{name}.toml"
    write_config(config, {suite: {"kind": "command", **keys} for suite, keys in suites.items()}, {"timeout": "5m"})
    return config


def submit(cluster, *words, **more):
    done = cluster.run("sbatch", "--parsable", "--output=/dev/null", *words, **more)
    check(done.returncode == 0, "sbatch:", done.stderr)
    return done.stdout.strip()


def is_over(cluster, job):
    return all(state not in ("PENDING", "RUNNING", "COMPLETING") for state in cluster.states(job).values())


def end_of(cluster, job):
    wait_until(lambda: is_over(cluster, job), 90, f"end of job {job}")
    return cluster.states(job).get("", "gone")


def devices_of(out):
    return {device for case in report(out)["cases"] for attempt in case["attempts"] for device in attempt["devices"]}


def devices_of_jobs(sandbox):
    """Two jobs of a node side by side: each case waits for one of the other job. A step without devices has none."""
    meet = "touch {0}/{1}; while ! [ -e {0}/{2} ]; do sleep 0.01; done"
    with Cluster() as cluster:
        jobs = {}
        for own, other in (("a", "b"), ("b", "a")):
            config = configure(sandbox, own, {
                f"s{index}": {"command": shell(meet.format(sandbox.path, f"{own}{index}", f"{other}{index}")),
                              "backend": "cuda", "gpus": 1} for index in range(2)})
            out = sandbox.path / f"out-{own}"
            jobs[submit(cluster, "--gres=gpu:2", batch_script(sandbox, own, config, out))] = out
        for job in jobs:
            check(end_of(cluster, job) == "COMPLETED", cluster.states(job))
        used = [devices_of(out) for out in jobs.values()]
        check([len(one) for one in used] == [2, 2] and len(used[0] | used[1]) == 4, used)
        script = batch_script(sandbox, "none", sandbox.path / "a.toml", sandbox.path / "none",
                              start="srun --gres=none --output=" + str(sandbox.path / "said"))
        job = submit(cluster, "--gres=gpu:2", script)
        check(end_of(cluster, job) == "FAILED", cluster.states(job))
        said = (sandbox.path / "said").read_text()
        check("the Slurm step has no device: its job has SLURM_JOB_GPUS=" in said, said)


def start_stubborn(sandbox, cluster, name, *words, start="exec"):
    """A job whose cases end in different ways on SIGTERM, and do not end without."""
    token = new_token()
    ready = sandbox.path / token
    config = configure(sandbox, name, {
        "dies": {"command": misbehaving("sleep-forever", token)},
        "device": {"command": misbehaving("sleep-forever", token), "backend": "cuda", "gpus": 1},
        "ranks": {"command": misbehaving("sleep-forever", token), "backend": "cuda", "ranks": 2},
        "trap": {"command": shell(f"trap 'exit 143' TERM; touch {ready}; while :; do sleep 0.05; done")}})
    out = sandbox.path / f"out-{name}"
    job = submit(cluster, "--gres=gpu:4", "--cpus-per-task=4", *words, batch_script(sandbox, name, config, out, start))
    wait_until(lambda: len(survivors(token)) >= 4 and ready.exists(), 60, "all cases of " + name)
    return job, out, token


def is_complete(out, token):
    wait_until(lambda: of_type(records(out), "run_ended") and not survivors(token), 60, "end of the run")
    wait_until((out / "junit.xml").exists, 60, "junit.xml")
    document = report(out)
    check_sums(document)
    verdicts = {case["suite"]: (case["outcome"], case["reason"]) for case in document["cases"]}
    check(set(verdicts.values()) == {("notrun", "interrupted")} and len(verdicts) == 4, verdicts)
    check(document["run"]["exit_code"] == 143, document["run"]["exit_code"])


def scancel_leaves_reports(sandbox):
    with Cluster() as cluster:
        for name, start in (("exec", "exec"), ("step", "srun")):
            job, out, token = start_stubborn(sandbox, cluster, name, start=start)
            cluster.run("scancel", job)
            is_complete(out, token)
            check(end_of(cluster, job) == "CANCELLED", cluster.states(job))


class TwoPartitions(Cluster):
    """A node is listed once for each of its partitions."""

    def node_state(self, node):
        return super().node_state(node).partition("\n")[0]


def preemption_leaves_reports(sandbox):
    with TwoPartitions(extra=["PreemptType=preempt/partition_prio", "PreemptMode=CANCEL",
                        "PartitionName=urgent Nodes=node1 PriorityTier=10"]) as cluster:
        job, out, token = start_stubborn(sandbox, cluster, "preempted")
        other = submit(cluster, "--partition=urgent", "--gres=gpu:4", "--wrap=true")
        is_complete(out, token)
        check(end_of(cluster, job) == "PREEMPTED", cluster.states(job))
        check(end_of(cluster, other) == "COMPLETED", cluster.states(other))


def program(sandbox, name, *words, **env):
    """What slurmd starts: it has no environment of its own."""
    path = sandbox.path / name
    lines = "".join(f"export {key}={value}\n" for key, value in env.items())
    path.write_text(f"#!/bin/sh\n{lines}{BIN}/proctor {' '.join(map(str, words))} >> {path}.log 2>&1\n"
                    f"code=$?\necho \"exit $code\" >> {path}.log\nexit $code\n")
    path.chmod(0o755)
    return path


def said_by(path):
    log = Path(f"{path}.log")
    return log.read_text() if log.exists() else ""


def epilog_completes_reports(sandbox):
    """A runner that was killed, as by the kernel for its memory; the job's user is another one than that of the epilog."""
    sandbox.path.chmod(0o755)
    place = sandbox.path / "user"
    place.mkdir()
    os.chown(place, NOBODY, NOBODY)
    epilog = program(sandbox, "epilog.sh", "finish", "--slurm-job", "$SLURM_JOB_ID")
    with Records(NOBODY), Cluster(extra=[f"Epilog={epilog}"]) as cluster:
        token = new_token()
        script = place / "job.sh"
        script.write_text(f"#!/bin/sh\nexport HOME={place}\nexec {BIN}/proctor run --out {place}/out -- "
                          f"{' '.join(misbehaving('sleep-forever', token))}\n")
        job = submit(cluster, f"--uid={NOBODY}", f"--gid={NOBODY}", f"--chdir={place}", script,
                     env={"XDG_RUNTIME_DIR": ""})
        wait_until(lambda: survivors(token) or is_over(cluster, job), 60, "start of the case")
        if is_over(cluster, job):
            skip("another user cannot execute this build")
        wait_until(lambda: of_type(records(place / "out"), "attempt_started"), 60, "start of the case")
        os.kill(json.loads((place / "out" / "run.json").read_text())["pid"], signal.SIGKILL)
        wait_until(lambda: "exit 0" in said_by(epilog), 90, "the epilog")
        check(f"in {place}/out" in said_by(epilog) and not survivors(token), said_by(epilog))
        check(report(place / "out")["cases"][0]["outcome"] == "notrun", report(place / "out")["cases"][0])
        check(not (place / "out" / "run.json").exists(), "the record is still there")
        wait_until(lambda: cluster.node_state("node1") == "idle", 60, "the node")


def node_line(cluster, key):
    found = re.search(rf"{key}=(.*)", cluster.run("scontrol", "show", "node", "node1").stdout)
    return found[1].strip() if found else ""


def health_check_drains_once(sandbox):
    """slurmd itself calls the program; a node that is drained stays so, with the reason and the time of the first."""
    state = sandbox.path / "leases"
    state.mkdir(mode=0o755)
    conf = sandbox.path / "slurm.conf"
    check_program = program(sandbox, "health.sh", "healthcheck", "--slurm", "--drain", "--state-dir", state,
                            SLURM_CONF=conf)
    with Cluster(extra=[f"HealthCheckProgram={check_program}", "HealthCheckInterval=2"]) as cluster:
        conf.symlink_to(cluster.config)
        wait_until(lambda: "no device is drained" in said_by(check_program), 60, "the first check")
        check(cluster.node_state("node1") == "idle", cluster.node_state("node1"))
        done = sandbox.proctor("devices", "drain", "cuda-sim:1", "--reason", "odd", "--state-dir", state, "--sim", "cuda:2")
        check(done.returncode == 0, done.stderr)
        wait_until(lambda: "DRAIN" in node_line(cluster, "State"), 60, "the drained node")
        reason = node_line(cluster, "Reason")
        check(reason.startswith("proctor: cuda-sim:1 by hand"), reason)
        wait_until(lambda: "is already drained" in said_by(check_program), 60, "the next check")
        check(said_by(check_program).count("drained node node1") == 1, said_by(check_program))
        check(node_line(cluster, "Reason") == reason, "the reason changed:", node_line(cluster, "Reason"))
        sandbox.proctor("devices", "undrain", "cuda-sim:1", "--state-dir", state)
        cluster.run("scontrol", "update", "NodeName=node1", "State=RESUME")
        checks = said_by(check_program).count("no device is drained")
        wait_until(lambda: said_by(check_program).count("no device is drained") > checks + 1, 60, "two more checks")
        check(cluster.node_state("node1") == "idle", cluster.node_state("node1"))


if __name__ == "__main__":
    slurm_or_skip()
    run_scenarios([devices_of_jobs, scancel_leaves_reports, preemption_leaves_reports, epilog_completes_reports,
                   health_check_drains_once])
