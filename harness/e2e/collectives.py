#!/usr/bin/env python3
"""The suites of collectives: green over Gloo and oneCCL on host memory and staged from simulated cards, red under a fault, and a
skip at once where there is no library."""

import json
import shutil
import subprocess
import sys
import time

from harness import BIN, Sandbox, check, check_sums, report, skip

LIBRARY = BIN / "libproctor_gloo.so"
ONECCL = BIN / "oneccl" / "libccl.so.2"
SIMULATORS = {"xpu": (BIN / "libproctor_ze_sim.so", "xpu:4x1"), "cuda": (BIN / "cuda_sim" / "libcudart.so.13", "cuda:4")}
MIN_CHECKS = 30
STAGED = "*UnevenCounts.*"  # of four ranks; all of them are in `./dev run`
STRAY = {"RANK": "3", "WORLD_SIZE": "8"}


def names(backend, listed):
    return {case["id"].partition("/")[2] for case in listed if case["backend"] == backend}


def same_rules_on_all_backends(sandbox, backends):
    done = sandbox.proctor("list", "collectives", "--json", timeout=60)
    check(done.returncode == 0, done.stdout[-2000:], done.stderr)
    listed = json.loads(done.stdout)["cases"]
    host = names("none", listed)
    check(len({name.partition("/")[0] for name in host}) >= MIN_CHECKS, "only so many checks:", len(host))
    for backend in backends:
        own = {name for name in names(backend, listed) if name.startswith(("Nccl.", "LeasedCard."))}
        check("LeasedCard.EachRankSeesOnlyOwnCard" in own, backend, own)
        check(any(name.startswith("Nccl.") for name in own) == (backend == "cuda"), backend, "has of NCCL:", own)
        check(names(backend, listed) - own == host, backend, "has other checks:", names(backend, listed) ^ host)


def without_oneccl(case):
    """Where PyPI does not answer, ./dev test goes on without it; a library that is there must work."""
    return case["outcome"] == "skip" and "/OneCcl." in case["id"] and not ONECCL.exists() \
        and case["reason"].startswith("library_missing:")


def without_the_type(case):
    """Gloo reduces no bf16."""
    return case["id"].endswith("/AllReduce.EveryReductionIsExact/bf16") and \
        (case["outcome"], case["reason"]) == ("skip", "unsupported:all_reduce:bf16")


def green(sandbox, expected, *arguments):
    out = sandbox.out()
    done = sandbox.proctor("run", "collectives", *arguments, "--strict", "--out", out, timeout=300)
    check(done.returncode == 0, "exit", done.returncode, done.stdout[-3000:], done.stderr)
    document = report(out)
    check_sums(document)
    cases = [case for case in document["cases"] if not without_oneccl(case) and not without_the_type(case)]
    passed = [case for case in cases if case["outcome"] == "pass"]
    check(len(passed) == len(cases) >= expected, document["summary"])
    print("ok", arguments, document["summary"]["pass"])
    return passed


def every_rank_has_a_card(cases, backend):
    for case in cases:
        for attempt in case["attempts"]:
            cards = [rank["devices"] for rank in attempt["ranks"]]
            check(len(cards) == 4 and len({json.dumps(card) for card in cards}) == 4, backend, case["id"], cards)


def a_card_of_two_tiles(sandbox):
    """Also where the caller sees each tile as a device: a rank has one card."""
    out = sandbox.out()
    done = sandbox.proctor("run", "collectives", "--backend", "xpu", "--sim", "xpu:4x2", "--filter", "*LeasedCard.EachRank*",
                           "--out", out, timeout=120, env={**sandbox.env, "ZE_FLAT_DEVICE_HIERARCHY": "FLAT"})
    check(done.returncode == 0 and report(out)["summary"]["pass"] == 1, done.returncode, done.stdout[-3000:], done.stderr)


