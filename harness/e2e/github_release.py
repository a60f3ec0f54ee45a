#!/usr/bin/env python3
"""release.yml, nightly.yml and ci.yml on simulated runners, as they are: all steps run. Only what needs a network or
builds is a stand-in: ./dev, .ci/run and image.sh of the checkout, apt-get, sudo, gh, buildah and the cache.

    github_release.py [SCENARIO...]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from github import GithubSandbox
from harness import ROOT, check, skip

from github_runner.artifacts import Artifacts, checkout_of
from github_runner.container import Container
from github_runner.workflow import Workflow

RELEASE = ROOT / "cmake/package/release.py"
WORKFLOWS = ROOT / ".github/workflows"
VERSION = "1.2.3"
CHANGES = f"# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-11-26\n\n### Added\n\n- A `$(thing)`.\n\n## [1.2.2] - 2026-11-01\n\n- Old.\n"
COMMIT = "0123456789abcdef0123456789abcdef01234567"

# ./dev package: files with the names of real ones; the tarballs have the suites that are looked for in them.
DEV = """#!/bin/sh -e
echo "dev $*" >>"$CALLS"
[ "$1" = package ] || exit 0
case $3 in x86_64) arch=amd64 out=build-release suites='memory_xpu memory_cuda' ;; *) arch=arm64 out=build-$3 suites=memory_xpu ;; esac
mkdir -p $out/packages && cd $out/packages
mkdir -p p && (cd p && touch $suites) && tar -czf proctor-$VERSION-linux-$3.tar.gz p && rm -r p
for name in proctor proctor-suites proctor-simulator proctor-dev; do echo $name $3 >${name}_${VERSION}_$arch.deb; done
echo $3 >proctor-$VERSION-py3-none-manylinux_2_17_$3.musllinux_1_2_$3.whl
echo $3 >proctor_suites-$VERSION-py3-none-manylinux_2_28_$3.whl
[ -z "$MISSING" ] || rm -f $MISSING
"""
IMAGE = """#!/bin/sh -e
echo "image.sh $* for $PROCTOR_SOURCE" >>"$CALLS"
[ -e "$1/proctor-$VERSION-linux-x86_64.tar.gz" ]
mkdir -p "$2"
echo archive >"$2/proctor-$VERSION-image-x86_64.tar"
echo '{}' >"$2/proctor-$VERSION-image-x86_64.spdx.json"
"""
CI = """#!/bin/sh
echo "ci $*" >>"$CALLS"
[ -z "$CCACHE_DIR" ] || { mkdir -p "$CCACHE_DIR" && echo "$*" >>"$CCACHE_DIR/object"; }
exit "$CI_EXITS"
"""
GH = """#!/bin/sh -e
echo "gh $*" >>"$CALLS"
case "$*" in
  "release create "*) [ "$GH_TOKEN" = secret ] && cat notes.md >>"$CALLS" && cp -r release "$CALLS.published" ;;
  *matching-refs*) printf '%s\\n' $TAGS ;;
