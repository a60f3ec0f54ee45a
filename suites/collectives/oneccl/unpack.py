#!/usr/bin/env python3
"""unpack.py WHEELS DIRECTORY: extracts the host libraries and the licence from the wheels oneccl and oneccl-cpu."""

import pathlib
import shutil
import sys
import zipfile

WANTED = {
    "oneccl": ["libccl.so.2", "libccl_legacy_cpu.so"],
    "oneccl_cpu": ["libccl.so.1", "LICENSE.txt"],  # the libccl.so.1 of oneccl is for devices
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
