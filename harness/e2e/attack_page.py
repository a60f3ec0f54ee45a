#!/usr/bin/env python3
"""Writes the table of attacks in docs/explanation/containment.md from what attack.py found.

    attack_page.py                      as root: makes every attack under every layer, as root and as an ordinary user
    attack_page.py --check              only compares the page with fixtures/misbehaving/table.toml, which attack.py
                                        compares with what happens
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
BEGIN = "<!-- attacks: written by harness/e2e/attack_page.py -->\n"
END = "<!-- attacks: end -->\n"
WORDS = {"guard": "contained", "runner": "by the runner", "either": "by either", "said": "**survives**, reported"}


def measured(table):
    """-> {attack: {user: {layer: what happened}}}; ends unless each is as the table says."""
    found = {name: {user: {} for user in USERS} for name in table}
    for layer in LAYERS:
        for user, options in USERS.items():
            with tempfile.TemporaryDirectory() as directory:
                os.chmod(directory, 0o777)  # an ordinary user writes there too
                path = Path(directory) / "results.json"
                done = subprocess.run([sys.executable, "-B", HERE / "attack.py", "--layer", layer, "--without-landlock", "--json", path, *options],
                                      stdout=subprocess.PIPE, text=True)
                print(done.stdout, file=sys.stderr)
                if done.returncode != 0:
                    sys.exit(f"attack.py --layer {layer} {' '.join(options)} ended {done.returncode}")
                for name, happened in json.loads(path.read_text()).items():
                    expected = table[name][user].get(layer)
                    found[name][user][layer] = expected if expected == "either" else happened
    return found


def section(table, found):
    columns = [(user, layer) for layer in LAYERS for user in USERS]
    lines = ["| attack | " + " | ".join(f"{layer}, {user}" for user, layer in columns) + " |",
             "| --- " * (len(columns) + 1) + "|"]
    for name, row in table.items():
        cells = [WORDS.get(found[name][user].get(layer), "not contained") for user, layer in columns]
        lines.append(f"| {row['does']} | " + " | ".join(cells) + " |")
    return BEGIN + "\n".join(lines) + "\n" + END


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    table = tomllib.loads(TABLE.read_text())["attack"]
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    if options.check:
        expected = {name: {user: {layer: row[user].get(layer) for layer in LAYERS}
                           for user in USERS} for name, row in table.items()}
        if before + section(table, expected) + after != text:
            sys.exit(f"{PAGE}: its attacks are not those of {TABLE}; {Path(__file__).name} writes them")
        return
    if os.geteuid() != 0:
        sys.exit("attack_page.py: run it as root: it becomes an ordinary user where it needs one")
    PAGE.write_text(before + section(table, measured(table)) + after)


if __name__ == "__main__":
    main()
