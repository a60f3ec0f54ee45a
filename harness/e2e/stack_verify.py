#!/usr/bin/env python3
"""`proctor stack verify` against a machine made of files, and against a world of one loopback server: a registry, a
repository (testdata/apt, signed once by keys that nobody has any more), and addresses that lie, vanish or hang."""

import hashlib
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness import Sandbox, check, skip

APT = Path(__file__).resolve().parent / "testdata" / "apt"
DIGEST = "sha256:" + "1" * 64
DEB = b"a package"
HASH = hashlib.sha256(DEB).hexdigest()
LOCK = '''# People wrote this line.
version = 1
title   = "A stack"
backend = "none"

[base]
image      = "127.0.0.1:{port}/demo/base:1"
unverified = true

[[repository]]
name       = "demo"
url        = "http://127.0.0.1:{port}/apt/{{snapshot}}"
snapshot   = "20240101T000000Z"
suites     = ["noble"]
components = ["main"]
unverified = true

[[package]]
name       = "demo"
version    = "1.0-1"
unverified = true

[[file]]
name       = "other"
version    = "2.0-1"
url        = "http://127.0.0.1:{port}/files/other.deb"
unverified = true

[run]
shm_size = "1g"
'''


class World(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def manifest(self):
        if self.headers.get("Authorization") != "Bearer pass":
            self.answer(401, WWW_Authenticate='Bearer realm="http://127.0.0.1:%d/token",service="demo"' % self.server.server_port)
        elif "application/vnd.oci.image.index.v1+json" not in self.headers.get("Accept", ""):
            self.answer(406)
        else:
            self.answer(200, Docker_Content_Digest=self.server.digest)

    def do_GET(self):
        world, path = self.server, self.path
        world.asked.append(path)
        if world.hang in path and world.hang:
            world.released.wait()
        elif path.startswith("/v2/demo/base/manifests/") and world.digest:
            self.manifest()
        elif path == "/token?service=demo&scope=repository:demo/base:pull":
            self.answer(200, b'{"token": "pass"}')
        elif path in world.files:
            self.answer(200, world.files[path])
        else:
            self.answer(404)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Verify:
    """A world, a lock in a directory of its own, and the command."""

    def __init__(self, sandbox):
        self.sandbox = sandbox
        self.world = ThreadingHTTPServer(("127.0.0.1", 0), World)
        self.world.daemon_threads = True
        self.world.digest, self.world.hang, self.world.asked = DIGEST, "", []
        self.world.released = threading.Event()
        dists = "/apt/20240101T000000Z/dists/noble/"
        self.release, self.index, self.deb = dists + "InRelease", dists + "main/binary-amd64/Packages.gz", "/files/other.deb"
        self.world.files = {self.release: (APT / "InRelease").read_bytes(),
                            self.index: (APT / "Packages.gz").read_bytes(), self.deb: DEB}
        threading.Thread(target=self.world.serve_forever, args=[0.02], daemon=True).start()
        self.lock = sandbox.path / "docker" / "stacks" / "demo.toml"
        self.lock.parent.mkdir(parents=True)
        self.text = LOCK.format(port=self.world.server_port)
        self.lock.write_text(self.text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.world.released.set()
        self.world.shutdown()
        self.world.server_close()

    def run(self, *arguments, keyring="keyring.gpg", **more):
        return self.sandbox.proctor("stack", "verify", "--online", "--dir", self.sandbox.path / "docker", "--keyring",
                                    APT / keyring, *arguments, **more)

    def expect(self, code, *texts, arguments=(), **more):
        done = self.run(*arguments, **more)
        check(done.returncode == code, "exit", done.returncode, "not", code, done.stdout, done.stderr)
        for text in texts:
            check(text in done.stdout, f"no {text!r} in", done.stdout, done.stderr)
        return done


def key_of(name):
    """The fingerprint, as gpgv tells it."""
    done = subprocess.run(["gpgv", "--status-fd", "1", "--keyring", APT / name, APT / "InRelease.two"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [line.split()[-1] for line in done.stdout.splitlines() if "VALIDSIG" in line]


def fills_what_is_missing(verify):
    first, _ = key_of("keyring.gpg")
    verify.expect(1, f"new      base.digest: {DIGEST}", f"new      repository.demo.key: {first}",
                  "ok       package.demo: 1.0-1", f"new      file.other.sha256: {HASH}",
                  "--write would change",
                  "base.digest, repository.demo.key, package.demo is verified, file.other.sha256")
    check(verify.lock.read_text() == verify.text, "without --write nothing is written")
    verify.expect(0, "changed", "then: proctor stack render demo", arguments=["--write"])
    text = verify.lock.read_text()
    for line in (f'digest     = "{DIGEST}"', f'key        = "{first}"', f'sha256     = "{HASH}"', "# People wrote this line."):
        check(line in text, line, "is not in", text)
    check("unverified" not in text, text)
    verify.expect(0, f"ok       base.digest: {DIGEST}", f"ok       file.other.sha256: {HASH}")
    check(f"/v2/demo/base/manifests/{DIGEST}" in verify.world.asked, "what is verified is asked by digest")
    print("ok what is missing is filled in, and then verified")


def only_verified(verify):
    """A value that is there is compared; then the entry is no longer unverified."""
    verify.lock.write_text(verify.text.replace('other.deb"\n', f'other.deb"\nsha256 = "{HASH}"\n'))
    verify.expect(0, f"ok       file.other.sha256: {HASH}", "file.other is verified", arguments=["--write"])
    check("unverified" not in verify.lock.read_text(), verify.lock.read_text())
    print("ok a value that was there is verified")


def what_lies(verify):
    """Nothing that differs is ever written over what the lock says."""
    first, second = key_of("keyring.gpg")
    wrong = "2" * 64
    verify.lock.write_text(verify.text.replace('other.deb"\n', f'other.deb"\nsha256 = "{wrong}"\n')
                           .replace('["main"]\n', f'["main"]\nkey = "{second}"\n').replace('"1.0-1"', '"1.1-1"')
                           .replace('demo/base:1"\n', 'demo/base:1"\ndigest = "sha256:%s"\n' % wrong))
    before = verify.lock.read_text()
    verify.expect(1, f"differs  file.other.sha256: the lock contains {wrong}", f"the lock contains sha256:{wrong}, the registry {DIGEST}",
                  f"differs  repository.demo.key: the lock contains {second}, but noble is signed by {first}", arguments=["--write"])
    check(verify.lock.read_text() == before, "a lie was written into the lock")
    verify.lock.write_text(verify.text.replace('"1.0-1"', '"1.1-1"'))
    verify.expect(1, "differs  package.demo: the lock contains 1.1-1, but there is 1.0-1")
    verify.world.files[verify.index] += b"x"
    verify.expect(1, "Packages.gz does not match the signature of the repository")
    forged = hashlib.sha256(verify.world.files[verify.index]).hexdigest()
    verify.world.files[verify.release] = (f"SHA256:\n {forged} 1 main/binary-amd64/Packages.gz\n\n".encode()
                                          + (APT / "InRelease").read_bytes())  # gpgv passes over what stands before
    verify.expect(1, "Packages.gz does not match the signature of the repository")
    verify.world.files[verify.release] = (APT / "InRelease").read_bytes().replace(b"Origin: Proctor", b"Origin: Another")
    verify.expect(1, "verify the signature: it does not match the text")
    verify.world.files[verify.release] = b"Origin: Proctor\n"
    verify.expect(1, "failed to find a valid signature")
    print("ok wrong hash, digest, key, version, index and signature")


def what_is_gone(verify):
    verify.world.files.clear()
    verify.world.digest = ""
    verify.expect(1, "differs  base.digest: the registry has no 127.0.0.1", "InRelease: HTTP 404", "other.deb: HTTP 404")
    print("ok what is gone")


def what_hangs(verify):
    verify.world.hang = "/files/"
    verify.expect(75, "silent   file.other.sha256: failed to ask http://127.0.0.1", "changed",
                  arguments=["--timeout", "1s", "--write"])
    check("sha256 " not in verify.lock.read_text(), "nothing is known of it")
    verify.world.hang = "/"
    verify.expect(75, "silent   base.digest", "silent   package.demo", arguments=["--timeout", "300ms"])
    print("ok a server that hangs costs its limit")


def wheels(verify):
    """Nobody looks them up; that is said, and is neither red nor green."""
    verify.lock.write_text(verify.text + '\n[[package]]\nname = "python3-pip"\nversion = "1"\n\n[[wheel]]\nname = "numpy"\n'
                           f'version = "2.3.4"\nsha256 = ["{HASH}"]\n')
    verify.world.hang = "/"
    verify.expect(75, "unasked  wheel.numpy: 2.3.4: it is not checked online", arguments=["--timeout", "300ms"])
    print("ok wheels")


def keys(verify):
    verify.world.files[verify.release] = (APT / "InRelease.two").read_bytes()
    verify.expect(1, "unknown  repository.demo.key: 2 keys have signed it; choose one")
    verify.world.files[verify.release] = (APT / "InRelease").read_bytes()
    verify.expect(1, "no keyring has the key", "--keyring", keyring="other.gpg")
    print("ok two keys, and none")


def mirror(verify):
    """Another address is asked, but does not make the repository verified."""
    port = verify.world.server_port
    for path in (verify.release, verify.index):
        verify.world.files[path.replace("/apt/20240101T000000Z", "/mirror")] = verify.world.files.pop(path)
    verify.expect(0, "/mirror/dists/noble answers", arguments=["--mirror", f"demo=http://127.0.0.1:{port}/mirror", "--write"])
    text = verify.lock.read_text()
    check("unverified = true" in text and "\nkey " in text, text)
    print("ok a mirror")


def refused(verify):
    empty = verify.sandbox.path / "empty"
    empty.mkdir()
    done = verify.run(env={**verify.sandbox.env, "PATH": str(empty)})
    check(done.returncode == 2 and "curl" in done.stderr, done.returncode, done.stdout, done.stderr)
    for arguments, text in ((["demmo"], "Did you mean `demo`?"), (["--mirror", "demo"], "NAME=URL"),
                            (["--timeout", "0s"], "zero"), (["--root", "/"], "--root")):
        done = verify.run(*arguments)
        check(done.returncode == 2 and text in done.stderr, arguments, done.returncode, done.stderr)
    done = verify.run(keyring="nothing.gpg")
    check(done.returncode == 2 and "nothing.gpg" in done.stderr, done.returncode, done.stderr)
    done = verify.sandbox.proctor("stack", "verify", "--write")
    check(done.returncode == 2 and "--online" in done.stderr, done.returncode, done.stderr)
    print("ok what is refused")


def machine(verify):
    """Offline: an image that is what its lock says, and one that is not."""
    root = verify.sandbox.path / "root"

    def proctor(*arguments):
        return verify.sandbox.proctor("stack", "verify", "--root", root, *arguments)

    (root / "etc/proctor").mkdir(parents=True)
    (root / "var/lib/dpkg").mkdir(parents=True)
    done = proctor("--dir", verify.sandbox.path / "docker")
    check(done.returncode == 2 and "Name it" in done.stderr, "no image, no name:", done.returncode, done.stderr)
    status = "Package: demo\nStatus: install ok installed\nVersion: 1.0-1\n\nPackage: other\nStatus: install ok installed\nVersion: 2.0-1\n"
    (root / "var/lib/dpkg/status").write_text(status)
    digest = hashlib.sha256(verify.lock.read_bytes()).hexdigest()
    (root / "etc/proctor/stack").write_text(f"stack demo\nlock sha256:{digest}\n")
    done = proctor("--dir", verify.sandbox.path / "docker")
    check(done.returncode == 0 and "ok       demo 1.0-1" in done.stdout, done.returncode, done.stdout, done.stderr)
    (root / "var/lib/dpkg/status").write_text(status.replace("2.0-1", "2.1-1"))
    done = proctor()  # docker/ is here
    check(done.returncode == 1 and "differs  other: the lock requires 2.0-1, but 2.1-1 is installed" in done.stdout, done.stdout)
    shutil.rmtree(verify.sandbox.path / "docker")
    done = proctor("cpu-sim")
    check(done.returncode == 1 and "cpu-sim, by its lock in this program" in done.stdout, done.stdout, done.stderr)
    check("differs  libze1: the lock requires" in done.stdout and "image: it belongs to the stack demo" in done.stdout, done.stdout)
    done = proctor("cpu-simm")
    check(done.returncode == 2 and "Did you mean `cpu-sim`?" in done.stderr, done.stderr)
    print("ok machines and their locks")


def main():
    if not shutil.which("curl") or not shutil.which("gpgv"):
        skip("curl and gpgv are needed")
    for test in (fills_what_is_missing, only_verified, what_lies, what_is_gone, what_hangs, wheels, keys, mirror, refused, machine):
        with Sandbox() as sandbox:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
                sandbox.env.pop(name, None)
            with Verify(sandbox) as verify:
                test(verify)


main()
