#!/usr/bin/env python3
"""docs/reference/versions.md: the versions of the files are those that Proctor writes and reads."""

import json
import re
import sqlite3
import sys

from harness import ROOT, Sandbox, check, records, report

PAGE = ROOT / "docs/reference/versions.md"


def promised():
    """{beginning of the first cell: (key, version)} of the table of files."""
    rows = re.findall(r"^\| (.+?) \| `([^`]+)` \| ([\d.]+) \|", PAGE.read_text(), re.MULTILINE)
    return {name: (key, version) for name, key, version in rows}


def refuses_newer(sandbox, name, text, key, *command):
    path = sandbox.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    done = sandbox.proctor(*command)
    check(done.returncode == 2 and key in done.stderr, name, "of a newer version:", done.returncode, done.stderr)


def main():
    rows, seen = promised(), set()

    def said(name, found):
        (row,) = [row for row in rows if row.startswith(name)]
        seen.add(row)
        check(rows[row][1] == str(found), f"{PAGE.name}: {row} has version {rows[row][1]}, not {found}")
        return rows[row][0]

    with Sandbox() as sandbox:
        out, plan, history = sandbox.out(), sandbox.path / "plan.json", sandbox.path / "history.sqlite"
        for command in (("run", "--out", out, "--", "/bin/true"), ("history", "add", history, out),
                        ("plan", "-o", plan, "--", "/bin/true")):
            done = sandbox.proctor(*command)
            check(done.returncode == 0, *command, done.stderr)
        said("journal", records(out)[0]["v"])
        said("`report.json`", report(out)["schema_version"])
        said("CTRF", json.loads((out / "ctrf.json").read_text())["specVersion"])
        said("plan", json.loads(plan.read_text())["version"])
        said("history", sqlite3.connect(history).execute("PRAGMA user_version").fetchone()[0])
        schemas = [json.loads(path.read_text())["properties"]["schema_version"]["const"]
                   for path in (ROOT / "reports/schema").glob("*.schema.json") if path.name != "ctrf.schema.json"]
        check(len(set(schemas)) == 1, schemas)
        said("`gate.json`", schemas[0])
        key = said("gate policy", 1)
        refuses_newer(sandbox, "policy.toml", f"{key} = 2\n", "reads version 1", "gate", "--check", sandbox.path / "policy.toml")
        key = said("lock", 1)
        lock = (ROOT / "docker/stacks/cpu-sim.toml").read_text()
        refuses_newer(sandbox, "stacks/cpu-sim.toml", re.sub(rf"(?m)^{key} .*", f"{key} = 2", lock), "from 1 to 1", "stack", "render",
                      "--dir", sandbox.path, "cpu-sim")
    check(seen == set(rows), "rows without a check:", set(rows) - seen)
    print(f"ok {len(seen)} files")


if __name__ == "__main__":
    sys.exit(main())
