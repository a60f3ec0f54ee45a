"""What the tests of our actions share: jobs on the simulated runner, in a workspace that has our .github."""

import os
import re
import sys
import tempfile

from harness import BIN, ROOT, Sandbox

sys.path.insert(0, str(ROOT / "fixtures"))

from github_runner import yaml12  # noqa: E402
from github_runner.artifacts import Artifacts  # noqa: E402
from github_runner.job import Job  # noqa: E402

UPLOAD = "actions/upload-artifact"
HOOKS = ROOT / ".github" / "runner-hooks"
SETUP = {"id": "setup", "uses": "./.github/actions/setup-proctor", "with": {"path": str(BIN)}}


class GithubSandbox(Sandbox):
    """A sandbox that is a runner: its environment is that of the runner's service."""

    def __init__(self):
        super().__init__()
        self.jobs = 0
        self.workspace = self.path / "work"
        self.workspace.mkdir()
        (self.workspace / ".github").symlink_to(ROOT / ".github")
        self.env.pop("GITHUB_ACTIONS", None)
        os.environ.clear()
        os.environ.update(self.env)

    def job(self, **more):
        self.jobs += 1
        directory = self.path / f"job{self.jobs}"
        directory.mkdir()
        github = {"run_id": "77", "run_attempt": str(self.jobs), "job": "gpu", "workflow": "w", "repository": "o/r",
                  "event_name": "push", "sha": "0" * 40, "ref": "refs/heads/main", **more.pop("github", {})}
        self.artifacts = Artifacts(directory / "artifacts")
        more.setdefault("stand_ins", {UPLOAD: self.artifacts.upload})
        contexts = {"strategy": {"job-index": 0, "job-total": 1}, "matrix": {}, **more.pop("contexts", {})}
        return Job(directory, self.workspace, github=github, contexts=contexts, **more)

    def run_directory(self, name="proctor-gpu-0"):
        """Of the last job."""
        return self.workspace / "proctor-out" / f"77-{self.jobs}-{name}"


def run_step(*arguments, **more):
    return {"id": "run", "uses": "./.github/actions/run-proctor",
            "with": {"arguments": "\n".join(map(str, arguments)), **more}}


def documented(file):
    """The workflows in docs/how-to/github.md, with what they name of ours taken from here."""
    text = (ROOT / "docs/how-to/github.md").read_text()
    text = re.sub(r"OWNER/proctor/(\S+)@FULL_COMMIT", r"./\1", text).replace("/opt/proctor/bin", str(BIN))
    block = next(block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if f"workflows/{file}" in block)
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as copy:
        copy.write(block)
        copy.flush()
        return yaml12.load(copy.name)


FINISH = {"id": "finish", "if": "always()", "uses": "./.github/actions/finish-proctor"}
