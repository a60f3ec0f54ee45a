#!/usr/bin/env python3
"""Every SPIR-V module of the suites is built by Intel's own compiler, `ocloc`, which is the one inside the driver. Each build has
a process of its own, because that compiler ends the process on what it does not know. refused_modules.toml lists the modules
that a version refuses, and how. A refusal that is not listed fails. So does a listed module that builds, or a kernel whose
name the compiler changes.

    module_builds.py                    one module of each source, with this system's ocloc
    module_builds.py --full             every module, for every device
    module_builds.py --full GLOB...     those of these names
    module_builds.py --full --root DIR  with the ocloc in a root of another system (vendor_root.sh)
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time
import tomllib
from pathlib import Path

from harness import BIN, check, skip
from vendor import in_range, under_root

TABLE = Path(__file__).with_name("refused_modules.toml")
LIST = BIN.parent / "suites" / "kernels" / "device" / "spirv_modules.txt"  # what the build makes, without older files
# Devices: the sizes of sub-groups that their drivers report, and whether they have doubles.
DEVICES = {"skl": ({8, 16, 32}, True), "dg2": ({8, 16, 32}, False), "pvc": ({16, 32}, True), "bmg": ({16, 32}, True),
           "lnl": ({16, 32}, True)}
OF_THIS_SYSTEM, OF_THE_ROOT = ("pvc", "dg2", "skl"), ("bmg", "lnl", "pvc")
# Checks pass these flags, too.
FLAGS = {"floats": ("-cl-fp32-correctly-rounded-divide-sqrt",), "large": ("-ze-opt-greater-than-4GB-buffer-required",),
         "basic": ("-ze-opt-disable", "-ze-opt-large-register-file", "-cl-mad-enable -g")}
ENTRY_POINT, EXECUTION_MODE, CAPABILITY = 15, 16, 17  # instructions
FLOAT64, SUBGROUP_SIZE = 10, 35
BUILD_ERROR = 245  # ocloc's exit code for a build that failed in the usual way


def text_at(words):
    return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode()


class Module:
    def __init__(self, path):
        self.path, self.name, self.kernels, self.sizes, self.doubles = path, path.stem, set(), set(), False
        data = path.read_bytes()
        words = struct.unpack(f"<{len(data) // 4}I", data)
        at = 5
        while at < len(words):
            length, code = words[at] >> 16, words[at] & 0xffff
            operands = words[at + 1:at + length]
            if code == ENTRY_POINT:
                self.kernels.add(text_at(operands[2:]))
            elif code == EXECUTION_MODE and operands[1] == SUBGROUP_SIZE:
                self.sizes.add(operands[2])
            elif code == CAPABILITY and operands[0] == FLOAT64:
                self.doubles = True
            at += length

    @property
    def source(self):
        """The modules of one source differ in types, lanes, sizes and parts."""
        return self.name if self.name.startswith("construct_") else re.sub(r"(_(f?\d+|O0|e\dm\d))+$", "", self.name)

    def fits(self, device):
        sizes, doubles = DEVICES[device]
        return self.sizes <= sizes and (doubles or not self.doubles)


class Ocloc:
    def __init__(self, root, directory):
        program = next(iter(sorted(Path(root).glob("usr/bin/ocloc*"))), None) if root else shutil.which("ocloc")
        if program is None:
            skip("package_missing:intel-ocloc" if root else "package_missing:intel-opencl-icd")
        self.command = [*(under_root(root) if root else []), str(program)]
        self.directory = Path(directory)
        done = subprocess.run([*self.command, "query", "OCL_DRIVER_VERSION"], cwd=directory, capture_output=True, text=True)
        check(done.returncode == 0, "no version:", done.stdout, done.stderr)
        self.version = (self.directory / "OCL_DRIVER_VERSION").read_text().strip("\0 \n")

    def build(self, module, device, flags):
        """How it ends: "", "error", "exit:CODE", "signal:NUMBER" or "renamed"; and what it printed."""
        out = Path(tempfile.mkdtemp(dir=self.directory))
        options = ["-options", flags] if flags else []
        done = subprocess.run([*self.command, "compile", "-spirv_input", "-file", module.path, "-device", device, "-out_dir",
                               out, *options], cwd=out, capture_output=True, text=True, errors="replace", timeout=600)
        printed = (done.stdout + done.stderr).strip()
        if done.returncode == BUILD_ERROR:
            return "error", printed
        if done.returncode:
            code = done.returncode
            return f"signal:{-code}" if code < 0 else f"exit:{code}", printed
        kernels = kernels_of(next(out.glob("*.bin")).read_bytes())
        shutil.rmtree(out)
        if kernels is not None and kernels != module.kernels:
            return "renamed", f"{sorted(module.kernels)} became {sorted(kernels)}"
        return "", printed


def kernels_of(image):
    """The names in the section .ze_info of an ELF image; None: an older format, which has no such section."""
    if image[:4] != b"\x7fELF":
        return None
    (start,), (size, count, names) = struct.unpack_from("<Q", image, 40), struct.unpack_from("<HHH", image, 58)
    sections = [struct.unpack_from("<IIQQQQ", image, start + i * size) for i in range(count)]
    texts = sections[names][4]
    for name, _, _, _, offset, length in sections:
        if image[texts + name:].split(b"\0", 1)[0] == b".ze_info":
            info = image[offset:offset + length].decode(errors="replace")
            found = re.findall(r"^  - name: +(.+?) *$", info.split("kernels:", 1)[-1], re.MULTILINE)
            plain = {json.loads(name) if name.startswith('"') else name.strip("'") for name in found}
            return {name for name in plain if not name.startswith("Intel_Symbol_Table")}
    return None


def listed(table, module, device, version):
    """What may happen to this module: [(end, reason)]."""
    return [(entry["end"], entry["reason"]) for entry in table
            if module.name in entry["modules"] and in_range(version, entry["versions"])
            and device in entry.get("devices", DEVICES)]


def judge(ocloc, table, module, device, flags):
    began = time.monotonic()
    end, printed = ocloc.build(module, device, flags)
    took = time.monotonic() - began
    known = listed(table, module, device, ocloc.version)
    where = f"{module.name} for {device}" + (f" with {flags}" if flags else "")
    if end == "" and known:
        return f"FAIL  {where} builds, but is listed: {known[0][1]}", False, took
    if end == "":
        return "", True, took
    reason = next((reason for wanted, reason in known if wanted == end), None)
    if reason is None:
        return f"FAIL  {where}: {end}\n{printed[-1500:]}", False, took
    return f"xfail {where}: {end} ({reason})", True, took


def chosen(modules, devices, full):
    if not full:
        first = {}
        for module in sorted(modules, key=lambda module: (module.path.stat().st_size, module.name)):
            if module.fits(devices[0]):
                first.setdefault(module.source, module)
        modules, devices = list(first.values()), devices[:1]
    return [(module, device, flags) for module in modules for device in devices if module.fits(device)
            for flags in ("", *FLAGS.get(module.name, ()))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--root")
    parser.add_argument("names", nargs="*", default=["*"])
    options = parser.parse_args()
    if not LIST.exists():
        skip("spirv_missing")
    modules = [Module(BIN / "kernels" / name) for name in LIST.read_text().split()]
    table = tomllib.loads(TABLE.read_text())["refused"]
    unknown = {name for entry in table for name in entry["modules"]} - {module.name for module in modules}
    check(not unknown, "refused_modules.toml names modules that are not there:", unknown)
    modules = [module for module in modules if any(fnmatch.fnmatchcase(module.name, name) for name in options.names)]
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ocloc = Ocloc(options.root, directory)
        builds = chosen(modules, OF_THE_ROOT if options.root else OF_THIS_SYSTEM, options.full)
        verdicts = list(pool.map(lambda build: judge(ocloc, table, *build), builds))
        refused = [build for build, (line, _, _) in zip(builds, verdicts) if line.startswith("xfail")]
        check(not refused or not judge(ocloc, [], *refused[0])[1], "a refusal that is not listed is not seen:", refused[:1])
    lines = [line for line, _, _ in verdicts if line]
    print("\n".join(lines))
    slowest = sorted(zip((took for _, _, took in verdicts), builds), key=lambda pair: -pair[0])[:3]
    print(f"{len(builds) - len(lines)} of {len(builds)} builds by driver {ocloc.version} are good, {len(lines)} listed; longest:",
          ", ".join(f"{module.name} for {device} {took:.0f} s" for took, (module, device, _) in slowest))
    check(all(good for _, good, _ in verdicts), "a module that is not listed is refused")


if __name__ == "__main__":
    main()
