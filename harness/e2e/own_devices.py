#!/usr/bin/env python3
"""Attacks on "a case sees the devices that it has leased": by what a suite sets, and by what the caller has set."""

import stat

from harness import BIN, CUDA_SIMULATOR, check, report, run_scenarios, skip

# Prints the names of what it may see, as its environment says.
SHOW = """#!/bin/sh
env | grep -E 'VISIBLE_DEVICES|AFFINITY|HIERARCHY|DEVICE_ORDER|ALT_DRIVERS|SELECTOR|FILTER|Filter|DRIVERS_ORDER' | sort > "$SHOWN"
"""
# Each of them moved a case to a card that it had not leased, or hid the one that it had.
OF_A_CALLER = {
    "CUDA_DEVICE_ORDER": "FASTEST_FIRST",
    "NVIDIA_VISIBLE_DEVICES": "1",
    "ZE_ENABLE_PCI_ID_DEVICE_ORDER": "0",
    "NEO_ZE_ENABLE_PCI_ID_DEVICE_ORDER": "0",
    "NEO_L0_ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE",
    "ZEL_DRIVERS_ORDER": "1,0",
    "ONEAPI_DEVICE_SELECTOR": "level_zero:1",
    "SYCL_DEVICE_FILTER": "level_zero:gpu:1",
    "SYCL_DEVICE_ALLOWLIST": "DeviceName:{{.*}}",
}
FILTERS = ["FilterBdfPath", "NEO_FilterDeviceId", "NEO_L0_ForceDeviceId"]  # no mask can keep to what they leave
REFUSED = [*OF_A_CALLER, *FILTERS, "CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "NEO_ZE_AFFINITY_MASK", "NEO_L0_ZE_AFFINITY_MASK",
           "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_ALT_DRIVERS", "ZE_ENABLE_NULL_DRIVER", "HIP_VISIBLE_DEVICES",
           "ROCR_VISIBLE_DEVICES"]


def program(sandbox):
    path = sandbox.path / "show.sh"
    path.write_text(SHOW)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def run_suite(sandbox, text, *options, env=None, code=0, sim="xpu:2x2"):
    """What the case has of those variables, and the report of the run."""
    shown = sandbox.path / "shown"
    shown.unlink(missing_ok=True)
    config = sandbox.path / "own.toml"
    config.write_text(f'[suite.own]\ncommand = ["{program(sandbox)}"]\nkind = "command"\n{text}')
    out = sandbox.out()
    done = sandbox.proctor("run", "own", "--config", config, "--out", out, "--sim", sim, *options,
                           env={**sandbox.env, "SHOWN": str(shown), **(env or {})})
    check(done.returncode == code, done.returncode, done.stdout, done.stderr)
    variables = dict(line.split("=", 1) for line in shown.read_text().splitlines()) if shown.exists() else {}
    return variables, report(out) if code != 2 else None, done


def of_a_suite(sandbox):
    for name in REFUSED:
        _, _, done = run_suite(sandbox, f'backend = "xpu"\n[suite.own.env]\n{name} = "1"\n', code=2)
        check(f"own.toml:5: `{name}` cannot be set" in done.stderr, name, done.stderr)
    _, _, done = run_suite(sandbox, 'backend = "xpu"\nenv.ZE_FLAT_DEVICE_HIERARCHY = "FLAT"\n', code=2)
    check('hierarchy = "flat"' in done.stderr, done.stderr)


def of_the_caller(sandbox):
    plain, _, _ = run_suite(sandbox, 'backend = "xpu"\n')
    check(plain["ZE_AFFINITY_MASK"] == "0" and plain["CUDA_VISIBLE_DEVICES"] == "", plain)
    for name, value in OF_A_CALLER.items():
        if name == "NEO_L0_ZE_FLAT_DEVICE_HIERARCHY":
            continue  # an option's default, below
        shown, document, done = run_suite(sandbox, 'backend = "xpu"\n', env={name: value})
        check(shown == plain, name, shown, plain)
        said = document["cases"][0]["attempts"][0]["environment"]
        check(said[name]["by"] == "proctor" and said[name]["value"] == plain.get(name), name, said)
        check(f"{name}={value} of the caller" in done.stdout, name, done.stdout)
    for name in FILTERS:
        _, _, done = run_suite(sandbox, 'backend = "xpu"\n', env={name: "1"}, code=2)
        check(f"{name} of the caller" in done.stderr, name, done.stderr)
        run_suite(sandbox, 'backend = "none"\n', env={name: "1"})
    _, _, done = run_suite(sandbox, 'backend = "xpu"\n', env={"ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"})
    check("ZE_ENABLE_PCI_ID_DEVICE_ORDER" not in done.stdout, "a case gets just that:", done.stdout)
    # All at once, on two cards.
    shown, document, _ = run_suite(sandbox, 'backend = "xpu"\ngpus = 2\n',
                                   env={**OF_A_CALLER, "NEO_L0_ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"})
    check(shown == {**plain, "ZE_AFFINITY_MASK": "0,1"}, shown)
    said = document["cases"][0]["attempts"][0]["environment"]
    for name, entry in said.items():
        check(entry["value"] == shown.get(name), name, entry, shown.get(name))


