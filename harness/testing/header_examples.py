#!/usr/bin/env python3
"""Compiles the examples in the comments of headers: header_examples.py ROOT COMPILER FLAGS...

An example is an indented block in a comment, after a line that ends in "Example:". It is compiled with only its
header, in that header's namespace. An example that defines something or begins with a macro is compiled unchanged; any
other example becomes the body of a function. The headers that are included most often must have an example. The test
first checks that it finds the mistakes in bad samples.
"""

import collections
import concurrent.futures
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDERS = ("harness", "reports", "suites", "fixtures")
MOST_INCLUDED = 5
STATEMENTS = ("if", "for", "while", "do", "switch", "{")
PRELUDE = "#include <cstdio>\n#include <cstdlib>\n#include <string>\n#include <vector>\n"


def sources(root):
    for folder in FOLDERS:
        yield from sorted(path for path in (root / folder).rglob("*") if path.suffix in (".h", ".cc"))


def most_included(root):
    counts = collections.Counter()
    for path in sources(root):
        counts.update(re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE))
    return [name for name, _ in counts.most_common() if (root / name).is_file()][:MOST_INCLUDED]


def examples_of(text):
    examples = []
    lines = [line.strip() for line in text.splitlines()]
    for start, line in enumerate(lines):
        if not re.match(r"// (.* )?Example:$", line):
            continue
        block = []
        for following in lines[start + 1:]:
            if following != "//" and not following.startswith("//   "):
                break
            block.append(following[5:])
        examples.append("\n".join(block).strip("\n"))
    return examples


def program_of(header, text, examples):
    names = ("proctor", *re.findall(r"^namespace ([\w:]+) {", text, re.MULTILINE))
    program = f'{PRELUDE}#include "{header}"\nnamespace proctor {{}}\n'
    program += "".join(f"using namespace {name};\n" for name in names)
    for number, example in enumerate(examples, 1):
        defines = re.match(r"[A-Z]+_", example) or any(
            re.match(r"\S.*{$", line) and not line.startswith(STATEMENTS) for line in example.splitlines())
        body = example if defines else f"void example() {{\n{example}\n}}"
        program += f"namespace example_{number} {{\n{body}\n}}\n"
    return program


def problem_of(root, command, header, examples):
    """What is wrong with the examples of a header, or ""."""
    if not all(examples):
        return f"{header}: nothing is indented below a line that ends in 'Example:'"
    program = program_of(header, (root / header).read_text(), examples)
    done = subprocess.run([*command, f"-I{root}", "-fsyntax-only", "-x", "c++", "-"], input=program,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return f"{header}: its examples do not compile:\n\n{program}\n{done.stdout}" if done.returncode else ""


def problems_of(root, command):
    """All problems of a tree, and how many examples it has."""
    texts = {str(path.relative_to(root)): path.read_text() for path in sources(root) if path.suffix == ".h"}
    found = {header: examples for header, text in texts.items() if (examples := examples_of(text))}
    problems = [f"{header} is one of the {MOST_INCLUDED} headers that are included most, and has no example: write one "
                "in its first comment, below a line that ends in 'Example:'"
                for header in most_included(root) if header not in found]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems += filter(None, pool.map(lambda header: problem_of(root, command, header, found[header]), found))
    return problems, sum(map(len, found.values()))


SAMPLES = {
    "good.h": "// Adds. Example:\n//\n//   if (const int three = add(1, 2)) {\n//     add(three, 4);\n//   }\n"
              "//\n// Text again.\nnamespace proctor::sample {\nint add(int a, int b);\n}\n",
    "defined.h": "// Example:\n//\n//   struct Mine final : Base {\n//     int b = a;\n//   };\n"
                 "struct Base {\n  int a = 0;\n};\n",
    "rotten.h": "// Example:\n//\n//   add(1);\nint add(int a, int b);\n",
    "empty.h": "// Example:\n#pragma once\n",
    "silent.h": "// No example.\n",
}
EXPECTED = ["harness/empty.h: nothing is indented", "harness/rotten.h: its examples do not compile",
            "harness/silent.h is one of the"]


def must_find_bad_samples(command):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "harness").mkdir()
        for name, text in SAMPLES.items():
            (root / "harness" / name).write_text(text)
        (root / "harness" / "user.cc").write_text("".join(f'#include "harness/{name}"\n' for name in SAMPLES))
        problems, count = problems_of(root, command)
    named = [expected for expected in EXPECTED if any(problem.startswith(expected) for problem in problems)]
    if named != EXPECTED or len(problems) != len(EXPECTED) or count != len(SAMPLES) - 1:
        sys.exit("the bad samples are not found bad, or the good ones are:\n" + "\n".join(problems))


def main():
    root, command = Path(sys.argv[1]), sys.argv[2:]
    must_find_bad_samples(command)
    problems, count = problems_of(root, command)
    print("\n".join(problems) or f"{count} examples compile")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