esac
"""
SUDO = """#!/bin/sh
keep=
case $1 in --preserve-env=*) keep=${1#*=} && shift ;; esac
for name in PATH CALLS VERSION $keep; do
  eval "value=\\$$name"
  set -- "$name=$value" "$@"
done
exec env -i "$@"
"""
BUILDAH = """#!/bin/sh -e
echo "buildah $*" >>"$CALLS"
case $1 in login) [ "$(cat)" = secret ] ;; pull) [ -e "${2#oci-archive:}" ] && echo id-of-image ;; esac
"""


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class ReleaseSandbox(GithubSandbox):
    """A repository of our workflows and release.py, of version 1.2.3."""

    def __init__(self):
        super().__init__()
        self.repository, self.calls = self.path / "repository", self.path / "calls"
        script(self.repository / "dev", DEV)
        script(self.repository / ".ci/run", CI)
        script(self.repository / "cmake/package/image.sh", IMAGE)
        shutil.copy(RELEASE, self.repository / "cmake/package")
        self.write("CMakeLists.txt", f"cmake_minimum_required(VERSION 3.25)\nproject(proctor VERSION {VERSION} LANGUAGES CXX)\n")
        self.write("CHANGELOG.md", CHANGES)
        for name, text in {"apt-get": '#!/bin/sh\necho "apt-get $*" >>"$CALLS"\n', "sudo": SUDO, "gh": GH, "buildah": BUILDAH}.items():
            script(self.path / "bin" / name, text)
        self.env.update(PATH=f"{self.path}/bin:{self.env['PATH']}", CALLS=str(self.calls), VERSION=VERSION, MISSING="", TAGS="",
                        CI_EXITS="0", HOME=str(self.path))
        self.attested, self.caches = [], {}

    def write(self, name, text):
        (self.repository / name).write_text(text)

    def attest(self, job, given, record):
        self.attested.append((given, (job.workspace / given["subject-checksums"]).read_text()))
        return {}

    def restore_cache(self, job, given, record):
        """The newest entry whose key begins with a restore key."""
        known = [key for key in self.caches if key.startswith(given["restore-keys"])]
        if known:
            shutil.copytree(self.caches[known[-1]], job.workspace / given["path"])
        return {"cache-matched-key": known[-1] if known else ""}

    def save_cache(self, job, given, record):
        check(given["key"] not in self.caches, "GitHub does not change an entry:", given)
        self.caches[given["key"]] = job.workspace / given["path"]
        check(self.caches[given["key"]].is_dir(), "nothing to save:", given)

    def new_job(self, name, github, contexts, environment, container):
        self.workspace = self.path / f"work{self.jobs}"
        self.workspace.mkdir()
        return self.job(github=github, contexts=contexts, environment={**self.env, **environment}, stand_ins={
            "actions/checkout": checkout_of(self.repository), "actions/upload-artifact": self.shared.upload,
            "actions/download-artifact": self.shared.download, "actions/attest-build-provenance": self.attest,
            "actions/cache/restore": self.restore_cache, "actions/cache/save": self.save_cache})

    def run(self, workflow, tag=f"v{VERSION}", event="push", **environment):
        """Returns the results; `called` is then what the stand-ins were called with, a line each."""
        self.env.update(environment)
        self.calls.write_text("")
        shutil.rmtree(f"{self.calls}.published", ignore_errors=True)
        self.runs = getattr(self, "runs", 0) + 1
        self.shared = Artifacts(self.path / f"artifacts{self.runs}")
        github = {"event_name": event, "event": {}, "run_id": str(self.runs), "run_attempt": "1", "repository": "Owner/Proctor", "ref": f"refs/tags/{tag}", "ref_name": tag,
                  "sha": COMMIT, "token": "secret", "actor": "somebody", "server_url": "https://github.com"}
        result = self.results = Workflow(WORKFLOWS / workflow).run(self.new_job, github=github)
        self.called = self.calls.read_text().splitlines()
        self.text = "\n".join(instance.job.text for job in result.values() for instance in job.instances if instance.job)
        return {name: job.result for name, job in result.items()}

    def has_published(self):
        return [line for line in self.called if line.startswith(("gh ", "buildah push"))]


def release_py(*arguments, text="", directory=ROOT):
    return subprocess.run([directory / "cmake/package/release.py", *map(str, arguments)], input=text, capture_output=True, text=True,
                          check=False)


def refused(done, *words):
    check(done.returncode == 2 and not done.stdout and all(word in done.stderr for word in words), words, done)


def a_release(sandbox):
    """Both processors and the image are built once, everything is published under its checksum, with the section as notes."""
    result = sandbox.run("release.yml", TAGS="refs/tags/v1.2.2 refs/tags/v1 refs/tags/v2.0.0")
    check(set(result.values()) == {"success"}, result, sandbox.text)
    called = "\n".join(sandbox.called)
    for line in ("dev package --processor x86_64", "dev package --processor aarch64", "ci ", "image.sh packages image for https://github.com/Owner/Proctor"):
        check(sandbox.called.count(line) == 1, "not called once:", line, called)
    published = sandbox.path / "calls.published"
    files = sorted(path.name for path in published.iterdir())
    check(len(files) == 2 * 7 + 2 + 1 and "SHA256SUMS" in files, files)
    check(all(f"release/{name}" in called for name in files), "not uploaded:", called)
    check(f"gh release create v{VERSION} --verify-tag --title Proctor {VERSION} --notes-file notes.md release/" in called, called)
    check("### Added\n\n- A `$(thing)`." in called and "Old." not in called, "the notes are another section:", called)
    sums = (published / "SHA256SUMS").read_text()
    check(sandbox.attested == [({"subject-checksums": "release/SHA256SUMS"}, sums)], sandbox.attested)
    check(f"gh api --method PATCH repos/Owner/Proctor/git/refs/tags/v1 -f sha={COMMIT} -F force=true" in sandbox.called, called)
    check("buildah push id-of-image docker://ghcr.io/owner/proctor:1.2.3" in sandbox.called, called)
    verify = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    check(subprocess.run(verify, cwd=published, check=False).returncode == 0, "the checksums are wrong")
    with open(published / f"proctor-{VERSION}-linux-aarch64.tar.gz", "ab") as file:
        file.write(b"x")
    done = subprocess.run(verify, cwd=published, capture_output=True, text=True, check=False)
    check(done.returncode == 1 and f"proctor-{VERSION}-linux-aarch64.tar.gz: FAILED" in done.stdout, done)


def major_tag_moves_forward_only(sandbox):
    for tags, line in (("refs/tags/v1.10.0 refs/tags/v1", None),
                       ("refs/tags/v1.2.3", f"gh api --method POST repos/Owner/Proctor/git/refs -f ref=refs/tags/v1 -f sha={COMMIT}")):
        result = sandbox.run("release.yml", TAGS=tags)
        check(set(result.values()) == {"success"}, result, sandbox.text)
        moves = [call for call in sandbox.called if "--method" in call]
        check(moves == ([line] if line else []), tags, moves)
    for tag, tags, expected in (("v0.1.0", "", "v0\n"), ("v2.0.0", "refs/tags/v10.0.0 refs/tags/v2-rc", "v2\n"),
                                ("v1.2.3", "abc refs/tags/v1.2.10", ""), ("v1.2.10", "abc refs/tags/v1.2.9", "v1\n")):
        done = release_py("major-tag", tag, text=tags.replace(" refs", "\nrefs"))
        check((done.returncode, done.stdout) == (0, expected), tag, tags, done)


def pages_name_the_tag_that_moves(_):
    version = re.search(r"^project\(proctor VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    named = {(page.name, ref) for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
             for ref in re.findall(r"OWNER/proctor[\w./-]*@(v\w+)", page.read_text())}
    moves = release_py("major-tag", f"v{version}").stdout.strip()
    check(named == {("README.md", moves), ("github.md", moves)}, moves, named)


def a_wrong_tag_stops_at_the_start(sandbox):
    token = sandbox.path / "injected"
    for tag, words in (("v1.2.4", "is not the version 1.2.3 of CMakeLists.txt"), ("v1.2", "is not vMAJOR.MINOR.PATCH"),
                       (f"v1.2.3$(touch${{IFS}}{token})", "is not vMAJOR.MINOR.PATCH"), ("v01.2.3", "is not vMAJOR.MINOR.PATCH")):
        result = sandbox.run("release.yml", tag)
        check(result["check"] == "failure" and set(result.values()) == {"failure", "skipped"}, tag, result)
        check(words in sandbox.text and sandbox.called == [], tag, sandbox.text, sandbox.called)
    check(not token.exists(), "a tag was read as shell")
    for changes, words in ((CHANGES.replace("[1.2.3] - 2026-11-26", "[1.2.3]"), "has no date"),
                           (CHANGES.replace("[1.2.3]", "[1.3.0]"), "has no section [1.2.3]; it has [Unreleased], [1.3.0], [1.2.2]"),
                           (CHANGES.replace("### Added\n\n- A `$(thing)`.\n", ""), "is empty")):
        sandbox.write("CHANGELOG.md", changes)
        result = sandbox.run("release.yml")
        check(result["check"] == "failure" and words in sandbox.text and sandbox.called == [], words, result, sandbox.text)


def an_incomplete_release_is_not_published(sandbox):
    """A failed test, a missing file, a foreign file, a tarball without a suite."""
    check(sandbox.run("release.yml", CI_EXITS="1")["publish"] == "skipped" and not sandbox.has_published(), sandbox.called)
    result = sandbox.run("release.yml", CI_EXITS="0", MISSING="proctor_suites-*_aarch64.whl")
    check(result["publish"] == "failure" and not sandbox.has_published(), result, sandbox.called)
    check("has 0 files proctor_suites-1.2.3-py3-none-*_aarch64.whl" in sandbox.text, sandbox.text)
    sandbox.run("release.yml", MISSING="")
    files = sandbox.path / "calls.published"
    (files / "proctor_1.2.2_amd64.deb").touch()
    refused(release_py("checksums", "v1.2.3", files), "is not part of release 1.2.3", "proctor_1.2.2_amd64.deb")
    (files / "proctor_1.2.2_amd64.deb").unlink()
    with tarfile.open(files / "proctor-1.2.3-linux-x86_64.tar.gz", "w:gz") as archive:
        archive.add(files / "SHA256SUMS", "p/memory_xpu")
    refused(release_py("checksums", "v1.2.3", files), "linux-x86_64.tar.gz was built without memory_cuda")
    refused(release_py("checksums", "v1.2.3", files / "none"), "is not a directory")
    refused(release_py("checksums", "v1.2.3"), "release.py check-tag TAG")


def our_changelog_can_be_released(_):
    """In the form that release.py reads: with [Unreleased] turned into the version of the project."""
    version = re.search(r"^project\(proctor VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    with ReleaseSandbox() as sandbox:
        sandbox.write("CMakeLists.txt", (ROOT / "CMakeLists.txt").read_text())
        text = (ROOT / "CHANGELOG.md").read_text()
        check(f"## [{version}] - " in text or "## [Unreleased]" in text, "no section of what comes")
        sandbox.write("CHANGELOG.md", text if f"## [{version}]" in text else text.replace("[Unreleased]", f"[{version}] - 2026-11-26", 1))
        for command in ("check-tag", "notes"):
            done = release_py(command, f"v{version}", directory=sandbox.repository)
            check(done.returncode == 0 and (done.stdout != "") == (command == "notes"), done)


def each_night_each_group(sandbox):
    """A job for each group that ./dev knows, with nvcc where it has parts that need it; one that fails stops no other."""
    known = subprocess.run([ROOT / "dev", "groups"], capture_output=True, text=True, check=True).stdout.split()
    script(sandbox.repository / "dev", f"""#!/bin/sh