def the_hierarchy(sandbox):
    def mask(text="", *options, env=None, **more):
        shown, _, _ = run_suite(sandbox, 'backend = "xpu"\n' + text, *options, env=env, **more)
        return shown["ZE_FLAT_DEVICE_HIERARCHY"], shown["ZE_AFFINITY_MASK"]

    flat = {"ZE_FLAT_DEVICE_HIERARCHY": "FLAT"}
    check(mask() == ("COMPOSITE", "0"), mask())
    check(mask('hierarchy = "flat"\n') == ("FLAT", "0,1"), "one card is two tiles")
    check(mask("", "--hierarchy", "combined") == ("COMBINED", "0,1"), "the option")
    check(mask('hierarchy = "flat"\n', "--hierarchy", "composite") == ("COMPOSITE", "0"), "the option wins")
    check(mask(env=flat) == ("FLAT", "0,1"), "the caller's is the default")
    check(mask('hierarchy = "composite"\n', env=flat) == ("COMPOSITE", "0"), "a suite wins over it")
    tile = {**flat, "ZE_AFFINITY_MASK": "3", "ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"}
    check(mask(env=tile) == ("FLAT", "3"), "what the caller left of a card, and no more")
    check(mask('hierarchy = "composite"\n', env=tile) == ("COMPOSITE", "1.1"), "in cards")
    _, _, done = run_suite(sandbox, 'backend = "xpu"\n', env={"ZE_FLAT_DEVICE_HIERARCHY": "flat"}, code=2)
    check("ZE_FLAT_DEVICE_HIERARCHY" in done.stderr, done.stderr)
    _, _, done = run_suite(sandbox, 'backend = "none"\n', "--hierarchy", "flat", code=2)
    check("--hierarchy flat" in done.stderr, done.stderr)


def mask_of_the_caller(sandbox):
    """A case sees what the caller's mask selects for the caller's own processes. The driver counts from the last card."""
    flat, combined = ({"ZE_FLAT_DEVICE_HIERARCHY": word} for word in ("FLAT", "COMBINED"))
    in_order = {"ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"}
    for sim, mask, more, sees in (
            ("xpu:2x1", "0", {}, "1"), ("xpu:2x1", "1", {}, "0"), ("xpu:2x1", "1", in_order, "1"),
            ("xpu:2x2", "0", {}, "1"), ("xpu:2x2", "1", {}, "0"), ("xpu:2x2", "0", in_order, "0"),
            ("xpu:2x2", "0.1", {}, "1.1"), ("xpu:2x2", "0.0,0.1", {}, "1"), ("xpu:2x2", "0", flat, "2"),
            ("xpu:2x2", "1", combined, "3"), ("xpu:2x2", "2,9", {**flat, **in_order}, "2"),
            ("xpu:1x2", "0", {}, "0"), ("xpu:1x2", "0.1", {}, "0.1"), ("xpu:1x2", "1", flat, "1")):
        shown, document, done = run_suite(sandbox, 'backend = "xpu"\n', env={"ZE_AFFINITY_MASK": mask, **more}, sim=sim)
        check(shown["ZE_AFFINITY_MASK"] == sees, sim, mask, more, shown)
        check(not document["warnings"], sim, mask, document["warnings"])
    check("  mask         ZE_AFFINITY_MASK=1 of the caller: xpu-sim:0 (tiles: 1)" in done.stdout, done.stdout)
    both, _, _ = run_suite(sandbox, 'backend = "xpu"\ngpus = 2\n', env={"ZE_AFFINITY_MASK": "0.0,1.1"})
    check(both["ZE_AFFINITY_MASK"] == "0.1,1.0", both)


def nothing_is_left(sandbox):
    """A mask of the caller that leaves a suite nothing makes the run incomplete, as a machine without a card does."""
    env = {"ZE_AFFINITY_MASK": "7"}
    shown, document, done = run_suite(sandbox, 'backend = "xpu"\n', env=env, code=3)
    check(not shown and document["cases"][0]["reason"] == "hidden:ZE_AFFINITY_MASK", document["cases"][0])
    check("ZE_AFFINITY_MASK='7' leaves no xpu device" in done.stdout, done.stdout)
    prefixed = {"NEO_ZE_AFFINITY_MASK": "7", "ZE_AFFINITY_MASK": "0"}
    _, document, done = run_suite(sandbox, 'backend = "xpu"\n', env=prefixed, code=3)
    check(document["cases"][0]["reason"] == "hidden:NEO_ZE_AFFINITY_MASK", document["cases"][0])
    check("NEO_ZE_AFFINITY_MASK='7' leaves no xpu device" in done.stdout, done.stdout)
    run_suite(sandbox, 'backend = "none"\n', env=env)  # needs nothing
    done = sandbox.proctor("exec", "--sim", "xpu:2x1", "--gpus", "1", "--", "true", env={**sandbox.env, **env})
    check(done.returncode == 75, done.returncode, done.stderr)
    other = run_suite(sandbox, 'backend = "xpu"\n[suite.other]\ncommand = ["true"]\nbackend = "none"\n', "other", env=env, code=3)[1]
    check({case["outcome"] for case in other["cases"]} == {"pass", "skip"}, other["cases"])


