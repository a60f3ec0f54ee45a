#!/usr/bin/env python3
"""Holds the sources to docs/internals/durations.md, whose two tables list every duration of harness/, suites/ and fixtures/.

    durations.py [check] [TREE]    where the sources and the page differ; exits 1 if they do
    durations.py list [TREE]       what the sources have today, as cells of the page's tables

A duration is one of these in code, unless it is zero:

  a name that is made of a number       Milliseconds kGrace{500};  kLateUs = 1'000'000;  std::chrono::seconds limit{5};
  a duration made of a number           std::chrono::milliseconds(20), 20ms
  a call that waits for a number        alarm(5), usleep(1000), poll(fds, 1, 100); timespec pause{.tv_sec = 1}
  a default of harness/plan/defaults.toml    timeout = "60s"

In the table it is that name, or that text without std::chrono::, behind its file. Tests, and what only tests include,
are left out.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

from architecture import Tree, code_of, unit_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/internals/durations.md"
TOPS = ("harness/", "suites/", "fixtures/")
OTHERS = ("harness/testing/", "harness/bench/", "harness/fuzz/", "fixtures/simgpu/spirv/tests/", "fixtures/simgpu/spirv/bench/")
DEFAULTS = "harness/plan/defaults.toml"

TYPE = r"(?:std::chrono::)?(?:[Nn]anoseconds|microseconds|[Mm]illiseconds|[Ss]econds|minutes|hours)"
NUMBER = r"\b0*[1-9][\d']*"
NAMED = re.compile(rf"{TYPE}\s+(\w+)\s*(?:=\s*|(?=\{{))({TYPE})?[({{]?([^;]*)")
NAMED_AUTO = re.compile(rf"\bauto\s+(\w+)\s*=\s*{TYPE}\s*[({{]([^;]*)")
NAME_WITH_UNIT = re.compile(rf"\b(k\w*(?:Ms|Us|Ns|Seconds)|\w+_(?:ms|us|ns|seconds))\b\s*[={{]\s*({NUMBER})")
MADE = re.compile(rf"(?<![\w:])({TYPE}|std::chrono::duration<[^<>]*>)\s*[({{]")
LITERAL = re.compile(rf"(?<![\w.'])({NUMBER}(?:ns|us|ms|s|min|h))\b")
STRUCT = re.compile(r"\b(?:timespec|timeval|itimerval)\s+(\w+)\s*=?\s*(?=\{)")
CALL = re.compile(r"(?<![\w.>])(?:::)?(alarm|usleep|sleep|nanosleep|setitimer|p?poll|epoll_p?wait|timespec|itimerval)\s*(?=[({])")
SOME = re.compile(r"econds|minutes|hours|duration<|Ms\b|Us\b|Ns\b|_[mun]?s\b|alarm|sleep|poll|timer|timespec|\d(?:[mun]?s|min|h)\b")
LAST_COUNTS = ("poll", "ppoll", "epoll_wait", "epoll_pwait")


def inside(code, at):
    """From the bracket at `at` to its counterpart."""
    depth = 0
    for end in range(at, min(len(code), at + 400)):
        depth += code[end] in "({"
        depth -= code[end] in ")}"
        if depth == 0:
            return code[at:end + 1]
    return code[at:at + 400]


def plain(text):
    return re.sub(r"\s+", " ", text).replace("std::chrono::", "")


def has_number(text):
    return re.search(rf"(?<![\w.]){NUMBER}", text) is not None


def durations_of(code):
    """[(place in the code, name or text)]"""
    found, taken = [], []

    def add(start, end, name):
        if not any(begin <= start < stop for begin, stop in taken):
            taken.append((start, end))
            found.append((start, name))

    for match in NAMED.finditer(code):
        if has_number(match[3]):
            add(match.start(), match.end(), match[1])
    for match in NAMED_AUTO.finditer(code):
        if has_number(match[2]):
            add(match.start(), match.end(), match[1])
    for match in NAME_WITH_UNIT.finditer(code):
        add(match.start(), match.end(), match[1])
    for match in MADE.finditer(code):
        made = inside(code, match.end() - 1)
        if has_number(made):
            add(match.start(), match.end() - 1 + len(made), plain(match[1] + made))
    for match in STRUCT.finditer(code):
        if has_number(inside(code, match.end())):
            add(match.start(), match.end(), match[1])
    for match in CALL.finditer(code):
        made = inside(code, match.end())
        counts = made.rpartition(",")[2] if match[1] in LAST_COUNTS else made
        if re.fullmatch(rf"\s*{NUMBER}\s*\)", counts) if match[1] in LAST_COUNTS else has_number(counts):
            add(match.start(), match.end() + len(made), plain(match[1] + made))
    for match in LITERAL.finditer(code):
        add(match.start(), match.end(), match[1])
    return sorted(found)


def defaults_of(text):
    for match in re.finditer(r'^(\w+) = "[1-9]\d*(?:ms|s|m|h)"', text, re.M):
        yield match.start(), match[1]


def durations(root):
    """{file: {name or text: its first line}}"""
    tree = Tree(root)
    files = [source for source in sorted(tree.sources)
             if source.startswith(TOPS) and not source.startswith(OTHERS) and unit_of(source) not in tree.tests]
    found = defaultdict(dict)
    for file in [*files, DEFAULTS] if (root / DEFAULTS).exists() else files:
        text = (root / file).read_text(encoding="utf-8")
        if not SOME.search(text):
            continue
        code = text if file == DEFAULTS else code_of(text)
        for at, name in defaults_of(text) if file == DEFAULTS else durations_of(code):
            found[file].setdefault(name, code.count("\n", 0, at) + 1)
    return found


# ---- the page ----


def rows(text):
    """[(line, file, names, tests)]: the first cell of each row has the file in backticks, and behind it what is in there;
    the last one, of five, the tests that prove it."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = re.split(r"(?<!\\)\|", line)
        names = re.findall(r"`([^`]+)`", cells[1]) if len(cells) > 2 else []
        if names and names[0].startswith(TOPS):
            tests = re.findall(r"`([^`]+)`", cells[5]) if len(cells) > 5 else []
            yield number, names[0], [name.replace("\\|", "|") for name in names[1:]], tests


def differences(root):
    path = root / PAGE
    if not path.exists():
        yield f"{PAGE}: it is not there"
        return
    found, listed = durations(root), defaultdict(dict)
    there = {file.name for top in TOPS for file in (root / top).rglob("*") if file.suffix in (".cc", ".py")}
    for line, file, names, tests in rows(path.read_text(encoding="utf-8")):
        for test in tests:
            if test not in there:
                yield f"{PAGE}:{line}: there is no test {test}"
        for name in names:
            listed[file][name] = line
    for file in sorted(found):
        for name, line in found[file].items():
            if name not in listed[file]:
                cell = name.replace("|", "\\|")
                yield (f"{file}:{line}: a duration that {PAGE} does not list. If it can lead to a verdict, a mark, a warning "
                       f"or a kill, add it to the first table, else to the second: | `{file}` `{cell}` | ...")
    for file in sorted(listed):
        for name, line in listed[file].items():
            if name not in found.get(file, {}):
                yield f"{PAGE}:{line}: {file} has no `{name}` any more: take it out"


def main():
    words = sys.argv[1:]
    what = words.pop(0) if words and words[0] in ("check", "list") else "check"
    root = Path(words[0]).resolve() if words else ROOT
    if what == "list":
        for file, names in durations(root).items():
            print(f"| `{file}` {' '.join(f'`{name}`' for name in names)} |")
        return 0
    wrong = list(differences(root))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
