#!/usr/bin/env python3
"""Finds the run of the workflow with the newest history of this branch, or else of the default branch.

Input: the environment. Output in GITHUB_OUTPUT: `state` is found (with `run`), none, or unknown (with the reason in
`said`). The exit code is always 0, because the gate can judge a run without a history.
"""

import json
import os
import urllib.error
import urllib.parse
import urllib.request

ROWS = 100  # per page, GitHub's maximum
PAGES = 10


def artifacts(name):
    """The artifacts of this name in the repository, page by page."""
    where = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/actions/artifacts"
    for page in range(1, PAGES + 1):
        query = urllib.parse.urlencode({"name": name, "per_page": ROWS, "page": page})
        request = urllib.request.Request(f"{where}?{query}", headers={
            "Accept": "application/vnd.github+json", "Authorization": f"Bearer {os.environ['TOKEN']}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            rows = json.load(answer)["artifacts"]
        yield from rows
        if len(rows) < ROWS:
            return


def newest(branches):
    """The id of the run with the history, or None. Only of this repository: a fork can use the same branch name."""
    ours = [(row["workflow_run"]["head_branch"], row["created_at"], row["workflow_run"]["id"])
            for row in artifacts(f"{os.environ['NAME']}-history")
            if not row["expired"] and row["workflow_run"]
            and row["workflow_run"]["head_repository_id"] == row["workflow_run"]["repository_id"]]
    for branch in branches:
        found = [(created, run) for its, created, run in ours if its == branch]
        if found:
            print(f"history: of the branch {branch}, {max(found)[0]}")
            return max(found)[1]
    return None


def look():
    """(state, run, message)"""
    try:
        run = newest([branch for branch in (os.environ["BRANCH"], os.environ["DEFAULT_BRANCH"]) if branch])
    except urllib.error.HTTPError as error:
        hint = "; the calling job needs `permissions: actions: read`" if error.code in (401, 403, 404) else ""
        return "unknown", "", f"GitHub answers {error.code} to the question for earlier histories{hint}"
    except Exception as error:  # the reports must still be judged
        return "unknown", "", f"nobody could ask for earlier histories: {type(error).__name__}: {error}"
    return ("found", run, "") if run else ("none", "", "")


if __name__ == "__main__":
    state, run, said = look()
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as output:
        output.write(f"state={state}\nrun={run}\nsaid={' '.join(said.split())}\n")
