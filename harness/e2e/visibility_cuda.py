#!/usr/bin/env python3
"""The visibility suite for CUDA on simulated cards: all of it, in the pool that a caller's mask leaves, and beside Intel's cards."""

import json
import subprocess
import sys
import tomllib

from harness import BIN, ROOT, Sandbox, check, check_sums, report, skip

MIN_CASES = 45
OBSERVED = ROOT / "suites" / "hardware" / "observed.py"
# Of the simulator's model.
OBSERVATIONS = {"CUDA_VISIBLE_DEVICES='{uuid1},{0}'": {"code": 0, "devices": [1]},
                "CUDA_VISIBLE_DEVICES=' {1} ,{0}'": {"code": 0, "devices": [1, 0]},
                "CUDA_VISIBLE_DEVICES='{0},{0}'": {"code": 100},
                "CUDA_VISIBLE_DEVICES='{uuid0}' set after initialisation": {"code": 0, "devices": [0, 1, 2, 3]},
                "cudaDeviceCanAccessPeer(0, 0)": {"code": 0, "reachable": 0},
                "cudaMalloc in a forked child": {"code": 3}}
# A fault of what no document settles, a check that then sees another answer, and one of what is settled.
OPEN = [("visibility.mixed_mask_accepted", "VisibleDevices.OrdinalAfterUuidEndsList", None),
        ("visibility.reread_environment_after_init", "Process.MaskAfterInitHasNoEffect", None),
        ("error.wrong_code", "VisibleDevices.EmptyValueSelectsNothing", "Enumeration.NullCountIsRejected"),
        ("visibility.invert_peer_access", "PeerAccess.SelfAccessIsRecorded", "PeerAccess.EnablingMatchesReportedAccess"),
        ("visibility.skip_invalid_mask_entry", "VisibleDevices.WordsBeforeOrdinalSelectNothing", "VisibleDevices.ThirdEntryMinusOneEndsList")]
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
    document, _ = run(sandbox, "cuda:5")
    verdicts = reasons(document)
    check(len(verdicts) >= MIN_CASES, len(verdicts), "cases")
    check(set(verdicts.values()) == {("pass", "")}, {name: v for name, v in verdicts.items() if v != ("pass", "")})
    print(f"ok {len(verdicts)} cases")
    observations(sandbox, *run(sandbox, "cuda:4"))


def observations(sandbox, document, out):
    """A simulated run is refused. Were it one of hardware, its answers would make this table."""
    table = sandbox.out().with_suffix(".toml")
    command = [sys.executable, "-B", OBSERVED, out, "-o", table]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    check(refused.returncode == 2 and "is simulated (cuda:4" in refused.stderr and not table.exists(), refused)
    for entry in (document["run"], *document["cases"]):
        entry["simulated"] = False
    (out / "report.json").write_text(json.dumps(document))
    (out / "devices-before.json").write_text(sandbox.proctor("devices", "--json", "--sim", "cuda:4").stdout)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    made = tomllib.loads(table.read_text())
    check(len(made["devices"]) == 4 and made["driver"] == document["run"]["stack"]["cuda.driver"], made)
    rows = {row["value"]: row for row in made["observed"]}
    for value, answer in OBSERVATIONS.items():
        check(answer.items() <= rows[value].items(), value, rows[value])
    print(f"ok {len(rows)} observations")


def open_answers_pass_on_hardware(sandbox):
    """The suite, not told that its devices are ours, takes a wrong answer only where a document says what is right."""
    for fault, open_check, settled_check in OPEN:
        for name, passes in ((open_check, True), (settled_check, False)):
            if name is None:
                continue
            env = {**sandbox.env, "LD_LIBRARY_PATH": str(BIN / "cuda_sim"), "PROCTOR_SIM_TOPOLOGY": "cuda:4",
                   "PROCTOR_SIM_FAULTS": fault, "PROCTOR_SIM_STATE": str(sandbox.path / "simulated")}
            done = subprocess.run([SUITE, f"--proctor-case={name}"], env=env, capture_output=True, text=True, check=False)
            check((done.returncode == 0) == passes, fault, name, done.stdout[-2000:], done.stderr)
    print("ok what is open passes with another answer, what is settled fails")


def a_hidden_card_is_not_named(sandbox):
    """By name, because an ordinal of the caller counts in another order."""
    cards = names(sandbox, "cuda:2")
    check(len(cards) == 2, cards)
    for mine, hidden in (cards, reversed(cards)):
        document, out = run(sandbox, "cuda:2", CUDA_VISIBLE_DEVICES=mine)
        verdicts = reasons(document)
        check(verdicts["VisibleDevices.FirstUuidSelectsFirstDevice"] == ("pass", ""), verdicts)
        check(verdicts["VisibleDevices.ReversedListReversesDevices"] == ("skip", "needs:devices>=2"), verdicts)
        check(verdicts["VisibleDevices.UnsetVariableSelectsEveryDevice"] == ("skip", "needs:whole_machine"), verdicts)
        for path in out.rglob("*"):
            check(not path.is_file() or hidden not in path.read_text(errors="replace"), f"{path} names a hidden card")
        print("ok", sum(outcome == "pass" for outcome, _ in verdicts.values()), "cases on", mine)


def each_vendor_alone(sandbox):
    document, _ = run(sandbox, "xpu:2x2,cuda:4", "--filter", "VendorIsolation.*")
    check(all(outcome == "pass" for outcome, _ in reasons(document).values()), reasons(document))
    measured = [measure["value"] for case in document["cases"] for measure in case["measures"]
                if measure["name"] == "level_zero_devices"]
    if measured == [0, 0]:
        skip("library_missing:libze_loader.so.1")
    check(measured == [2, 2], measured)
    print("ok two Intel cards were there, and not for CUDA's child")


def main():
    if not SUITE.exists():
        skip("needs:cuda_toolkit")
    with Sandbox() as sandbox:
        everything_runs(sandbox)
        open_answers_pass_on_hardware(sandbox)
        a_hidden_card_is_not_named(sandbox)
        each_vendor_alone(sandbox)


if __name__ == "__main__":
    sys.exit(main())
