#!/usr/bin/env python3
"""Prints the SBOM of the image as SPDX 2.3: the packages of its base, Proctor, and what is compiled into Proctor.

    sbom.py --version VERSION --suite NAME --status FILE --tarball FILE

FILE of --status is dpkg's database of the base. What the tarball has a licence of in share/doc/proctor/third-party is part of
it; versions*.txt there have a line "NAME VERSION KIND" for what the builds know (cmake/ProctorInstall.cmake). The time is
SOURCE_DATE_EPOCH.
"""

import argparse
import datetime
import email
import hashlib
import json
import os
import re
import sys
import tarfile
from pathlib import Path
from urllib.parse import quote

LICENCE = "Apache-2.0"
THIRD_PARTY = re.compile(r".*/share/doc/proctor/third-party/(.*)\.txt")


def installed(status):
    """(name, version, architecture) of each installed package, by dpkg's database."""
    for paragraph in Path(status).read_text(encoding="utf-8").split("\n\n"):
        fields = email.message_from_string(paragraph)
        if fields["Status"] == "install ok installed":
            yield fields["Package"], fields["Version"], fields["Architecture"]


def compiled_in(tarball):
    """{name: (version, kind of package), or None where no list knows it}"""
    names, versions = [], {}
    with tarfile.open(tarball) as archive:
        for member in archive:
            found = THIRD_PARTY.fullmatch(member.name)
            if found and found[1].startswith("versions"):
                lines = archive.extractfile(member).read().decode().splitlines()
                versions.update({name: (version, kind) for name, version, kind in map(str.split, lines)})
            elif found:
                names.append(found[1])
    if not versions:
        sys.exit(f"sbom: {tarball} does not say what is compiled in: it has no third-party/versions*.txt")
    return {name: versions.get(name) for name in sorted({*names, *versions})}


def package(identifier, name, **more):
    return {"SPDXID": f"SPDXRef-{identifier}", "name": name, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION", **more}


def address(purl):
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]


def versioned(name, known):
    if known is None:
        return {}
    version, kind = known
    purl = f"pkg:deb/debian/{quote(name)}" if kind == "deb" else f"pkg:{kind}"
    return {"versionInfo": version, "externalRefs": address(f"{purl}@{quote(version)}")}


def identifier_of(*words):
    return re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def document(version, suite, status, tarball):
    digest = hashlib.sha256(Path(tarball).read_bytes()).hexdigest()
    image = package("Image", "proctor-image", versionInfo=version, licenseDeclared=LICENCE, primaryPackagePurpose="CONTAINER")
    proctor = package("Proctor", "proctor", versionInfo=version, licenseDeclared=LICENCE, primaryPackagePurpose="APPLICATION",
                      packageFileName=Path(tarball).name, checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    packages, relations = [image, proctor], [("SPDXRef-DOCUMENT", "DESCRIBES", image), (image["SPDXID"], "CONTAINS", proctor)]
    for name, package_version, architecture in sorted(installed(status)):
        packages.append(package(identifier_of("deb", name), name, versionInfo=package_version, supplier="Organization: Debian",
                                externalRefs=address(f"pkg:deb/debian/{quote(name)}@{quote(package_version)}"
                                                     f"?arch={architecture}&distro={suite}")))
        relations.append((image["SPDXID"], "CONTAINS", packages[-1]))
    for name, known in compiled_in(tarball).items():
        packages.append(package(identifier_of("compiled-in", name), name, **versioned(name, known)))
        relations.append((proctor["SPDXID"], "STATIC_LINK", packages[-1]))
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"proctor-{version}-image-x86_64",
            "documentNamespace": f"https://spdx.org/spdxdocs/proctor-{version}-image-x86_64-{digest}",
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": [f"Tool: proctor-sbom-{version}"]},
            "packages": packages,
            "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other["SPDXID"]}
                              for one, kind, other in relations]}


def main():
    parser = argparse.ArgumentParser()
    for name in ("version", "suite", "status", "tarball"):
        parser.add_argument(f"--{name}", required=True)
    print(json.dumps(document(**vars(parser.parse_args())), indent=1))


if __name__ == "__main__":
    main()
