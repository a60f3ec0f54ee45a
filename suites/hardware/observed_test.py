#!/usr/bin/env python3
"""Tests observed.py with an invented run, and with runs that it must refuse."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUN = HERE / "testdata" / "run"


class Observed(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.run_dir = Path(directory.name) / "run"
        self.out = Path(directory.name) / "tables" / "driver.toml"
        self.run_dir.mkdir()
        self.report = json.loads((RUN / "report.json").read_text())
        self.devices = json.loads((RUN / "devices-before.json").read_text())

    def write(self):
        (self.run_dir / "report.json").write_text(json.dumps(self.report))
        (self.run_dir / "devices-before.json").write_text(json.dumps(self.devices))

    def observed(self, results=None):
        return subprocess.run([sys.executable, "-B", HERE / "observed.py", results or self.run_dir, "-o", self.out],
                              capture_output=True, text=True, check=False)

    def write_lent(self):
        """Writes the results of lent.sh, which have a directory for each step."""
        lent = self.run_dir.parent / "lent"
        shutil.copytree(self.run_dir, lent / "suites")
        shutil.copytree(self.run_dir, lent / "speeds")
        measure = {"name": "memory.ceiling", "unit": "GB/s", "n": 5, "spread": 1.0}
        attempts = [{"type": "attempt_ended", "verdict": {"outcome": outcome}, "measures": [measure | {"value": value}]}
                    for outcome, value in (("pass", 4240), ("fail", 12), ("pass", 4250.5))]
        (lent / "speeds" / "journal.jsonl").write_text("\n".join(map(json.dumps, [{"type": "run_planned"}, *attempts])))
        return lent

    def expect_refused(self, words, results=None):
        done = self.observed(results)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(words, done.stderr)
        self.assertFalse(self.out.exists())

    def test_a_run_becomes_this_table_in_whatever_order_it_ran(self):
        for cases in (self.report["cases"], self.report["cases"][::-1]):
            self.report["cases"] = cases
            self.write()
            done = self.observed()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.out.read_text(), (HERE / "testdata" / "observed.toml").read_text())

    def test_the_results_of_a_lent_card_add_the_median_of_each_process(self):
        self.write()
        done = self.observed(self.write_lent())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.out.read_text(), (HERE / "testdata" / "observed.toml").read_text() + """
[[repeated]]
name = "memory.ceiling"
unit = "GB/s"
medians = [4240.0, 4250.5]
""")

    def test_a_lent_card_whose_speeds_are_simulated_is_refused(self):
        self.write()
        lent = self.write_lent()
        self.report["run"] |= {"simulated": True, "sim": {"topology": "cuda:4", "driver": "simgpu"}}
        (lent / "speeds" / "report.json").write_text(json.dumps(self.report))
        self.expect_refused("is simulated", lent)

    def test_a_lent_card_without_the_journal_of_its_speeds_is_refused(self):
        self.write()
        lent = self.write_lent()
        (lent / "speeds" / "journal.jsonl").unlink()
        self.expect_refused("speeds/journal.jsonl", lent)

    def test_a_simulated_run_is_refused(self):
        self.report["run"] |= {"simulated": True, "sim": {"topology": "cuda:4", "driver": "simgpu"}}
        self.write()
        self.expect_refused("is simulated (cuda:4 on simgpu)")

    def test_one_simulated_case_is_enough(self):
        self.report["cases"][0]["simulated"] = True
        self.write()
        self.expect_refused("is simulated")

    def test_a_run_without_a_driver_is_refused(self):
        del self.report["run"]["stack"]["cuda.driver"]
        self.write()
        self.expect_refused("does not know its driver")

    def test_a_run_without_an_observation_is_refused(self):
        self.report["cases"] = [case for case in self.report["cases"] if "memory" in case["id"]]
        self.write()
        self.expect_refused("has no observation")

    def test_a_folder_that_is_no_run_is_refused(self):
        self.expect_refused("report.json")
        self.report = {}
        self.write()
        self.expect_refused("is no run directory of proctor")

    def test_cards_without_names_are_refused(self):
        self.write()
        (self.run_dir / "devices-before.json").unlink()
        self.expect_refused("devices-before.json")


if __name__ == "__main__":
    unittest.main()
