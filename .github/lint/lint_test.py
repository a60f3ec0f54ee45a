#!/usr/bin/env python3
"""A linter that is not here is skipped by name where a developer works, and red in CI, where nobody reads of skips. And what
is pinned by hash is watched by dependabot.yml."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINT = Path(__file__).with_name("lint.py")


class AMissingLinter(unittest.TestCase):
    def lint(self, ci):
        environment = {**os.environ, "PATH": self.empty, "CI": ci}
        return {name: subprocess.run([sys.executable, "-B", "-S", LINT, name, self.empty], env=environment, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                for name in ("zizmor", "shellcheck")}

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.empty = directory.name

    def test_is_skipped_by_name(self):
        for name, done in self.lint(ci="").items():
            self.assertEqual(done.returncode, 77, done.stdout)
            self.assertIn(f"skipped: needs:{name}", done.stdout)

    def test_is_red_in_ci(self):
        for name, done in self.lint(ci="true").items():
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"needs:{name}", done.stdout)
            self.assertIn("./dev test", done.stdout)


class Dependabot(unittest.TestCase):
    def test_knows_each_directory_with_pinned_packages(self):
        root = LINT.parents[2]
        listed = subprocess.run(["git", "grep", "--files-with-matches", "-e", "--hash=sha256:", "--", "*.txt"], cwd=root, text=True,
                                capture_output=True, check=True).stdout.split()
        pip = (root / ".github/dependabot.yml").read_text().partition("package-ecosystem: pip")[2]
        known = re.findall(r"^ {6}- (/.*)$", pip, re.MULTILINE)
        self.assertEqual(set(), {f"/{Path(name).parent}" for name in listed} - set(known))
        self.assertEqual([], [name for name in known if not (root / name[1:]).is_dir()])


if __name__ == "__main__":
    unittest.main()
