#!/usr/bin/env python3
"""Devices that are asked for and are not here: each row of the table in docs/reference/devices.md. And that all commands count the
devices that are here in one order."""

import json

from harness import BIN, ROOT, check, report, run_scenarios, skip, write_config
from pytest_kind import find_pytest

MACHINES = {
    "no driver": ((), {"ZE_ENABLE_ALT_DRIVERS": "/nowhere/libze_none.so"}),
    "no device": (("--sim", "cuda:1"), {}),  # of the other vendor
    "one device": (("--sim", "xpu:1x1"), {}),
    "two devices": (("--sim", "cuda:2"), {}),
    "devices that a mask hides": (("--sim", "cuda:2"), {"CUDA_VISIBLE_DEVICES": ""}),
}
SUITES = {"only by a suite": 1, "only by a suite, two": 2}


def rows():
    """[(what is asked for, what the machine has, {command: exit code}, what is said)]"""
    table = (ROOT / "docs/reference/devices.md").read_text().partition("| asked for |")[2].partition("\n\n")[0]
    commands = [cell.strip(" `") for cell in table.splitlines()[0].split("|")[1:4]]
    for line in table.splitlines()[2:]:
        asked, machine, *codes, said = (cell.strip() for cell in line.strip("|").split("|"))
        wanted = {command: int(code) for command, code in zip(commands, codes) if code != "–"}
        yield asked.strip("`"), machine, wanted, said.strip("` ").strip() if "``" not in said else said.strip("`").strip()


def each_row_of_the_table(sandbox):
    if not (BIN / "libproctor_ze_sim.so").exists():
        skip("library_missing:libproctor_ze_sim.so")
    count = 0
    for asked, machine, wanted, said in rows():
        options, env = MACHINES[machine]
        for command, code in wanted.items():
            words = asked.split()
            ending = ("--", "true")
            if asked in SUITES:
                write_config(sandbox.path / "proctor.toml",
                             {"own": {"kind": "command", "command": ["true"], "backend": "xpu", "gpus": SUITES[asked]}})
                words, ending = [], ()
            out = () if command == "list" else ("--out", sandbox.out())
            done = sandbox.proctor(command, *options, *words, *out, *ending, env={**sandbox.env, **env})
            (sandbox.path / "proctor.toml").unlink(missing_ok=True)
            check(done.returncode == code, command, asked, machine, "exit", done.returncode, done.stdout, done.stderr)
            text = done.stdout + done.stderr
            check(code == 0 and command == "list" or said in text, command, asked, machine, f"`{said}` is not in", text)
            check("dmesg" not in text, command, asked, "where nothing was tried:", text)
            if not options and code == 75 and command != "list":
                check("the doctor: " in text and "`proctor doctor`" in text, command, asked, text)
            count += 1
    check(count >= 30, "the table has lost rows:", count)
    print("ok", count, "command lines")


def reports_say_it(sandbox):
    """A run that lacks a device has its reports, red as its exit code, and goes on with what needs none."""
    write_config(sandbox.path / "proctor.toml",
                 {"host": {"kind": "command", "command": ["true"], "backend": "none"},
                  "gpu": {"kind": "command", "command": ["true"], "backend": "cuda"}})
    out = sandbox.out()
    done = sandbox.proctor("run", "--sim", "cuda:2", "--gpus", "3", "--out", out)
    document = report(out)
    check(done.returncode == 75 and document["run"]["exit_code"] == 75, done.returncode, document["run"]["exit_code"])
    check({case["suite"]: case["outcome"] for case in document["cases"]} == {"host": "pass", "gpu": "skip"}, document["cases"])
    [warning] = document["warnings"]
    check(warning["code"] == "device_shortage" and "3 cuda devices requested, 2 present" in warning["text"], warning)
    check("3 cuda devices requested, 2 present" in (out / "junit.xml").read_text(), "JUnit is silent")


def what_drivers_say(sandbox):
    """Of each vendor's driver: what it said, or null and why it did not."""
    for machine, expected in (("no driver", {"xpu.driver": "no_driver: ", "cuda.driver": "no case needs it"}),
                              ("no device", {"xpu.driver": "no_device: ", "cuda.driver": "no case needs it"}),
                              ("one device", {"xpu.driver": None, "cuda.driver": "no case needs it"})):
        options, env = MACHINES[machine]
        out = sandbox.out()
        sandbox.proctor("run", *options, "--backend", "xpu", "--out", out, "--", "true", env={**sandbox.env, **env})
        run = report(out)["run"]
        facts = {fact["name"]: fact for fact in run["fingerprint"]}
        for name, reason in expected.items():
            check((name in run["stack"]) == (reason is None), machine, name, run["stack"])
            check((name in facts) == (reason is not None), machine, name, facts.get(name))
            check(reason is None or facts[name]["value"] is None and facts[name]["reason"].startswith(reason), facts.get(name))


