#!/usr/bin/env python3
"""The first job of conformance.yml: reads its inputs, plans each stack once, and assigns the shards to jobs.

Input: the environment. Output: plans/STACK.json, and `matrix` in the file GITHUB_OUTPUT.
"""

import difflib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from gate import check_policy, error

REPOSITORY = Path(__file__).resolve().parents[3]
KEYS = ("stack", "labels", "image", "options", "plan", "run")
MARGIN_MINUTES = 5  # between the deadline of a run and the end of its job: reports, finish, upload
MOST_JOBS = 256  # per matrix, https://docs.github.com/en/actions/reference/limits
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
FILES = re.compile("GITHUB_(OUTPUT|ENV|PATH|STATE|STEP_SUMMARY)")


class Refused(Exception):
    pass


def near(word, words):
    found = difflib.get_close_matches(word, words, 1)
    return f"; did you mean '{found[0]}'?" if found else f"; there are {', '.join(sorted(words))}"


def whole_number(name, least):
    text = os.environ[name]
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) < least:
        raise Refused(f"{name.lower()} '{text}' is not a whole number of {least} or more")
    return int(text)


def check_deadline():
    deadline, timeout = os.environ["DEADLINE"], whole_number("TIMEOUT_MINUTES", MARGIN_MINUTES + 1)
    match = re.fullmatch(r"([0-9]+)(s|m|h)", deadline)
    if not match:
        raise Refused(f"deadline '{deadline}' is no duration such as 50m")
    if int(match[1]) * {"s": 1 / 60, "m": 1, "h": 60}[match[2]] > timeout - MARGIN_MINUTES:
        raise Refused(f"deadline '{deadline}' does not end {MARGIN_MINUTES} minutes before timeout-minutes {timeout}")


def check_entry(entry):
    if not isinstance(entry, dict) or not isinstance(entry.get("stack"), str):
        raise Refused(f"stacks: {json.dumps(entry)} has no \"stack\"")
    name = entry["stack"]
    for key in entry:
        if key not in KEYS:
            raise Refused(f"stacks: {name}: unknown key '{key}'{near(key, KEYS)}")
    if not NAME.fullmatch(name):
        raise Refused(f"stacks: '{name}' may have small letters, digits and '-' only")
    for key in ("labels", "options", "plan", "run"):
        value = entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise Refused(f"stacks: {name}: {key} is not a list of strings")
    if not entry.get("labels"):
        raise Refused(f"stacks: {name}: no labels, so that nobody knows which machine may run it")


def read_stacks():
    if not os.environ["STACKS"].strip():
        raise Refused("the input stacks is empty: it names the stacks and the labels of their machines")
    try:
        stacks = json.loads(os.environ["STACKS"])
    except ValueError as failure:
        raise Refused(f"stacks is no JSON: {failure}") from failure
    if not isinstance(stacks, list) or not stacks:
        raise Refused("stacks is not a list with at least one entry")
    for index, entry in enumerate(stacks):
        check_entry(entry)
        if entry["stack"] in [other["stack"] for other in stacks[:index]]:
            raise Refused(f"stacks: {entry['stack']} is there twice")
    return stacks


def container(entry):
    """The value of `container:` of a job; "": none. With the options of docker/STACK/job-container.yaml."""
    name, image = entry["stack"], entry.get("image", "")
    if not image:
        if entry.get("options"):
            raise Refused(f"stacks: {name}: options are for a container, and there is no image")
        return ""
    if not re.search(r"@sha256:[0-9a-f]{64}$", image):
        raise Refused(f"stacks: {name}: image '{image}' is not named by its digest (@sha256:...)")
    known = {path.parent.name: path for path in (REPOSITORY / "docker").glob("*/job-container.yaml")}
    if name not in known:
        raise Refused(f"stacks: no stack '{name}'{near(name, known)}")
    options = " ".join(re.findall(r"^    (--.*)$", known[name].read_text(), re.MULTILINE))
    if "vars.RENDER_GROUP" in options:
        group = os.environ.get("RENDER_GROUP", "")
        if not re.fullmatch(r"[0-9]+", group):
            raise Refused(f"stacks: {name}: the variable RENDER_GROUP '{group}' is not the number of the group of "
                          "/dev/dri/renderD128 on the machines (stat -c %g)")
        options = options.replace("${{ vars.RENDER_GROUP }}", group)
    if proctor := os.environ.get("PROCTOR_PATH"):
        options = options.replace("/opt/proctor/", f"{Path(proctor).parent}/")
    return {"image": image, "options": " ".join([options, *entry.get("options", [])])}


def arguments(of, entry):
    """Arguments for all stacks, one per line, then those of this stack."""
    return [line for line in os.environ[of].splitlines() if line] + entry.get(of.lower(), [])


def make_plan(entry):
    """Writes plans/STACK.json, the plan of all shards."""
    Path("plans").mkdir(exist_ok=True)
    stack = entry["stack"]
    # It starts programs of the checkout, for their lists of tests. These must not write outputs or variables of the job.
    environment = {name: value for name, value in os.environ.items() if not FILES.fullmatch(name)}
    code = subprocess.run(["proctor", "plan", *arguments("PLAN", entry), "-o", f"plans/{stack}.json"], check=False,
                          env=environment).returncode
    if code:
        raise Refused(f"{stack}: proctor plan exits with {code}")


def main():
    if not NAME.fullmatch(os.environ["NAME"]):
        raise Refused(f"name '{os.environ['NAME']}' may have small letters, digits and '-' only")
    if refusal := os.environ["POLICY"] and check_policy(os.environ["POLICY"]):
        raise Refused(refusal)  # before the runs, which take hours
    check_deadline()
    shards, stacks = whole_number("SHARDS", 1), read_stacks()
    if len(stacks) * shards > MOST_JOBS:
        raise Refused(f"{len(stacks)} stacks in {shards} shards are more than {MOST_JOBS} jobs")
    include = []
    for entry in stacks:
        place = container(entry)
        make_plan(entry)
        include += [{"stack": entry["stack"], "shard": f"{shard}of{shards}", "part": f"{shard}/{shards}",
                     "labels": entry["labels"], "container": place, "run": "\n".join(arguments("RUN", entry))}
                    for shard in range(1, shards + 1)]
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as output:
        output.write(f"matrix={json.dumps({'include': include})}\n")
    print(f"{len(include)} jobs: {', '.join(row['stack'] + ' ' + row['part'] for row in include)}")


if __name__ == "__main__":
    try:
        main()
    except Refused as refusal:
        error("Not planned", str(refusal))
        sys.exit(1)
