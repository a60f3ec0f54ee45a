#!/usr/bin/env python3
"""No check asks a good device for more than its specification promises: our suites on every machine of
fixtures/simgpu/machines. Each is good, and lacks something or does something late. Nothing is red there, and every skip
names its need. A file begins with comments:

    # checks: GLOB...            the checks that a machine of its kind made red before
    # warns: GLOB...             checks that fail, and only warn on a device: no gate asks what the machine lacks
    # known: GLOB...             gates that fail: on a device these are known failures, by the version of its driver
    # hierarchies: NAME...       run the checks under each of these device hierarchies (default: composite)
    # batch: N                   run the checks in batches of N

    machines.py                  those checks only; prints each case with its outcome
    machines.py --full           all checks; prints the table machine x suite
    machines.py [--full] NAME... those machines only
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


def words_of(path, key):
    """The words of the comment `# key: WORD...`."""
    found = re.search(rf"^# {key}: (.+)$", path.read_text(), re.MULTILINE)
    return found.group(1).split() if found else []


def runs():
    """Each machine with each of its hierarchies; cards of NVIDIA have none."""
    named = {path: words_of(path, "hierarchies") or (["composite"] if "[[xpu]]" in path.read_text() else [""])
             for path in MACHINES}
    return [(path, hierarchy) for path, hierarchies in named.items() for hierarchy in hierarchies]


def named_in(case, globs):
    return any(fnmatch.fnmatchcase(case["id"].split("/", 1)[1], glob) for glob in globs)


def fails_as_meant(case, path):
    key = "known" if case["severity"] == "gate" else "warns"
    return case["outcome"] == "fail" and not case["reason"] and named_in(case, words_of(path, key))


def run(sandbox, path, hierarchy, *options):
    out = sandbox.out()
    batch = [word for number in words_of(path, "batch") for word in ("--process", f"batch:{number}")]
    under = ("--hierarchy", hierarchy) if hierarchy else ()
    done = sandbox.proctor("run", *SUITES, "--exclude", "*.none/*", "--out", out, *here(path), *under, *batch, *options,
                           timeout=1200)
    check(done.returncode in (0, 1, 3), done.stdout, done.stderr, path.name, "exits", done.returncode)
    cases = report(out)["cases"]
    red = [f"{case['id']}: {case['outcome']}({case['reason']}) {case['message']}" for case in cases
           if case["outcome"] not in ("pass", "skip") and not fails_as_meant(case, path)]
    red += [f"{case['id']}: {case['marks']}" for case in cases if batch and "flaky" in case["marks"]]
    check(not red, done.stdout, done.stderr, path.name, "has red cases:", *red)  # last, where a long output is cut
    meant = words_of(path, "warns") + words_of(path, "known")
    passed = [case["id"] for case in cases if named_in(case, meant) and case["outcome"] == "pass"]
    check(not passed, path.name, "does not fail, as it is meant to:", *passed)
    codes = (1,) if any(case["outcome"] == "fail" for case in cases) else (0, 3)
    check(done.returncode in codes, done.stdout, done.stderr, path.name, "exits", done.returncode)
    unnamed = [case["id"] for case in cases if case["outcome"] == "skip" and not NAMED.fullmatch(case["reason"] or "")]
    check(not unnamed, path.name, "skips without a need:", *unnamed)
    return cases


def everything(sandbox):
    print("| machine | hierarchy | suite | pass | skip |\n| --- | --- | --- | --- | --- |")
    for path, hierarchy in runs():
        cases = run(sandbox, path, hierarchy)
        for suite in sorted({case["suite"] for case in cases}):
            outcomes = collections.Counter(case["reason"] or "pass" for case in cases if case["suite"] == suite)
            passed = outcomes.pop("pass", 0)
            skipped = ", ".join(f"{count} {why}" for why, count in outcomes.most_common())
            print(f"| {path.stem} | {hierarchy} | {suite} | {passed} | {skipped} |", flush=True)
            check(passed or suite not in ("memory", "kernels"), path.name, suite, "has no case that passes")


def named_checks(sandbox):
    for path, hierarchy in runs():
        globs = words_of(path, "checks")
        check(globs, path, "names no check: `# checks: GLOB...`")
        filters = [word for glob in globs for word in ("--filter", f"*/{glob}")]
        cases = run(sandbox, path, hierarchy, *filters)
        ids = [case["id"].split("/", 1)[1] for case in cases]
        unmet = [glob for glob in globs if not any(fnmatch.fnmatchcase(name, glob) for name in ids)]
        check(not unmet, path.name, "names checks that are not there:", *unmet)
        for case in cases:
            print(f"{path.stem} {hierarchy}: {case['id']}: {case['outcome']} {case['reason'] or ''}".rstrip(), flush=True)


if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if word != "--full"]
    unknown = set(names) - {path.stem for path in MACHINES}
    check(not unknown, "no machine is called", *sorted(unknown))
    MACHINES = [path for path in MACHINES if here(path) and (not names or path.stem in names)]
    with Sandbox() as box:
        everything(box) if "--full" in sys.argv else named_checks(box)
