#!/usr/bin/env python3
"""The image of stack cpu-sim, built from its lock with a base made of Debian packages in it: no engine, no registry. A
second build gives the same image. By `proctor stack run` and by the line that it prints Proctor runs in it, as a user that is
not root and without rights: on the containment layer pidns, with leases that the host sees.

    image.py [ENGINE...]     podman, buildah; default: those that are installed
"""

import fcntl
import json
import os
import platform
import re
import shutil
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path

from harness import BIN, ROOT, Sandbox, check, check_sums, report, skip

STACK = "cpu-sim"
NAME = f"proctor-{STACK}"
SUITE = "bookworm"
BASE = f"localhost/base:{SUITE}"
MIRROR = "http://deb.debian.org/debian"  # the lock's snapshot is not within everybody's reach; versions and key hold
EPOCH = "1760000000"  # one moment for every file of both builds
WEEK = 7 * 24 * 3600


def run(*command, check_exit=True, **options):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600, **options)
    check(not check_exit or done.returncode == 0, *command, "ended with", done.returncode, "\n", done.stdout[-4000:])
    return done


def base_tar():
    """Kept for a week. The same packages give the same bytes."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "proctor/image"
    tar = cache / f"{SUITE}.tar"
    if not tar.exists() or time.time() - tar.stat().st_mtime > WEEK:
        cache.mkdir(parents=True, exist_ok=True)
        part = cache / f"{SUITE}.{os.getpid()}.part.tar"
        run("mmdebstrap", "--quiet", "--variant=apt", SUITE, part, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
        part.rename(tar)
    return tar


class Images:
    """A store of its own, which goes with its sandbox."""

    def __init__(self, path):
        self.path = path
        self.buildah_words = ["buildah", "--root", path / "store", "--runroot", path / "run",
                              "--storage-driver", "overlay"]
        self.nothing = path / "context"  # the Dockerfile copies nothing
        self.nothing.mkdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Removes the mounts too, on which removing the directory would fail."""
        for words in (("umount", "--all"), ("rm", "--all"), ("rmi", "--all", "--force")):
            self.buildah(*words, check_exit=False)
        run("umount", self.path / "store/overlay", check_exit=False)  # buildah mounts it on itself

    def buildah(self, *words, **options):
        return run(*self.buildah_words, *words, **options)

    def output(self, *words):
        return self.buildah(*words).stdout.strip()

    def import_base(self, tar):
        container = self.output("from", "scratch")
        self.buildah("add", "--quiet", container, tar, "/")
        self.buildah("commit", "--quiet", "--timestamp", "0", container, BASE)
        self.buildah("rm", container)
        return self.digest(BASE)

    def digest(self, image):
        return self.output("inspect", "--type", "image", "--format", "{{.FromImageDigest}}", image)

    def build(self, name, dockerfile):
        self.buildah("bud", "--isolation", "chroot", "--network", "host", "--pull-never", "--layers=false",
                     "--timestamp", EPOCH, "--build-arg", f"APT_DEBIAN={MIRROR}", "--file", dockerfile,
                     "--tag", f"localhost/{name}", self.nothing)
        return self.digest(f"localhost/{name}")

    def files(self, name):
        container = self.output("from", "--pull-never", f"localhost/{name}")
        return Path(self.output("mount", container))


def rendered(digest, directory):
    """The Dockerfile of our lock, in which only the base is another one: that of this machine, by its digest."""
    lock = (ROOT / "docker/stacks" / f"{STACK}.toml").read_text()
    lock, images = re.subn(r'(?m)^image .*$', f'image = "{BASE}"', lock)
    lock, digests = re.subn(r'(?m)^digest .*$', f'digest = "{digest}"', lock)
    check(images == digests == 1, "the lock's base is not what this test thinks:", images, digests)
    (directory / "stacks").mkdir(parents=True)
    (directory / "stacks" / f"{STACK}.toml").write_text(lock)
    run(BIN / "proctor", "stack", "render", "--dir", directory, STACK)
    return directory / STACK / "Dockerfile"


