#!/usr/bin/env python3
"""The page of rules: what the ids of rules in `proctor explain` and in reports mean.

The sentence of a rule is written by hand in suites/rules.toml. Its sources and checks are in the suites, and `proctor
list` prints them for simulated devices of both vendors.

    rules_page.py            prints the page, for the site
    rules_page.py --check    compares the ids of the file with those of the suites
"""

import json
import re
import sys
import tomllib

from harness import BIN, ROOT, Sandbox, check

SENTENCES = ROOT / "suites/rules.toml"
HEAD = """# Rules

Every check of the conformance suites proves a rule. `proctor explain CASE`, `report.json` (`cases[].rule`) and the
messages of failures name the rule by its id. The letter shows where a rule belongs: V visibility, M memory, C
collectives, K kernels, S failures seen in the field, B all calls. An id is never given to another rule.

`proctor explain` lists the faults that a check must detect; [the self-test](../explanation/selftest.md) proves it. Rules
of a diagnosis, such as `xid:79`, are in [Rules of a diagnosis](diagnosis-rules.md).

| rule | sentence | source | checks |
| --- | --- | --- | --- |
"""
NOT_BUILT = "not in the build that made this page"


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


def rows(found, sentences):
    for rule in sorted(sentences, key=natural):
        sources, suites = found.get(rule, ({NOT_BUILT}, {}))
        checks = "; ".join(f"{suite}: " + ", ".join(f"`{name}`" for name in sorted(suites[suite])) for suite in sorted(suites))
        yield f'| <a id="{rule}"></a>`{rule}` | {sentences[rule]} | {"; ".join(sorted(sources))} | {checks} |\n'


def main():
    sentences = tomllib.loads(SENTENCES.read_text())
    found = rules()
    if "--check" not in sys.argv:
        print(HEAD + "".join(rows(found, sentences)), end="")
        return
    check(set(found) <= set(sentences), "rules without a sentence in", SENTENCES, sorted(set(found) - set(sentences)))
    if not (BIN / "memory_cuda").exists():
        print("ok every rule is defined (without those of CUDA: it was not built)")
        return
    check_coverage(found)
    check(set(sentences) <= set(found), SENTENCES, "has rules that no check proves:", sorted(set(sentences) - set(found)))
    print(f"ok {len(sentences)} rules are defined")


if __name__ == "__main__":
    main()
