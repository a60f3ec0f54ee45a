#!/usr/bin/env python3
"""validate_report.py REPORT... [--closed]: checks each report.json against report.schema.json and its own sums.
validate_report.py --lines: checks many reports one after the other. Each line of its input is REPORT or `closed REPORT`.
It prints one line for each: the error as a JSON string, or "".

--closed also refuses keys that the schema does not name. The schema must describe the output of a writer completely,
although readers accept keys that later versions add. Needs python3-jsonschema.
"""
import copy
import json
import pathlib
import sys

from jsonschema import Draft7Validator


def close(node):
    if isinstance(node, dict):
        if "properties" in node:
            node.setdefault("additionalProperties", False)
        for child in node.values():
            close(child)
    elif isinstance(node, list):
        for child in node:
            close(child)


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def complaints(report, validator):
    for error in validator.iter_errors(report):
        yield f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        return  # the following checks need a valid structure
    outcomes = [case["outcome"] for case in report["cases"]]
    for name, count in report["summary"].items():
        expected = len(outcomes) if name == "planned" else outcomes.count(name)
        if count != expected:
            yield f"/summary/{name}: {count}, but the cases say {expected}"


def validators():
    """Returns the validators; the key is whether additional keys are refused."""
    schema = json.loads(pathlib.Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8"))
    Draft7Validator.check_schema(schema)
    closed = copy.deepcopy(schema)
    close(closed)
    return {False: Draft7Validator(schema), True: Draft7Validator(closed)}


def complaint_of(path, validator):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return "\n".join(complaints(json.loads(text, parse_constant=refuse_constant), validator))


def answer_lines(by_closed):
    for line in sys.stdin:
        path = line.rstrip("\n")
        closed = path.startswith("closed ")
        try:
            complaint = complaint_of(path.removeprefix("closed "), by_closed[closed])
        except (OSError, ValueError) as error:
            complaint = f"{type(error).__name__}: {error}"
        print(json.dumps(complaint), flush=True)


def main():
    by_closed = validators()
    if sys.argv[1:] == ["--lines"]:
        return answer_lines(by_closed)
    reports = [word for word in sys.argv[1:] if word != "--closed"]
    if not reports:
        return __doc__
    found = [complaint_of(path, by_closed["--closed" in sys.argv]) for path in reports]
    return "\n".join(filter(None, found)) or 0


if __name__ == "__main__":
    sys.exit(main())
