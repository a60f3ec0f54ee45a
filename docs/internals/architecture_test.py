#!/usr/bin/env python3
"""Each way in which a tree and its page can part is found, in a tree of five files that is made for it."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECKER = Path(__file__).with_name("architecture.py")

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
    "harness/core/text.h": "",
    "harness/core/event_words.cc": '    {Code::kJournalLost, "journal_lost"},\n',
    "harness/run/run.h": '#include "harness/core/text.h"\n',
    "harness/run/run.cc": '#include "harness/run/run.h"\n#include "harness/run/case.h"\n',
    "harness/run/case.h": '#include "harness/run/run.h"\n',
    "harness/run/run_test.cc": '#include "harness/run/helper.h"\n#include "fixtures/worse/worse.h"\n',
    "harness/run/helper.h": '#include "fixtures/bad/bad.h"\n',
    "fixtures/bad/bad.h": "// Two of them:\n#include <cuda.h>\n  #  include <level_zero/ze_api.h>\n",
    "fixtures/worse/worse.h": "",
}


class ATreeAndItsPage(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.write("docs/internals/architecture.md", PAGE)
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def page(self, old, new):
        self.assertIn(old, PAGE)
        self.write("docs/internals/architecture.md", PAGE.replace(old, new))

    def found(self, *verb):
        done = subprocess.run([sys.executable, "-B", CHECKER, *verb, self.root], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0 if verb or not done.stdout else 1, done.stdout)
        return done.stdout

    def assert_finds(self, *texts, findings=1):
        found = self.found()
        for text in texts:
            self.assertIn(text, found)
        lines = [line for line in found.splitlines() if not line.startswith("    ")]
        self.assertEqual(len(lines), findings, found)

    def test_that_agree(self):
        self.assertEqual(self.found(), "")

    def test_an_include_that_no_arrow_allows(self):
        self.write("harness/core/text.h", '// Text.\n#include "fixtures/worse/worse.h"\n')
        self.assert_finds("no arrow leads from harness/core to fixtures/worse.",
                          "add it to the row docs/internals/architecture.md:5:\n",
                          "\n    harness/core/text.h:2 includes fixtures/worse/worse.h\n")

    def test_an_arrow_that_only_tests_may_use(self):
        self.write("harness/run/case.h", '#include "harness/run/run.h"\n#include "fixtures/worse/worse.h"\n')
        self.assert_finds("harness/run/case.h:2 includes fixtures/worse/worse.h", "from harness/run to fixtures/worse")

    def test_an_arrow_that_nobody_uses_any_more(self):
        self.write("harness/run/run.h", "")
        self.assert_finds("architecture.md:6: nothing in harness/run includes harness/core: take it out")

    def test_an_arrow_of_tests_that_nobody_uses_any_more(self):
        self.write("harness/run/run_test.cc", '#include "harness/run/helper.h"\n')
        self.assert_finds("architecture.md:6: no test in harness/run includes fixtures/worse: take it out")

    def test_a_folder_that_the_page_does_not_know(self):
        self.write("harness/attic/old.cc", "")
        self.assert_finds("harness/attic: a folder with sources", "give it a row")

    def test_a_room_that_is_gone(self):
        self.page("| `harness/core` |", "| `harness/{core,attic}` |")
        self.assert_finds("architecture.md:5: harness/attic has no sources")

    def test_a_vendors_header(self):
        self.write("harness/run/case.h", '#include "harness/run/run.h"\n#include <cuda_runtime_api.h>\n')
        self.write("harness/run/run_test.cc", FILES["harness/run/run_test.cc"] + "#include <nvml.h>\n")
        self.assert_finds("harness/run/case.h:2 includes cuda_runtime_api.h: a vendor's header, "
                          "which only fixtures/bad",
                          "harness/run/run_test.cc:3 includes nvml.h: a vendor's header, which no room", findings=2)

    def test_a_vendors_header_that_is_gone(self):
        self.write("fixtures/bad/bad.h", "")
        self.assert_finds("architecture.md:11: nothing in fixtures/bad includes cuda* level_zero/*: take it out")

    def test_a_circle_without_a_reason(self):
        self.page("`harness/run/{run,case}`", "`harness/core/{a,b}`")
        self.assert_finds("harness/run/case harness/run/run: a circle",
                          "\n    harness/run/run.cc:2 includes harness/run/case.h",
                          "\n    harness/run/case.h:1 includes harness/run/run.h",
                          "architecture.md:16: this is no circle", findings=2)

    def test_a_circle_that_has_grown(self):
        self.write("harness/run/case.cc", '#include "harness/run/verdict.h"\n')
        self.write("harness/run/verdict.h", '#include "harness/run/run.h"\n')
        self.assert_finds("harness/run/case harness/run/run harness/run/verdict: a circle",
                          "architecture.md:16: this is no circle, or not the whole of one", findings=2)

    def test_a_circle_that_is_cut(self):
        self.write("harness/run/case.h", "")
        self.assert_finds("architecture.md:16: this is no circle")

    def test_rooms_that_include_each_other(self):
        self.write("harness/core/text.h", '#include "fixtures/worse/worse.h"\n')
        self.write("fixtures/worse/worse.h", '#include "harness/core/text.h"\n')
        found = self.found()
        self.assertIn("fixtures/worse harness/core: a circle", found)

    def test_a_file_that_the_page_only_thinks_of(self):
        self.page("`harness/run/run.cc`", "`harness/run/runner.cc`")
        self.assert_finds("architecture.md:6: harness/run/runner.cc does not exist")

    def test_a_function_that_is_gone(self):
        self.write("harness/core/text.h", "class Text {};\nText trimmed(const Text&);\n")
        self.page("# Made up", "# `Text`, `trimmed()`, `Text::trimmed()`, `skip(needs:devices)`")
        self.assertEqual(self.found(), "")
        self.page("# Made up", "# `Text`, `cleaned()`, `Text::trimmed()`, `Words`")
        self.assert_finds("architecture.md:1: no source knows a cleaned()",
                          "architecture.md:1: no source knows a Words", findings=2)

    def test_a_comment_that_names_a_file_of_ours(self):
        self.write("README.md", "See `fixtures/bad/bad.h`, `run/run.cc` and `docs/NAME.md`.\n")
        self.write("harness/core/text.h", "// See run/helper.h, core/text.h, README.md; not sys/wait.h.\n")
        self.assertEqual(self.found(), "")

    def test_a_comment_that_names_a_file_that_is_gone(self):
        self.write("README.md", "See `fixtures/bad/worse.h`.\n")
        self.write("harness/core/text.h", 'const char* kName = "run/gone.cc";  // see run/gone.h and IDEAS.md\n')
        self.write("docs/run.py", "#" " See docs/gone.md, and https://github.com/them/theirs/blob/docs/gone.md.\n")
        self.assert_finds("README.md:1: names fixtures/bad/worse.h, which", "harness/core/text.h:1: names run/gone.h",
                          "harness/core/text.h:1: names IDEAS.md", "docs/run.py:1: names docs/gone.md", findings=4)

    def test_a_parser_without_a_limit(self):
        self.write("harness/run/case_test.cc", "auto a = json::parse(text);\n")
        self.write("harness/core/toml_reader.cc", "auto a = toml::parse(text);\n")
        self.assertEqual(self.found(), "")
        self.write("harness/run/case.cc", "// json::parse(text)\nauto a = nlohmann::json::parse(text);\nread_xml(a, b);\n")
        self.assert_finds("harness/run/case.cc:2: json::parse() takes", "harness/run/case.cc:3: read_xml() takes", findings=2)

    def test_a_comparison_with_a_spelling(self):
        self.write("harness/run/case.cc", 'if (a == "journal_lost") f("journal_lost");\nif (word.text() != "other") g();\n')
        self.write("reports/page.js", 'if (codes.includes("journal_lost")) return "lost" === word;\n')
        self.assert_finds('harness/run/case.cc:1: compares with "journal_lost"', 'harness/run/case.cc:2: compares with "other"',
                          'reports/page.js:1: compares with "journal_lost"', findings=3)
    def test_a_class_that_nobody_can_keep_in_mind(self):
        inside = ("  Big() : a_{1}, b_(2) {}\n  static constexpr int kMost{5};\n  enum class Kind { kA, kB };\n"
                  "  struct Part { int of; };\n  std::function<void(int)> done_ = [](int) {};  // int comment_;\n")
        methods = "".join(f"  Map<int, int> m{i}(std::function<void(int)> then = {{}}) const {{ int a; f(); }}\n"
                          for i in range(13))
        methods += "  Big(const Big&) = delete;\n  bool operator==(const Big&) const { return true; }\n"
        members = "".join(f"  std::map<int, std::pair<int, int>> m{i}_{{}};\n" for i in range(14))
        self.write("harness/core/text.h", f"class Big {{\n{methods}  void more();\n}};\n")
        self.write("harness/run/case.cc", f"class Big : public Base {{\n public:\n{inside} private:\n{methods}{members}}};\n")
        self.assertEqual(self.found(), "")
        self.write("harness/run/case.cc", f"class Big final {{\n{inside}{methods}{members}  int more_;\n}};\n"
                                          f"struct Open {{\n{members}  int a, b;\n}};\n")
        self.assert_finds("harness/run/case.cc: Big has 16 private methods, and no class more than 15",
                          "harness/run/case.cc: Big has 16 data members", "Open has 16 data members", findings=3)

    def test_a_page_without_its_table(self):
        self.page("| circle |", "| ring |")
        self.assertIn("no table whose first column is called 'circle'", self.found())

    def test_what_the_tree_does(self):
        self.assertIn("| `harness/run` | | `core`; tests: `fixtures/bad` `fixtures/worse` |", self.found("arrows"))
        self.assertIn("\n1 circles of units, 0 of rooms", self.found("circles"))


if __name__ == "__main__":
    unittest.main()