def chosen_devices_are_the_number(sandbox):
    """`exec --devices` needs no --gpus: it gives the command what it names."""
    say = ("--", "sh", "-c", "echo $PROCTOR_DEVICES")
    for spec, more, expected in (("1", (), "cuda-sim:1"), ("3,0", (), "cuda-sim:3,cuda-sim:0"),
                                 ("3,0", ("--gpus", "1"), "cuda-sim:3")):
        out = sandbox.out()
        done = sandbox.proctor("exec", "--sim", "cuda:4", "--devices", spec, *more, "--out", out, *say)
        check(done.returncode == 0, spec, done.returncode, done.stderr)
        [case] = report(out)["cases"]
        check(case["devices"] == expected.split(","), spec, case["devices"])
    both = ("exec", "--sim", "xpu:1x1,cuda:2", "--devices", "cuda:1,xpu:0")
    done = sandbox.proctor(*both, *say)
    check(done.returncode == 125 and "of one vendor" in done.stderr and "--backend" in done.stderr, done.returncode, done.stderr)
    out = sandbox.out()
    done = sandbox.proctor(*both, "--backend", "xpu", "--out", out, *say)
    check(done.returncode == 0 and report(out)["cases"][0]["devices"] == ["xpu-sim:0"], done.returncode, done.stderr)
    out = sandbox.out()
    done = sandbox.proctor("run", "--sim", "xpu:1x1,cuda:2", "--devices", "cuda:1", "--out", out, "--", "true")
    check(done.returncode == 0 and report(out)["cases"][0]["devices"] == ["cuda-sim:1"], done.returncode, done.stderr)


PYTEST = """import os, pytest
{imports}
def test_on_a_device():
    if "id" not in os.environ.get("PROCTOR_DEVICES", ""): pytest.skip("no device")
def test_on_the_host(): pass
"""
SENTENCE = "Add --gpus 1, or --gpus 0 if it needs none"


class Defaults:
    """Suites for which nobody writes a device, and a stand-in of the module torch."""

    def __init__(self, sandbox):
        self.sandbox = sandbox
        modules = sandbox.path / "modules"
        modules.mkdir()
        (modules / "torch.py").write_text("")
        self.env = {**sandbox.env, "PYTHONPATH": str(modules)}
        for name, imports in (("gpu", "import torch"), ("host", ""), ("both", "import torch, sys; sys.modules['dpctl'] = torch")):
            (sandbox.path / f"test_{name}.py").write_text(PYTEST.format(imports=imports))
        script = sandbox.path / "gpu.sh"
        script.write_text('#!/bin/sh\ncase "$PROCTOR_DEVICES" in *id*) ;; *) exit 9 ;; esac\n')
        script.chmod(0o755)

    def run(self, machine, words, program, command="run", **env):
        """(exit code, stdout and stderr, the report, how many devices each case had)"""
        out = self.sandbox.out()
        sim = ("--sim", machine) if machine else ()
        done = self.sandbox.proctor(command, *sim, "--out", out, *words, "--", *program, env={**self.env, **env})
        document = report(out)
        return done.returncode, done.stdout + done.stderr, document, [len(case["devices"]) for case in document["cases"]]


