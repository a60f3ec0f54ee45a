#!/usr/bin/env python3
"""validate_report.py REPORT [--closed]: checks a report.json against report.schema.json and its own sums.

--closed also refuses keys that the schema does not name: a writer must be described completely, while readers
of later versions accept what has been added. Needs python3-jsonschema.
"""
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


def complaints(report, schema):
    for error in Draft7Validator(schema).iter_errors(report):
        yield f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        return  # what follows needs the shape
    outcomes = [case["outcome"] for case in report["cases"]]
    for name, count in report["summary"].items():
        expected = len(outcomes) if name == "planned" else outcomes.count(name)
        if count != expected:
            yield f"/summary/{name}: {count}, but the cases say {expected}"


def main():
    schema = json.loads(pathlib.Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8"))
    Draft7Validator.check_schema(schema)
    if "--closed" in sys.argv[2:]:
        close(schema)
    text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    return "\n".join(complaints(json.loads(text, parse_constant=refuse_constant), schema)) or 0


if __name__ == "__main__":
    sys.exit(main())
