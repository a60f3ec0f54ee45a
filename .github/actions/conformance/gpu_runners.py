#!/usr/bin/env python3
"""The first step of gpu.yml: reads the variable GPU_RUNNERS, and makes the input `stacks` of conformance.yml from it.

Input: GPU_RUNNERS (a JSON object from stack to machine, docs/how-to/github.md), GPU_PROCTOR (the directory of proctor on
the machines) and STACK (the only stack to run; "": all). Output in GITHUB_OUTPUT: `stacks`, and `hosts`, the labels of
the machine that plans and merges.
"""

import json
import os
import re
from pathlib import Path

from plan import KEYS, Refused, check_entry, main_of, near, write_output

PLANS = {"cuda-13": ["--backend=cuda"], "cuda-12": ["--backend=cuda"], "xpu-rolling": ["--backend=xpu"],
         "xpu-lts": ["--backend=xpu"], "bare": []}
EXAMPLE = '{"bare": {"labels": ["self-hosted", "cuda"], "plan": ["--backend=cuda"]}}'


def read_machines():
    """{stack: its entry}"""
    text = os.environ["GPU_RUNNERS"].strip()
    if not text:
        raise Refused("GPU_RUNNERS is not set, so no machine can run. Set it (Settings, Secrets and variables, Actions, "
                      f"Variables), for example to {EXAMPLE}")
    try:
        machines = json.loads(text)
    except ValueError as error:
        raise Refused(f"GPU_RUNNERS is no JSON: {error}. An example is {EXAMPLE}") from error
    if not isinstance(machines, dict) or not machines:
        raise Refused(f"GPU_RUNNERS is not an object with at least one stack. An example is {EXAMPLE}")
    return machines


def stack_of(name, machine, proctor):
    """The entry of the input `stacks`."""
    if name not in PLANS:
        raise Refused(f"GPU_RUNNERS: no stack '{name}'{near(name, PLANS)}")
    if not isinstance(machine, dict):
        raise Refused(f"GPU_RUNNERS: {name} is not an object such as {EXAMPLE[9:-1]}")
    if "stack" in machine:
        raise Refused(f"GPU_RUNNERS: {name}: unknown key 'stack'{near('stack', KEYS[1:])}")
    in_container = name != "bare"
    if in_container != bool(machine.get("image")):
        raise Refused(f"GPU_RUNNERS: {name}: " + ("no image. It runs in a container: \"image\": \"NAME@sha256:...\""
                                                  if in_container else "an image, but it runs on the host"))
    entry = {"stack": name, "plan": PLANS[name], **machine}
    check_entry(entry)
    if not re.search(r"(^| )--backend[ =](cuda|xpu)( |$)", " ".join(entry["plan"])):
        raise Refused(f"GPU_RUNNERS: {name}: \"plan\" has no \"--backend=cuda\" or \"--backend=xpu\". The machine that plans may "
                      "have other devices")
    if in_container:
        entry["options"] = [f"--volume={proctor}:{proctor}:ro", *entry.get("options", [])]
    return entry


def main():
    machines, only = read_machines(), os.environ["STACK"]
    programs = Path(os.environ["GPU_PROCTOR"])
    if not programs.is_absolute() or programs.name != "bin" or programs.parent in map(Path, ("/", "/usr", "/usr/local")):
        raise Refused(f"GPU_PROCTOR '{programs}' is not the directory bin of an installation, such as /opt/proctor/bin")
    stacks = [stack_of(name, machine, programs.parent) for name, machine in machines.items()]
    stacks = [entry for entry in stacks if only in ("", entry["stack"])]
    if not stacks:
        raise Refused(f"GPU_RUNNERS has no entry '{only}'{near(only, machines)}")
    write_output("stacks", stacks)
    write_output("hosts", stacks[0]["labels"])


if __name__ == "__main__":
    main_of(main, "GPU_RUNNERS")
