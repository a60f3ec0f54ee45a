"""What the tests of our actions share: jobs on the simulated runner, in a workspace that has this repository's .github."""

import os
import sys

from harness import BIN, ROOT, Sandbox

sys.path.insert(0, str(ROOT / "fixtures"))

from github_runner.job import Job  # noqa: E402

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
        os.environ.clear()
        os.environ.update(self.env)

    def job(self, **more):
        self.jobs += 1
        directory = self.path / f"job{self.jobs}"
        directory.mkdir()
        github = {"run_id": "77", "run_attempt": str(self.jobs), "job": "gpu", "workflow": "w", "repository": "o/r",
                  "event_name": "push", "sha": "0" * 40, "ref": "refs/heads/main", **more.pop("github", {})}
        contexts = {"strategy": {"job-index": 0, "job-total": 1}, "matrix": {}, **more.pop("contexts", {})}
        return Job(directory, self.workspace, github=github, contexts=contexts, **more)
