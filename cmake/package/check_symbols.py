#!/usr/bin/env python3
"""check_symbols.py GLIBC FILE...: that programs and libraries start on a system with this version of glibc and no C++
library: what is linked dynamically asks for no newer symbol, and for no other library but NVIDIA's runtime."""

import re
import subprocess
import sys

SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|pthread|rt))\.so\.\d+|libcudart\.so\.\d+")


def numbers(version):
    return tuple(map(int, version.split(".")))


def complaints(path, limit):
    text = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", path], check=True, capture_output=True,
                          text=True).stdout
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
        if not SYSTEM.fullmatch(library):
            yield f"needs {library}"
    for version in sorted(set(re.findall(r"Name: (\S+) +Flags", text))):
        known = re.fullmatch(r"GLIBC_(\d[\d.]*)", version)
        if version.startswith(("GLIBCXX", "CXXABI")) or (known and numbers(known[1]) > numbers(limit)):
            yield f"needs {version}"


def main():
    limit, *files = sys.argv[1:]
    wrong = [f"{path}: {complaint}" for path in files for complaint in complaints(path, limit)]
    if wrong or not files:
        sys.exit("\n".join(wrong) or __doc__)
    print(f"ok {len(files)} files start on glibc {limit}")


if __name__ == "__main__":
    main()
