#!/usr/bin/env python3
"""The pages for GitLab and Jenkins: their files are valid, and their commands do what the pages say, with simulated devices in
place of real ones: green, red, a lost device, and a job that is cancelled as that system cancels.

    other_ci.py gitlab|jenkins
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import BIN, CUDA_SIMULATOR, ROOT, Sandbox, check, check_sums, of_type, records, report, skip, wait_until

sys.path.insert(0, str(ROOT / "fixtures"))
from github_runner import yaml12  # noqa: E402

LINTERS = ROOT / "build/lint"
# What a page shows, on simulated devices and with two cases.
PROCTOR = f"""#!/bin/sh
[ "$1" = run ] || exec {BIN}/proctor "$@"
shift
exec {BIN}/proctor run --sim xpu:1x1,cuda:1 --filter '*ToDeviceIsByteExact' "$@"
"""
ENDS = (("green", "", 0), ("red", "copy.short:min=65537", 1), ("a lost device", "state.card_lost", 75))


def block(page, language):
    found = re.search(rf"```{language}\n(.*?)```", (ROOT / "docs/how-to" / page).read_text(), re.DOTALL)
    check(found, page, "has no block of", language)
    return found[1]


class CI:
    """A machine on which `proctor` is in PATH."""

    def __init__(self, sandbox, variables):
        self.sandbox = sandbox
        path = sandbox.path / "bin"
        path.mkdir()
        (path / "proctor").write_text(PROCTOR)
        (path / "proctor").chmod(0o755)
        self.env = {**sandbox.env, "PATH": f"{path}:{os.environ['PATH']}", "CI": "true", **variables}
        self.jobs = 0

    def checkout(self):
        self.jobs += 1
        self.directory = self.sandbox.path / f"job{self.jobs}"
        self.directory.mkdir()

    def start(self, script, faults="", **variables):
        env = {**self.env, **variables, **({"PROCTOR_SIM_FAULTS": faults} if faults else {})}
        return subprocess.Popen(["bash", "-e", "-c", script], cwd=self.directory, env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, script, code, faults="", **variables):
        process = self.start(script, faults, **variables)
        text = process.communicate(timeout=300)[0]
        check(process.returncode == code, script, "exits", process.returncode, "not", code, "\n" + text)

    def start_hanging(self, script, out, **variables):
        """Its first case never ends by itself."""
        process = self.start(script, "state.card_hung", **variables)
        wait_until(lambda: of_type(records(self.directory / out), "attempt_started"), 60, "started case")
        return process

    def results(self, out, pattern):
        """Of a run that is over: its report, and JUnit files of the profile that every reader knows."""
        document = report(self.directory / out)
        check_sums(document)
        check((self.directory / out / "index.html").exists(), "no page")
        files = sorted(self.directory.glob(pattern))
        check(files or not document["cases"], "no file", pattern)
        for file in files:
            done = subprocess.run(["xmllint", "--noout", "--schema", ROOT / "reports/schema/junit-strict.xsd", file],
                                  capture_output=True, text=True, check=False)
            check(done.returncode == 0, file, done.stderr)
        return document


def children():
    """{pid: pids of its children} of all processes."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            found.setdefault(int(parent), []).append(int(entry))
        except OSError:
            pass  # it ended
    return found


def tree(pid):
    """The processes below pid, parents first."""
    found, below = [pid], children()
    for each in found:
        found += below.get(each, [])
    return found


def terminate(pid):
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass


# ---- GitLab ----


def valid_for_gitlab(sandbox, text):
    if not (LINTERS / "check_jsonschema").exists():
        check(not os.environ.get("CI"), "needs:check-jsonschema: ./dev test installs it")
        print("not validated: needs:check-jsonschema")
        return

    def validate(text):
        path = sandbox.path / "gitlab-ci.yml"
        path.write_text(text)
        return subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.gitlab-ci", "--data-transform",
                               "gitlab-ci", path], env={**os.environ, "PYTHONPATH": str(LINTERS)}, capture_output=True, text=True,
                              check=False)

    done, bad = validate(text), validate(text.replace("exit_codes: [75]", "exit_code: 75"))
    check(done.returncode == 0, done.stdout, done.stderr)
    check(bad.returncode != 0, "a wrong key is not found")


