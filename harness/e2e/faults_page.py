#!/usr/bin/env python3
"""docs/reference/faults.md: its tables are the rows of fixtures/simgpu/spec/fault_table.h, one table for each class of faults.

    faults_page.py            writes them; a class that is new needs a line <!-- faults: CLASS --> in the page
    faults_page.py --check    only compares
"""

import json
import re
import sys
from typing import NamedTuple

from harness import ROOT, check

PAGE = ROOT / "docs/reference/faults.md"
TABLE = ROOT / "fixtures/simgpu/spec/fault_table.h"
HEAD = ["| fault | values | meaning |", "| --- | --- | --- |"]


class Fault(NamedTuple):
    name: str
    backends: str  # Xpu, Cuda or Both
    reach: str  # Pointed or Blanket
    keys: str
    meaning: str

    def applies_to(self, backend):
        return self.backends in ("Both", backend.capitalize())

    def row(self):
        marks = (" (blanket)" if self.reach == "Blanket" else "") + \
            ("" if self.backends == "Both" else f" ({self.backends.lower()})")
        return f"| `{self.name}`{marks} | {self.keys} | {self.meaning} |"


def faults():
    text = TABLE.read_text()
    text = text[text.index("kTable[] = {"):text.index("// clang-format on")]
    string = r'("(?:[^"\\]|\\.)*")'
    found = re.findall(rf"^    \{{{string}, k(\w+), k(\w+), {string}, {string}\}},$", text, re.MULTILINE)
    check(len(found) == len(re.findall(r"^ *\{", text, re.MULTILINE)), TABLE, "has a row that is not on one line of its own")
    return [Fault(json.loads(name), backends, reach, json.loads(keys), json.loads(meaning))
            for name, backends, reach, keys, meaning in found]


def page(text):
    of_class = {}
    for fault in faults():
        of_class.setdefault(fault.name.partition(".")[0], []).append(fault.row())

    def table(match):
        rows = of_class.pop(match[1], None)
        check(rows, PAGE, "no fault is of the class", match[1])
        return "\n".join([f"<!-- faults: {match[1]} -->", *HEAD, *rows]) + "\n"
    text = re.sub(r"^<!-- faults: (\w+) -->\n(?:\|.*\n)*", table, text, flags=re.MULTILINE)
    check(not of_class, PAGE, "has no line <!-- faults: CLASS --> for", *of_class)
    return text


def main():
    old = PAGE.read_text()
    new = page(old)
    if "--check" not in sys.argv:
        PAGE.write_text(new)
    else:
        check(old == new, f"{PAGE.name} is not what the table of faults gives: harness/e2e/faults_page.py writes it")
        print(f"ok {len(faults())} faults")


if __name__ == "__main__":
    main()
