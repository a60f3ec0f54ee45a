#!/usr/bin/env python3
"""Where Proctor's action gets Proctor from: a directory, an archive with its SHA-256, the release of its own version.

    github_install.py [SCENARIO...]
"""

import contextlib
import hashlib
import io
import os
import platform
import shutil
import sys
import tarfile

from github import ACTION, GithubSandbox, Server, require_node, run_step
from harness import BIN, ROOT, check

VERSION = {"id": "version", "run": "exec proctor --version"}
TOOLS = ("bash", "dirname", "gh", "gzip", "node", "sh", "tar")
PROCESSOR = platform.machine()
ASSET = f"proctor-1.2.3-linux-{PROCESSOR}.tar.gz"


def install(uses=ACTION, **given):
    return [{"id": "setup", "uses": uses, "with": {"run": "false", **given}}, VERSION]


def digest(data):
    return hashlib.sha256(data).hexdigest()


PROGRAM = b"#!/bin/sh\necho proctor 1.2.3\n"


def tarball(*names, programs=None):
    """As cmake/ProctorCPack.cmake lays it out: bin/proctor is a link."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", compresslevel=1) as archive:
        for name in names:
            link = tarfile.TarInfo(f"{name}/bin/proctor")
            link.type, link.linkname = tarfile.SYMTYPE, "../libexec/proctor/proctor"
            archive.addfile(link)
            for program, text in (programs or {"proctor": PROGRAM}).items():
                file = tarfile.TarInfo(f"{name}/libexec/proctor/{program}")
                file.mode, file.size = 0o755, len(text)
                archive.addfile(file, io.BytesIO(text))
    return data.getvalue()


def written(sandbox, name, data):
    (sandbox.workspace / name).write_bytes(data)
    return {"archive": name, "sha256": digest(data)}


def accept(sandbox, *steps, **more):
    job = sandbox.job(**more)
    check(job.run(steps) == "success", job.text)
    check(job.record("version").outcome == "success" and job.record("setup").outputs["directory"], job.text)
    return job


def refuse(sandbox, message, *steps, **more):
    job = sandbox.job(**more)
    check(job.run(steps) == "failure", steps, job.text)
    errors = job.record("setup").annotations.messages("error")
    check(len(errors) == 1 and message in errors[0], "not said:", message, errors, job.text)
    check(job.record("version").outcome == "skipped", job.text)
    return job


def archives(sandbox):
    given = written(sandbox, "a 'tar'ball.tar.gz", tarball("proctor-1.2.3", programs={
        name: (BIN / name).read_bytes() for name in ("proctor", "proctor-guard")}))
    absolute = {**given, "archive": str(sandbox.workspace / given["archive"])}
    for step in (install(path=str(BIN)), install(**absolute)):
        accept(sandbox, *step)
    accept(sandbox, {**run_step("--", "/bin/true", path="", **given), "id": "setup"}, VERSION)


@contextlib.contextmanager
def hide(sandbox, *programs, **instead):
    """A PATH of what the action may start, but for some; `instead`: {name: script}."""
    directory, before = sandbox.path / "tools", os.environ["PATH"]
    directory.mkdir()
    for name in TOOLS:
        if name not in (*programs, *instead) and shutil.which(name):
            (directory / name).symlink_to(shutil.which(name))
    for name, script in instead.items():
        (directory / name).write_text(script)
        (directory / name).chmod(0o755)
    os.environ["PATH"] = str(directory)
    try:
        yield
    finally:
        os.environ["PATH"] = before
        shutil.rmtree(directory)


def refused(sandbox):
    good = written(sandbox, "one.tar", tarball("a"))
    two = written(sandbox, "two.tar", tarball("a", "b"))
    broken = written(sandbox, "broken.tar", b"no tar at all")
    wrong = good["sha256"][:-1] + ("0" if good["sha256"][-1] != "0" else "1")
    token = sandbox.path / "injected"
    table = [
        ({"path": str(BIN), "archive": "one.tar"}, "not both"),
        ({"archive": "one.tar"}, "archive needs its sha256, 64 hexadecimal digits (got '')"),
        ({"sha256": wrong}, "sha256 is given without archive"),
        ({**good, "sha256": wrong}, "not the expected " + wrong),
        ({**good, "sha256": wrong[1:]}, f"(got '{wrong[1:]}')"),
        (two, "2 programs bin/proctor, not one"), (broken, "tar failed to unpack broken.tar"),
        ({**good, "archive": "absent.tar"}, "ENOENT"),
        ({**good, "archive": "https://example.org/proctor-1.2.3-py3-none-any.whl"},
         "archive 'https://example.org/proctor-1.2.3-py3-none-any.whl' is a wheel: give the tarball"),
        ({**good, "archive": "http://localhost/proctor.tar"}, "must be a file or an https address"),
        ({**good, "archive": "https://127.0.0.1:1/proctor.tar"}, "failed to download"),
        ({"path": str(sandbox.path / "nothing")}, "is not a directory"),
        ({"path": str(sandbox.path)}, "does not run here"),
        ({"path": f"$(touch {token})`touch {token}`\"; touch {token}; \""}, "is not a directory"),
        ({"path": f"{BIN}\n::error::forged"}, "is not a directory"),
        ({"path": str(BIN), "attestation": "required"}, "only the release of the action has an attestation"),
        ({"attestation": "maybe"}, "attestation must be empty or 'required' (got 'maybe')"),
    ]
    for given, message in table:
        refuse(sandbox, message, *install(**given))
    check(not token.exists(), "input was read as shell")


TAG = ACTION.partition("@")[2]


def release_files(asset, sums=None, tag=TAG):
    base = f"/OWNER/proctor/releases/download/{tag}"
    others = f"{'1' * 64}  proctor-1.2.3-linux-other.tar.gz\n{'2' * 64}  proctor_1.2.3_amd64.deb\n"
    sums = others + f"{digest(asset)}  {ASSET}\n" if sums is None else sums
    return {f"{base}/SHA256SUMS": sums.encode(), f"{base}/{ASSET}": asset}


def releases(files, failures=()):
    """A server of releases; its first answers are `failures`."""
    failures = iter(failures)
    return Server(lambda path: next(failures, None) or ((200, files[path]) if path in files else (404, b"")))


def release(sandbox):
    """Of a moving tag and of a version; a server error is not the end; the missing gh is reported, or an error."""
    asset = tarball("proctor-1.2.3")
    with hide(sandbox, "gh"):
        for tag in ("v1", "v1.2.3-rc.1"):
            server = releases(release_files(asset, tag=tag), [(500, b"")])
            job = accept(sandbox, *install(f"OWNER/proctor@{tag}"), github={"server_url": server.address})
            check(len(server.asked) == 3 and "HTTP 500; next attempt" in job.text, server.asked, job.text)
            check("was not verified: the program gh" in job.text, job.text)
        server = releases(release_files(asset))
        refuse(sandbox, "was not verified", *install(attestation="required"), github={"server_url": server.address})


def wrong_release(sandbox):
    asset = tarball("proctor-1.2.3")
    line = f"{digest(asset)}  {ASSET}\n"
    absent = release_files(asset)
    del absent[f"/OWNER/proctor/releases/download/{TAG}/{ASSET}"]
    table = [
        (release_files(asset, f"{'0' * 64}  {ASSET}\n"), "not the expected 000"),
        (release_files(asset, ""), "has 0 files proctor-VERSION-linux-"),
        (release_files(asset, line + line.replace("1.2.3", "1.2.4")), "has 2 files"),
        (release_files(asset, line.replace(ASSET, f"../{ASSET}")), "has 0 files"),
        (absent, f"/{ASSET}: HTTP 404"), ({}, "/SHA256SUMS: HTTP 404")]
    for files, message in table:
        refuse(sandbox, message, *install(), github={"server_url": releases(files).address})
    for ref in ("main", "a" * 40, "v1x"):
        job = refuse(sandbox, f"'{ref}' is not a version tag", *install(f"OWNER/proctor@{ref}"))
        check("Give `path` or `archive`." in job.text, job.text)
    (sandbox.workspace / "action.yml").symlink_to(ROOT / "action.yml")
    (sandbox.workspace / ".github").symlink_to(ROOT / ".github")
    refuse(sandbox, "an action of the workspace belongs to no release", *install("./"))


def attestation(sandbox):
    """gh checks it, with a token that nothing else gets."""
    log, step = sandbox.path / "gh.log", install(attestation="required", token="hush")
    github = {"server_url": releases(release_files(tarball("proctor-1.2.3"))).address}
    for code in (0, 1):
        gh = f'#!/bin/sh\necho "$* $GH_TOKEN $GH_HOST" >>{log}\n[ "$3" = --help ] || [ ! -s "$3" ] || exit {code}\n'
        with hide(sandbox, gh=gh):
            if code:
                refuse(sandbox, f"the attestation of {ASSET} is not valid", *step, github=github)
            else:
                accept(sandbox, *step, github=github)
        called = log.read_text().splitlines()[-1]
        check(called.endswith(f"/{ASSET} --repo OWNER/proctor hush {github['server_url'][7:]}"), called)


SCENARIOS = {scenario.__name__: scenario for scenario in
             (archives, refused, release, wrong_release, attestation)}


def main():
    require_node()
    for name in sys.argv[1:] or SCENARIOS:
        with GithubSandbox() as sandbox:
            SCENARIOS[name](sandbox)
            print(f"ok {name}", flush=True)


if __name__ == "__main__":
    main()
