#!/usr/bin/env python3
"""A run in a Slurm job, by the variables and the signals of Slurm: its devices, its end, its epilog, its node.

    slurm_allocation.py [SCENARIO...]

Nothing here needs Slurm. The variables are those of 22.05.8, as `srun env` and an epilog print them.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from harness import (BIN, check, check_sums, killed, misbehaving, new_token, of_type, records, report, run_scenarios,
                     skip, survivors, wait_until, write_config)

DEVICES = 4


def job(number, mask=None, node="node7", **more):
    """What `srun --gres=gpu:N` sets, where `mask` has N devices; the masks of all vendors alike."""
    said = {"SLURM_JOB_ID": str(number), "SLURM_CLUSTER_NAME": "e2e", "SLURMD_NODENAME": node, "SLURM_STEP_ID": "0",
            "SLURM_NNODES": "1", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NUM_TASKS": "1"}
    if mask is not None:
        said.update(CUDA_VISIBLE_DEVICES=mask, ZE_AFFINITY_MASK=mask, ROCR_VISIBLE_DEVICES=mask, GPU_DEVICE_ORDINAL=mask,
                    SLURM_STEP_GPUS=mask, SLURM_GPUS_ON_NODE=str(mask.count(",") + 1))
    return {**said, **more}


def shell(script):
    return ["sh", "-c", script]


def run(sandbox, suites, *arguments, env, sim=f"cuda:{DEVICES}", start=False):
    config = sandbox.path / f"job{sandbox.runs}.toml"
    write_config(config, {name: {"kind": "command", "backend": "none", **keys} for name, keys in suites.items()}, {"timeout": "5m"})
    words = ["run", "--config", config, "--out", sandbox.out(), "--sim", f"{sim},state={sandbox.path}/machine",
             *arguments]
    if start:
        return sandbox.start(*words, env=env)
    return sandbox.proctor(*words, env={**sandbox.env, **env})


def verdicts(out):
    return {case["suite"]: case["outcome"] + (f"({case['reason']})" if case["reason"] else "")
            for case in report(out)["cases"]}


def devices_of(out):
    return {device for case in report(out)["cases"] for attempt in case["attempts"] for device in attempt["devices"]}


# ---- the devices of the allocation ----

def pool_is_the_allocation(sandbox):
    """Both vendors' masks are set, only one has devices; the cases get those of the mask, as CUDA counts, and no others."""
    many = {f"s{index}": {"command": ["true"], "backend": "cuda", "gpus": 1} for index in range(8)}
    for order, devices in (("PCI_BUS_ID", {"cuda-sim:2", "cuda-sim:3"}), ("FASTEST_FIRST", {"cuda-sim:2", "cuda-sim:0"})):
        done = run(sandbox, many, env=job(1, "2,3", CUDA_DEVICE_ORDER=order))
        check(done.returncode == 0, done.stdout, done.stderr)
        check(devices_of(sandbox.last_out()) == devices, order, devices_of(sandbox.last_out()))
    done = run(sandbox, {"wide": {"command": ["true"], "backend": "cuda", "gpus": 3}}, env=job(1, "2,3"))
    check(verdicts(sandbox.last_out()) == {"wide": "skip(needs:devices>=3)"}, verdicts(sandbox.last_out()))


def renumbered(sandbox):
    """In a cgroup with two of the node's devices the driver counts them from 0; the node's numbers stay 2 and 3."""
    done = run(sandbox, {"two": {"command": ["true"], "backend": "cuda", "gpus": 2}}, sim="cuda:2",
               env=job(1, "0,1", SLURM_STEP_GPUS="2,3", SLURM_JOB_GPUS="2,3"))
    check(done.returncode == 0, done.stdout, done.stderr)


