#!/usr/bin/env python3
"""Lists the code in CUDA modules (fatbins): sm_90 is code for devices of that compute capability, compute_90 its PTX.
bundle.sh uses it.

    code_of.py FATBIN...                           prints each module with its code
    code_of.py --require ARCHITECTURES FATBIN...   prints the code; refuses modules with other code. ARCHITECTURES is a
                                                   list in the form of CMake: "90-real;90-virtual"

A module with the name only_75 has code for 7.5 only. NVIDIA does not document the format of these files. Its program
that lists their code, cuobjdump, is not part of every toolkit."""

import re
import struct
import sys
from pathlib import Path

MAGIC = 0xBA55ED50
HEADER = struct.Struct("<IHHQ")  # magic, version, size of this header, size of the entries
ENTRY = struct.Struct("<HHIQIIHHI")  # kind, version, size of this header, size of the code, ..., compute capability
KINDS = {1: "compute", 2: "sm"}


class Refused(Exception):
    pass


def code_of(path):
    """The names of the code in one module. PTX is last."""
    data = path.read_bytes()
    try:
        magic, _, start, size = HEADER.unpack_from(data)
        if magic != MAGIC or start + size != len(data):
            raise Refused(f"{path} is no complete fatbin")
        found = []
        while start < len(data):
            kind, _, header, code, *_, capability = ENTRY.unpack_from(data, start)
            if kind not in KINDS or header < ENTRY.size:
                raise Refused(f"{path} has an unknown kind of code, {kind}")
            found.append((KINDS[kind] == "compute", capability))
            start += header + code
    except struct.error:
        raise Refused(f"{path} is no complete fatbin") from None
    return [f"{'compute' if ptx else 'sm'}_{capability}" for ptx, capability in sorted(found)]


def names_of(architectures):
    """sm_90 for "90-real", compute_90 for "90-virtual", both for "90"."""
    found = set()
    for word in architectures.split(";"):
        parts = re.fullmatch(r"(\d+)(-real|-virtual)?", word)
        if not parts:
            raise Refused(f"'{word}' is no architecture, such as 90, 90-real or 90-virtual")
        number, kind = parts.groups()
        found |= {f"sm_{number}"} if kind != "-virtual" else set()
        found |= {f"compute_{number}"} if kind != "-real" else set()
    return found


def complaints(path, found, required):
    """Messages about missing and unexpected code of a module."""
    alone = re.search(r"only_(\d+)$", path.stem)
    wanted = {f"sm_{alone.group(1)}"} if alone else required
    lacks = wanted - set(found)
    more = set(found) - wanted
    return ([f"{path} lacks code for {' '.join(sorted(lacks))}"] if lacks else []) + (
        [f"{path} has code for {' '.join(sorted(more))}, which is not asked for"] if more else [])


def main(words):
    required = None
    if words[:1] == ["--require"]:
        if len(words) < 2:
            raise Refused("--require needs a list of architectures")
        required = names_of(words[1])
        words = words[2:]
    if not words:
        raise Refused("there is no module to look at")
    modules = {path: code_of(path) for path in map(Path, words)}
    if required is None:
        for path, found in modules.items():
            print(f"{path}: {' '.join(found)}")
        return
    wrong = [line for path, found in modules.items() for line in complaints(path, found, required)]
    if wrong:
        raise Refused("\n".join(wrong))
    print(" ".join(sorted(required, key=lambda name: (name.startswith("compute"), int(name.rpartition("_")[2])))))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, Refused) as error:
        sys.exit(f"code_of: {error}")
