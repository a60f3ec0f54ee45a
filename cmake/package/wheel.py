#!/usr/bin/env python3
"""wheel.py NAME PROCESSOR STAGE PACKAGES: a wheel of what `cmake --install` put into STAGE, written to PACKAGES.

NAME is proctor or proctor-suites. The files keep their places below the prefix of the environment that the wheel is
installed into (the scheme `data`), so that they find each other as in any other installation. `wheel pack` lists their
digests and writes the archive. PYTHONPATH leads to it.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Wheels have no links, and the runner finds its parts beside its real file.
LAUNCHER = """#!/bin/sh
program=$(dirname "$(readlink -f "$0")")/../libexec/proctor/proctor
[ -x "$program" ] && exec "$program" "$@"
echo "proctor: $program is missing; reinstall the wheel: pip install --force-reinstall ./proctor-@VERSION@-*.whl" >&2
exit 2
"""
SUMMARIES = {
    "proctor": "Test runner for GPU code and GPU machines: each test contained, one outcome each",
    "proctor-suites": "Conformance suites, device probes and simulated GPUs of Proctor",
}
# The runner is static; the suites need the C library of cmake/package/make.sh.
TAGS = {
    "proctor": ("manylinux_2_17", "musllinux_1_2"),
    "proctor-suites": ("manylinux_2_28",),
}


def version():
    return re.search(r"project\(proctor VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def requirement(name, path):
    """As the repository's own list has it, for one package."""
    return re.search(rf"^{name}==\S+", (ROOT / path).read_text(), re.MULTILINE)[0]


def metadata(name):
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version()}", f"Summary: {SUMMARIES[name]}",
             "License: Apache-2.0", "Requires-Python: >=3.9", "Classifier: Operating System :: POSIX :: Linux",
             "Classifier: Framework :: Pytest", "Description-Content-Type: text/markdown"]
    if name == "proctor":
        lines += ["Provides-Extra: suites", f'Requires-Dist: proctor-suites=={version()}; extra == "suites"',
                  "Provides-Extra: python-stacks",
                  f'Requires-Dist: {requirement("py-spy", "harness/process/evidence/requirements.txt")}; extra == "python-stacks"']
    else:
        lines.append(f"Requires-Dist: proctor=={version()}")
    return "\n".join(lines) + f"\n\n# {name}\n\n{SUMMARIES[name]}.\n"


def wheel_facts(name, processor):
    tags = "".join(f"Tag: py3-none-{tag}_{processor}\n" for tag in TAGS[name])
    return f"Wheel-Version: 1.0\nGenerator: proctor {version()}\nRoot-Is-Purelib: false\n{tags}"


def lay_out(name, processor, stage, tree):
    """The files of the wheel in `tree`."""
    own = f"{name.replace('-', '_')}-{version()}"
    data, about = tree / f"{own}.data/data", tree / f"{own}.dist-info"
    shutil.copytree(stage, data, symlinks=True)
    about.mkdir()
    (about / "METADATA").write_text(metadata(name))
    (about / "WHEEL").write_text(wheel_facts(name, processor))
    shutil.copytree(data / "share/doc/proctor/third-party", about / "licenses/third-party", dirs_exist_ok=True)
    shutil.rmtree(data / "share/doc/proctor/third-party")
    shutil.copy(ROOT / "LICENSE", about / "licenses")
    if name == "proctor":
        (data / "bin/proctor").unlink()
        (data / "bin").rmdir()
        launcher = tree / f"{own}.data/scripts/proctor"
        launcher.parent.mkdir()
        launcher.write_text(LAUNCHER.replace("@VERSION@", version()))
        launcher.chmod(0o755)
        (data / "share/proctor/installation").write_text("wheel\n")
        # Under this name pytest knows it already where the runner gives it with -p.
        (about / "entry_points.txt").write_text("[pytest11]\nproctor_pytest = proctor_pytest\n")
        shutil.copy(data / "share/proctor/pytest/proctor_pytest.py", tree)


def main():
    name, processor, stage, packages = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "tree"
        tree.mkdir()
        lay_out(name, processor, Path(stage), tree)
        subprocess.run([sys.executable, "-m", "wheel", "pack", tree, "--dest-dir", packages], check=True,
                       stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
