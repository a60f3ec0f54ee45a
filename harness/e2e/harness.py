"""What the end-to-end tests share: real `proctor` processes and real trees; only reports and /proc are believed."""

import ctypes
import json
import os
import re
import secrets
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("PROCTOR_BIN_DIR", ROOT / "build" / "bin"))
CUDA_SIMULATOR = BIN / "cuda_sim" / "libcudart.so.13"
if shutil.which("make") is None:  # what cmake generates for where nobody says otherwise
    os.environ.setdefault("CMAKE_GENERATOR", "Ninja")
SKIP = 77  # CTest's SKIP_RETURN_CODE


def __getattr__(name):
    """LAYERS: the layers of containment, the best first; asked for when a test imports it."""
    if name != "LAYERS":
        raise AttributeError(name)
    done = subprocess.run([BIN / "proctor", "manual", "words", "--kinds", "layers"], stdout=subprocess.PIPE, text=True, check=True)
    return tuple(done.stdout.split())


def is_sanitized():
    """Whether this build has sanitizers: its libraries can then be loaded by its own programs only."""
    cache = BIN.parent / "CMakeCache.txt"
    return cache.exists() and re.search(r"PROCTOR_SANITIZE:STRING=.", cache.read_text()) is not None


def frameworks():
    """The kinds of suites, as the program itself lists them."""
    return subprocess.run([BIN / "proctor", "manual", "words", "--kinds=frameworks"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def run_scenarios(scenarios, own_tests=()):
    """Those named on the command line, or all. `own_tests` need something that not every machine has, and skip() where
    it is missing: CTest knows each by name, since a skip amid others that passed would go unread."""
    named = {function.__name__: function for function in (*scenarios, *own_tests)}
    for name in sys.argv[1:] or [function.__name__ for function in scenarios]:
        started = time.monotonic()
        with Sandbox() as sandbox:
            named[name](sandbox)
        print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)


def check(condition, *what):
    """An assertion that -O cannot remove and that says what it saw."""
    if not condition:
        print("FAILED:", *what, file=sys.stderr)
        raise SystemExit(1)


def new_token():
    return "torture-" + secrets.token_hex(8)


def survivors(token):
    """[(pid, command line)] of the living processes that carry `token` in argv. Zombies are dead."""
    found = []
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit() or int(directory.name) == os.getpid():
            continue
        try:
            command = (directory / "cmdline").read_bytes()
            if token.encode() not in command:
                continue
            state = (directory / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            found.append((int(directory.name), command.replace(b"\0", b" ").decode(errors="replace")))
    return found


def wait_until(condition, seconds, what):
    """Polls; the bound is for a defect, not a measurement."""
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline, f"no {what} within {seconds} s")
        time.sleep(0.01)


def misbehaving(mode, token, *args):
    return [str(BIN / "misbehaving"), mode, *args, "--token", token]


def write_config(path, suites, defaults=None, run=None):
    """suites: {name: {key: value}}; values that JSON and TOML write alike."""
    lines = ["[run]", *(f"{key} = {json.dumps(value)}" for key, value in (run or {}).items())]
    lines += ["[defaults]", 'stall = "off"']
    lines += [f"{key} = {json.dumps(value)}" for key, value in (defaults or {}).items()]
    for name, table in suites.items():
        lines.append(f"[suite.{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    Path(path).write_text("\n".join(lines) + "\n")


def records(run_dir):
    """The journal's records; a cut last line is what a killed writer may leave."""
    out = []
    path = Path(run_dir) / "journal.jsonl"
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            out.append(json.loads(line))
        except ValueError:
            pass
    return out


def of_type(journal, name):
    return [record for record in journal if record.get("type") == name]


def report_files(sandbox):
    """{format: what it leaves in a directory, as ["junit.xml", "junit/*.xml"]}, and which formats a run leaves"""
    text = " ".join(sandbox.proctor("report", "render", "--help").stdout.split())
    formats = dict(re.findall(r"([\w-]+) \(([\w.-]+\.[\w.,/* -]+)\)", text))
    default = re.search(r"\(default: ([\w,-]+)\)", text)[1].split(",")
    check(set(default) <= set(formats), "render --help names no formats:", text)
    return {name: files.split(", ") for name, files in formats.items()}, default


def report(run_dir):
    return json.loads((Path(run_dir) / "report.json").read_text())


def reason_of(case):
    """"" also for a limit that calls the case starved: beside other tests, one that hangs may have waited for a CPU."""
    reason = case["reason"] or ""
    return "" if reason == "starved" else reason


def check_sums(document):
    summary = document["summary"]
    outcomes = sum(count for key, count in summary.items() if key not in ("planned", "executed"))
    check(summary["planned"] == outcomes, "planned is not the sum of outcomes:", summary)
    check(len(document["cases"]) == summary["planned"], "not every planned case is in the report")
    ids = [case["id"] for case in document["cases"]]
    check(len(ids) == len(set(ids)), "an id twice in the report")


def cgroup2_mount():
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if line.split()[2] == "cgroup2":
            return Path(line.split()[1])
    return None


def cgroups_of(run_id):
    """Those of a run that are left. Groups of others come and go meanwhile, which os.walk() passes over."""
    mount = cgroup2_mount()
    if mount is None:
        return []
    return [Path(parent) / name for parent, names, _ in os.walk(mount) for name in names if run_id in name]


def delegate_cgroup(uid):
    """A cgroup of this process's own that `uid` may divide, as a systemd user scope is; None where root may not."""
    mount = cgroup2_mount()
    if mount is None:
        return None
    group = mount / f"e2e-{secrets.token_hex(4)}"
    try:
        group.mkdir()
        for path in (group, group / "cgroup.procs", group / "cgroup.subtree_control"):
            os.chown(path, uid, uid)
    except OSError:
        return None
    return group


def hide_landlock():
    """From here on this process and its children have a kernel without Landlock: a seccomp filter says ENOSYS. Root."""
    enosys, create_ruleset, prctl_seccomp, filter_mode = 38, 444, 22, 2
    # struct sock_filter: load the number of the system call; is it Landlock's? refuse, else allow.
    code = b"".join(struct.pack("HBBI", *line) for line in (
        (0x20, 0, 0, 0), (0x15, 0, 1, create_ruleset), (0x06, 0, 0, 0x00050000 | enosys), (0x06, 0, 0, 0x7fff0000)))
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(prctl_seccomp, filter_mode, ctypes.c_char_p(program), 0, 0) != 0:
        skip(f"needs a seccomp filter: {os.strerror(ctypes.get_errno())}")


def enter_pid_namespace():
    """Starts the script once more in a PID namespace of its own: what a regression signals there is not the machine."""
    inside = "PROCTOR_E2E_NAMESPACE"
    if os.environ.get(inside) or os.geteuid() != 0:
        return
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("needs:pid_namespace")
    os.execvpe(command[0], [*command, sys.executable, "-B", *sys.argv], {**os.environ, inside: "1"})


def set_uid_copy():
    """misbehaving as a program that makes root of who may start it: the user of become(). Root needs none."""
    return str(BIN / ("misbehaving" if os.geteuid() == 0 else "misbehaving-set-uid"))


def become(uid):
    """Goes on as `uid`, in a child; the parent cleans up. The programs are copied to where anybody can read them.
    -> a function of a pid: the parent, which is still root, kills it"""
    global BIN
    if os.geteuid() != 0:
        skip(f"needs root to become uid {uid}")
    public = Path(tempfile.mkdtemp(prefix="proctor-e2e-bin-"))
    public.chmod(0o755)
    for name in ("proctor", "proctor-guard", "misbehaving"):
        shutil.copy2(BIN / name, public / name)
    set_uid = public / "misbehaving-set-uid"
    shutil.copy2(BIN / "misbehaving", set_uid)
    os.chown(set_uid, 0, uid)
    set_uid.chmod(0o4750)
    group = delegate_cgroup(uid)
    sys.stdout.flush()
    wishes, wish = os.pipe()
    child = os.fork()
    if child:
        os.close(wish)
        for line in os.fdopen(wishes):
            os.kill(int(line), signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        shutil.rmtree(public)
        if group:
            group.rmdir()
        sys.exit(os.waitstatus_to_exitcode(status))
    if group:
        (group / "cgroup.procs").write_text("0")
    BIN = public
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    os.chdir("/")
    return lambda pid: os.write(wish, f"{pid}\n".encode())


class Sandbox:
    """A directory of one test, with a home and a state directory of its own; removed at its end."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="proctor-e2e-"))
        self.runs = 0
        self.started = []
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("PROCTOR_")}
        for name in ("CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_WORKSPACE"):
            self.env.pop(name, None)
        (self.path / "state").mkdir(mode=0o700)
        self.env.update(HOME=str(self.path), XDG_CONFIG_HOME=str(self.path / "config"),
                        XDG_RUNTIME_DIR=str(self.path / "state"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if any(process.poll() == -signal.SIGKILL for process in self.started):
            self.proctor("finish", self.path / "nowhere")  # removes the scratch of runners that were killed
        shutil.rmtree(self.path, ignore_errors=True)

    def out(self):
        self.runs += 1
        return self.path / f"run{self.runs}"

    def last_out(self):
        return self.path / f"run{self.runs}"

    def run_keys(self, **keys):
        """Sets these keys of [run], and no others, in the file of the user."""
        file = Path(self.env["XDG_CONFIG_HOME"]) / "proctor" / "proctor.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        texts = {key: json.dumps(value if isinstance(value, int) else str(value)) for key, value in keys.items()}
        file.write_text("[run]\n" + "".join(f"{key} = {text}\n" for key, text in texts.items()))

    def command(self, *args):
        return [str(BIN / "proctor"), *map(str, args)]

    def proctor(self, *args, timeout=180, **more):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        options.setdefault("env", self.env)
        options.setdefault("cwd", self.path)
        return subprocess.run(self.command(*args), stdin=subprocess.DEVNULL, text=True, errors="replace",
                              timeout=timeout, **options)

    def start(self, *args, wrap=None, env=None, **more):
        command = self.command(*args)
        self.started.append(subprocess.Popen(
            wrap(command) if wrap else command, cwd=self.path, env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", **more))
        return self.started[-1]

    def finish(self, process, seconds=60):
        try:
            _, errors = process.communicate(timeout=seconds)
            return errors
        except subprocess.TimeoutExpired:
            process.kill()
            check(False, f"proctor still runs after {seconds} s")

    def why_not(self, layer):
        """Why this layer does not work here, or None."""
        done = self.proctor("run", "--containment", layer, "--out", self.out(), "--", "/bin/true")
        return None if done.returncode == 0 else (done.stderr.strip() or f"exit {done.returncode}")


def killed(process):
    """128 + n as a shell shows it."""
    return 128 - process.returncode if process.returncode < 0 else process.returncode
