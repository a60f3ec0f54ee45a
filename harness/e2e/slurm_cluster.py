"""A Slurm of the distribution (slurm-wlm and munge) on this host, for one test: several nodes with four fake GPUs each.

    with Cluster(nodes=2) as cluster:
        subprocess.run(["srun", "--gres=gpu:1", "env"], env=cluster.env)

Each node is a slurmd of its own with a name, a port and a spool directory; all of them listen on the loopback. What
Slurm's commands need is in `cluster.env` (SLURM_CONF alone). At the end every process is gone, and so is the directory.
"""

import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from pathlib import Path

from harness import check, skip, wait_until

DAEMONS = ("munged", "slurmctld", "slurmd")
GPUS = 4
NULL_DEVICE = os.makedev(1, 3)

CONFIG = """\
ClusterName={name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge/socket
CredType=cred/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool-%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd-%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
GresTypes=gpu
SchedulerParameters=batch_sched_delay=0
{extra}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fake_device(path):
    """A copy of /dev/null, or a plain file where no device may be made: Slurm only wants the path to exist."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, NULL_DEVICE)
    except OSError:
        path.touch()


def slurm_or_skip():
    """Slurm's daemons are started as root, which alone may start jobs of any user."""
    missing = [name for name in (*DAEMONS, "sbatch", "setpriv") if shutil.which(name) is None]
    if missing:
        skip(f"needs slurm-wlm and munge: {', '.join(missing)} missing")
    if os.geteuid() != 0:
        skip("needs root to start slurmd")


class Cluster:
    def __init__(self, nodes=1, cpus=8, gpus=GPUS, extra=(), node_extra=""):
        """`extra`: further lines of slurm.conf. `node_extra`: further words of each node's line."""
        slurm_or_skip()
        self.path = Path(tempfile.mkdtemp(prefix="proctor-slurm-"))
        self.path.chmod(0o755)  # for munged
        self.nodes = [f"node{number}" for number in range(1, nodes + 1)]
        self.env = {"SLURM_CONF": str(self.path / "slurm.conf")}
        self.config = self.path / "slurm.conf"
        self.socket = self.path / "munge" / "socket"
        self.running = {}
        check(len(str(self.socket)) < 100, "the path of munge's socket is too long:", self.socket)
        self._write_config(cpus, gpus, extra, node_extra)

    def _write_config(self, cpus, gpus, extra, node_extra):
        lines = ["AutoDetect=off"]
        names = []
        for node in self.nodes:
            (self.path / f"dev-{node}").mkdir()
            for number in range(gpus):
                fake_device(self.path / f"dev-{node}" / f"fake{number}")
            lines.append(f"NodeName={node} Name=gpu Type=fake File={self.path}/dev-{node}/fake[0-{gpus - 1}]")
            names.append(f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={free_port()} CPUs={cpus} "
                         f"RealMemory=1000 Gres=gpu:fake:{gpus} {node_extra}")
        names.append(f"PartitionName=all Nodes={','.join(self.nodes)} Default=YES State=UP")
        (self.path / "gres.conf").write_text("\n".join(lines) + "\n")
        self.config.write_text(CONFIG.format(dir=self.path, name=self.path.name.lower(), controller_port=free_port(),
                                             extra="\n".join([*extra, *names])))
        (self.path / "state").mkdir()

    # ---- its processes ----

    def __enter__(self):
        try:
            self._start_munge()
            self.start_controller()
            for node in self.nodes:
                self.start_node(node)
            self.wait_for_nodes()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        """Jobs first: what they started would outlive slurmd."""
        has_controller = "slurmctld" in self.running
        if has_controller:
            self.run("scancel", "--user=root", "--signal=KILL", "--full")
            self.run("scancel", "--user=root")
            deadline = time.monotonic() + 20
            while self.run("squeue", "--noheader").stdout.strip() and time.monotonic() < deadline:
                time.sleep(0.1)
            self.run("scontrol", "shutdown")
        for name, process in reversed(self.running.items()):
            self._end(process, knows=has_controller and name != "munged")
        self._end_steps()
        shutil.rmtree(self.path, ignore_errors=True)

    @staticmethod
    def _end(process, knows):
        """`knows`: it has heard of the shutdown."""
        for end in ([lambda: None] if knows else []) + [process.terminate, process.kill]:
            end()
            try:
                return process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                pass
        return process.wait()

    def _end_steps(self):
        """A step outlives slurmd for some minutes if it cannot report its end to the controller."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if ((process / "comm").read_text() == "slurmstepd\n"
                        and f"SLURM_CONF={self.config}".encode() in (process / "environ").read_bytes().split(b"\0")):
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                pass

    def _spawn(self, name, command):
        """In the foreground, so that it is ours to wait for; in a session of its own, as a daemon is."""
        with open(self.path / f"{name}.out", "ab") as output:
            self.running[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                                  start_new_session=True, env={**os.environ, **self.env})

    def _start_munge(self):
        key = self.path / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        shutil.chown(key, "munge", "munge")
        directory = self.socket.parent
        directory.mkdir(mode=0o755)
        shutil.chown(directory, "munge", "munge")
        self._spawn("munged", ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", "--foreground",
                               "--force", f"--key-file={key}", f"--socket={self.socket}",
                               f"--pid-file={directory}/pid", f"--log-file={directory}/log",
                               f"--seed-file={directory}/seed"])
        self._wait("munged", self.socket.exists)

    def start_controller(self):
        """Also again, after end_controller(): it reads the state that the one before had saved."""
        self._spawn("slurmctld", ["slurmctld", "-D", "-f", str(self.config)])
        self._wait("slurmctld", lambda: "UP" in self.run("scontrol", "ping").stdout)

    def end_controller(self, how=signal.SIGKILL):
        process = self.running.pop("slurmctld")
        process.send_signal(how)
        process.wait()

    def start_node(self, node):
        self._spawn(node, ["slurmd", "-D", "-f", str(self.config), "-N", node])

    def end_node(self, node, how=signal.SIGKILL):
        process = self.running.pop(node)
        process.send_signal(how)
        process.wait()

    def wait_for_nodes(self):
        for node in self.nodes:
            self._wait(node, lambda node=node: self.node_state(node) == "idle")

    def _wait(self, name, condition):
        """The bound is for a defect; a daemon that ended is one at once."""
        wait_until(lambda: condition() or self.running[name].poll() is not None, 60, f"{name} that answers")
        if self.running[name].poll() is not None:
            check(False, name, "ended:", self.log(name))

    # ---- what is asked of it ----

    def run(self, *words, **more):
        """A command of Slurm. A controller that is away is no reason to wait for long."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 60,
                   "stdin": subprocess.DEVNULL, **more}
        options["env"] = {**os.environ, **self.env, **(more.get("env") or {})}
        try:
            return subprocess.run([str(word) for word in words], **options)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(late.cmd, 124, "", "it did not answer in time")

    def node_state(self, node):
        return self.run("sinfo", "--noheader", "--Node", f"--nodes={node}", "--format=%t").stdout.strip()

    def states(self, job):
        """{"2": "RUNNING"} of the tasks of an array, or {"": ...} of a plain job; also of those that ended lately."""
        done = self.run("squeue", "--noheader", "--array", "--states=all", f"--jobs={job}", "--format=%K|%T")
        return {task if task != "N/A" else "": state
                for task, _, state in (line.strip().partition("|") for line in done.stdout.splitlines())}

    def log(self, name):
        files = [self.path / f"{name}.out", self.path / f"{name}.log", self.path / f"slurmd-{name}.log"]
        return "\n".join(file.read_text(errors="replace")[-3000:] for file in files if file.exists())