def difference(images, one, other):
    """The lines that tell two images apart: what a person needs who must mend it."""
    return run("diff", "-r", "--no-dereference", "--brief", images.files(one), images.files(other),
               check_exit=False).stdout[:4000]


class Engine:
    """One that keeps its images where this test made them. It is found in PATH, as a user's is."""

    def __init__(self, name, images, docker, sandbox):
        self.name, self.docker, self.sandbox = name, docker, sandbox
        self.out = sandbox.path / f"out of {name}"
        self.out.mkdir()
        self.out.chmod(0o777)
        runtime = shutil.which("runc") or shutil.which("crun")
        # Engines ask for more than may be had where root has no CAP_SYS_RESOURCE.
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.limits = [f"--ulimit=nofile={files}:{files}", "--ulimit=nproc=4096:4096"]
        words = f"{shutil.which(name)} --root {images.path}/store --runroot {images.path}/run --storage-driver overlay"
        path = sandbox.path / f"bin of {name}"
        path.mkdir()
        if name == "buildah":
            script = (f"if [ \"$1\" = from ]; then shift; set -- from {' '.join(self.limits)} \"$@\"; fi\n"
                      f"BUILDAH_RUNTIME={runtime} exec {words} \"$@\"\n")
        else:
            script = f"exec {words} --runtime {runtime} \"$@\"\n"
        (path / name).write_text(f"#!/bin/sh\n{script}")
        (path / name).chmod(0o755)
        self.env = {**sandbox.env, "PATH": f"{path}:{os.environ['PATH']}", "OUT": str(self.out)}
        if name != "buildah":
            self.env["PROCTOR_RUN_ARGS"] = " ".join([*self.limits, "--network=none"])

    def stack_run(self, *words, options=()):
        return self.sandbox.proctor("stack", "run", STACK, "--engine", self.name, "--dir", self.docker, *options, "--",
                                    *words, env=self.env, timeout=600)

    def checked(self, *words):
        done = self.stack_run(*words)
        check(done.returncode == 0, self.name, *words, "ended with", done.returncode, done.stdout[-4000:],
              done.stderr[-4000:])
        return done.stdout


def layer_and_leases(text, who):
    check(re.search(r"^  pidns +works$", text, re.M), who, "the layer pidns does not work:", text)
    check("/run/lock (scope: host)" in text, who, "the leases are not shared:", text)


def stack_runs(engine, image):
    check(engine.checked("id", "-u").strip() == "10001", "it does not run as the image's user")
    layer_and_leases(engine.checked("proctor", "doctor"), engine.name)
    # Collectives would only skip: the image has no Gloo.
    engine.checked("proctor", "run", "visibility", "memory", "kernels", "management", "--sim", "xpu:2x2,cuda:4", "--out", "/out/run")
    document = report(engine.out / "run")
    check_sums(document)
    check(document["run"]["exit_code"] == 0, document["summary"])
    check(document["run"]["containment"] == "pidns", document["run"]["containment"])
    check(document["run"]["simulated"], "a simulated run is not labelled as one")
    facts = {fact["name"]: fact["value"] for fact in document["run"]["fingerprint"]}
    check(facts["image.stack"] == STACK, "the report does not name the image's stack:", facts)
    check(facts["image.lock"] == image.lock, "the report names lock", facts["image.lock"], "the image", image.lock)
    check(facts["image.digest"] == image.digest, "the report names the image", facts["image.digest"], "not", image.digest)
    backends = {case["backend"] for case in document["cases"] if case["outcome"] == "pass"}
    check("xpu" in backends, "nothing passed on", backends)
    ended = engine.stack_run("sh", "-c", "echo 'a  b'; exit 7")
    check((ended.returncode, ended.stdout) == (7, "a  b\n"), "its end and its words:", ended.returncode, ended.stdout)
    refused = engine.stack_run("true", options=["--option=--privileged"])
    check(refused.returncode == 2 and "--privileged" in refused.stderr, refused.returncode, refused.stderr)
    status = dict(line.split(":\t") for line in engine.checked("cat", "/proc/self/status").splitlines() if ":\t" in line)
    check(status["Seccomp"] == "2" and int(status["CapBnd"], 16) == 0, "it has rights, or no filter:", status)
    check(status["NoNewPrivs"] == "1" or engine.name == "buildah", "it can have new rights:", status)
    print(f"ok {engine.name}: {document['summary']['pass']} of {document['summary']['planned']} pass on pidns")


