#!/usr/bin/env python3
"""validate_diff.py DIFF...: validates each diff.json against diff.schema.json without additional keys, and its counts.

Needs python3-jsonschema.
"""
import collections
import json
import pathlib
import sys

from jsonschema import Draft7Validator
from validate_report import close, refuse_constant


def main():
    schema = json.loads(pathlib.Path(__file__).with_name("diff.schema.json").read_text(encoding="utf-8"))
    Draft7Validator.check_schema(schema)
    close(schema)
    validator = Draft7Validator(schema)
    complaints = []
    for path in sys.argv[1:]:
        diff = json.loads(pathlib.Path(path).read_text(encoding="utf-8"), parse_constant=refuse_constant)
        complaints += [f"{path}: /{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
                       for error in validator.iter_errors(diff)]
        counted = collections.Counter(change["class"] for change in diff["changes"])
        complaints += [f"{path}: {name}: {count}, but {counted[name]} cases" for name, count in diff["counts"].items()
                       if count != counted[name]]
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
