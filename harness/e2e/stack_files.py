#!/usr/bin/env python3
"""The files beside our Dockerfiles: each is what its reader can read, and a container of compose has the same rights,
devices and directories as a job container."""

import re
import subprocess
import sys

from harness import BIN, ROOT, check, skip

DOCKER = ROOT / "docker"
STACKS = sorted(path.stem for path in (DOCKER / "stacks").glob("*.toml"))
GROUP = "993"
OF_ONE_RUN = {"/cache", "/opt/proctor", "/out"}  # places that the options of a job container do not have


def read_yaml(file):
    import yaml  # noqa: PLC0415  the system's, and not on every machine
    text, found = file.read_text().replace("${{ vars.RENDER_GROUP }}", GROUP), 1
    while found:  # one may be in another
        text, found = re.subn(r"\$\{(\w+)(:[?-][^}$]*)?\}", lambda name: GROUP if name[1] == "RENDER_GROUP" else "1", text)
    return yaml.safe_load(text)


def place(volume):
    return volume.split(":")[1]


def options_of(service):
    """Those of a container that compose starts, as `docker run` has them."""
    check(service["security_opt"] == ["no-new-privileges:true", "seccomp:../seccomp.json"], service)
    yield from ["--init"] * service["init"]
    yield from (f"--ipc={service['ipc']}", f"--shm-size={service['shm_size']}", f"--pids-limit={service['pids_limit']}",
                f"--ulimit=core={service['ulimits']['core']}", *(f"--cap-drop={right}" for right in service["cap_drop"]))
    yield from ("--security-opt=no-new-privileges", "--security-opt=seccomp=/opt/proctor/share/proctor/seccomp.json")
    yield from ["--gpus=all"] * ("deploy" in service)
    yield from (f"--device={device}" for device in service.get("devices", []))
    yield from (f"--group-add={group}" for group in service.get("group_add", []))
    yield from (f"--env={variable}" for variable in service["environment"])
    yield from (f"--volume={volume}" for volume in service["volumes"] if place(volume) not in OF_ONE_RUN)


def known_to_compose():
    """The schema of compose, which a linter brings along."""
    lint = ROOT / "build/lint"
    if not (lint / "check_jsonschema").is_dir():
        print("not checked, the linters are not here: the schema of compose")
        return
    done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec",
                           *DOCKER.glob("*/compose.yaml")], capture_output=True, text=True, timeout=120,
                          env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(lint)})
    check(done.returncode == 0, done.stdout, done.stderr)


def main():
    try:
        import yaml  # noqa: F401, PLC0415
    except ImportError:
        skip("needs:python3-yaml")
    for stack in STACKS:
        service = read_yaml(DOCKER / stack / "compose.yaml")["services"]["proctor"]
        options = read_yaml(DOCKER / stack / "job-container.yaml")["container"]["options"].split(" ")
        check(sorted(options_of(service)) == sorted(options), stack, service, options)
        check({"/opt/proctor", "/out"} < {place(volume) for volume in service["volumes"]}, service["volumes"])
        print(f"ok {stack}")
    check((DOCKER / "seccomp.json").read_text() == (BIN / "share/proctor/seccomp.json").read_text(), "another profile")
    known_to_compose()


if __name__ == "__main__":
    main()
