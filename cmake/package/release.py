#!/usr/bin/env python3
"""The steps of .github/workflows/release.yml that need no network.

    release.py check-tag TAG              TAG is vMAJOR.MINOR.PATCH, the version of the project, with a dated section in CHANGELOG.md
    release.py notes TAG                  prints that section
    release.py checksums TAG DIRECTORY    writes DIRECTORY/SHA256SUMS, if DIRECTORY has all files of the release and no other
    release.py major-tag TAG              prints the tag that moves with releases (v1), if no tag on stdin is a newer release of
                                          that major version; otherwise nothing

A refusal is one line on stderr and exit code 2.
"""

import hashlib
import re
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "CMakeLists.txt"
CHANGELOG = ROOT / "CHANGELOG.md"
PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}  # and Debian's names of them
DEBIAN_PACKAGES = ("proctor", "proctor-suites", "proctor-simulator", "proctor-dev")
# Where nvcc is missing, a build leaves the second one out.
SUITES = {"x86_64": ("memory_xpu", "memory_cuda"), "aarch64": ("memory_xpu",)}
RELEASE_TAG = re.compile(r"v((0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*))")


class Refused(Exception):
    pass


def version_of(tag):
    found = RELEASE_TAG.fullmatch(tag)
    if not found:
        raise Refused(f"the tag '{tag}' is not vMAJOR.MINOR.PATCH")
    return found[1]


def project_version():
    found = re.search(r"^project\(proctor VERSION ([\d.]+)", PROJECT.read_text(), re.MULTILINE)
    if not found:
        raise Refused(f"{PROJECT.name} has no project(proctor VERSION ...)")
    return found[1]


def section(version):
    """(heading, text) of a version in the changelog."""
    parts = re.split(r"^## (\[.*)$", CHANGELOG.read_text(), flags=re.MULTILINE)
    sections = {heading.partition("]")[0][1:]: (heading, text) for heading, text in zip(parts[1::2], parts[2::2])}
    if version not in sections:
        raise Refused(f"{CHANGELOG.name} has no section [{version}]; it has {', '.join(f'[{name}]' for name in sections) or 'none'}")
    return sections[version]


def check_tag(tag):
    version, ours = version_of(tag), project_version()
    if version != ours:
        raise Refused(f"the tag '{tag}' is not the version {ours} of {PROJECT.name}")
    heading, text = section(version)
    if not re.fullmatch(r"\[.*\] - \d{4}-\d\d-\d\d", heading):
        raise Refused(f"the section '{heading}' of {CHANGELOG.name} has no date: write '[{version}] - YYYY-MM-DD'")
    if not text.strip():
        raise Refused(f"the section '{heading}' of {CHANGELOG.name} is empty")


def notes(tag):
    print(section(version_of(tag))[1].strip())


def files_of(version):
    """What a release consists of: patterns of names, each of exactly one file."""
    for processor, debian in PROCESSORS.items():
        yield f"proctor-{version}-linux-{processor}.tar.gz"
        yield from (f"{package}_{version}_{debian}.deb" for package in DEBIAN_PACKAGES)
        yield from (f"{wheel}-{version}-py3-none-*_{processor}.whl" for wheel in ("proctor", "proctor_suites"))
    yield f"proctor-{version}-image-x86_64.tar"
    yield f"proctor-{version}-image-x86_64.spdx.json"


def check_complete(version, directory):
    present = {path.name for path in directory.iterdir()} - {"SHA256SUMS"}
    for pattern in files_of(version):
        matching = {name for name in present if Path(name).match(pattern)}
        if len(matching) != 1:
            raise Refused(f"{directory} has {len(matching)} files {pattern}, not one; it also has: {' '.join(sorted(present)) or 'nothing'}")
        present -= matching
    if present:
        raise Refused(f"{directory} has what is not part of release {version}: {' '.join(sorted(present))}")


def check_suites(version, directory):
    for processor, suites in SUITES.items():
        tarball = directory / f"proctor-{version}-linux-{processor}.tar.gz"
        with tarfile.open(tarball) as archive:
            names = {Path(name).name for name in archive.getnames()}
        for suite in suites:
            if suite not in names:
                raise Refused(f"{tarball} was built without {suite}")


def checksums(tag, directory):
    version, directory = version_of(tag), Path(directory)
    if not directory.is_dir():
        raise Refused(f"{directory} is not a directory")
    check_complete(version, directory)
    check_suites(version, directory)
    with open(directory / "SHA256SUMS", "w", encoding="utf-8") as sums:
        for path in sorted(directory.iterdir()):
            if path.name != "SHA256SUMS":
                with open(path, "rb") as file:
                    print(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}", file=sums)


def major_tag(tag):
    def numbers(name):
        return tuple(map(int, version_of(name).split(".")))

    tags = [line.split()[-1].removeprefix("refs/tags/") for line in sys.stdin if line.strip()]
    releases = [numbers(name) for name in tags if RELEASE_TAG.fullmatch(name)]
    ours = numbers(tag)
    if not any(other > ours for other in releases if other[0] == ours[0]):
        print(f"v{ours[0]}")


COMMANDS = {"check-tag": (check_tag, 1), "notes": (notes, 1), "checksums": (checksums, 2), "major-tag": (major_tag, 1)}


def main():
    command, count = COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if command is None or len(sys.argv) != 2 + count:
        sys.stderr.write(__doc__)
        sys.exit(2)
    try:
        command(*sys.argv[2:])
    except Refused as refusal:
        print(f"release: {refusal}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
