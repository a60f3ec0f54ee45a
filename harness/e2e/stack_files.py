#!/usr/bin/env python3
"""The files beside our Dockerfiles: each is what its reader can read, and whoever starts a container of a stack (`proctor stack run`,
compose, Kubernetes, a job container) gives it the same rights, devices and directories. Engines are scripts
here that say what they were told."""

import json
import re
import subprocess
import sys
from pathlib import Path

from harness import BIN, ROOT, Sandbox, check, skip

DOCKER = ROOT / "docker"
STACKS = sorted(path.stem for path in (DOCKER / "stacks").glob("*.toml"))
GROUP = "993"
# What only one of them says, and why: the words of one run, an image that must be there, or a rest of a path.
OF_ONE_RUN = re.compile(r"--(pull|label|env=PROCTOR_IMAGE_DIGEST)\b.*|--volume=.*:/opt/proctor:ro|--volume=.*:/out")
CONFINES = ("--init", "--ipc", "--shm-size", "--pids-limit", "--ulimit", "--cap-drop", "--security-opt")


def told(sandbox, engine, words):
    """What the engine was told by a command that starts it."""
    done = subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          cwd=sandbox.path, env={**sandbox.env, "PATH": f"{sandbox.path}/bin:/usr/bin:/bin"})
    check(done.returncode == 7, engine, words, "exit", done.returncode, done.stdout, done.stderr)
    return json.loads((sandbox.path / "told").read_text())


def fake_engines(sandbox):
    directory = sandbox.path / "bin"
    directory.mkdir()
    program = (f"#!{sys.executable}\nimport json, sys\n"
               f"open({str(sandbox.path / 'told')!r}, 'w').write(json.dumps(sys.argv[1:]))\nsys.exit(7)\n")
    for name in ("docker", "podman"):
        (directory / name).write_text(program)
    for file in directory.iterdir():
        file.chmod(0o755)


def by_proctor(sandbox, stack, engine):
    """The printed line, with which a shell starts the engine."""
    line = sandbox.proctor("stack", "run", stack, "--engine", engine, "--print", "--image", "an image", "--dir", DOCKER, "--",
                           "proctor", "run", "a b")
    check(line.returncode == 0, line.stderr)
    words = told(sandbox, engine, ["sh", "-c", line.stdout])
    end = words.index("an image")
    check(words[end + 1:] == ["/opt/proctor/bin/proctor", "run", "a b"], words)
    return [re.sub("--group-add=.*", f"--group-add={GROUP}", word) for word in words[1:end]]  # another one on each machine


def confined(words):
    return [word for word in words if word.startswith(CONFINES)]


def read_yaml(file, values):
    import yaml  # noqa: PLC0415  the system's, and not on every machine
    text, found = file.read_text(), 1
    while found:  # one may be in another
        text, found = re.subn(r"\$\{(\w+)(:[?-][^}$]*)?\}", lambda name: values.get(name[1], "1"), text)
    return yaml.safe_load(text)


def compose_says_the_same(stack, words):
    service = read_yaml(DOCKER / stack / "compose.yaml", {"RENDER_GROUP": GROUP})["services"]["proctor"]
    check(service["cap_drop"] == ["ALL"] and service["init"] is True and service["ipc"] == "private", service)
    check(service["security_opt"] == ["no-new-privileges:true", "seccomp:../seccomp.json"], service)
    check(f"--pids-limit={service['pids_limit']}" in words and f"--shm-size={service['shm_size']}" in words, service)
    check([f"--env={name}" for name in service.get("environment", [])]
          == [word for word in words if word.startswith("--env=") and "DIGEST" not in word], service)
    places = {word.split(":")[1] for word in words if word.startswith("--volume=")}
    check({volume.split(":")[1] for volume in service["volumes"]} == places, service["volumes"], places)
    check(("deploy" in service) == ("--gpus=all" in words), service)
    check((service.get("group_add") == [int(GROUP)]) == (f"--group-add={GROUP}" in words), service)


def kubernetes_says_the_same(stack, words):
    job = read_yaml(DOCKER / stack / "job.yaml", {"DEVICES": "2", "RENDER_GROUP": GROUP, "INTEL_DRIVER": "xe"})
    check((job["apiVersion"], job["kind"], job["spec"]["backoffLimit"]) == ("batch/v1", "Job", 0), job)
    pod = job["spec"]["template"]["spec"]
    container, security = pod["containers"][0], pod["securityContext"]
    check(security["runAsUser"] == 10001 and security["runAsNonRoot"] is True, security)
    check(security["seccompProfile"] == {"type": "Localhost", "localhostProfile": "proctor/seccomp.json"}, security)
    check(container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}, container)
    check(container["env"] == [{"name": "PROCTOR_LEASES", "value": "host"}], container)
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    check(set(mounts) == {volume["name"] for volume in pod["volumes"]}, mounts, pod["volumes"])
    places = {word.split(":")[1] for word in words if word.startswith("--volume=")}
    check(set(mounts.values()) - {"/dev/shm"} == places, mounts, places)
    devices = container.get("resources", {}).get("limits", {})
    expected = {"cuda": {"nvidia.com/gpu": 2}, "xpu": {"gpu.intel.com/xe": 2}}.get(stack.split("-")[0], {})
    check(devices == expected, devices)
    check((security.get("supplementalGroups") == [int(GROUP)]) == (f"--group-add={GROUP}" in words), security)


def job_container_says_the_same(stack, words):
    container = read_yaml(DOCKER / stack / "job-container.yaml", {})["container"]
    options = container["options"].replace("${{ vars.RENDER_GROUP }}", GROUP).split(" ")
    expected = [word for word in words if not OF_ONE_RUN.fullmatch(word) and word != "--rm" and ":/cache" not in word]
    expected = [re.sub(r"seccomp=.*/seccomp.json", "seccomp=/opt/proctor/share/proctor/seccomp.json", word)
                for word in expected]
    check(options == expected, options, expected)


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


def bake_names_what_is_there():
    text = (DOCKER / "docker-bake.hcl").read_text()
    targets = re.findall(r'^target "(.*)" \{\n  context    = "(.*)"\n  dockerfile = "(.*)"', text, re.M)
    check(sorted(Path(context) / file for _, context, file in targets)
          == sorted(file.relative_to(DOCKER) for file in DOCKER.glob("*/Dockerfile*")), targets)
    check(re.search(r"targets = (\[.*\])", text)[1] == json.dumps([name for name, _, _ in targets]), text)
    check(text.count("{") == text.count("}") and text.count('"') % 2 == 0, "the braces do not match")


def main():
    try:
        import yaml  # noqa: F401, PLC0415
    except ImportError:
        skip("needs:python3-yaml")
    lock = Path("/run/lock").stat()
    if lock.st_uid != 0 or lock.st_mode & 0o1777 != 0o1777:
        skip("needs:/run/lock of root's with mode 1777, without which nothing is started")
    with Sandbox() as sandbox:
        fake_engines(sandbox)
        for stack in STACKS:
            podman, words = (by_proctor(sandbox, stack, engine) for engine in ("podman", "docker"))
            check(confined(podman) == confined(words) and confined(words), stack, podman, words)
            compose_says_the_same(stack, words)
            kubernetes_says_the_same(stack, words)
            job_container_says_the_same(stack, words)
            print(f"ok {stack}")
        check((DOCKER / "seccomp.json").read_text() == (BIN / "share/proctor/seccomp.json").read_text(), "another profile")
        known_to_compose()
        bake_names_what_is_there()


if __name__ == "__main__":
    main()