def contradictions(sandbox):
    """Refused by name before anything starts."""
    one = {"one": {"command": ["true"], "backend": "cuda", "gpus": 1}}
    unmasked = {key: value for key, value in job(1, "2,3").items() if key != "CUDA_VISIBLE_DEVICES"}
    unmasked.pop("ZE_AFFINITY_MASK")
    for env, words in (
            (unmasked, ["SLURM_GPUS_ON_NODE=2", "no mask leaves 4 devices", "cuda-sim:3"]),
            (job(1, "2,3", CUDA_VISIBLE_DEVICES="0,1"), ["CUDA_VISIBLE_DEVICES=0,1 names device 0", "SLURM_STEP_GPUS=2,3"]),
            (job(1, SLURM_JOB_GPUS="2,3"), ["the Slurm step has no device", "SLURM_STEP_GPUS is not set", "--gres=gpu:1"]),
            (job(1, "2,3", CUDA_VISIBLE_DEVICES="2;3"), ["CUDA_VISIBLE_DEVICES", "not valid"])):
        done = run(sandbox, one, env=env)
        check(done.returncode == 2, "exit", done.returncode, done.stdout, done.stderr)
        for word in words:
            check(word in done.stderr, "it does not say", word, ":", done.stderr)
        check(not (sandbox.last_out() / "journal.jsonl").exists(), "a run was begun")
    done = run(sandbox, {"host": {"command": ["true"], "backend": "none"}}, env=job(1, SLURM_JOB_GPUS="2,3"))
    check(done.returncode == 0, "a step without devices runs what needs none:", done.stderr)


def one_number_two_vendors(sandbox):
    """On a node with devices of both, one number of Slurm names a device of each: refused until one vendor is hidden."""
    one = {"one": {"command": ["true"], "backend": "xpu", "gpus": 1}}
    done = run(sandbox, one, sim="xpu:2x1,cuda:2", env=job(1, "1"))
    check(done.returncode == 2 and "CUDA_VISIBLE_DEVICES=1 and ZE_AFFINITY_MASK=1 leaves 2 devices" in done.stderr
          and "Flags=nvidia_gpu_env" in done.stderr, done.returncode, done.stderr)
    done = run(sandbox, one, sim="xpu:2x1,cuda:2", env=job(1, "1", CUDA_VISIBLE_DEVICES=""))
    # Level Zero counts from the last card here, unless the job sets the order in which Slurm counts.
    check(done.returncode == 0 and devices_of(sandbox.last_out()) == {"xpu-sim:0"}, done.stdout, done.stderr)


def tiled_cards(sandbox):
    """Slurm sets ZE_AFFINITY_MASK, and no variable that says what it counts."""
    one = {"one": {"command": ["true"], "backend": "xpu", "gpus": 1}}
    for more in ({}, {"ZE_FLAT_DEVICE_HIERARCHY": "FLAT"}):
        in_order = {**more, "ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"}
        for variables, device in ((more, "xpu-sim:1"), (in_order, "xpu-sim:0")):
            done = run(sandbox, one, sim="xpu:2x2", env=job(1, "0", **variables))
            check(done.returncode == 0, variables, done.stdout, done.stderr)
            check(devices_of(sandbox.last_out()) == {device}, variables, devices_of(sandbox.last_out()))


def jobs_of_one_node(sandbox):
    """Two jobs with masks of their own run side by side: each case waits until one of the other job has begun."""
    meet = "touch {0}/{1}; while ! [ -e {0}/{2} ]; do sleep 0.01; done"
    pairs = [("a", "b", "0,1"), ("b", "a", "2,3")]
    jobs = []
    for number, (own, other, mask) in enumerate(pairs, 1):
        suites = {f"s{index}": {"command": shell(meet.format(sandbox.path, f"{own}{index}", f"{other}{index}")),
                                "backend": "cuda", "gpus": 1} for index in range(2)}
        jobs.append((run(sandbox, suites, "--jobs", 2, env=job(number, mask), start=True), sandbox.last_out()))
    used = []
    for process, out in jobs:
        errors = sandbox.finish(process, 120)
        check(process.returncode == 0, process.returncode, errors)
        used.append(devices_of(out))
    check([len(one) for one in used] == [2, 2] and len(used[0] | used[1]) == 4, used)


def jobs_that_share(sandbox):
    """Two jobs whose masks overlap, as with OverSubscribe: no device is used by both at a time."""
    log = sandbox.path / "order"
    script = f"echo begin $CUDA_VISIBLE_DEVICES $$ >> {log}; sleep 0.02; echo end $CUDA_VISIBLE_DEVICES $$ >> {log}"
    suites = {f"s{index}": {"command": shell(script), "backend": "cuda", "gpus": 1} for index in range(8)}
    jobs = [run(sandbox, suites, "--jobs", 2, env=job(number, "0,1"), start=True) for number in (1, 2)]
    for process in jobs:
        errors = sandbox.finish(process, 120)
        check(process.returncode == 0, process.returncode, errors)
    holder = {}
    for what, device, pid in (line.split() for line in log.read_text().splitlines()):
        if what == "begin":
            check(device not in holder, f"{device} is used by {holder.get(device)} and {pid}")
            holder[device] = pid
        else:
            check(holder.pop(device) == pid, "an end without its begin")


