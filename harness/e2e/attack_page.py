#!/usr/bin/env python3
"""Writes the tables of attacks and of resources in docs/explanation/containment.md from what attack.py and resources.py
found.

    attack_page.py                      as root: makes every attack under every layer, as root and as an ordinary user
    attack_page.py --check              only compares the page with fixtures/misbehaving/table.toml, which these scripts
                                        compare with what happens
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from harness import LAYERS, ROOT

HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs/explanation/containment.md"
TABLE = ROOT / "fixtures/misbehaving/table.toml"
USERS = {"root": (), "user": ("--uid", "65534")}
WORDS = {"attack": {"guard": "contained", "runner": "by the runner", "either": "by either", "said": "**survives**, reported"},
         "resource": {"refused": "refused", "guard": "guard only", "changed": "changed"}}
SCRIPTS = {"attack": "attack.py", "resource": "resources.py"}


def begin(kind):
    return f"<!-- {kind}s: written by harness/e2e/attack_page.py -->\n"


def end(kind):
    return f"<!-- {kind}s: end -->\n"


def measured(kind, table):
    """-> {attack: {user: {layer: what happened}}}; ends unless each is as the table says."""
    found = {name: {user: {} for user in USERS} for name in table}
    for layer in LAYERS:
        for user, options in USERS.items():
            with tempfile.TemporaryDirectory() as directory:
                os.chmod(directory, 0o777)  # an ordinary user writes there too
                path = Path(directory) / "results.json"
                done = subprocess.run([sys.executable, "-B", HERE / SCRIPTS[kind], "--layer", layer, "--without-landlock", "--json", path, *options],
                                      stdout=subprocess.PIPE, text=True)
                print(done.stdout, file=sys.stderr)
                if done.returncode != 0:
                    sys.exit(f"{SCRIPTS[kind]} --layer {layer} {' '.join(options)} ended {done.returncode}")
                for name, happened in json.loads(path.read_text()).items():
                    expected = table[name][user].get(layer)
                    found[name][user][layer] = expected if expected == "either" else happened
    return found


def section(kind, table, found):
    columns = [(user, layer) for layer in LAYERS for user in USERS]
    lines = [f"| {kind} | " + " | ".join(f"{layer}, {user}" for user, layer in columns) + " |",
             "| --- " * (len(columns) + 1) + "|"]
    for name, row in table.items():
        cells = [WORDS[kind].get(found[name][user].get(layer), "not contained") for user, layer in columns]
        lines.append(f"| {row['does']} | " + " | ".join(cells) + " |")
    return begin(kind) + "\n".join(lines) + "\n" + end(kind)


def with_table(text, kind, table, found):
    before, rest = text.split(begin(kind))
    return before + section(kind, table, found) + rest.split(end(kind))[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.check and os.geteuid() != 0:
        sys.exit("attack_page.py: run it as root: it becomes an ordinary user where it needs one")
    tables = tomllib.loads(TABLE.read_text())
    old = text = PAGE.read_text()
    for kind in SCRIPTS:
        table = tables[kind]
        found = {name: {user: {layer: row[user].get(layer) for layer in LAYERS} for user in USERS}
                 for name, row in table.items()} if options.check else measured(kind, table)
        text = with_table(text, kind, table, found)
    if options.check and text != old:
        sys.exit(f"{PAGE}: its tables are not those of {TABLE}; {Path(__file__).name} writes them")
    if not options.check:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
