#!/usr/bin/env python3
"""Holds what people read to docs/internals/words.md: README, pages, help, messages and the rules of the suites.

    words.py [TREE]              what is not as the page asks, by file and line; exits 1 if there is something
    words.py --list ROOM [TREE]  each message of a folder, with its shape

In Markdown, code and comments are not read. In C++ sources, only string literals that hold a blank are: they are
messages and help. The last table of the page is for literals of three words or more, for the sentences of
suites/rules.toml, and for what the other tables in TOML print.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/internals/words.md"
DEFAULTS = "harness/plan/defaults.toml"
RULES = "suites/rules.toml"
WORDS, MESSAGES, OUTPUTS = "use", "message", "concept"  # the first cell of the head of each table
SOURCES = ("fixtures", "harness", "reports", "suites")
MESSAGE_ROOMS = ("fixtures", "harness", "reports", "suites")
SUFFIXES = (".cc", ".cu", ".def", ".h")
# Texts of others, which these files imitate.
OF_OTHERS = {"fixtures/cuda_runtime/error_table.def", "harness/doctor/simulated_host.cc"}
NOT_PROSE = {"bench", "e2e", "fuzz", "testdata", "testing", "tests"}
MOST_WORDS = 25
OWN_RULE = "project rule: "
TOML_KEYS = {"does", "fix", "next", "reason", "text"}  # whose values are printed
# A finite verb: without one an expectation of a check is no sentence.
VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|does|do|did|can|may|must|will|would|should|[a-z]{2,}(?:s|ed)|"
                  r"fell|found|left|lost|ran|saw|took|went|wrote)\b")


def tables(page):
    """The rows of each table of the page, by the first cell of its head."""
    found, head = {}, None
    for line in page.splitlines():
        if not line.startswith("| "):
            head = None
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if head is None:
            head = cells[0]
            found[head] = []
        elif not cells[0].startswith("---"):
            found[head].append(cells)
    return found


def patterns(page, table):
    """(pattern, first cell) of each word in the last column."""
    found = []
    for use, *_, avoid in tables(page).get(table, []):
        for word in re.findall(r"`([^`]+)`", avoid):
            word = word.replace(r"\|", "|").replace(" ", r"\s+")
            pattern = r"(?<![\w-])" + word + (r"(?![\w-])" if re.search(r"[\w)?]$", word) else "")
            found.append((re.compile(pattern, re.IGNORECASE), use))
    if not found and table == WORDS:
        sys.exit(f"{PAGE}: no table of words")
    return found


def output_rules():
    """What the test `vocabulary` (harness/e2e/vocabulary.py) holds outputs of runs to."""
    return patterns((ROOT / PAGE).read_text(encoding="utf-8"), OUTPUTS)


def blanked(text, pattern):
    """The text with what matches replaced by blanks, so that lines keep their numbers."""
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL | re.MULTILINE)


def prose_of_page(text):
    for code in (r"<!--.*?-->", r"^```.*?^```", r"^ {4,}\S[^\n]*$", r"`[^`]*`", r"\]\([^)]*\)"):
        text = blanked(text, code)
    return text


def prose_of_defaults(text):
    return blanked(blanked(text, r"^(?!# )[^\n]*"), r"`[^`]*`")


class Literal(NamedTuple):
    """Adjacent string literals as one, and the calls around them, innermost last: (name, index of the argument)."""
    line: int
    text: str
    calls: tuple
    defines: str  # the variable that the statement defines, or empty
    whole: bool  # the literals are the whole argument

    def in_argument(self, call, *indices):
        return any(name.startswith(call) and index in indices for name, index in self.calls)

    def shape(self):
        name, index = next((call for call in reversed(self.calls) if call[0] not in WRAPPERS), ("", 0))
        shapes = SHAPES.get(name, ("text",))
        return shapes[min(index, len(shapes) - 1)]


# What each argument of a call is for the reader. Rule 9 of the page has the shapes.
SHAPES = {
    "usage": ("usage", "hint"),
    "refused": ("result", "hint"),
    "system": ("system", "hint"),
    "failed": ("system", "hint"),
    "warn": ("result",),
    "expect_true": ("text", "expectation"),
    **dict.fromkeys(("expect_same", "expect_bytes", "expect_words", "expect_values", "expect_refused", "expect_between"),
                    ("value", "text")),
    "step": ("step",),
}
WRAPPERS = {"format", "string", "to_string"}
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#[ \t]*include[^\n]*|R"([^()\\\s]*)\(.*?\)\1"|"((?:[^"\\\n]|\\.)*)"|"""
                   r"""'(?:[^'\\\n]|\\.)+'|[A-Za-z_]\w*|\s+|\\\n|.""", re.DOTALL | re.MULTILINE)


def literals(text):
    """The string literals of a C++ source. Raw strings are code, JSON or TOML, and are left out."""
    stack, previous, defines, open_literal = [], "", "", None
    for match in TOKEN.finditer(text):
        token = match[0]
        if token.isspace() or token == "\\\n" or token.startswith(("//", "/*")):
            continue
        if match[2] is not None:
            if open_literal is None:
                calls = tuple((name, index) for name, index in stack if name)
                open_literal = [text.count("\n", 0, match.start()) + 1, "", calls, defines, previous in ("(", ",")]
            open_literal[1] += match[2]
            continue
        if open_literal is not None:
            open_literal[-1] = open_literal[-1] and token in (",", ")")
            yield Literal(*open_literal)
            open_literal = None
        if token in "({[":
            stack.append([previous if token == "(" and previous.isidentifier() else "", 0])
        elif token in ")}]" and stack:
            stack.pop()
        elif token == "," and stack:
            stack[-1][1] += 1
        elif token == "=" and previous.isidentifier():
            defines = previous
        elif token == ";":
            defines = ""
        previous = token