def ranks_of_several_nodes(sandbox):
    """What this node can hold runs; what only all nodes together could hold is skipped by name."""
    suites = {"two": {"command": ["true"], "backend": "cuda", "ranks": 2},
              "eight": {"command": ["true"], "backend": "cuda", "ranks": 8}}
    for nodes, eight in (("1", "skip(needs:cards>=8)"), ("2", "skip(needs:one_node)")):
        run(sandbox, suites, env=job(1, "0,1,2,3", SLURM_NNODES=nodes, SLURM_STEP_NUM_NODES=nodes))
        check(verdicts(sandbox.last_out()) == {"two": "pass", "eight": eight}, nodes, verdicts(sandbox.last_out()))


# ---- the end of the job ----

def tree_of(pid):
    """The process and all below it, parents first."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
        except OSError:
            pass
    tree = [pid]
    for one in tree:
        tree += parents.get(one, [])
    return tree


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


TRAPPED = "trap 'exit {}' TERM; touch {}; while :; do sleep 0.05; done"


def stubborn(sandbox, token):
    """Cases that end in different ways on SIGTERM; the files say that the handlers are there."""
    traps = {f"trap{code}": shell(TRAPPED.format(code, sandbox.path / f"{token}-{code}")) for code in (3, 143)}
    suites = {name: {"command": command} for name, command in traps.items()}
    suites["dies"] = {"command": misbehaving("sleep-forever", token)}
    suites["ranks"] = {"command": misbehaving("sleep-forever", token), "backend": "cuda", "ranks": 2}
    suites["device"] = {"command": misbehaving("sleep-forever", token), "backend": "cuda", "gpus": 1}
    return suites, [sandbox.path / f"{token}-{code}" for code in (3, 143)]


def term_to_all(sandbox):
    """As slurmstepd does it for scancel, preemption and the time limit: to each process of the step, in any order."""
    def leaves_first(pid):
        send(reversed(tree_of(pid)), signal.SIGTERM)

    def runner_first(pid):
        send(tree_of(pid), signal.SIGTERM)

    def runner_is_late(pid):
        """Both are there when it gets a processor: the ends of its cases, and its own signal."""
        os.kill(pid, signal.SIGSTOP)
        below = [one for one in tree_of(pid) if one != pid]
        send(reversed(below), signal.SIGTERM)
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)

    for how in (leaves_first, runner_first, runner_is_late) * 3:
        token = new_token()
        suites, ready = stubborn(sandbox, token)
        process = run(sandbox, suites, "--jobs", len(suites), env=job(1, "0,1,2,3"), start=True)
        out = sandbox.last_out()
        wait_until(lambda: all(path.exists() for path in ready) and len(survivors(token)) >= 4, 60, "all cases")
        how(process.pid)
        errors = sandbox.finish(process)
        check(killed(process) == 128 + signal.SIGTERM, how.__name__, killed(process), errors)
        check(not survivors(token), how.__name__, "left alive:", survivors(token))
        document = report(out)
        check_sums(document)
        seen = verdicts(out)
        # Who exits with a code of its own is known for interrupted only if the runner's signal comes right after.
        own_code = seen.pop("trap3")
        check(own_code in ("notrun(interrupted)", "fail(exit:3)"), how.__name__, own_code)
        check(set(seen.values()) == {"notrun(interrupted)"} and len(seen) == len(suites) - 1, how.__name__, seen)
        for name in ("junit.xml", "summary.md", "index.html"):
            check((out / name).exists(), how.__name__, "no", name)
        drained = [record for record in of_type(records(out), "device_health") if record["finding"] == "drained"]
        check(not drained, how.__name__, drained)
        print(f"ok {how.__name__}", flush=True)


def killed_case_is_a_crash(sandbox):
    """A case that somebody terminates while nobody stops the run is no interruption."""
    done = run(sandbox, {"dies": {"command": shell("kill -TERM $$")}, "code": {"command": shell("exit 143")}}, env=job(1))
    check(done.returncode == 1, done.returncode, done.stderr)
    check(verdicts(sandbox.last_out()) == {"dies": "crash(signal:15)", "code": "fail(exit:143)"}, verdicts(sandbox.last_out()))


# ---- the epilog ----

def held_run(sandbox, env):
    """A run that is in the middle of a case."""
    token = new_token()
    process = run(sandbox, {"stuck": {"command": misbehaving("sleep-forever", token)}}, env=env, start=True)
    out = sandbox.last_out()
    wait_until(lambda: of_type(records(out), "attempt_started") and survivors(token), 60, "start of the case")
    return process, out, token


def epilog(sandbox, number, code=0, **more):
    env = {**sandbox.env, "SLURM_JOB_ID": str(number), "SLURM_CLUSTER_NAME": "e2e", "SLURMD_NODENAME": "node7",
           "SLURM_JOB_UID": str(os.geteuid()), **more}
    done = sandbox.proctor("finish", "--slurm-job", number, env=env)
    check(done.returncode == code, "the epilog gave", done.returncode, done.stdout, done.stderr)
    return done.stdout


def is_finished(out, token, outcome="notrun"):
    check(not survivors(token), "left alive:", survivors(token))
    check(not (out / "run.json").exists(), "the record is still there")
    check(report(out)["cases"][0]["outcome"] == outcome and (out / "junit.xml").exists(), report(out)["cases"][0])


def epilog_ends_its_job_only(sandbox):
    """The runs of the job end, with reports; an array's other task, another node's and another cluster's go on."""
    dead, dead_out, dead_token = held_run(sandbox, job(5, SLURM_ARRAY_JOB_ID="4", SLURM_ARRAY_TASK_ID="1"))
    alive, alive_out, alive_token = held_run(sandbox, job(5, SLURM_ARRAY_JOB_ID="4", SLURM_ARRAY_TASK_ID="1"))
    others = [held_run(sandbox, job(4, SLURM_ARRAY_JOB_ID="4", SLURM_ARRAY_TASK_ID="2")),
              held_run(sandbox, job(5, node="node8")), held_run(sandbox, job(5, SLURM_CLUSTER_NAME="other")),
              held_run(sandbox, {})]
    dead.kill()
    sandbox.finish(dead)
    said = epilog(sandbox, 5)
    check(str(dead_out) in said and str(alive_out) in said, said)
    check(f"stopped the runner, pid {alive.pid}, with SIGTERM" in said, said)
    sandbox.finish(alive)
    is_finished(dead_out, dead_token)
    is_finished(alive_out, alive_token)
    for process, out, token in others:
        check(process.poll() is None and survivors(token), "a run of another job was ended:", out, said)
    check(epilog(sandbox, 5) == "", "the second time there is nothing to do")
    check(epilog(sandbox, 999) == "", "a job that never ran here")
    for process, out, token in others:
        process.terminate()
        sandbox.finish(process)


