#!/usr/bin/env python3
"""No check asks a good device for more than its specification promises: our suites on every machine of
fixtures/simgpu/machines. Each is good, and lacks something or does something late. Nothing is red there, and every skip
names its need. A file begins with comments, of which `# checks: GLOB...` names the checks that a machine of its kind made
red before.

    machines.py              those checks only
    machines.py --full       all checks; prints the table machine x suite
"""

import collections
import fnmatch
import re
import sys

from harness import CUDA_SIMULATOR, ROOT, Sandbox, check, report

MACHINES = sorted((ROOT / "fixtures/simgpu/machines").glob("*.toml"))
SUITES = ("visibility", "memory", "kernels", "management", "collectives")
NAMED = re.compile("(needs|not_enough_memory|unsupported|symbol_missing|library_missing|package_missing|fatbin_missing"
                   "|not_on_simulator):.+")


def here(path):
    """The options by which a run has the cards of this machine that this build can simulate; None: there is none."""
    text = path.read_text()
    if CUDA_SIMULATOR.exists() or not re.search(r"^(\[\[cuda\]\]|cuda *=)", text, re.MULTILINE):
        return ("--sim", path)
    return ("--sim", path, "--backend", "xpu") if "[[xpu]]" in text else None


def checks_of(path):
    found = re.search(r"^# checks: (.+)$", path.read_text(), re.MULTILINE)
    check(found, path, "names no check: `# checks: GLOB...`")
    return found.group(1).split()


def run(sandbox, path, *options):
    out = sandbox.out()
    done = sandbox.proctor("run", *SUITES, "--exclude", "*.none/*", "--out", out, *here(path), *options, timeout=1200)
    cases = report(out)["cases"]
    red = [f"{case['id']}: {case['outcome']}({case['reason']}) {case['message']}" for case in cases
           if case["outcome"] not in ("pass", "skip")]
    check(not red, done.stdout, done.stderr, path.name, "has red cases:", *red)  # last, where a long output is cut
    check(done.returncode in (0, 3), done.stdout, done.stderr, path.name, "exits", done.returncode)
    unnamed = [case["id"] for case in cases if case["outcome"] == "skip" and not NAMED.fullmatch(case["reason"] or "")]
    check(not unnamed, path.name, "skips without a need:", *unnamed)
    return cases


def everything(sandbox):
    print("| machine | suite | pass | skip |\n| --- | --- | --- | --- |")
    for path in MACHINES:
        cases = run(sandbox, path)
        for suite in sorted({case["suite"] for case in cases}):
            outcomes = collections.Counter(case["reason"] or "pass" for case in cases if case["suite"] == suite)
            passed = outcomes.pop("pass", 0)
            skipped = ", ".join(f"{count} {why}" for why, count in outcomes.most_common())
            print(f"| {path.stem} | {suite} | {passed} | {skipped} |", flush=True)
            check(passed or suite not in ("memory", "kernels"), path.name, suite, "has no case that passes")


def named_checks(sandbox):
    for path in MACHINES:
        globs = checks_of(path)
        filters = [word for glob in globs for word in ("--filter", f"*/{glob}")]
        ids = [case["id"].split("/", 1)[1] for case in run(sandbox, path, *filters)]
        unmet = [glob for glob in globs if not any(fnmatch.fnmatchcase(name, glob) for name in ids)]
        check(not unmet, path.name, "names checks that are not there:", *unmet)
        print("ok", path.stem, len(ids), "cases")


if __name__ == "__main__":
    MACHINES = [path for path in MACHINES if here(path)]
    with Sandbox() as box:
        everything(box) if "--full" in sys.argv else named_checks(box)
