"""The rows of fixtures/simgpu/spec/fault_table.h, for tests and for the site of docs/."""

import json
import re
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).resolve().parents[2] / "fixtures/simgpu/spec/fault_table.h"
STRING = r'("(?:[^"\\]|\\.)*")'
ROW = re.compile(rf"^    \{{{STRING}, k(\w+), k(\w+), {STRING}, {STRING}\}},$", re.MULTILINE)


class Fault(NamedTuple):
    name: str
    backends: str  # Xpu, Cuda or Both
    reach: str  # Pointed or Blanket
    keys: str
    meaning: str

    def applies_to(self, backend):
        return self.backends in ("Both", backend.capitalize())


def groups():
    """[(heading, its faults)] in the order of the table."""
    text = TABLE.read_text(encoding="utf-8")
    text = text[text.index("kTable[] = {"):text.index("// clang-format on")]
    _, *parts = re.split(r"^    // ---- (.+) ----$", text, flags=re.MULTILINE)
    found = [(heading, [Fault(json.loads(name), backends, reach, json.loads(keys), json.loads(meaning))
                        for name, backends, reach, keys, meaning in ROW.findall(rows)])
             for heading, rows in zip(parts[::2], parts[1::2])]
    if sum(len(rows) for _, rows in found) != len(re.findall(r"^ *\{", text, re.MULTILINE)):
        raise ValueError(f"{TABLE}: a row is not on one line, or above the first heading")
    return found


def faults():
    return [fault for _, rows in groups() for fault in rows]