def epilog_finds_daemons(sandbox):
    """What left the tree of its case and outlived its runner."""
    token = new_token()
    process = run(sandbox, {"stuck": {"command": misbehaving("double-fork", token)}}, "--containment", "subreaper",
                  env=job(5), start=True)
    out = sandbox.last_out()
    wait_until(lambda: of_type(records(out), "attempt_started") and survivors(token), 60, "start of the case")
    run_id = of_type(records(out), "run_planned")[0]["run_id"]
    process.kill()
    sandbox.finish(process)
    stray = subprocess.Popen(["sleep", "600"], env={**sandbox.env, "PROCTOR_RUN_ID": run_id})
    check("killed process" in epilog(sandbox, 5), "the leaked process is not reported")
    check(stray.wait(10) == -signal.SIGKILL, "the leaked process lives")
    is_finished(out, token)


def epilog_bad_input(sandbox):
    for words, said in ((["--slurm-job", "5_1"], "must be a job id"), (["--slurm-job", "x"], "must be a job id"),
                        ([], "either a run directory or --slurm-job"), ([sandbox.path, "--slurm-job", "5"], "either")):
        done = sandbox.proctor("finish", *words)
        check(done.returncode == 2 and said in done.stderr, words, done.returncode, done.stderr)


class Records:
    """Where a user without XDG_RUNTIME_DIR has the records of runs; nothing of this test stays there."""

    def __init__(self, uid):
        self.path = Path(f"/tmp/proctor-{uid}")
        self.is_new = not self.path.exists()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_new:
            shutil.rmtree(self.path, ignore_errors=True)


