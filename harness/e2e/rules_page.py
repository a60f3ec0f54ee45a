#!/usr/bin/env python3
"""docs/reference/rules.md: what the ids of rules in `proctor explain` and in reports mean.

The sentence of a rule is written in the page by hand; where it comes from and which checks prove it is what the suites
say, as `proctor list` tells it for simulated cards of both vendors.

    rules_page.py            writes the page; a new rule gets "TODO" for a sentence, one without a check goes
    rules_page.py --check    only compares
"""

import json
import re
import sys

from harness import BIN, ROOT, Sandbox, check

PAGE = ROOT / "docs/reference/rules.md"
BEGIN = "<!-- rules: written by harness/e2e/rules_page.py, except their sentences -->\n"
END = "<!-- rules: end -->\n"


def natural(rule):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", rule)]


def check_of(case):
    """Copy.IsByteExact, of all parameters; the rows of a table of masks are one."""
    name = case["name"].split("/")[0]
    return "MaskRow" if name.startswith("MaskRow.") else name


def rules():
    """{id: (sources, {suite: its checks})}"""
    with Sandbox() as sandbox:
        done = sandbox.proctor("list", "--json", "--sim", "xpu:2x2,cuda:4", "--backend", "all")
    check(done.returncode == 0, "proctor list exits", done.returncode, done.stderr)
    found = {}
    for case in json.loads(done.stdout)["cases"]:
        sources, suites = found.setdefault(case["rule"], (set(), {}))
        sources.add(case["source"])
        suites.setdefault(case["suite"], set()).add(check_of(case))
    return found


def check_coverage(found):
    """`list --coverage` has the same rules; and each function of both vendors is called by a check or has a reason."""
    with Sandbox() as sandbox:
        done = sandbox.proctor("list", "--coverage", "--json")
        text = sandbox.proctor("list", "--coverage").stdout
    check(done.returncode == 0, "proctor list --coverage exits", done.returncode, done.stderr)
    check("no check calls it" not in done.stderr, "harness/selftest/uncalled_functions.toml:", done.stderr)
    covered = json.loads(done.stdout)
    check({rule["id"] for rule in covered["rules"]} == set(found), "the rules of --coverage are those of the suites")
    check(all(rule["checks"] for rule in covered["rules"]), "a rule without a check")
    check(not [fault["name"] for fault in covered["faults"] if not fault["checks"] and not fault["blanket"]],
          "a fault that no check names")
    opinions = [check["id"] for rule in covered["rules"] for check in rule["checks"]
                if check["severity"] == "gate" and check["source_kind"] == "ours"]
    check(not opinions, "these checks gate, and no document demands it (harness/selftest/source_kind.h):", *opinions)
    for backend, called, never in (("xpu", "zeCommandListAppendMemoryCopy", "zeFabricEdgeGetVerticesExp"),
                                   ("cuda", "cudaMalloc", "cudaVDPAUGetDevice")):
        functions = {each["name"]: each for each in covered["functions"] if each["backend"] == backend}
        check(f"memory.{backend}" in functions[called]["named_by"], called, "is named by the suite memory", functions[called])
        check(functions[called]["called_by"], called, "is called by a check")
        check(functions[never]["reason"] and f"\n    {never}\n" in text, never, "has no check", functions[never])
    checks = {check["id"] for rule in covered["rules"] for check in rule["checks"]}
    gone = [one for each in covered["functions"] for one in each["called_by"] if one not in checks]
    check(not gone, "harness/e2e/vendor_functions.py is to be run again, checks of its table are gone:", gone)


def sentences(text):
    return dict(re.findall(r"^\| <a id=\"[\w.-]+\"></a>`([\w.]+)` \| (.*?) \|", text, re.MULTILINE))


def table(found, written):
    lines = [BEGIN, "| rule | says | where it comes from | checks |\n", "| --- | --- | --- | --- |\n"]
    for rule in sorted(found, key=natural):
        sources, suites = found[rule]
        checks = "; ".join(f"{suite}: " + ", ".join(f"`{name}`" for name in sorted(suites[suite])) for suite in sorted(suites))
        anchor = f'<a id="{rule}"></a>'
        lines.append(f"| {anchor}`{rule}` | {written.get(rule, 'TODO')} | {'; '.join(sorted(sources))} | {checks} |\n")
    return "".join(lines) + END


def main():
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    found = rules()
    page = before + table(found, sentences(text)) + after
    if "--check" not in sys.argv:
        PAGE.write_text(page)
        return
    if not (BIN / "memory_cuda").exists():
        check(set(found) <= set(sentences(text)), "rules without a sentence:", set(found) - set(sentences(text)))
        print("ok every rule is defined (without those of CUDA: it was not built)")
        return
    check_coverage(found)
    check("TODO" not in page, "a rule has no sentence in", PAGE, re.findall(r".*TODO.*", page))
    check(page == text, PAGE, "is not what the suites say: run harness/e2e/rules_page.py\n",
          "\n".join(sorted(set(page.splitlines()) ^ set(text.splitlines()))))
    print(f"ok {len(sentences(text))} rules are defined")


if __name__ == "__main__":
    main()
