#!/usr/bin/env python3
"""The image of stack cpu-sim, built from its lock with a base made of Debian packages in it: no engine, no registry. A
second build gives the same image. With the options of the stack's job container Proctor runs in it, as a user that is not
root and without rights: on the containment layer pidns, with leases that the host sees.

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
        self.store = ["--root", path / "store", "--runroot", path / "run", "--storage-driver", "overlay"]
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
        return run("buildah", *self.store, *words, **options)

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
    """Starts containers with the options of the stack's job container, from the store in which this test made the image."""

    def __init__(self, name, images, docker, sandbox):
        self.name, self.images = name, images
        self.out = sandbox.path / f"out of {name}"
        self.out.mkdir()
        self.out.chmod(0o777)
        text = (docker / STACK / "job-container.yaml").read_text()
        self.options = [option.replace("/opt/proctor/share", str(BIN / "share"))
                        for option in re.findall(r"^    (--.*)$", text, re.M)]
        # Engines ask for more than may be had where root has no CAP_SYS_RESOURCE.
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.options += [f"--ulimit=nofile={files}:{files}", "--ulimit=nproc=4096:4096",
                         f"--volume={BIN.parent}:/opt/proctor:ro", f"--volume={self.out}:/out",
                         f"--env=PROCTOR_IMAGE_DIGEST={Image(images).digest}"]
        self.runtime = shutil.which("runc") or shutil.which("crun")

    def run(self, *words):
        if self.name != "buildah":
            return run(self.name, *self.images.store, "--runtime", self.runtime, "run", "--rm", "--pull=never",
                       "--network=none", *self.options, f"localhost/{NAME}", *words, check_exit=False)
        # buildah has no init process, no limit of processes and no no-new-privileges.
        of_the_run = [option for option in self.options if option.startswith(("--env=", "--volume="))]
        of_the_container = [option for option in self.options
                            if option.startswith(("--cap-drop=", "--shm-size=", "--ulimit=", "--security-opt=seccomp="))]
        container = self.images.output("from", "--pull-never", *of_the_container, f"localhost/{NAME}")
        done = self.images.buildah("run", "--isolation=oci", "--user=10001:10001", *of_the_run, container, "--", *words,
                                   check_exit=False, env={**os.environ, "BUILDAH_RUNTIME": self.runtime})
        self.images.buildah("rm", container)
        return done

    def checked(self, *words):
        done = self.run(*words)
        check(done.returncode == 0, self.name, *words, "ended with", done.returncode, done.stdout[-4000:])
        return done.stdout

    def proctor(self, *words):
        return self.checked("/opt/proctor/bin/proctor", *words)


def proctor_runs(engine, image):
    check(engine.checked("id", "-u").strip() == "10001", "it does not run as the image's user")
    text = engine.proctor("doctor")
    check(re.search(r"^  pidns +works$", text, re.M), engine.name, "the layer pidns does not work:", text)
    check("/run/lock (scope: host)" in text, engine.name, "the leases are not shared:", text)
    # Collectives would only skip: the image has no Gloo.
    engine.proctor("run", "visibility", "memory", "kernels", "management", "--sim", "xpu:2x2,cuda:4", "--out", "/out/run")
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
        check(held not in engine.proctor("doctor"), "it is held before anybody locks it")
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        text = engine.proctor("doctor")
        check(held in text, engine.name, "a lease of the host is not seen inside:", text)
    finally:
        file.unlink()
        os.close(fd)


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
                proctor_runs(engine, Image(images))
                lease_of_the_host_counts(engine)


if __name__ == "__main__":
    main()