def caught(sandbox, backend, topology):
    """Both sides of a fault: the check that lists it fails by it, and nothing else is said to."""
    out = sandbox.out()
    done = sandbox.proctor("selftest", "--backend", backend, "--suite", "collectives", "--sim", topology,
                           "--fault", "collective.skip_barrier", "--out", out, timeout=120)
    check(done.returncode == 0, done.stdout[-3000:], done.stderr)
    rows = json.loads((out / "selftest.json").read_text())["rows"]
    check(len(rows) >= 2 and all(row["detected"] and row["fired"] for row in rows), rows)


def chosen_library(sandbox):
    """The provider: checks of no library in particular work over it, and those of another one are skipped."""
    for provider, other in (("gloo", "OneCcl.EveryTypeArrivesUnchanged"), ("oneccl", None)):
        if provider == "oneccl" and not ONECCL.exists():
            continue
        out = sandbox.out()
        filters = [word for name in ("UnevenCounts.AllToAllvAcceptsEmptyRanks", other) if name
                   for word in ("--case", f"collectives.none/{name}")]
        done = sandbox.proctor("run", "collectives", "--backend", "none", "--suite-arg", f"provider={provider}", "--out", out, *filters, timeout=60)
        check(done.returncode == 0, done.stdout[-3000:], done.stderr)
        for case in report(out)["cases"]:
            if case["id"].endswith(str(other)):
                check((case["outcome"], case["reason"]) == ("skip", "needs:provider=oneccl"), case)
            else:
                check(case["outcome"] == "pass", case)
                log = (out / case["attempts"][0]["output"]["log"]).read_text()
                check(log.count(f"over {provider} ") == 4, provider, log)
                check([measure["name"] for measure in case["measures"]] == [f"{provider}.version"], case["measures"])
    plan, out = sandbox.path / "provider.plan", sandbox.out()
    sandbox.proctor("plan", "collectives", "--backend", "none", "--case", "collectives.none/OneCcl.EveryTypeArrivesUnchanged",
                    "--suite-arg", "provider=gloo", "-o", plan, timeout=60)
    sandbox.proctor("run", "--plan", plan, "--out", out, timeout=60)
    check([case["reason"] for case in report(out)["cases"]] == ["needs:provider=oneccl"], "a plan keeps it")
    print("ok --suite-arg provider")


def every_check_of_nccl_obeys(sandbox):
    out = sandbox.out()
    sandbox.proctor("run", "collectives", "--sim", "cuda:1", "--backend", "cuda", "--suite-arg", "provider=gloo",
                    "--filter", "*/Nccl.*", "--out", out, timeout=60)
    reasons = {case["reason"] for case in report(out)["cases"]}
    check(reasons == {"needs:provider=nccl"}, reasons)


def missing_library_is_a_skip(sandbox):
    alone = sandbox.path / "alone"
    alone.mkdir()
    program = shutil.copy(BIN / "collectives_host", alone)
    started = time.monotonic()
    done = subprocess.run([program, "--gtest_filter=SingleRank.*"], capture_output=True, text=True, timeout=60)
    check("library_missing:libproctor_gloo.so" in done.stdout and done.returncode == 0, done.stdout, done.stderr)
    print(f"a skip after {time.monotonic() - started:.3f} s")


def main():
    with Sandbox() as sandbox:
        missing_library_is_a_skip(sandbox)
        backends = {backend: sim for backend, (library, sim) in SIMULATORS.items()
                    if library.exists() and (BIN / f"collectives_{backend}").exists()}
        same_rules_on_all_backends(sandbox, backends)
        if not LIBRARY.exists():
            skip("package_missing:libgloo-dev")
        sandbox.env.update(STRAY)
        green(sandbox, MIN_CHECKS, "--backend", "none")
        chosen_library(sandbox)
        if "cuda" in backends:
            every_check_of_nccl_obeys(sandbox)
        for backend, topology in backends.items():
            cases = green(sandbox, 2, "--backend", backend, "--sim", topology, "--filter", STAGED)
            every_rank_has_a_card(cases, backend)
        if "xpu" in backends:
            a_card_of_two_tiles(sandbox)
        for backend, topology in list(backends.items())[:1]:
            caught(sandbox, backend, topology)


if __name__ == "__main__":
    sys.exit(main())
