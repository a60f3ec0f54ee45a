#!/usr/bin/env python3
"""unpack.py WHEELS DIRECTORY: what works on host memory, of the wheels of oneccl and oneccl-cpu, and its licence."""

import pathlib
import shutil
import sys
import zipfile

WANTED = {
    "oneccl": ["libccl.so.2", "libccl_legacy_cpu.so"],
    "oneccl_cpu": ["libccl.so.1", "LICENSE.txt"],  # oneccl's libccl.so.1 is that for devices
}


def unpack(wheel: pathlib.Path, directory: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in WANTED[wheel.name.split("-")[0]]:
            [member] = [path for path in archive.namelist() if pathlib.PurePath(path).name == name]
            with archive.open(member) as source, open(directory / name, "wb") as target:
                shutil.copyfileobj(source, target)


wheels, directory = map(pathlib.Path, sys.argv[1:])
for wheel in sorted(wheels.glob("*.whl")):
    unpack(wheel, directory)
