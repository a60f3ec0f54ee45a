#!/usr/bin/env python3
"""Each kind of finding of architecture.py and words.py, in a tree of a few files. Without it, a check that finds nothing any
more would pass."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent
ARCHITECTURE = "docs/internals/architecture.md"
PAGE = """# Made up

| room | what it is for | may include |
| --- | --- | --- |
| `harness/core` | the ground floor | |
| `harness/run` | runs, see `harness/run/run.cc` | `core`; tests: `fixtures/{bad,worse}` |
| `fixtures/{bad,worse}` | programs | |

| vendor's headers | only in |
| --- | --- |
| `cuda*` `level_zero/*` | `fixtures/bad` |
| `nvml.h` | nowhere |

| circle | reason |
| --- | --- |
| `harness/run/{run,case}` | a run has cases, and a case knows its run |
"""
FILES = {
    ARCHITECTURE: PAGE,
    "docs/internals/words.md": "| use | not |\n| --- | --- |\n| fixes | `mends?` |\n| exit code 75 | `exit \\d+` |\n",
    "README.md": "`mend`, and `run/run.cc`\n\n    mend x\n<!-- mends -->\n",
    "harness/core/text.h": "",
    "harness/core/event_words.cc": '    {Code::kJournalLost, "journal_lost"},\n',
    "harness/core/toml_reader.cc": "auto a = toml::parse(text);\n",
    "harness/run/run.h": '#include "harness/core/text.h"\n',
    "harness/run/run.cc": '#include "harness/run/run.h"\n#include "harness/run/case.h"\n// mends\n',
    "harness/run/case.h": '#include "harness/run/run.h"\n',
    "harness/run/run_test.cc": '#include "harness/run/helper.h"\n#include "fixtures/worse/worse.h"\nf("it mends");\n',
    "harness/run/helper.h": '#include "fixtures/bad/bad.h"\n',
    "fixtures/bad/bad.h": "#include <cuda.h>\n  #  include <level_zero/ze_api.h>\n",
    "fixtures/worse/worse.h": "",
}
METHODS = "".join(f"  Map<int, int> m{i}(std::function<void(int)> then = {{}}) const {{ int a; f(); }}\n" for i in range(16))
MEMBERS = "".join(f"  std::map<int, std::pair<int, int>> m{i}_{{}};\n" for i in range(16))

# What a file becomes, and what is found then.
FINDINGS = [
    ("harness/core/text.h", '#include "fixtures/worse/worse.h"\n', "no arrow leads from harness/core to fixtures/worse."),
    ("harness/run/run.cc", FILES["harness/run/run.cc"] + '#include "fixtures/worse/worse.h"\n',
     "no arrow leads from harness/run to fixtures/worse."),
    ("harness/run/run.h", "", "nothing in harness/run includes harness/core: take it out"),
    ("harness/run/run_test.cc", '#include "harness/run/helper.h"\n', "no test in harness/run includes fixtures/worse: take it out"),
    ("harness/attic/old.cc", "", "harness/attic: a folder with sources"),
    (ARCHITECTURE, PAGE.replace("| `harness/core` |", "| `harness/{core,attic}` |"), "harness/attic has no sources"),
    ("harness/run/run_test.cc", FILES["harness/run/run_test.cc"] + "#include <nvml.h>\n", "nvml.h: a vendor's header, which no room"),
    ("fixtures/bad/bad.h", "", "nothing in fixtures/bad includes cuda* level_zero/*: take it out"),
    (ARCHITECTURE, PAGE.replace("`harness/run/{run,case}`", "`harness/core/{a,b}`"), "harness/run/case harness/run/run: a circle"),
    ("harness/run/case.h", "", "architecture.md:16: this is no circle"),
    (ARCHITECTURE, PAGE.replace("`harness/run/run.cc`", "`harness/run/runner.cc`"), "harness/run/runner.cc does not exist"),
    (ARCHITECTURE, PAGE.replace("# Made up", "# `cleaned()`"), "no source knows a cleaned()"),
    ("README.md", "See `fixtures/bad/worse.h`.\n", "README.md:1: names fixtures/bad/worse.h, which"),
    ("harness/core/text.h", "// See run/gone.h.\n", "harness/core/text.h:1: names run/gone.h"),
    ("harness/run/case.cc", "auto a = nlohmann::json::parse(text);\n", "harness/run/case.cc:1: json::parse() takes"),
    ("harness/run/case.cc", 'if (a == "journal_lost") g();\n', 'harness/run/case.cc:1: compares with "journal_lost"'),
    ("reports/page.js", 'if (codes.includes("journal_lost")) f();\n', 'reports/page.js:1: compares with "journal_lost"'),
    ("harness/run/case.cc", f"class Big {{\n{METHODS}}};\n", "Big has 16 private methods"),
    ("harness/run/case.cc", f"struct Big {{\n{METHODS}{MEMBERS}}};\n", "Big has 16 data members"),
    ("README.md", "One line.\n\nIt mends it, with\nexit 75.\n", "README.md:4: `exit 75`: exit code 75"),
    ("harness/run/run.cc", FILES["harness/run/run.cc"] + 'f("what mends it", "mend");\n', "harness/run/run.cc:4: `mends`: fixes"),
    ("harness/plan/defaults.toml", "# It mends\n#: mends = 1\n", "harness/plan/defaults.toml:1: `mends`: fixes"),
]


class Checks(unittest.TestCase):
    def write(self, directory, files):
        for name, content in files.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def found_by(self, verb):
        with tempfile.TemporaryDirectory() as directory:
            self.write(directory, FILES)
            return subprocess.run([sys.executable, "-B", HERE / "architecture.py", verb, directory], text=True, check=True,
                                  stdout=subprocess.PIPE).stdout

    def found(self, changed, text):
        with tempfile.TemporaryDirectory() as directory:
            self.write(directory, {**FILES, changed: text})
            done = [subprocess.run([sys.executable, "-B", HERE / checker, directory], text=True, check=False, stdout=subprocess.PIPE)
                    for checker in ("architecture.py", "words.py")]
        for each in done:
            self.assertEqual(each.returncode, 1 if each.stdout else 0)
        return "".join(each.stdout for each in done)

    def test_a_tree_that_agrees(self):
        self.assertEqual(self.found("README.md", FILES["README.md"]), "")

    def test_what_a_tree_has(self):
        self.assertIn("| `harness/run` | | `core`; tests: `fixtures/bad` `fixtures/worse` |", self.found_by("arrows"))
        self.assertIn("\n1 circles of units, 0 of rooms", self.found_by("circles"))

    def test_each_finding(self):
        for name, text, finding in FINDINGS:
            with self.subTest(finding):
                self.assertIn(finding, self.found(name, text))


if __name__ == "__main__":
    unittest.main()
