#!/usr/bin/env python3
"""The pages that are made from files of the tree: each key, rule or member is a row, and their links lead to pages."""

import re
import tomllib
import unittest
from pathlib import Path

import config_page
import diagnosis_page
import files_page
import tables

ROOT = Path(__file__).resolve().parents[3]
DEFAULTS = (ROOT / "harness/plan/defaults.toml").read_text(encoding="utf-8")


class ThePageOfKeys(unittest.TestCase):
    def test_each_key_has_a_row(self):
        page = config_page.markdown(DEFAULTS)
        tables = tomllib.loads(DEFAULTS.replace("\n#: ", "\n"))
        for name, table in (("[run]", tables["run"]), ("[defaults]", tables["defaults"]), ("[defaults.KIND]", tables["defaults"]["proctor"]),
                            ("[defaults.command]", tables["defaults"]["command"]),
                            ("[suite.NAME]", tables["suite"]["attention"]), ("[[override]]", tables["override"][0]),
                            ("[profile.NAME]", tables["profile"]["ci"])):
            section = page.partition(f": `{name}`\n")[2].partition("\n## ")[0]
            rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
            keys = [key for names, *_ in rows for key in re.findall("`(.*?)`", names)]
            known = {key for key, value in table.items() if key == "env" or not isinstance(value, dict)}
            self.assertEqual(sorted(keys), sorted(known), name)
            for names, _, meaning in rows:
                self.assertGreater(len(meaning), 10, names)

    def test_links_lead_to_pages(self):
        links = re.findall(r"\]\(([^)#]+)", config_page.markdown(DEFAULTS))
        self.assertIn("../how-to/retry.md", links)
        for link in links:
            self.assertTrue((ROOT / "docs/reference" / link).exists(), link)

    def test_a_key_without_a_comment(self):
        with self.assertRaisesRegex(ValueError, "grace"):
            config_page.markdown('# This file.\n\n# Limits.\n[defaults]\n# A limit.\ntimeout = "1s"\n\ngrace = "1s"\n')
        with self.assertRaisesRegex(ValueError, "defaults"):
            config_page.markdown('# This file.\n\n[defaults]\n# A limit.\ntimeout = "1s"\n')


class ThePageOfDiagnosis(unittest.TestCase):
    def test_each_rule_has_a_row(self):
        text = (ROOT / "harness/classify/rules.toml").read_text(encoding="utf-8")
        rows = re.findall(r"^\| \[?`([^`]+:[^`]+)`", diagnosis_page.markdown(text), re.MULTILINE)
        self.assertEqual(rows, [rule["id"] for rule in tomllib.loads(text)["rule"]])

    def test_a_rule_above_the_first_heading(self):
        with self.assertRaisesRegex(ValueError, "heading"):
            diagnosis_page.markdown('[[rule]]\nid = "a:1"\n')


class ThePageOfFiles(unittest.TestCase):
    def test_members_and_links(self):
        page = files_page.markdown(ROOT / "reports/schema")
        for row in ("| `run.known_failures.entries[].location` | string | file and line |",
                    "| `culprit`? | [culprit](#report-culprit) |", "| `environment.*.by` | string |"):
            self.assertIn(row, page)
        for file, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page):
            if file:
                self.assertTrue((ROOT / "docs/reference" / file).exists(), file)
            else:
                self.assertIn(f"{{ #{anchor} }}", page)


class TheTablesOfPages(unittest.TestCase):
    def test_each_is_in_a_page_and_has_rows(self):
        pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
        names = [name for page in pages for name in re.findall(r"^<!-- table: (\w+) -->$", page, re.MULTILINE)]
        self.assertEqual(sorted(names), sorted(tables.TABLES))
        for name in names:
            rows = [line for line in tables.filled(f"<!-- table: {name} -->\n").splitlines() if line.startswith("| ")]
            self.assertGreater(len(rows), 10, name)
            self.assertNotIn("| None ", " ".join(rows))


if __name__ == "__main__":
    unittest.main()
