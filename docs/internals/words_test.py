#!/usr/bin/env python3
"""A word of the list is found where people read it, and nowhere else, in a small tree that is made for it."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECKER = Path(__file__).with_name("words.py")

PAGE = """| use | not |
| --- | --- |
| fixes | `mends?` |
| exit code 75 | `exit \\d+` |
| checks | `(?:is\\|are) tried with` |
"""


class AListOfWords(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.write("docs/internals/words.md", PAGE)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def found(self):
        done = subprocess.run([sys.executable, "-B", CHECKER, self.root], text=True, check=False, stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 1 if done.stdout else 0)
        return done.stdout.splitlines()

    def test_a_page_and_a_message(self):
        self.write("README.md", "One line.\n\nIt mends it, with\nexit 75.\n")
        self.write("harness/run/run.cc", 'f("what mends it", "mend");  // mends\ng("a `mend` of its own");\n')
        self.write("reports/page.cc", 'f("points are tried with\\n");\n')
        self.assertEqual(self.found(), ["README.md:3: `mends`: fixes", "README.md:4: `exit 75`: exit code 75",
                                        "harness/run/run.cc:1: `mends`: fixes", "reports/page.cc:1: `are tried with`: checks"])

    def test_the_comments_of_the_defaults(self):
        self.write("harness/plan/defaults.toml", '# It mends\nkey = "mend"\n#: mends = 1\n# `mends`, and\n# mends it.\n')
        self.assertEqual(self.found(), [f"harness/plan/defaults.toml:{line}: `mends`: fixes" for line in (1, 5)])

    def test_what_nobody_reads_as_prose(self):
        self.write("docs/page.md", "`mend` and [x](mend.md)\n\n    mend x\n\n```sh\nmend\n```\n<!-- mends -->\namend, mend-all\n")
        self.write("harness/run/run_test.cc", 'f("it mends");\n')
        self.write("harness/run/testdata/run.cc", 'f("it mends");\n')
        self.assertEqual(self.found(), [])

    def test_a_list_without_a_table(self):
        self.write("docs/internals/words.md", "# Words\n")
        self.assertEqual(subprocess.run([sys.executable, "-B", CHECKER, self.root], check=False,
                                        stderr=subprocess.DEVNULL).returncode, 1)


if __name__ == "__main__":
    unittest.main()
