#!/usr/bin/env python3
"""Checks what GitHub would read, without GitHub, and the format of our sources:
lint.py schema|zizmor|shellcheck|spelling|format DIRECTORY

DIRECTORY has check-jsonschema, zizmor, codespell and clang-format (requirements.txt beside this file; ./dev installs
them). Exit 77: the linter is not here; where CI is set that is red. Each linter first has to find what is wrong in a bad
sample, so that its silence means something.
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "fixtures"))
SKIP = 77

BAD_WORKFLOW = """on: pull_request_target
jobs:
  test:
    runs-on: self-hosted
    time-out-minutes: 5
    steps:
      - uses: actions/checkout@v4
      - run: echo ${{ github.event.pull_request.title }}
"""
BAD_DOCUMENTS = {  # of each schema, what it must find wrong
    "github-workflows": (BAD_WORKFLOW, "time-out-minutes"),
    "github-actions": ("name: a\ndescription: b\nruns:\n  using: nodejs\n", "nodejs"),
    "github-issue-forms": ("name: a\ndescription: b\nbody:\n  - type: textfield\n", "textfield"),
    "github-issue-config": ("blank_issues: true\n", "blank_issues"),
    "dependabot": ("version: 2\nupdates:\n  - package-ecosystem: pip\n    schedule: {interval: yearly-ish}\n", "yearly-ish"),
}
BAD_SCRIPT = "#!/bin/bash\nrm -rf $1/*\n"


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)


def require(name, command, **more):
    """Skips, by name, where a linter does not start; in CI a skip would go unread."""
    try:
        done = run([*command, "--version"], **more)
    except OSError as error:
        done = subprocess.CompletedProcess(command, 127, str(error))
    if done.returncode:
        need = f"needs:{name} ({done.stdout.strip().splitlines()[-1]})"
        if os.environ.get("CI"):
            sys.exit(f"{need}: ./dev test installs it; CI does not go without")
        print(f"skipped: {need}")
        sys.exit(SKIP)


def judge(bad, good, findings):
    """`findings`: what of the bad sample must be named."""
    missed = [finding for finding in findings if finding not in bad.stdout]
    if bad.returncode == 0 or missed:
        sys.exit(f"the bad sample is not found bad: {missed}\n{bad.stdout}")
    print(good.stdout, end="")
    sys.exit(good.returncode)


def schema(directory):
    command = [sys.executable, "-m", "check_jsonschema"]
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    require("check-jsonschema", command, env=environment)

    def check(kind, files):
        return run([*command, "--builtin-schema", f"vendor.{kind}", *files], env=environment)

    with tempfile.TemporaryDirectory() as sample:
        path = Path(sample) / "document.yml"
        for kind, (text, finding) in BAD_DOCUMENTS.items():
            path.write_text(text)
            bad = check(kind, [path])
            if bad.returncode == 0 or finding not in bad.stdout:
                sys.exit(f"the bad sample of {kind} is not found bad: {finding}\n{bad.stdout}")
    done = [check(kind, files) for kind, files in documents().items()]
    print("".join(each.stdout for each in done), end="")
    sys.exit(max(each.returncode for each in done))


def documents():
    """{schema: what GitHub reads by it}; a kind without a file is an error of check-jsonschema."""
    folder = ROOT / ".github"
    forms = sorted((folder / "ISSUE_TEMPLATE").glob("*.yml"))
    configuration = folder / "ISSUE_TEMPLATE" / "config.yml"
    return {"github-workflows": sorted((folder / "workflows").glob("*.yml")),
            "github-actions": [ROOT / "action.yml", *sorted((folder / "actions").glob("*/action.yml"))],
            "github-issue-forms": [form for form in forms if form != configuration],
            "github-issue-config": [configuration],
            "dependabot": [folder / "dependabot.yml"]}


def zizmor(directory):
    command = [str(directory / "bin" / "zizmor")]
    require("zizmor", command)
    quiet = [*command, "--offline", "--no-progress", "--no-config", "--quiet", "--color=never"]
    with tempfile.TemporaryDirectory() as sample:
        workflows = Path(sample) / ".github" / "workflows"
        workflows.mkdir(parents=True)
        (workflows / "bad.yml").write_text(BAD_WORKFLOW)
        bad = run([*quiet, sample])
    judge(bad, run([*quiet, "--strict-collection", str(ROOT)]),
          ["template-injection", "unpinned-uses", "dangerous-triggers"])


def scripts():
    """Our shell scripts; sourced files name their shell themselves."""
    found = [ROOT / "dev", ROOT / ".ci" / "run"]
    for folder in (".github", "docker", "harness", "suites", "fixtures", "cmake", "reports"):
        found += sorted((ROOT / folder).glob("**/*.sh"))
    return found


def embedded(directory):
    """The scripts in workflows and actions, each in a file of its own; expressions become a word."""
    import re
    from github_runner import yaml12
    paths = []
    for file in sorted((ROOT / ".github").glob("**/*.yml")):
        document = yaml12.load(file)
        jobs = [*document.get("jobs", {}).values(), document.get("runs", {})]
        for index, step in enumerate(step for job in jobs for step in job.get("steps", [])):
            if "run" in step:
                path = directory / f"{file.parent.name}-{file.stem}-{index}.sh"
                path.write_text("# shellcheck shell=bash\n" + re.sub(r"\$\{\{.*?\}\}", "expression", step["run"]))
                paths.append(path)
    return paths


def shellcheck(_):
    command = ["shellcheck"]
    require("shellcheck", command)
    with tempfile.TemporaryDirectory() as temporary:
        sample = Path(temporary) / "bad.sh"
        sample.write_text(BAD_SCRIPT)
        bad = run([*command, sample])
        judge(bad, run([*command, "--external-sources", "--source-path=SCRIPTDIR", *scripts(),
                        *embedded(Path(temporary))]), ["SC2086", "SC2115"])


def spelling(directory):
    """Misspelt words in what people read. Tests are left out: they misspell on purpose."""
    command = [sys.executable, "-m", "codespell_lib"]
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    require("codespell", command, env=environment)
    tracked = run(["git", "ls-files", "-z", "--", "*.md", "*.cc", "*.h", "*.sh", "*.toml", "*.yml", "*.cmake", ".github/*.js",
                   "dev",
                   ":!*_test.cc", ":!**/testdata/*"], cwd=ROOT)
    files = list(filter(None, tracked.stdout.split("\0")))
    if tracked.returncode or not files:
        sys.exit(f"git lists no files: {tracked.stdout}")
    known = [f"--ignore-words={ROOT}/.github/lint/spelling.txt"]
    with tempfile.TemporaryDirectory() as sample:
        path = Path(sample) / "page.md"
        path.write_text("Teh last occurence\n")
        bad = run([*command, path], env=environment)
    judge(bad, run([*command, *known, *files], env=environment, cwd=ROOT), ["occurence", "Teh"])


def format_of_sources(directory):
    """One version of clang-format for all: others break lines elsewhere."""
    command = [str(directory / "bin" / "clang-format")]
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    require("clang-format", command, env=environment)
    command += ["--dry-run", "--Werror"]
    tracked = run(["git", "ls-files", "-z", "--", "*.cc", "*.h"], cwd=ROOT)
    files = list(filter(None, tracked.stdout.split("\0")))
    if tracked.returncode or not files:
        sys.exit(f"git lists no files: {tracked.stdout}")
    bad = run([*command, "--assume-filename=bad.cc"], input="int  main( ) {return 0 ;}\n", env=environment, cwd=ROOT)
    share = -(-len(files) // (os.cpu_count() or 1))
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda start: run([*command, *files[start:start + share]], env=environment, cwd=ROOT),
                             range(0, len(files), share)))
    good = subprocess.CompletedProcess(command, max(each.returncode for each in done), "".join(each.stdout for each in done))
    judge(bad, good, ["code should be clang-formatted"])


LINTERS = {"spelling": spelling, "schema": schema, "zizmor": zizmor, "shellcheck": shellcheck, "format": format_of_sources}

if __name__ == "__main__":
    LINTERS[sys.argv[1]](Path(sys.argv[2]).resolve())
