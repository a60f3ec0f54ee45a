"""What the tests of Proctor's actions share: jobs on the simulated runner, whose steps use this tree at any ref."""

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from harness import BIN, ROOT, Sandbox, skip

sys.path.insert(0, str(ROOT / "fixtures"))

from github_runner import yaml12  # noqa: E402
from github_runner.artifacts import Artifacts  # noqa: E402
from github_runner.job import Job  # noqa: E402

UPLOAD = "actions/upload-artifact"
HOOKS = ROOT / ".github" / "runner-hooks"
ACTION = "OWNER/proctor@v0"
FINISH = {"id": "finish", "if": "always()", "uses": "OWNER/proctor/.github/actions/finish-proctor@v0"}


def require_node():
    """GitHub has its own; the action needs what Node 18 has."""
    node = shutil.which("node")
    version = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout if node else ""
    if int((version or "v0")[1:].split(".")[0]) < 18:
        skip("needs:node (18 or later; Debian: nodejs)")


class GithubSandbox(Sandbox):
    """A sandbox that is a runner: its environment is that of the runner's service."""

    def __init__(self):
        super().__init__()
        self.jobs = 0
        self.workspace = self.path / "work"
        self.workspace.mkdir()
        self.env.pop("GITHUB_ACTIONS", None)
        os.environ.clear()
        os.environ.update(self.env)

    def job(self, **more):
        self.jobs += 1
        directory = self.path / f"job{self.jobs}"
        directory.mkdir()
        github = {"run_id": "77", "run_attempt": str(self.jobs), "job": "gpu", "workflow": "w", "repository": "o/r",
                  "event_name": "push", "sha": "0" * 40, "ref": "refs/heads/main", "server_url": "https://github.com",
                  **more.pop("github", {})}
        self.artifacts = Artifacts(directory / "artifacts")
        more.setdefault("stand_ins", {UPLOAD: self.artifacts.upload})
        more.setdefault("repositories", {"OWNER/proctor": ROOT})
        contexts = {"strategy": {"job-index": 0, "job-total": 1}, "matrix": {}, **more.pop("contexts", {})}
        return Job(directory, self.workspace, github=github, contexts=contexts, **more)

    def run_directory(self, name="proctor-gpu-0"):
        """Of the last job."""
        return self.workspace / "proctor-out" / f"77-{self.jobs}-{name}"


class Server(http.server.ThreadingHTTPServer):
    """Answers each GET with the status and the bytes that answer(path) gives. asked: [(path, its Authorization)]."""

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.asked, self.address = answer, [], f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers["Authorization"]))
        status, body = self.server.answer(self.path)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Api(Server):
    """GitHub's list of artifacts, as far as it is asked for here."""

    def __init__(self):
        super().__init__(lambda path: (self.status, json.dumps({"artifacts": self.rows}).encode()))
        self.rows, self.status = [], 200

    def artifact(self, run, created, branch="main", repository=1, **more):
        self.rows.append({"name": "proctor-history", "expired": False, "created_at": created, **more,
                          "workflow_run": {"id": run, "head_branch": branch, "repository_id": 1,
                                           "head_repository_id": repository}})


def run_step(*arguments, **more):
    return {"id": "run", "uses": ACTION, "with": {"path": str(BIN), "arguments": "\n".join(map(str, arguments)), **more}}


def documented(words, page="docs/how-to/github.md"):
    """The first workflow of a page that contains the words, with Proctor as it was built."""
    text = (ROOT / page).read_text()
    text = text.replace("@FULL_COMMIT", "@v0").replace("/opt/proctor/bin", str(BIN))
    block = next(block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if words in block)
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as copy:
        copy.write(block)
        copy.flush()
        return yaml12.load(copy.name)