[ "$1" != groups ] || exec {ROOT}/dev "$@"
echo "dev $*" >>"$CALLS"
[ "$3" != {known[0]} ]
""")
    document = Workflow(WORKFLOWS / "nightly.yml").document["jobs"]["group"]
    check(document["strategy"]["fail-fast"] is False and document["timeout-minutes"] == 40, json.dumps(document))
    result = sandbox.run("nightly.yml")
    check(result == {"groups": "success", "group": "failure"}, result, sandbox.text)
    check([line for line in sandbox.called if line.startswith("dev")] == [f"dev test --full {name}" for name in known] and len(known) > 10, sandbox.called)
    boxes = {known[index]: instance.container for index, instance in enumerate(sandbox.results["group"].instances)}
    check({name for name, box in boxes.items() if box} == {"collectives", "cuda", "machines", "selftest"}, boxes)
    check(boxes["cuda"] == Workflow(WORKFLOWS / "ci.yml").document["jobs"]["cuda"]["container"], boxes)
    check(len([line for line in sandbox.called if line.startswith("apt-get install")]) == 4, sandbox.called)


def each_push_with_and_without_cuda(sandbox):
    """Lint first; a red job makes the run red; main keeps a compiler cache for each job, which a pull request only reads."""
    called = ["dev lint", "ci ", "ci --full cuda"]
    for event, saved in (("push", 2), ("pull_request", 2), ("push", 4)):
        result = sandbox.run("ci.yml", event=event)
        check(result == dict.fromkeys(("lint", "test", "cuda"), "success"), result, sandbox.text)
        check([line for line in sandbox.called if not line.startswith("apt-get")] == called, sandbox.called)
        check(len(sandbox.caches) == saved, event, sandbox.caches)
    objects = {key: (path / "object").read_text() for key, path in sandbox.caches.items()}
    check(objects == {"ccache-test-1-1": "\n", "ccache-cuda-1-1": "--full cuda\n", "ccache-test-3-1": "\n" * 2,
                      "ccache-cuda-3-1": "--full cuda\n" * 2}, objects)
    result = sandbox.run("ci.yml", CI_EXITS="1")
    check(result == {"lint": "success", "test": "failure", "cuda": "failure"} and len(sandbox.caches) == 6, result, sandbox.caches)
    script(sandbox.repository / "dev", "#!/bin/sh\nexit 2\n")
    result = sandbox.run("ci.yml", CI_EXITS="0")
    check(result == {"lint": "failure", "test": "skipped", "cuda": "skipped"} and len(sandbox.caches) == 6, result, sandbox.caches)


def cuda_without_nvcc_is_red(sandbox):
    """The group says what is missing before it installs or builds anything."""
    hidden = ["true"]
    if Path("/usr/local/cuda").exists():
        hidden = ["mount", "-t", "tmpfs", "tmpfs", "/usr/local/cuda"]
        if why := Container.why_not():
            skip(f"needs:namespaces (to hide the toolkit of this machine: {why})")
    if shutil.which("nvcc", path="/usr/bin:/bin"):
        skip("needs:no nvcc in /usr/bin, where no mount hides it")
    mapping = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(["unshare", "--mount", *mapping, "sh", "-c", '"$@" && exec "$0" test --full cuda', ROOT / "dev", *hidden],
                          env={**sandbox.env, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    check(done.returncode == 2 and "there is no nvcc in PATH or in /usr/local/cuda/bin" in done.stderr and not done.stdout, done)


SCENARIOS = (a_release, major_tag_moves_forward_only, pages_name_the_tag_that_moves, a_wrong_tag_stops_at_the_start,
             an_incomplete_release_is_not_published, our_changelog_can_be_released, each_night_each_group,
             each_push_with_and_without_cuda, cuda_without_nvcc_is_red)


def main():
    for scenario in [scenario for scenario in SCENARIOS if scenario.__name__ in (sys.argv[1:] or [scenario.__name__])]:
        with ReleaseSandbox() as sandbox:
            scenario(sandbox)
        print(f"ok {scenario.__name__}", flush=True)


if __name__ == "__main__":
    main()
