#!/usr/bin/env python3
"""Tests code_of.py: code_of_test.py SOURCE COMPILER OPTION...

Compiles SOURCE with the options of a release. The module must have the code that the page of the bundle names, and
code_of.py must refuse a module that has other code."""

import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).with_name("code_of.py")
RELEASE = "sm_75 sm_80 sm_90 sm_100 sm_120 compute_90"
WORDS = "75-real;80-real;90-real;100-real;120-real;90-virtual"


def expect(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def ask(*words):
    done = subprocess.run([sys.executable, "-B", PROGRAM, *words], capture_output=True, text=True)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def refused(part, *words):
    code, _, said = ask(*words)
    expect(code == 1 and part in said, words, "exits", code, "and prints", said)


with tempfile.TemporaryDirectory() as folder:
    module = Path(folder) / "module.fatbin"
    source, compiler, *options = sys.argv[1:]
    subprocess.run([compiler, "-fatbin", "-x", "cu", "-std=c++17", *options, source, "-o", module], check=True)
    expect(ask(module) == (0, f"{module}: {RELEASE}", ""), ask(module))
    expect(ask("--require", WORDS, module) == (0, RELEASE, ""), ask("--require", WORDS, module))
    refused(f"{module} lacks code for sm_86", "--require", WORDS + ";86-real", module)
    refused(f"{module} has code for compute_90, which", "--require", WORDS.removesuffix(";90-virtual"), module)
    refused("'newest' is no architecture", "--require", "newest", module)
    only = module.rename(module.with_name("only_75.fatbin"))
    refused(f"{only} has code for compute_90 sm_100 sm_120 sm_80 sm_90, which", "--require", WORDS, only)
    for part in (only.read_bytes()[:-1], only.read_bytes()[:20], b"", bytes(64)):
        only.write_bytes(part)
        refused(f"{only} is no complete fatbin", only)
    refused("no module", "--require", WORDS)
