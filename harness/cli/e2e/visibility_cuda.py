#!/usr/bin/env python3
"""The visibility suite for CUDA on simulated cards: all of it, in the pool that a caller's mask leaves, and beside Intel's cards."""

import json
import sys

from harness import BIN, Sandbox, check, check_sums, report, skip

MIN_CASES = 45
SUITE = BIN / "visibility_cuda"


def run(sandbox, topology, *arguments, **env):
    out = sandbox.out()
    done = sandbox.proctor("run", "visibility", "--backend", "cuda", "--sim", topology, "--out", out, *arguments,
                           env={**sandbox.env, **env})
    check(done.returncode == 0, "exit", done.returncode, done.stdout[-4000:], done.stderr)
    document = report(out)
    check_sums(document)
    return document, out


def reasons(document):
    return {case["id"].split("/", 1)[1]: (case["outcome"], case["reason"]) for case in document["cases"]}


def names(sandbox, topology, **env):
    """The cards' UUIDs in CUDA's order for that environment."""
    done = sandbox.proctor("devices", "--json", "--sim", topology, env={**sandbox.env, **env})
    return [device["uuid"] for device in json.loads(done.stdout)["devices"] if device["uuid"].startswith("GPU-")]


def everything_runs(sandbox):
    document, _ = run(sandbox, "cuda:4")
    verdicts = reasons(document)
    check(len(verdicts) >= MIN_CASES, len(verdicts), "cases")
    check(set(verdicts.values()) == {("pass", "")}, {name: v for name, v in verdicts.items() if v != ("pass", "")})
    print(f"ok {len(verdicts)} cases")


def a_hidden_card_is_not_named(sandbox):
    """By name, because an ordinal of the caller counts in another order."""
    cards = names(sandbox, "cuda:2")
    check(len(cards) == 2, cards)
    for mine, hidden in (cards, reversed(cards)):
        document, out = run(sandbox, "cuda:2", CUDA_VISIBLE_DEVICES=mine)
        verdicts = reasons(document)
        check(verdicts["MaskRow.17a_uuid"] == ("pass", ""), verdicts)
        check(verdicts["MaskRow.4a_reversed"] == ("skip", "needs:devices>=2"), verdicts)
        check(verdicts["MaskRow.1_unset"] == ("skip", "needs:whole_machine"), verdicts)
        for path in out.rglob("*"):
            check(not path.is_file() or hidden not in path.read_text(errors="replace"), f"{path} names a hidden card")
        print("ok", sum(outcome == "pass" for outcome, _ in verdicts.values()), "cases on", mine)


def each_vendor_alone(sandbox):
    document, _ = run(sandbox, "xpu:2x2,cuda:4", "--filter", "Vendors.*")
    check(all(outcome == "pass" for outcome, _ in reasons(document).values()), reasons(document))
    measured = [measure["value"] for case in document["cases"] for measure in case["measures"]
                if measure["name"] == "level_zero_devices"]
    if measured == [0]:
        skip("library_missing:libze_loader.so.1")
    check(measured == [2], measured)
    print("ok two Intel cards were there, and not for CUDA's child")


def main():
    if not SUITE.exists():
        skip("needs:cuda_toolkit")
    with Sandbox() as sandbox:
        everything_runs(sandbox)
        a_hidden_card_is_not_named(sandbox)
        each_vendor_alone(sandbox)


if __name__ == "__main__":
    sys.exit(main())