def proof(sandbox):
    """Our checks compare what they see with their lease; of other suites a probe in their environment says it."""
    if not (BIN / "memory_xpu").exists():
        skip("library_missing:memory_xpu")
    check_of_ours = "memory.xpu/Lease.ProcessSeesLeasedDevices"

    def run(*options, code, env=None, sim="xpu:2x2"):
        out = sandbox.out()
        done = sandbox.proctor("run", "memory", "--case", check_of_ours, "--out", out, "--sim", sim, *options,
                               env={**sandbox.env, **(env or {})})
        check(done.returncode == code, done.returncode, options, done.stdout, done.stderr)
        case = report(out)["cases"][0]
        return case["outcome"], case["reason"], case["owner"], done.stdout, case["attempts"]

    for hierarchy in ("composite", "flat", "combined"):
        check(run("--hierarchy", hierarchy, code=0)[0] == "pass", hierarchy)
        tile = {"ZE_AFFINITY_MASK": "1.1"}
        check(run("--hierarchy", hierarchy, code=0, env=tile)[0] == "pass", "a tile that the caller left:", hierarchy)
    check(run(code=0, env=OF_A_CALLER)[0] == "pass", "under all that a caller can set")
    for fault in ("visibility.mask_off_by_one", "visibility.ignore_mask"):
        faulty = {"PROCTOR_SIM_FAULTS": fault}
        outcome, reason, problem, said, _ = run(code=75, env=faulty)
        check((outcome, reason, problem) == ("error", "mask_mismatch", "machine"), fault, outcome, reason, problem)
        check("and has leased" in said, said)
        _, document, done = run_suite(sandbox, 'backend = "xpu"\n', env=faulty, code=75)
        told = [warning["text"] for warning in document["warnings"] if warning["code"] == "mask_mismatch"]
        check(len(told) == 1 and "suite own" in told[0] and "xpu-sim:0 would be leased" in told[0], told)
    # One card less than the mask lets through: beside a lease of one card, none. Such a card is sick besides.
    missing = {"PROCTOR_SIM_FAULTS": "visibility.missing_device"}
    outcome, reason, problem, _, attempts = run(code=75, env=missing)
    check((outcome, reason, problem) == ("notrun", "device_unhealthy", "machine"), outcome, reason, problem)
    check((attempts[0]["outcome"], attempts[0]["reason"]) == ("error", "mask_mismatch"), attempts)
    messages = [failure["message"] for failure in attempts[0]["failures"]]
    check(any("this process sees none, and has leased" in message for message in messages), messages)
    other = {"PROCTOR_SIM_FAULTS": "visibility.mask_off_by_one"}
    done = sandbox.proctor("exec", "--sim", "xpu:2x1", "--gpus", "1", "--", "true", env={**sandbox.env, **other})
    check(done.returncode == 75 and "would be leased" in done.stderr, done.returncode, done.stderr)
    _, _, done = run_suite(sandbox, 'backend = "xpu"\ngpus = 2\n')
    line = next((line for line in done.stdout.splitlines() if line.startswith("  sees ")), "")
    check("own:" in line and line.count("0000:") == 2 and "ZE_AFFINITY_MASK=0,1" in line, done.stdout)


def ranks(sandbox):
    text = 'backend = "xpu"\nranks = 2\n'
    _, document, _ = run_suite(sandbox, text, sim="xpu:2x1")
    attempt = document["cases"][0]["attempts"][0]
    masks = [rank["environment"]["ZE_AFFINITY_MASK"]["value"] for rank in attempt["ranks"]]
    check(masks == ["0", "1"] and "environment" not in attempt, masks, attempt)


def cuda(sandbox):
    if not CUDA_SIMULATOR.exists():
        skip(f"library_missing:{CUDA_SIMULATOR}")
    shown, document, done = run_suite(sandbox, 'backend = "cuda"\n', env=OF_A_CALLER, sim="cuda:4")
    check(shown["CUDA_VISIBLE_DEVICES"].startswith("GPU-") and "CUDA_DEVICE_ORDER" not in shown, shown)
    check("ONEAPI_DEVICE_SELECTOR=level_zero:1 of the caller" in done.stdout, done.stdout)
    check("NVIDIA_VISIBLE_DEVICES" not in shown and "ONEAPI_DEVICE_SELECTOR" not in shown, shown)
    check("CUDA_DEVICE_ORDER=FASTEST_FIRST of the caller" in done.stdout, done.stdout)
    by_index, _, _ = run_suite(sandbox, 'backend = "cuda"\nmask = "index"\n', env=OF_A_CALLER, sim="cuda:4")
    check(by_index["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID", by_index)


if __name__ == "__main__":
    run_scenarios([of_a_suite, of_the_caller, the_hierarchy, mask_of_the_caller, nothing_is_left, ranks, proof], [cuda])
