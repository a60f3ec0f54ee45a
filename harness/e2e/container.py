#!/usr/bin/env python3
"""Proctor in a container without privileges: a Debian 12 image, a user that is not root, no capabilities, a root file
system that cannot be written. It works on the containment layer that it can have there, and says which one and why:
under the seccomp profile that is rendered beside our images it is pidns, under one like Docker's own it is not.

    container.py STORE     STORE: where container_image.sh keeps its image
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

from harness import BIN, ROOT, Sandbox, check, check_sums, report, wait_until, write_config

SCRIPTS = ("exec.py", "mishaps.py", "leases.py", "device_checks.py", "health.py", "foreign_holders.py", "diagnosis.py",
           "telemetry.py", "rerun.py")
IMAGE = "localhost/proctor-debian12:e2e"
PROFILE = ROOT / "docker/seccomp.json"
UID = 10001
SUITES = ("visibility", "memory", "kernels", "management", "collectives")
NEW_NAMESPACES = [1 << bit for bit in (17, 25, 26, 27, 28, 29, 30)]  # CLONE_NEW* of clone(2)


def without_namespaces():
    """What Docker's own profile refuses to who lacks CAP_SYS_ADMIN; clone3 cannot be filtered by its flags."""
    refused = [{"names": ["unshare", "setns", "mount"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
               {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]
    refused += [{"names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1,
                 "args": [{"index": 0, "op": "SCMP_CMP_MASKED_EQ", "value": flag, "valueTwo": flag}]}
                for flag in NEW_NAMESPACES]
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": refused}


class Containers:
    """Runs words in new containers of the image, which see the build as /proctor and these tests in /source."""

    def __init__(self, store, sandbox):
        self.store = Path(store)
        refusing = sandbox.path / "seccomp.json"
        refusing.write_text(json.dumps(without_namespaces()))
        self.profiles = {"pidns": PROFILE, "subreaper": refusing}
        sandbox.path.chmod(0o755)
        self.shared = sandbox.path / "shared"  # a directory that several containers mount
        self.shared.mkdir()
        self.shared.chmod(0o777)

    def command(self, layer, *words):
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # podman asks for more than it may have
        return [*map(str, ("podman", "--root", self.store / "store", "--runroot", self.store / "run",
                           "--storage-driver", "overlay", "--runtime", "runc", "run", "--rm", "--network", "none",
                           "--ulimit", f"nofile={files}:{files}", "--ulimit", "nproc=4096:4096",
                           "--user", f"{UID}:{UID}", "--cap-drop", "all", "--security-opt", "no-new-privileges",
                           "--security-opt", f"seccomp={self.profiles[layer]}", "--read-only", "--tmpfs", "/tmp", "--workdir", "/tmp",
                           "--env", "HOME=/tmp", "--env", "PROCTOR_BIN_DIR=/proctor/bin",
                           "--volume", f"{BIN.parent}:/proctor:ro", "--volume", f"{ROOT}:/source:ro",
                           "--volume", f"{self.shared}:/shared", IMAGE, *words))]

    def run(self, layer, *words, seconds=600):
        return subprocess.run(self.command(layer, *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", timeout=seconds)

    def start(self, layer, *words):
        return subprocess.Popen(self.command(layer, *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace")


def doctor_says_why(containers, layer):
    done = containers.run(layer, "/proctor/bin/proctor", "doctor")
    # 1 on a machine whose card the container was not given.
    check(done.returncode in (0, 1), "doctor: exit", done.returncode, done.stdout, done.stderr)
    layers = done.stdout.partition("containment")[2].partition("leases")[0]
    words = {line.split()[0]: line.split(maxsplit=1)[1] for line in layers.splitlines() if line.startswith("  ")
             and not line.startswith("   ")}
    check(words["subreaper"] == "works", words)
    check(words["cgroup"].startswith("no: "), words)
    check((words["pidns"] == "works") == (layer == "pidns"), layer, words)
    check("to fix it: " in layers, "no way out is named:", layers)
    check("scope: this container only" in done.stdout, "the scope of the leases is wrong:", done.stdout)
    print(f"ok {layer}: doctor: cgroup {words['cgroup']}; pidns {words['pidns']}")


def profile_gives_no_more_than_it_must(containers):
    """Our profile lets the layer make its namespaces, and nobody make others or mount over what the engine masks."""
    for words in (("unshare", "--net", "--user", "true"), ("unshare", "--user", "true"),
                  ("nsenter", "--user", "--target", "1", "true")):
        refused = containers.run("pidns", *words)
        check(refused.returncode != 0 and "not permitted" in refused.stderr, words, refused.returncode, refused.stderr)
    status = containers.run("pidns", "cat", "/proc/self/status").stdout
    facts = dict(line.split(":\t") for line in status.splitlines() if ":\t" in line)
    check(facts["NoNewPrivs"] == "1" and facts["Seccomp"] == "2" and int(facts["CapBnd"], 16) == 0, facts)
    print("ok the profile: no other namespaces, no capabilities, no new privileges")


def suites_pass(containers, layer):
    out = f"/shared/{layer}"
    done = containers.run(layer, "/proctor/bin/proctor", "run", *SUITES, "--sim", "xpu:2x2", "--out", out)
    check(done.returncode == 0, "exit", done.returncode, done.stdout[-4000:], done.stderr[-4000:])
    document = report(containers.shared / layer)
    check_sums(document)
    check(document["run"]["containment"] == layer, document["run"]["containment"], "not", layer)
    check(document["summary"]["pass"] >= 390, document["summary"])
    print(f"ok {layer}: all suites: {document['summary']['pass']} of {document['summary']['planned']} pass")


def tests_pass(containers, layer, script, *arguments):
    """One of the other end-to-end tests, the whole of it inside the container."""
    done = containers.run(layer, "python3", "-B", f"/source/harness/e2e/{script}", *arguments, seconds=1200)
    check(done.returncode == 0, script, "in the container: exit", done.returncode, done.stdout[-4000:],
          done.stderr[-4000:])
    print(f"ok {layer}: {' '.join((script, *arguments))}")


def leases_between_containers(containers):
    """With a directory that both mount, two containers never hold one card at once, and the one that waits says why."""
    write_config(containers.shared / "hold.toml", {
        "hold": {"kind": "command", "backend": "xpu", "gpus": 1, "timeout": "60s",
                 "command": ["sh", "-c", "echo up > /shared/up; while [ ! -e /shared/end ]; do sleep 0.05; done"]}})
    write_config(containers.shared / "want.toml", {
        "want": {"kind": "command", "backend": "xpu", "gpus": 1, "command": ["true"]}})
    words = ("/proctor/bin/proctor", "run", "--sim", "xpu:1x1,state=/shared/machine", "--config")
    holder = containers.start("pidns", *words, "/shared/hold.toml", "--out", "/shared/holder")
    wait_until(lambda: (containers.shared / "up").exists() or holder.poll() is not None, 60, "holder")
    refused = containers.run("pidns", *words, "/shared/want.toml", "--lease-wait", "1s", "--out", "/shared/refused")
    (containers.shared / "end").touch()
    _, errors = holder.communicate(timeout=60)
    check(holder.returncode == 0, "the holder: exit", holder.returncode, errors)
    check(refused.returncode == 75, "a held card: exit", refused.returncode, refused.stdout, refused.stderr)
    said = json.dumps(report(containers.shared / "refused"))
    check("held by" in said and "hold" in said, "it does not say who holds the card:", said)
    granted = containers.run("pidns", *words, "/shared/want.toml", "--out", "/shared/granted")
    check(granted.returncode == 0, "a free card: exit", granted.returncode, granted.stdout, granted.stderr)
    print("ok two containers, one card: never at once, and the one that waits says who holds it")


def main():
    with Sandbox() as sandbox:
        containers = Containers(sys.argv[1], sandbox)
        profile_gives_no_more_than_it_must(containers)
        for layer in ("pidns", "subreaper"):
            doctor_says_why(containers, layer)
            suites_pass(containers, layer)
            tests_pass(containers, layer, "torture.py", "--layer", layer)
            for script in SCRIPTS:
                tests_pass(containers, layer, script)
        leases_between_containers(containers)


if __name__ == "__main__":
    sys.exit(main())
