#!/usr/bin/env python3
"""`proctor list --coverage`: each rule has a sentence in suites/rules.toml and a check. Each fault and each function of both
vendors has a check or a reason. A check that gates rests on a document."""

import json
import tomllib

from harness import BIN, ROOT, Sandbox, check

SENTENCES = ROOT / "suites/rules.toml"


def main():
    sentences = set(tomllib.loads(SENTENCES.read_text()))
    with Sandbox() as sandbox:
        done = sandbox.proctor("list", "--json", "--sim", "xpu:2x2,cuda:4", "--backend", "all")
        check(done.returncode == 0, "proctor list exits", done.returncode, done.stderr)
        found = {case["rule"] for case in json.loads(done.stdout)["cases"]}
        check(found <= sentences, "rules without a sentence in", SENTENCES, sorted(found - sentences))
        if not (BIN / "memory_cuda").exists():
            print("ok every rule is defined (without those of CUDA: it was not built)")
            return
        check(sentences <= found, SENTENCES, "has rules that no check proves:", sorted(sentences - found))
        done = sandbox.proctor("list", "--coverage", "--json")
        text = sandbox.proctor("list", "--coverage").stdout
        explained = sandbox.proctor("explain", "memory.xpu/Copy.HostToDeviceIsByteExact")
    sentence = tomllib.loads(SENTENCES.read_text())["M22"]
    check(f"M22: {sentence}\n" in explained.stdout, "explain prints the sentence of the rule:", explained.stdout, explained.stderr)
    check(done.returncode == 0, "proctor list --coverage exits", done.returncode, done.stderr)
    check("no check calls it" not in done.stderr, "harness/selftest/uncalled_functions.toml:", done.stderr)
    covered = json.loads(done.stdout)
    check({rule["id"] for rule in covered["rules"]} == found, "the rules of --coverage are those of the suites")
    check(all(rule["checks"] for rule in covered["rules"]), "a rule without a check")
    check(not [fault["name"] for fault in covered["faults"] if not fault["checks"] and not fault["blanket"]],
          "a fault that no check names")
    opinions = [check["id"] for rule in covered["rules"] for check in rule["checks"]
                if check["severity"] == "gate" and check["source_kind"] == "project"]
    check(not opinions, "these checks gate, and no document demands it (harness/selftest/coverage.h):", *opinions)
    for backend, called, never in (("xpu", "zeCommandListAppendMemoryCopy", "zeFabricEdgeGetVerticesExp"),
                                   ("cuda", "cudaMalloc", "cudaVDPAUGetDevice")):
        functions = {each["name"]: each for each in covered["functions"] if each["backend"] == backend}
        check(f"memory.{backend}" in functions[called]["named_by"], called, "is named by the suite memory", functions[called])
        check(functions[called]["called_by"], called, "is called by a check")
        check(functions[never]["reason"] and f"\n    {never}\n" in text, never, "has no check", functions[never])
    checks = {check["id"] for rule in covered["rules"] for check in rule["checks"]}
    gone = [one for each in covered["functions"] for one in each["called_by"] if one not in checks]
    check(not gone, "harness/e2e/vendor_functions.py is to be run again, checks of its table are gone:", gone)
    print(f"ok {len(sentences)} rules are defined")


if __name__ == "__main__":
    main()
