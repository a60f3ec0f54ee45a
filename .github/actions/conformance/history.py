#!/usr/bin/env python3
"""Finds the run of the workflow with the newest history of this branch, or else of the default branch.

Output in GITHUB_OUTPUT: `state` is found (with `run`), none, or unknown (with the reason in `said`). The exit code is
always 0, because the gate can judge a run without a history.
"""

import json
import os
import urllib.error
import urllib.parse
import urllib.request

ROWS = 100  # per page, GitHub's maximum
PAGES = 10


def artifacts():
    """The histories in the repository, page by page."""
    where = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/actions/artifacts"
    headers = {"Accept": "application/vnd.github+json", "Authorization": f"Bearer {os.environ['TOKEN']}"}
    for page in range(1, PAGES + 1):
        query = urllib.parse.urlencode({"name": f"{os.environ['NAME']}-history", "per_page": ROWS, "page": page})
        with urllib.request.urlopen(urllib.request.Request(f"{where}?{query}", headers=headers), timeout=30) as answer:
            rows = json.load(answer)["artifacts"]
        yield from rows
        if len(rows) < ROWS:
            return


def newest():
    """The id of the run with the history, or "". Only of this repository: a fork can use the same branch name."""
    runs = {}  # of each branch: (created, id)
    for row in artifacts():
        run = row["workflow_run"]
        if not row["expired"] and run and run["head_repository_id"] == run["repository_id"]:
            branch = run["head_branch"]
            runs[branch] = max(runs.get(branch, ("", 0)), (row["created_at"], run["id"]))
    for branch in (os.environ.get("GITHUB_BASE_REF") or os.environ["GITHUB_REF_NAME"], os.environ["DEFAULT_BRANCH"]):
        if branch in runs:
            print(f"history: of the branch {branch}, {runs[branch][0]}")
            return runs[branch][1]
    return ""


if __name__ == "__main__":
    run, said = "", ""
    try:
        run = newest()
    except Exception as error:  # the reports must still be judged
        said = f"GitHub does not answer the question for earlier histories: {type(error).__name__}: {error}"
        if isinstance(error, urllib.error.HTTPError):
            said = f"GitHub answers {error.code} to the question for earlier histories"
            said += "; the calling job needs `permissions: actions: read`" if error.code in (401, 403, 404) else ""
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as output:
        output.write(f"state={'unknown' if said else 'found' if run else 'none'}\nrun={run}\nsaid={' '.join(said.split())}\n")
