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

| room | purpose |
| --- | --- |
| `harness/{base,journal}` | the ground floor |
| `harness/runner/attempt` | runs, see `harness/runner/attempt/run.cc` |
| `fixtures/{bad,worse}` | programs |

| vendor's headers | only in |
| --- | --- |
| `cuda*` `level_zero/*` | `fixtures/bad` |
| `nvml.h` | nowhere |

| circle | reason |
| --- | --- |
| `harness/runner/attempt/{run,case}` | a run has cases, and a case knows its run |
"""
# A citation may have any words, and so may a literal of two words.
CHECK = """constexpr const char* kSource = "NVIDIA, who tells it all";
PROCTOR_CHECK(Copy, IsByteExact, "M1", kSource, kGate, {}) {
  PROCTOR_CHECK_EACH(kAll, A, B, "M1", "what it tells us, " "or not", kWarn) {}
  f("it tells", "{} tells", R"(a line that tells it)");
  step("given a copy of a buffer");
  expect_true(ok, "the copy is complete");
  expect_true(ok, "fragments of a text " + name);
}
"""
FILES = {
    ARCHITECTURE: PAGE,
    "docs/internals/words.md": "| use | not |\n| --- | --- |\n| fixes | `mends?` |\n| exit code 75 | `exit \\d+` |\n\n"
                               "| message | not |\n| --- | --- |\n| reports | `tells?` |\n| no longer | `is no more` |\n",
    "README.md": "`mend`, and `runner/attempt/run.cc`\n\n    mend x\n<!-- mends -->\n",
    "harness/base/CMakeLists.txt": "proctor_library(proctor_base toml_reader.cc)\n",
    "harness/journal/CMakeLists.txt": "proctor_library(proctor_journal event_words.cc DEPS proctor_base)\n",
    "harness/runner/attempt/CMakeLists.txt": "set(more case.cc)\nproctor_library(proctor_run\n  run.cc ${more}\n  DEPS proctor_base)\n",
    "fixtures/worse/CMakeLists.txt": "add_library(proctor_worse STATIC worse.cc)\n",
    "harness/base/text.h": "",
    "harness/journal/event_words.cc": '    {Code::kJournalNotWritten, "journal_not_written"},\n',
    "harness/base/toml_reader.cc": "auto a = toml::parse(text);\n",
    "harness/runner/attempt/run.h": '#include "harness/base/text.h"\n',
    "harness/runner/attempt/run.cc": '#include "harness/runner/attempt/run.h"\n#include "harness/runner/attempt/case.h"\n// mends\n',
    "harness/runner/attempt/case.h": '#include "harness/runner/attempt/run.h"\n',
    "harness/runner/attempt/run_test.cc": '#include "harness/runner/attempt/helper.h"\n#include "fixtures/worse/worse.h"\nf("it mends");\n',
    "harness/runner/attempt/helper.h": '#include "fixtures/bad/bad.h"\n',
    "fixtures/bad/bad.h": "#include <cuda.h>\n  #  include <level_zero/ze_api.h>\n",
    "fixtures/worse/worse.h": "",
    "fixtures/worse/worse.cc": "",
    "fixtures/bad/check.cc": CHECK,
    "suites/rules.toml": '"M1" = "A copy writes every byte."\n',
    "harness/doctor/known.toml": 'reason = "the driver reports it"\npattern = "a line that tells it"\n',
}
METHODS = "".join(f"  Map<int, int> m{i}(std::function<void(int)> then = {{}}) const {{ int a; f(); }}\n" for i in range(16))
MEMBERS = "".join(f"  std::map<int, std::pair<int, int>> m{i}_{{}};\n" for i in range(16))

# What a file becomes, and what is found then.
FINDINGS = [
    ("harness/base/text.h", '#include "fixtures/worse/worse.h"\n',
     "harness/base/text.h:1 includes fixtures/worse/worse.h, but proctor_base does not link proctor_worse"),
    ("harness/runner/attempt/CMakeLists.txt", "proctor_library(proctor_run run.cc)\n",
     "harness/runner/attempt/run.h:1 includes harness/base/text.h, but proctor_run does not link proctor_base"),
    ("harness/attic/old.cc", "", "harness/attic: a folder with sources"),
    (ARCHITECTURE, PAGE.replace("`harness/{base,journal}`", "`harness/{base,journal,attic}`"), "harness/attic has no sources"),
    ("harness/runner/attempt/run_test.cc", FILES["harness/runner/attempt/run_test.cc"] + "#include <nvml.h>\n",
     "nvml.h: a vendor's header, which no room"),
    ("fixtures/bad/bad.h", "", "nothing in fixtures/bad includes cuda* level_zero/*: take it out"),
    (ARCHITECTURE, PAGE.replace("`harness/runner/attempt/{run,case}`", "`harness/base/{a,b}`"), "harness/runner/attempt/case harness/runner/attempt/run: a circle"),
    ("harness/runner/attempt/case.h", "", "architecture.md:16: this is no circle"),
    (ARCHITECTURE, PAGE.replace("`harness/runner/attempt/run.cc`", "`harness/runner/attempt/runner.cc`"), "harness/runner/attempt/runner.cc does not exist"),
    (ARCHITECTURE, PAGE.replace("# Made up", "# `cleaned()`"), "no source knows a cleaned()"),
    ("README.md", "See `fixtures/bad/worse.h`.\n", "README.md:1: names fixtures/bad/worse.h, which"),
    ("harness/base/text.h", "// See runner/gone.h.\n", "harness/base/text.h:1: names runner/gone.h"),
    ("harness/runner/attempt/case.cc", "auto a = nlohmann::json::parse(text);\n", "harness/runner/attempt/case.cc:1: json::parse() takes"),
    ("harness/runner/attempt/case.cc", 'if (a == "journal_not_written") g();\n', 'harness/runner/attempt/case.cc:1: compares with "journal_not_written"'),
    ("reports/page.js", 'if (codes.includes("journal_not_written")) f();\n', 'reports/page.js:1: compares with "journal_not_written"'),
    ("harness/runner/attempt/case.cc", f"class Big {{\n{METHODS}}};\n", "Big has 16 private methods"),
    ("harness/runner/attempt/case.cc", f"struct Big {{\n{METHODS}{MEMBERS}}};\n", "Big has 16 data members"),
    ("README.md", "One line.\n\nIt mends it, with\nexit 75.\n", "README.md:4: `exit 75`: exit code 75"),
    ("harness/runner/attempt/run.cc", FILES["harness/runner/attempt/run.cc"] + 'f("what mends it", "mend");\n', "harness/runner/attempt/run.cc:4: `mends`: fixes"),
    ("harness/runner/attempt/run.h", FILES["harness/runner/attempt/run.h"] + 'f("what " // comment\n  "mends it");\n',
     "harness/runner/attempt/run.h:2: `mends`: fixes"),
    ("fixtures/bad/check.cc", CHECK.replace("copy of a buffer", "copy that tells"), "fixtures/bad/check.cc:5: `tells`: reports"),
    ("fixtures/bad/check.cc", CHECK.replace("a copy of a", 'a copy that is "\n"no more in a'), "fixtures/bad/check.cc:5: `is no more`: no longer"),
    ("fixtures/bad/check.cc", CHECK.replace("the copy is complete", "all of the memory"), "fixtures/bad/check.cc:6: `all of the memory`: an expectation"),
    ("fixtures/bad/check.cc", CHECK.replace("the copy is complete", "it is complete"), "fixtures/bad/check.cc:6: `it is complete`: an expectation names"),
    ("fixtures/bad/check.cc", CHECK.replace("a copy of a buffer", "a copy " * 13), "fixtures/bad/check.cc:5: `given a copy a copy ...`: at most 25 words"),
    ("fixtures/bad/check.cc", CHECK.replace('"M1", kSource', '"M1", "project rule: A copy tells it."'), "fixtures/bad/check.cc:2: `tells`: reports"),
    ("suites/rules.toml", '"M1" = "A copy tells it."\n', "suites/rules.toml:1: `tells`: reports"),
    ("suites/rules.toml", '\n"M1" = "Every byte of it."\n', "suites/rules.toml:2: a rule is a sentence with a verb"),
    ("harness/doctor/known.toml", 'why = 1\nreason = "the driver tells it"\n', "harness/doctor/known.toml:2: `tells`: reports"),
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
        self.assertIn("\n1 circles of units, 0 of rooms", self.found_by("circles"))

    def test_the_list_of_messages(self):
        with tempfile.TemporaryDirectory() as directory:
            self.write(directory, FILES)
            listed = subprocess.run([sys.executable, "-B", HERE / "words.py", "--list", "fixtures", directory], text=True, check=True,
                                    stdout=subprocess.PIPE).stdout
        self.assertEqual(listed, "fixtures/bad/check.cc:5: step        given a copy of a buffer\n"
                                 "fixtures/bad/check.cc:6: expectation the copy is complete\n"
                                 "fixtures/bad/check.cc:7: expectation fragments of a text \n")

    def test_each_finding(self):
        for name, text, finding in FINDINGS:
            with self.subTest(finding):
                self.assertIn(finding, self.found(name, text))


if __name__ == "__main__":
    unittest.main()