def lease_of_the_host_counts(engine):
    """A device that somebody on the host has is not free inside."""
    device = f"xpu:test-{os.getpid()}"
    file = Path(f"/run/lock/{device}.lease")
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        os.fchmod(fd, 0o666)  # as proctor makes them
        os.write(fd, json.dumps({"format": 1, "device": device, "pid": os.getpid(), "uid": 0, "run": "of-the-host", "command": "x",
                                 "since": "now", "boot_id": "", "dirty": False, "endured": ""}).encode())
        held = f"{device} is held by pid {os.getpid()} (uid 0, run of-the-host"
        check(held not in engine.checked("proctor", "doctor"), "it is held before anybody locks it")
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        text = engine.checked("proctor", "doctor")
        check(held in text, engine.name, "a lease of the host is not seen inside:", text)
    finally:
        file.unlink()
        os.close(fd)


def ended_by_a_signal(engine):
    """What ends the command that a person sees ends the container."""
    if engine.name == "buildah":
        return  # in the moment of the start it leaves the container alive, and nothing says when that is over
    last = f"sleep 1000{os.getpid()}"
    process = subprocess.Popen([BIN / "proctor", "stack", "run", STACK, "--engine", engine.name, "--dir", engine.docker, "--",
                                "sh", "-c", f"echo up; exec {last}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               text=True, env=engine.env)
    check(process.stdout.readline() == "up\n", engine.name, "did not start")
    process.terminate()
    check(process.wait(60) == 143, engine.name, "ended with", process.returncode)
    alive = run("pgrep", "--full", f"^{last}", check_exit=False).stdout
    check(alive == "", engine.name, "left", alive)


def printed_line_runs(engine):
    """What --print prints is a line for a shell, with which a person starts the same."""
    line = engine.sandbox.proctor("stack", "run", STACK, "--engine", engine.name, "--dir", engine.docker, "--print", "--",
                                  "proctor", "doctor", env=engine.env)
    check(line.returncode == 0, line.stderr)
    done = subprocess.run(["sh", "-c", line.stdout], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=120, env=engine.env)
    layer_and_leases(done.stdout, f"{line.stdout}\n{done.stderr}")


class Image:
    def __init__(self, images):
        inspect = ("inspect", "--type", "image", "--format")
        self.digest = "sha256:" + images.output(*inspect, "{{.FromImageID}}", f"localhost/{NAME}")
        self.lock = images.output(*inspect, '{{index .OCIv1.Config.Labels "dev.proctor.stack.lock"}}', f"localhost/{NAME}")


def main():
    if os.geteuid() != 0:
        skip("needs:root: buildah and mmdebstrap make file systems here")
    for tools in (("buildah",), ("mmdebstrap",), ("runc", "crun")):
        if not any(shutil.which(tool) for tool in tools):
            skip(f"needs:{tools[0]}")
    libc = tuple(map(int, platform.libc_ver()[1].split(".")))
    if libc > (2, 36):
        skip(f"unsupported:glibc {platform.libc_ver()[1]}: this build does not run in the image, which has 2.36")
    tar = base_tar()
    with Sandbox() as sandbox:
        sandbox.path.chmod(0o755)
        with Images(sandbox.path) as images:
            dockerfile = rendered(images.import_base(tar), sandbox.path / "docker")
            first, second = images.build(NAME, dockerfile), images.build("again", dockerfile)
            check(first == second != "", "built twice, two images:", first, second, "\n",
                  difference(images, NAME, "again"))
            print("image", first, "built twice")
            for name in sys.argv[1:] or [name for name in ("podman", "buildah") if shutil.which(name)]:
                engine = Engine(name, images, sandbox.path / "docker", sandbox)
                stack_runs(engine, Image(images))
                lease_of_the_host_counts(engine)
                printed_line_runs(engine)
                ended_by_a_signal(engine)


if __name__ == "__main__":
    main()
