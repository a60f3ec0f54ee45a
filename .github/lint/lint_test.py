#!/usr/bin/env python3
"""A linter that is not here is red in CI. dependabot.yml lists each directory with packages that are pinned by hash. The page
of CI has a row for each job, and all jobs with nvcc have one image."""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

LINT = Path(__file__).with_name("lint.py")
ROOT = LINT.parents[2]
sys.path.insert(0, str(ROOT / "fixtures"))
from github_runner import yaml12  # noqa: E402


class AMissingLinter(unittest.TestCase):
    def test_is_red_in_ci(self):
        with tempfile.TemporaryDirectory() as empty:
            for name in ("zizmor", "shellcheck"):
                done = subprocess.run([sys.executable, "-B", "-S", LINT, name, empty], env={**os.environ, "PATH": empty, "CI": "true"},
                                      text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(f"needs:{name}", done.stdout)


class Dependabot(unittest.TestCase):
    def test_knows_each_directory_with_pinned_packages(self):
        listed = subprocess.run(["git", "grep", "--files-with-matches", "-e", "--hash=sha256:", "--", "*.txt"], cwd=ROOT, text=True,
                                capture_output=True, check=True).stdout.split()
        pip = (ROOT / ".github/dependabot.yml").read_text().partition("package-ecosystem: pip")[2]
        known = re.findall(r"^ {6}- (/.*)$", pip, re.MULTILINE)
        self.assertEqual(set(), {f"/{Path(name).parent}" for name in listed} - set(known))
        self.assertEqual([], [name for name in known if not (ROOT / name[1:]).is_dir()])


class Workflows(unittest.TestCase):
    def setUp(self):
        self.jobs = {(path.stem, name): job for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
                     for name, job in yaml12.load(path)["jobs"].items()}

    def test_have_a_row_on_the_page_for_each_job(self):
        page = (ROOT / "docs/internals/ci.md").read_text()
        rows = re.findall(r"^\| (\w+) \| ([\w-]+) \| [^|]+ \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE)
        self.assertEqual(sorted(self.jobs), sorted(row for row in rows if row != ("workflow", "job")))

    def test_use_the_image_of_the_stack_where_nvcc_is_needed(self):
        with open(ROOT / "docker/stacks/cuda-13.toml", "rb") as file:
            devel = next(base for base in tomllib.load(file)["base"] if base["flavour"] == "devel")
        image = f"{devel['image']}@{devel['digest']}"
        boxes = {job: value["container"] for job, value in self.jobs.items() if "container" in value}
        named = {job: box if isinstance(box, str) else box["image"] for job, box in boxes.items() if "${{" not in box}
        self.assertEqual({("ci", "cuda"): image, ("release", "packages"): image}, named)


if __name__ == "__main__":
    unittest.main()
