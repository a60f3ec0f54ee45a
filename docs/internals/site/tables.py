"""The tables that the site puts in the place of a comment <!-- table: NAME --> of a page."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "harness/e2e"))
import faults  # noqa: E402

MISBEHAVIOUR = ROOT / "fixtures/misbehaving/table.toml"
USERS = ("root", "user")
CELLS = {"guard": "contained", "runner": "by the runner", "either": "by either", "said": "**survives**, reported",
         "refused": "refused", "changed": "changed"}


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def fault_row(fault):
    marks = " (blanket)" * (fault.reach == "Blanket") + f" ({fault.backends.lower()})" * (fault.backends != "Both")
    return f"`{fault.name}`{marks}", fault.keys, fault.meaning


def all_faults():
    return "\n".join(f"## {heading[0].upper()}{heading[1:]}\n\n" + table(("fault", "values", "meaning"), map(fault_row, rows))
                     for heading, rows in faults.groups())


def misbehaviour(kind, **words):
    """The attacks or resources: what comes of each under each layer, as root and as an ordinary user."""
    document = tomllib.loads(MISBEHAVIOUR.read_text(encoding="utf-8"))
    columns = [(layer, user) for layer in document["layer"] for user in USERS]
    words = {**CELLS, **words}
    rows = [(row["does"], *(words.get(row[user].get(layer), "not contained") for layer, user in columns))
            for row in document[kind].values()]
    return table((kind, *(", ".join(column) for column in columns)), rows)


def modes():
    """The modes of the misbehaving program, whose outcome is the same under every layer."""
    rows = []
    for mode, row in tomllib.loads(MISBEHAVIOUR.read_text(encoding="utf-8"))["mode"].items():
        outcomes = [row["outcome"] + (f"({row['reason']})" if "reason" in row else "")]
        outcomes += [f"skip({row['or_skip']})"] if "or_skip" in row else []
        marks = [mark for mark in ("forced", "leaky") if row.get(mark)]
        rows.append((mode, row["does"], ", ".join([" or ".join(f"`{each}`" for each in outcomes), *marks])))
    return table(("mode", "what it does", "outcome"), rows)


TABLES = {"faults": all_faults, "attacks": lambda: misbehaviour("attack"),
          "resources": lambda: misbehaviour("resource", guard="guard only"), "modes": modes}


def filled(markdown):
    return re.sub(r"^<!-- table: (\w+) -->\n", lambda mark: TABLES[mark[1]](), markdown, flags=re.MULTILINE)