def epilog_of_another_user(sandbox):
    """Root ends the run of the job's user as that user, and writes nothing of its own into the user's directory."""
    if os.geteuid() != 0:
        skip("needs root: an epilog runs as root")
    uid = 65534
    with Records(uid):
        sandbox.path.chmod(0o755)
        place = sandbox.path / "user"
        place.mkdir()
        os.chown(place, uid, uid)
        token = new_token()
        env = {key: value for key, value in sandbox.env.items() if key != "XDG_RUNTIME_DIR"}
        process = subprocess.Popen(
            ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", BIN / "proctor", "run", "--out", place / "out",
             "--", *misbehaving("sleep-forever", token)],
            cwd=place, env={**env, **job(5), "HOME": str(place)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        wait_until(lambda: process.poll() is not None or survivors(token), 60, "start of the case")
        if process.poll() is not None:
            skip("another user cannot execute this build")
        wait_until(lambda: of_type(records(place / "out"), "attempt_started"), 60, "start of the case")
        process.kill()
        process.wait()
        wrong = epilog(sandbox, 5, SLURM_JOB_UID=str(uid + 1))
        check(wrong == "", "the run of another user was ended:", wrong)
        said = epilog(sandbox, 5, SLURM_JOB_UID=str(uid))
        check(str(place / "out") in said, said)
        is_finished(place / "out", token)
        owners = {path.stat().st_uid for path in place.rglob("*")}
        check(owners == {uid}, "files of", owners)


# ---- the node ----

def drained_device(sandbox):
    """Everywhere that it is shown, in Slurm with the line that drains its node; outside of Slurm without."""
    state = sandbox.path / "machine" / "leases"
    state.mkdir(parents=True)
    done = sandbox.proctor("devices", "drain", "cuda-sim:1", "--reason", "it's \"odd\"", "--state-dir", state,
                           "--sim", "cuda:2")
    check(done.returncode == 0, done.stderr)
    line = "scontrol update NodeName=node7 State=DRAIN 'Reason=proctor: cuda-sim:1 by hand'"
    two = {"one": {"command": ["true"], "backend": "cuda", "gpus": 1}}
    for env, shows in ((job(1, "0,1"), True), ({}, False)):
        ran = run(sandbox, two, env=env, sim="cuda:2")
        listed = sandbox.proctor("devices", "--state-dir", state, "--sim", "cuda:2", env={**sandbox.env, **env})
        asked = sandbox.proctor("healthcheck", "--state-dir", state, *(["--slurm"] if shows else []), env={**sandbox.env, **env})
        for name, done in (("run", ran), ("devices", listed), ("healthcheck", asked)):
            check((line in done.stdout + done.stderr) == shows, name, shows, done.stdout, done.stderr)
        check(asked.returncode == 75 and "cuda-sim:1 is drained since" in asked.stdout, asked.returncode, asked.stdout)
        summary = (sandbox.last_out() / "summary.md").read_text()
        check(("scontrol update" in summary) == shows, summary)


def healthcheck_alone(sandbox):
    """It ends clearly where nothing is drained, loads no driver, and needs no environment."""
    empty = {"SLURMD_NODENAME": "node7"}
    done = sandbox.proctor("healthcheck", "--slurm", "--state-dir", sandbox.path / "nowhere", env=empty)
    check(done.returncode == 0 and "no device is drained; there" in done.stdout, done.returncode, done.stdout, done.stderr)
    for words, said in ((["--drain"], "--drain requires --slurm"),):
        done = sandbox.proctor("healthcheck", *words, env=empty)
        check(done.returncode == 2 and said in done.stderr, done.returncode, done.stderr)
    state = sandbox.path / "leases"
    state.mkdir()
    (state / "cuda:GPU-1.drained").write_text("half a rec")
    done = sandbox.proctor("healthcheck", "--slurm", "--state-dir", state, env={})
    check(done.returncode == 2 and "SLURMD_NODENAME is not set" in done.stderr, done.returncode, done.stderr)
    done = sandbox.proctor("healthcheck", "--slurm", "--drain", "--state-dir", state, env={**empty, "PATH": str(state)})
    check(done.returncode == 75 and "scontrol" in done.stderr and "unreadable" in done.stdout, done.returncode, done.stdout,
          done.stderr)


if __name__ == "__main__":
    run_scenarios([pool_is_the_allocation, renumbered, contradictions, one_number_two_vendors, tiled_cards, jobs_of_one_node,
                   jobs_that_share, ranks_of_several_nodes, term_to_all, killed_case_is_a_crash, epilog_ends_its_job_only,
                   epilog_finds_daemons, epilog_bad_input, drained_device, healthcheck_alone], [epilog_of_another_user])