def gitlab(sandbox):
    text = block("gitlab.md", "yaml")
    valid_for_gitlab(sandbox, text)
    (sandbox.path / "page.yml").write_text(text)
    job = yaml12.load(sandbox.path / "page.yml")["gpu"]
    script, after = "\n".join(job["script"]), "\n".join(job["after_script"])
    out, junit = job["artifacts"]["paths"][0], job["artifacts"]["reports"]["junit"]
    check(job["artifacts"]["when"] == "always" and job["retry"]["exit_codes"] == [ENDS[2][2]], job)
    (matrix,) = job["parallel"]["matrix"]
    ci = CI(sandbox, {"GITLAB_CI": "true", "CI_COMMIT_SHA": "0123456789abcdef0123456789abcdef01234567", "CI_COMMIT_BRANCH": "main",
                      "CI_PROJECT_URL": "https://gitlab.example/group/project", "CI_JOB_URL": "https://gitlab.example/j/1",
                      "CI_JOB_ID": "1"})
    cases = {}
    for backend in matrix["BACKEND"]:
        for shard in matrix["SHARD"]:
            ci.checkout()
            ci.run(script, 0, BACKEND=backend, SHARD=shard)
            ci.run(after, 0)
            document = ci.results(out, junit)
            cases.setdefault(backend, []).extend(case["id"] for case in document["cases"])
            check(document["run"]["subject"]["commit"]["value"] == ci.env["CI_COMMIT_SHA"], document["run"]["subject"])
    for backend, ids in cases.items():
        check(len(ids) == len(set(ids)) and len(ids) >= 2 and all(f".{backend}/" in name for name in ids), "the shards have:", cases)
    one = {"BACKEND": matrix["BACKEND"][0], "SHARD": "1/1"}
    for name, faults, code in ENDS[1:]:
        ci.checkout()
        ci.run(script, code, faults, **one)
        ci.run(after, 0)
        ci.results(out, junit)
        print("ok", name)
    ci.checkout()
    process = ci.start_hanging(script, out, **one)
    for pid in tree(process.pid):  # gitlab-runner signals all processes of the script
        terminate(pid)
    process.communicate(timeout=60)
    ci.run(after, 0)
    check("interrupted" in {case["reason"] for case in ci.results(out, junit)["cases"]}, "no case was interrupted")
    print("ok cancelled")


# ---- Jenkins ----


def end_as_jenkins(root):
    """hudson.util.ProcessTree: of each process its children first; SIGTERM, and a wait for its end; all waits within 5 s."""
    deadline, below = time.monotonic() + 5, children()

    def end(pid):
        for child in below.get(pid, []):
            end(child)
        terminate(pid)
        while Path(f"/proc/{pid}").exists() and root.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)

    end(root.pid)


def jenkins(sandbox):
    text = block("jenkins.md", "groovy")
    check(text.count("{") == text.count("}") and text.count("(") == text.count(")"), "brackets")
    script = re.search(r"sh\(returnStatus: true, script: '(.*)'\)", text)[1]
    (after,) = re.findall(r"sh '(.*)'", text)
    (junit,) = re.findall(r'junit "(.*)"', text)
    (archived,) = re.findall(r'archiveArtifacts "(.*)/\*\*"', text)
    check(f"if (code == {ENDS[2][2]}) unstable" in text, "no case for a machine that failed")
    ci = CI(sandbox, {"JENKINS_URL": "https://jenkins.example", "BUILD_NUMBER": "7", "BUILD_URL": "https://jenkins.example/j/7/",
                      "GIT_COMMIT": "0123456789abcdef0123456789abcdef01234567", "GIT_BRANCH": "origin/main",
                      "JENKINS_NODE_COOKIE": "cookie"})
    junit, out = (each.replace("${BUILD_NUMBER}", "7") for each in (junit, archived))
    for name, faults, code in ENDS:
        ci.checkout()
        ci.run(script, code, faults)
        ci.run(after, 0)
        document = ci.results(out, junit)
        check(document["run"]["subject"]["build"]["value"] == ci.env["BUILD_URL"], document["run"]["subject"])
        print("ok", name)
    ci.checkout()
    process = ci.start_hanging(script, out)
    end_as_jenkins(process)
    check(process.wait(60) in (143, -signal.SIGTERM), "the step ends with", process.returncode, process.stdout.read())
    ci.run(after, 0)
    outcomes = {case["outcome"] for case in ci.results(out, junit)["cases"]}
    check(outcomes <= {"crash", "notrun"} and "notrun" in outcomes, outcomes)
    print("ok aborted:", *sorted(outcomes))


def main():
    if not CUDA_SIMULATOR.exists():
        skip(f"library_missing:{CUDA_SIMULATOR}: the pages show cards of both vendors")
    if not shutil.which("xmllint"):
        skip("needs:xmllint")
    with Sandbox() as sandbox:
        {"gitlab": gitlab, "jenkins": jenkins}[sys.argv[1]](sandbox)


if __name__ == "__main__":
    main()
