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

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance-gate"))

from gate import check_policy  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[3]
KEYS = ("stack", "labels", "image", "options", "plan", "run")
MARGIN_MINUTES = 5  # between the deadline of a run and the end of its job: reports, finish, upload
MOST_JOBS = 256  # per matrix, https://docs.github.com/en/actions/reference/limits


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


def minutes(text):
    """Minutes of a duration in the format of proctor."""
    match = re.fullmatch(r"([0-9]+)(s|m|h)", text)
    if not match:
        raise Refused(f"deadline '{text}' is no duration such as 50m")
    return int(match[1]) * {"s": 1 / 60, "m": 1, "h": 60}[match[2]]


def check_entry(entry, seen):
    if not isinstance(entry, dict) or not isinstance(entry.get("stack"), str):
        raise Refused(f"stacks: {json.dumps(entry)} has no \"stack\"")
    name = entry["stack"]
    for key in entry:
        if key not in KEYS:
            raise Refused(f"stacks: {name}: unknown key '{key}'{near(key, KEYS)}")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise Refused(f"stacks: '{name}' may have small letters, digits and '-' only")
    if name in seen:
        raise Refused(f"stacks: {name} is there twice")
    for key in ("labels", "options", "plan", "run"):
        value = entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise Refused(f"stacks: {name}: {key} is not a list of strings")
    if not entry.get("labels"):
        raise Refused(f"stacks: {name}: no labels, so that nobody knows which machine may run it")


def read_stacks():
    try:
        stacks = json.loads(os.environ["STACKS"])
    except ValueError as error:
        raise Refused(f"stacks is no JSON: {error}") from error
    if not isinstance(stacks, list) or not stacks:
        raise Refused("stacks is not a list with at least one entry")
    seen = set()
    for entry in stacks:
        check_entry(entry, seen)
        seen.add(entry["stack"])
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
    file = REPOSITORY / "docker" / name / "job-container.yaml"
    if not file.exists():
        known = [path.parent.name for path in file.parents[1].glob("*/job-container.yaml")]
        raise Refused(f"stacks: no stack '{name}'{near(name, known)}")
    options = " ".join(re.findall(r"^    (--.*)$", file.read_text(), re.MULTILINE))
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


def make_plan(stack, options):
    """Writes plans/STACK.json, the plan of all shards."""
    Path("plans").mkdir(exist_ok=True)
    code = subprocess.run(["proctor", "plan", *options, "-o", f"plans/{stack}.json"], check=False).returncode
    if code:
        raise Refused(f"{stack}: proctor plan exits with {code}")


def check_name():
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", os.environ["NAME"]):
        raise Refused(f"name '{os.environ['NAME']}' may have small letters, digits and '-' only")


def main():
    check_name()
    if refusal := os.environ["POLICY"] and check_policy(os.environ["POLICY"]):
        raise Refused(refusal)  # before the runs, which take hours
    shards, timeout = whole_number("SHARDS", 1), whole_number("TIMEOUT_MINUTES", MARGIN_MINUTES + 1)
    deadline = os.environ["DEADLINE"]
    if minutes(deadline) > timeout - MARGIN_MINUTES:
        raise Refused(f"deadline '{deadline}' does not end {MARGIN_MINUTES} minutes before timeout-minutes {timeout}")
    stacks = read_stacks()
    if len(stacks) * shards > MOST_JOBS:
        raise Refused(f"{len(stacks)} stacks in {shards} shards are more than {MOST_JOBS} jobs")
    include = []
    for entry in stacks:
        place = container(entry)
        make_plan(entry["stack"], arguments("PLAN", entry))
        run = "\n".join(arguments("RUN", entry))
        include += [{"stack": entry["stack"], "shard": f"{shard}of{shards}", "part": f"{shard}/{shards}",
                     "labels": entry["labels"], "container": place, "run": run}
                    for shard in range(1, shards + 1)]
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as output:
        output.write(f"matrix={json.dumps({'include': include})}\n")
    print(f"{len(include)} jobs: {', '.join(row['stack'] + ' ' + row['part'] for row in include)}")


if __name__ == "__main__":
    try:
        main()
    except Refused as refusal:
        sys.exit(f"conformance: {refusal}")
