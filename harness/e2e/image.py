#!/usr/bin/env python3
"""The image of stack cpu-sim, built from its lock with a base made of Debian packages in it: no engine, no registry. In it
Proctor runs its suites on simulated devices, as a user that is not root. A second build gives the same image."""

import os
import platform
import re
import shutil
import subprocess
import time
from pathlib import Path

from harness import BIN, ROOT, Sandbox, check, check_sums, report, skip

STACK = "cpu-sim"
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


def suites_pass_in(images, sandbox):
    out = sandbox.path / "out"
    out.mkdir()
    out.chmod(0o777)
    container = images.output("from", "--pull-never", f"localhost/{STACK}")
    inside = ("run", "--isolation", "chroot", "--user", "10001:10001", "--volume", f"{BIN.parent}:/opt/proctor:ro",
              "--volume", f"{out}:/out", container, "--")
    check(images.output(*inside, "id", "-u") == "10001", "it does not run as the image's user")
    # Collectives would only skip: the image has no Gloo.
    images.buildah(*inside, "/opt/proctor/bin/proctor", "run", "visibility", "memory", "kernels", "--sim", "xpu:2x2,cuda:4",
                   "--out", "/out/run")
    document = report(out / "run")
    check_sums(document)
    check(document["run"]["exit_code"] == 0, document["summary"])
    check(document["run"]["simulated"], "a simulated run is not labelled as one")
    facts = {fact["name"]: fact["value"] for fact in document["run"]["fingerprint"]}
    check(facts["image.stack"] == STACK, "the report does not name the image's stack:", facts)
    label = images.output("inspect", "--format", '{{index .OCIv1.Config.Labels "dev.proctor.stack.lock"}}', container)
    check(facts["image.lock"] == label != "", "the report names lock", facts["image.lock"], "the image", label)
    backends = {case["backend"] for case in document["cases"] if case["outcome"] == "pass"}
    check("xpu" in backends, "nothing passed on", backends)
    return document["summary"]


def main():
    if os.geteuid() != 0:
        skip("needs:root: buildah and mmdebstrap make file systems here")
    for tool in ("buildah", "mmdebstrap"):
        if shutil.which(tool) is None:
            skip(f"needs:{tool}")
    libc = tuple(map(int, platform.libc_ver()[1].split(".")))
    if libc > (2, 36):
        skip(f"unsupported:glibc {platform.libc_ver()[1]}: this build does not run in the image, which has 2.36")
    tar = base_tar()
    with Sandbox() as sandbox:
        sandbox.path.chmod(0o755)
        with Images(sandbox.path) as images:
            dockerfile = rendered(images.import_base(tar), sandbox.path / "docker")
            first, second = images.build(STACK, dockerfile), images.build("again", dockerfile)
            check(first == second != "", "built twice, two images:", first, second, "\n",
                  difference(images, STACK, "again"))
            print("image", first, "built twice;", suites_pass_in(images, sandbox))


if __name__ == "__main__":
    main()