def default_devices(sandbox):
    """Whoever writes nothing gets a device where the tests may use one, and nothing that skipped for want of one is green."""
    python = find_pytest()
    defaults = Defaults(sandbox)
    torch, host, script = [*python, "-q", "test_gpu.py"], [*python, "-q", "test_host.py"], ["./gpu.sh"]
    for machine, backend, mask in (("cuda:2", "cuda", {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
                                   ("xpu:2x2", "xpu", {"ZE_AFFINITY_MASK": "1",
                                   "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE", "ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"})):
        for program in (torch, script):
            for command in ("run", "exec"):
                code, said, document, devices = defaults.run(machine, (), program, command)
                check(code == 0 and set(devices) == {1}, machine, program, command, code, devices, said)
                check(command == "exec" or "1 of 2 for " in said and "(--gpus 0: none)" in said, said)
                code, said, document, devices = defaults.run(machine, (), program, command, **mask)
                check(code == 0 and set(devices) == {1}, machine, program, command, mask, code, devices, said)
                check(document["cases"][0]["devices"] == [f"{backend}-sim:1"], document["cases"][0]["devices"])
        code, said, document, devices = defaults.run(machine, (), host)
        check(code == 3 and devices == [0, 0] and SENTENCE in said, machine, code, devices, said)
        check(defaults.run(machine, ("--gpus", "0"), host)[0] == 0, "declined")
        check(defaults.run(machine, ("--gpus", "0"), script)[0] == 1, "declined")
        code, said, document, devices = defaults.run(machine, ("--gpus", "1"), host)
        check(code == 0 and devices == [1, 1], machine, code, devices, said)
        code, said, document, devices = defaults.run(machine, ("--gpus", "0"), host, **mask)
        check(code == 0 and "has no effect" in said, "a mask that nothing uses", code, said)
    code, said, document, devices = defaults.run("", (), host)
    check(code == 0 and devices == [0, 0] and "--gpus" not in said, "without devices nothing changes", code, said)
    code, said, document, devices = defaults.run("cuda:2", (), host, CUDA_VISIBLE_DEVICES="")
    check(code == 0 and devices == [0, 0], "an empty mask declines", code, said)


def ranks_are_not_skipped(sandbox):
    """A suite with more ranks than the machine has devices runs without devices, as before, and is never skipped for them."""
    write_config(sandbox.path / "proctor.toml", {"r": {"kind": "command", "command": ["true"], "ranks": 4}})
    out = sandbox.out()
    done = sandbox.proctor("run", "--sim", "cuda:1", "--out", out)
    [case] = report(out)["cases"]
    check(done.returncode == 0 and case["outcome"] == "pass" and not case["devices"], done.stdout, done.stderr)
    check("its ranks get devices only by `backend`" in done.stdout, done.stdout)


def default_of_two_vendors(sandbox):
    """With discrete devices of both vendors the program or a module determines which, else nobody."""
    python = find_pytest()
    defaults = Defaults(sandbox)
    both = "xpu:1x1,cuda:1"
    for program in (["./gpu.sh"], [*python, "-q", "test_gpu.py"]):
        code, said, document, devices = defaults.run(both, (), program)
        check(code != 0 and set(devices) == {0} and "add --backend cuda or --backend xpu" in said, code, devices, said)
        check([warning["code"] for warning in document["warnings"]] == ["no_default_device"], document["warnings"])
    code, said, document, devices = defaults.run(both, (), [*python, "-q", "test_both.py"])
    check(code == 0 and document["cases"][0]["devices"] == ["xpu-sim:0"], code, said)
    code, said, document, devices = defaults.run(both, ("--backend", "cuda"), ["./gpu.sh"])
    check(code == 0 and document["cases"][0]["devices"] == ["cuda-sim:0"], code, said)


def skips_may_be_forbidden(sandbox):
    python = find_pytest()
    defaults = Defaults(sandbox)
    for words, expected in ((("--fail-on-skip",), 3), (("--fail-on-skip=no dev*",), 3), (("--fail-on-skip=other",), 0)):
        code, said, document, devices = defaults.run("", words, [*python, "-q", "test_host.py"])
        check(code == expected and (code == 0 or "--fail-on-skip" in said), words, code, said)


def addresses(sandbox, machine, env):
    """[PCI address], as `proctor devices` lists them."""
    done = sandbox.proctor("devices", "--json", "--sim", machine, env={**sandbox.env, **env})
    return {device["id"]: device["pci"] for device in json.loads(done.stdout)["devices"]}


def one_order(sandbox):
    """Whatever the caller has set, an id and a place mean the card that `proctor devices` shows under them."""
    whole = {machine: addresses(sandbox, machine, {}) for machine in ("xpu:2x2", "cuda:3")}
    for machine, variables in (
            ("xpu:2x2", ({}, {"ZE_ENABLE_PCI_ID_DEVICE_ORDER": "0"}, {"ZE_FLAT_DEVICE_HIERARCHY": "FLAT"},
                         {"ZE_AFFINITY_MASK": "1", "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"})),
            ("cuda:3", ({}, {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, {"CUDA_VISIBLE_DEVICES": "1"}))):
        backend = machine.partition(":")[0]
        for env in variables:
            shown = addresses(sandbox, machine, env)
            check(shown == whole[machine] and list(shown.values()) == sorted(shown.values()), machine, env, shown)
            listed = sandbox.proctor("devices", "--sim", machine, env={**sandbox.env, **env}).stdout
            check([line.split()[0] for line in listed.splitlines() if line.startswith(f"{backend}-sim:")] == list(shown), listed)
            spec = json.loads(sandbox.proctor("devices", "--sim", machine, "--ctest-resource-spec",
                                              env={**sandbox.env, **env}).stdout)
            check(len(spec["local"][0][f"{backend}_gpus"]) == len(shown), spec)
            for place, id in enumerate(shown):
                for command in ("run", "exec"):
                    out = sandbox.out()
                    done = sandbox.proctor(command, "--sim", machine, "--devices", f"{backend}:{place}", "--out", out, "--",
                                           "true", env={**sandbox.env, **env})
                    if done.returncode == 75:
                        check(any("MASK" in name or "VISIBLE" in name for name in env), command, machine, env, done.stderr)
                        continue
                    check(done.returncode == 0, command, machine, env, done.stderr)
                    document = report(out)
                    used = {device["id"]: device["pci"] for device in document["run"]["devices"]}
                    check(document["cases"][0]["devices"] == [id] and used[id] == shown[id], command, machine, env, used)
    print("ok", whole)


run_scenarios([each_row_of_the_table, reports_say_it, what_drivers_say, chosen_devices_are_the_number, one_order,
               default_devices, ranks_are_not_skipped, default_of_two_vendors, skips_may_be_forbidden])
