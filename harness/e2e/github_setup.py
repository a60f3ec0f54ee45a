#!/usr/bin/env python3
"""The action setup-proctor: from a directory, from a tarball with its hash, and what it refuses."""

import hashlib
import sys
import tarfile

from github import GithubSandbox
from harness import BIN, check

VERSION = {"id": "version", "run": "exec proctor --version"}


def setup(**given):
    return [{"id": "setup", "uses": "./.github/actions/setup-proctor", "with": given}, VERSION]


def tarball(sandbox, program, *names):
    path = sandbox.path / f"a 'tar'ball of {len(names)}.tar"
    with tarfile.open(path, "w") as archive:
        for name in names:
            archive.add(program, name)
    return str(path), hashlib.sha256(path.read_bytes()).hexdigest()


def accepted(sandbox):
    path, digest = tarball(sandbox, BIN / "proctor", "proctor-1.2.3/bin/proctor")
    for given in ({"path": str(BIN)}, {"tarball": path, "sha256": digest}):
        job = sandbox.job()
        check(job.run(setup(**given)) == "success", job.text)
        check(job.record("version").outcome == "success" and job.record("setup").outputs["directory"], job.text)


def refused(sandbox):
    program = sandbox.path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path, digest = tarball(sandbox, program, "bin/proctor")
    two, two_digest = tarball(sandbox, program, "a/proctor", "b/proctor")
    token = sandbox.path / "injected"
    table = [
        ({}, "give tarball and sha256, or path"),
        ({"path": str(BIN), "tarball": path}, "not both"),
        ({"tarball": path}, "sha256 '' is not 64 hexadecimal digits"),
        ({"tarball": path, "sha256": digest[:-1] + ("0" if digest[-1] != "0" else "1")}, "is not the file that sha256"),
        ({"tarball": two, "sha256": two_digest}, "has 2 programs named proctor"),
        ({"tarball": "http://localhost/proctor.tar", "sha256": digest}, "only https and files"),
        ({"path": str(sandbox.path / "nothing")}, "path is no directory"),
        ({"path": str(sandbox.path)}, "does not run here"),
        ({"path": f"$(touch {token})`touch {token}`\"; touch {token}; \""}, "path is no directory"),
    ]
    for given, message in table:
        job = sandbox.job()
        check(job.run(setup(**given)) == "failure", given, job.text)
        check(message in job.text, "not said:", message, job.text)
        check(job.record("version").outcome == "skipped", job.text)
    check(not token.exists(), "input was read as shell")


def main():
    for scenario in (accepted, refused):
        with GithubSandbox() as sandbox:
            scenario(sandbox)
            print(f"ok {scenario.__name__}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