def sources_of_rules(text):
    """The constants that are the source of a rule: they cite documents."""
    stripped = re.sub(r"\s+", " ", text)
    return {name for call in re.findall(r"PROCTOR_CHECK(?:_EACH)?\((.*?)[{.]", stripped)
            for name in re.findall(r"\bk[A-Z]\w*", call)}


def words_of(text):
    """What a reader reads as words: without code, placeholders, escapes, names and numbers."""
    text = re.sub(r"`[^`]*`|\{[^{}]*\}|%[-\d.*]*[a-zA-Z]+|\\.", " ", text)
    return re.findall(r"(?<![\w:./=_*-])[A-Za-z][A-Za-z'-]*(?![\w/=_(*]|[:.]\w)", text)


def is_source_of_prose(path):
    return (path.suffix in SUFFIXES and not path.stem.endswith("_test") and not NOT_PROSE & set(path.parts)
            and path.as_posix() not in OF_OTHERS)


def messages(path, text):
    """The literals that a person reads: three words or more, and no citation."""
    cited = sources_of_rules(text)
    for literal in literals(text):
        citation = (literal.defines in cited or literal.in_argument("PROCTOR_CHECK", 3)
                    or literal.in_argument("PROCTOR_CHECK_EACH", 4))
        if citation and OWN_RULE not in literal.text:
            continue
        if len(words_of(literal.text)) >= 3:
            yield literal


def sources(root, rooms):
    for path in sorted(path for room in rooms for path in (root / room).rglob("*")):
        if path.is_file() and is_source_of_prose(path.relative_to(root)):
            yield path, path.read_text(encoding="utf-8")


def rule_lines(root):
    """(line, sentence) of each rule of the suites."""
    path = root / RULES
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8")
    for rule, sentence in tomllib.loads(text).items():
        yield text.count("\n", 0, text.index(f'"{rule}" =')) + 1, sentence


def printed_values(key, value):
    """The texts of a TOML document that a person reads."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from printed_values(name, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from printed_values(key, inner)
    elif isinstance(value, str) and key in TOML_KEYS:
        yield value


def toml_messages(root):
    """(path, line, text) of the tables in TOML."""
    for path in sorted(path for room in MESSAGE_ROOMS for path in (root / room).rglob("*.toml")):
        if NOT_PROSE & set(path.relative_to(root).parts):
            continue
        text = path.read_text(encoding="utf-8")
        for value in dict.fromkeys(printed_values("", tomllib.loads(text))):
            yield path, text.count("\n", 0, max(text.find(value), 0)) + 1, value


def long_sentences(text):
    for sentence in re.split(r"(?<=[.!?;:])\s+|\\n", text):
        if len(words_of(sentence)) > MOST_WORDS:
            yield f"`{' '.join(sentence.split()[:5])} ...`: at most {MOST_WORDS} words a sentence"


def slips(text, wrong):
    prose = re.sub(r"`[^`]*`", "``", text)
    for pattern, use in wrong:
        for match in pattern.finditer(prose):
            yield f"`{' '.join(match[0].split())}`: {use}"


def message_findings(root, page):
    wrong = patterns(page, MESSAGES)
    for path, text in sources(root, MESSAGE_ROOMS):
        for literal in messages(path, text):
            found = [*slips(literal.text, wrong), *long_sentences(literal.text)]
            if literal.shape() == "expectation" and re.match(r"(?:it|its|they)\b", literal.text):
                found.append(f"`{literal.text}`: an expectation names its subject")
            if literal.shape() == "expectation" and literal.whole and not VERB.search(literal.text):
                found.append(f"`{literal.text}`: an expectation is a sentence with a verb")
            for finding in found:
                yield f"{path.relative_to(root)}:{literal.line}: {finding}"
    for path, line, value in toml_messages(root):
        for finding in [*slips(value, wrong), *long_sentences(value)]:
            yield f"{path.relative_to(root)}:{line}: {finding}"
    for line, sentence in rule_lines(root):
        found = [*slips(sentence, wrong), *long_sentences(sentence)]
        if not VERB.search(sentence):
            found.append("a rule is a sentence with a verb")
        for finding in found:
            yield f"{RULES}:{line}: {finding}"


def word_findings(root, page):
    wrong = patterns(page, WORDS)

    def at(path, line, text):
        for finding in slips(text, wrong):
            yield f"{path.relative_to(root)}:{line}: {finding}"

    for path in [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md")), root / DEFAULTS]:
        if path == root / PAGE or not path.exists():
            continue
        read = prose_of_defaults if path == root / DEFAULTS else prose_of_page
        text = read(path.read_text(encoding="utf-8"))
        for pattern, use in wrong:
            for match in pattern.finditer(text):
                yield (f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}: "
                       f"`{' '.join(match[0].split())}`: {use}")
    for path, text in sources(root, SOURCES):
        for literal in literals(text):
            if " " in literal.text:
                yield from at(path, literal.line, literal.text)


def findings(root):
    page = (root / PAGE).read_text(encoding="utf-8")
    yield from word_findings(root, page)
    yield from message_findings(root, page)


def listed(root, room):
    for path, text in sources(root, [room]):
        for literal in messages(path, text):
            yield f"{path.relative_to(root)}:{literal.line}: {literal.shape():<11} {literal.text}"


def main(arguments):
    room = None
    if arguments[:1] == ["--list"]:
        room, arguments = arguments[1], arguments[2:]
    root = Path(arguments[0]).resolve() if arguments else ROOT
    found = list(findings(root) if room is None else listed(root, room))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found and room is None else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
