#!/usr/bin/env python3
"""Holds what people read to docs/internals/words.md: README, pages, help and messages.

    words.py [TREE]    the words of the page's last table that are in use, by file and line; exits 1 if there are some

The test `vocabulary` (harness/e2e/vocabulary.py) holds outputs of runs to the table before it, with output_rules().

In Markdown, code and comments are not read. In C++ sources, only string literals that hold a blank are: they are
messages and help.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/internals/words.md"
DEFAULTS = "harness/plan/defaults.toml"
SOURCES = ("harness", "reports")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def rules_of_table(page, head):
    """(pattern, first cell) of each word in the last column of the table that begins with this line."""
    found = []
    for line in page.partition(f"{head}\n")[2].splitlines()[1:]:
        if not line.startswith("| "):
            break
        use, *_, avoid = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for word in re.findall(r"`([^`]+)`", avoid):
            word = word.replace(r"\|", "|").replace(" ", r"\s+")
            pattern = r"(?<![\w-])" + word + (r"(?![\w-])" if re.search(r"[\w)?]$", word) else "")
            found.append((re.compile(pattern, re.IGNORECASE), use))
    if not found:
        sys.exit(f"{PAGE}: no table {head}")
    return found


def rules(page):
    return rules_of_table(page, "| use | not |")


def output_rules():
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    return rules_of_table(page, "| concept | people read | programs read | not in an output |")


def blanked(text, pattern):
    """The text with what matches replaced by blanks, so that lines keep their numbers."""
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL | re.MULTILINE)


def prose_of_page(text):
    for code in (r"<!--.*?-->", r"^```.*?^```", r"^ {4,}\S[^\n]*$", r"`[^`]*`", r"\]\([^)]*\)"):
        text = blanked(text, code)
    return text


def prose_of_source(text):
    text = blanked(blanked(text, r"^\s*#[^\n]*"), r"(?<![:\"])//[^\n]*")
    kept = [" "] * len(text)
    for match in LITERAL.finditer(text):
        if " " in match[1]:
            kept[match.start(1):match.end(1)] = re.sub(r"`[^`]*`", lambda code: " " * len(code[0]), match[1])
    return "".join(new if old != "\n" else old for old, new in zip(text, kept))


def prose_of_defaults(text):
    return blanked(blanked(text, r"^(?!# )[^\n]*"), r"`[^`]*`")


def texts(root):
    pages = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    for path in pages:
        if path != root / PAGE:
            yield path, prose_of_page(path.read_text(encoding="utf-8"))
    if (root / DEFAULTS).exists():
        yield root / DEFAULTS, prose_of_defaults((root / DEFAULTS).read_text(encoding="utf-8"))
    for path in sorted(path for top in SOURCES for path in (root / top).rglob("*.cc")):
        if not path.stem.endswith("_test") and not {"testdata", "testing", "bench"} & set(path.parts):
            yield path, prose_of_source(path.read_text(encoding="utf-8"))


def findings(root):
    wrong = rules((root / PAGE).read_text(encoding="utf-8"))
    for path, text in texts(root):
        for pattern, use in wrong:
            for match in pattern.finditer(text):
                number = text.count("\n", 0, match.start()) + 1
                yield f"{path.relative_to(root)}:{number}: `{' '.join(match[0].split())}`: {use}"


if __name__ == "__main__":
    found = list(findings(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
