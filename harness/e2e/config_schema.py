#!/usr/bin/env python3
"""The JSON schema of proctor.toml accepts what the program reads, and refuses what the program refuses."""

import json
import re
import subprocess
import sys
import tomllib

from harness import BIN, ROOT, Sandbox, check

try:
    from jsonschema import Draft7Validator
except ImportError:
    print("skipped: needs python3-jsonschema")
    sys.exit(77)

SCHEMA = BIN / "share/proctor/schema/proctor.schema.json"
SUITE = '[suite.a]\nkind = "command"\ncommand = ["true"]\n'
DURATIONS = ('"30s"', '"1.5s"', '"250ms"', '"2m"', '"1h"', '"0.001s"', '"030s"', "30", '"30"', '"30 s"', '"s"', '"-1s"', '".5s"', '"1.s"',
             '""', "true", '"0s"', '"0.0s"', '"OFF"', '"off"', "false", '["30s"]', '"5d"')
LIMITS = {"timeout": DURATIONS, "grace": DURATIONS, "stall": DURATIONS, "startup": DURATIONS[-6:], "shutdown": DURATIONS[-6:],
          "retries": ("0", "100", "101", "-1", "1.5", '"1"'), "leaks": ('"warn"', '"fail"', '"fial"', "true")}
VALUES = {  # table: {key: values}; each value is written into a file of its own
    "": {"min_version": ('"0.1"', "0.1", '"new"', '""')},
    "run": {"max_machine_failures": ("0", "5", "1000001", '"5"'), "device_in_use": ('"wait"', '"other"', '"never"'), "reset": ('"never"', '"unhealthy"', '"yes"'),
            "flaky": ('"fail"', '"pass:0%"', '"pass:100%"', '"pass:101%"', '"pass:1.5%"', '"pass"', '"no"', "1"),
            "telemetry": ("0", "100", "101"), "unknown": ("1",),
            "keep": ("0", "50", "-1", '"5"'), "order": ('"planned"', '"random"'), "memory_wait": DURATIONS, "stack_root": ('"/"', '""', "1"),
            "state_dir": ('"leases"', '""')},
    "defaults": {**{key: LIMITS[key] for key in ("retries", "leaks", "stall")}, "env": ('{A = "1"}', "{A = 1}", '{PROCTOR_CASE = "x"}'),
                 "gtest": ('{timeout = "1s"}', "{timeout = 1}", '{env = {A = "1"}}', '"x"'), "gtst": ('{timeout = "1s"}',)},
    "suite.a": {**LIMITS, "kind": ('"gtst"', "1"), "backend": ('"none"', '"rocm"', '"CUDA"'),
                "process": ('"case"', '"each"', '"batch:3"', '"batch:auto,verify:off"', '"verify:2%"', '"batch:0"', '"batch:100001"',
                            '"batch:3,suite"', "3"),
                "gpus": ('"marker:"', '"gpus"', "-1", "1025", "1.5", "0"), "ranks": ("0", "256", "257", '"4"'), "mask": ('"uuid"', '"uid"'),
                "hierarchy": ('"FLAT"', "1"), "mem_cap": ("512", '"512"', '"512MB"', '"lots"'), "host_pids": ("true", '"true"', "1"),
                "junit_classname": ('"suite"', '"none"'), "labels": ('["a", "b"]', '"a"', "[1]"), "directory": ('"."', "1"),
                "env": ('{A = "1"}', "{A = 1}", '{ZE_AFFINITY_MASK = "0"}', '{CUDA_VISIBLE_DEVICES = "0"}', '{NEO_ZE_AFFINITY_MASK = "0"}',
                        '{PROCTOR_X = "0"}', '{XPROCTOR_ = "0"}', '{"A=B" = "0"}', '"A=1"'), "timeuot": ('"1s"',), "group": ('"off"', '""', "1")},
    "suite.b": {"command": ('["true"]', "[]", '"true"', "[1]", '["sh", "-c", ""]')},
    "profile.p": {"timeout": ('"1s"', "1"), "match": ('"x"',), "env": ('{A = "1"}', "{A = 1}")},
}
SKIP = '[[skip]]\ncase = "a/*"\nreason = "why"\nowner = "us"\nexpires = 2027-03-01\n'
FILES = {  # whole files
    "a group": '[group.g]\nmax = 1\n[defaults]\ngroup = "g"\n', "a group of none": '[group.g]\nmax = 0\n[defaults]\ngroup = "g"\n',
    "a group without its limit": '[group.g]\n[defaults]\ngroup = "g"\n', "a name of a group": '[group."a/b"]\nmax = 1\n',
    "a skip": SKIP, "a skip without an owner": SKIP.replace('owner = "us"\n', ""), "a skip for ever": SKIP.replace("expires = 2027-03-01\n", ""),
    "a skip without words": SKIP.replace("why", " "), "a skip until a number": SKIP.replace("2027-03-01", "2027"),
    "a skip of several": SKIP.replace('"a/*"', '["a/*"]'), "a skip as a table": SKIP.replace("[[skip]]", "[skip]"),
    "a name of a suite": '[suite."a/b"]\ncommand = ["true"]\n', "a table of another name": "[suites.a]\n", "an array of suites": "[[suite]]\n",
    "an override": '[[override]]\nmatch = "a"\ntimeout = "1s"\n', "an override without its pattern": '[[override]]\ntimeout = "1s"\n',
    "an override as a table": '[override]\nmatch = "a"\n', "limits of a built-in suite": '[suite.memory]\ntimeout = "5m"\n',
    "nothing": "", "a profile as a value": 'profile = "ci"\n', "devices": '[suite.c]\ncommand = ["true"]\nbackend = "xpu"\ngpus = 2\n'
    'mem_cap = "1.5GiB"\nhierarchy = "flat"\n',
}


def as_json(value):
    """A date is a text in JSON, as in the editors that check TOML by a schema."""
    return json.loads(json.dumps(value, default=str))


def tables():
    """[(what it is, the text)]"""
    for table, keys in VALUES.items():
        for key, values in keys.items():
            for value in values:
                line = f"{key} = {value}\n"
                head = SUITE if table != "suite.a" else ""
                text = line + head if not table else head + (SUITE if table == "suite.a" else f"[{table}]\n") + line
                if key == "kind" and table == "suite.a":
                    text = text.replace('kind = "command"\n', "")
                yield f"[{table}] {line.strip()}", text
    for what, text in FILES.items():
        yield what, text + (SUITE if "[suite.a]" not in text else "")


def with_loader(validator):
    verdicts = {True: 0, False: 0}
    with Sandbox() as sandbox:
        for what, text in tables():
            (sandbox.path / "proctor.toml").write_text(text)
            read = "a\n" in sandbox.proctor("manual", "words", "--kinds=suites").stdout  # nothing, of a file that is refused
            complaints = [error.message for error in validator.iter_errors(as_json(tomllib.loads(text)))]
            check(read == (not complaints), what, "\nthe program:", "reads it" if read else sandbox.proctor("list").stderr, "\nthe schema:", complaints or "accepts it")
            verdicts[read] += 1
    check(min(verdicts.values()) > 40, "too few of one kind:", verdicts)
    print(f"ok schema and program read {verdicts[True]} files and refuse {verdicts[False]}")


def every_key(schema):
    """Both have the same keys: the program names its own where it is given one that is like none."""
    tables = schema["properties"]
    inside = lambda name: tables[name]["additionalProperties"]["properties"]
    with Sandbox() as sandbox:
        for head, keys in {"": tables, "[run]": tables["run"]["properties"], "[defaults]": tables["defaults"]["properties"],
                           "[defaults.gtest]": schema["definitions"]["limits"]["properties"], "[suite.a]": inside("suite"),
                           "[[override]]": tables["override"]["items"]["properties"],
                           "[[skip]]": tables["skip"]["items"]["properties"], "[group.g]": inside("group"),
                           "[profile.p]": inside("profile")}.items():
            (sandbox.path / "proctor.toml").write_text(f"{head}\nzzzzzzzzzzzz = 1\n")
            said = sandbox.proctor("list").stderr
            known = re.search(r"Known keys: (.*)\.", said)
            check(known and set(known[1].split(", ")) == set(keys), head, said, sorted(keys))
    print("ok schema and program have the same keys")


def examples():
    """{name: text}: every proctor.toml of the repository and of its pages, and all keys of the defaults."""
    found = {"defaults.toml": (ROOT / "harness/plan/defaults.toml").read_text()}
    found["defaults.toml with its examples"] = re.sub(r"^#: ", "", found["defaults.toml"], flags=re.MULTILINE)
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True).stdout.split("\n")
    for name in listed:
        if name.endswith("proctor.toml"):
            found[name] = (ROOT / name).read_text()
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for number, text in enumerate(re.findall(r"```toml proctor\.toml\n(.*?)```", page.read_text(), re.DOTALL)):
            found[f"{page.relative_to(ROOT)} {number}"] = text
    return found


def with_examples(validator):
    found = examples()
    check(len(found) > 5, "few examples were found:", list(found))
    for name, text in found.items():
        complaints = [error.message for error in validator.iter_errors(as_json(tomllib.loads(text)))]
        check(not complaints, name, complaints)
    print(f"ok the schema accepts {len(found)} examples")


def with_linter():
    lint = ROOT / "build/lint"
    if not (lint / "check_jsonschema").is_dir():
        print("not checked, the linters are not here: check-jsonschema")
        return
    done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--schemafile", SCHEMA, ROOT / "harness/plan/defaults.toml"],
                          capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(lint)})
    check(done.returncode == 0, done.stdout, done.stderr)
    print("ok check-jsonschema accepts defaults.toml")


def main():
    printed = subprocess.run([BIN / "proctor", "manual", "schema"], capture_output=True, text=True, check=True).stdout
    check(printed == SCHEMA.read_text(), SCHEMA, "is of another build")
    schema = json.loads(printed)
    Draft7Validator.check_schema(schema)
    for name, keys in schema["properties"].items():
        check(keys.get("description") or name in ("suite", "group", "override", "skip", "profile"), name, "has no description")
    suite = schema["properties"]["suite"]["additionalProperties"]["properties"]
    check(all(each.get("description") for each in suite.values()), "a key of a suite has no description")
    validator = Draft7Validator(schema)
    every_key(schema)
    with_loader(validator)
    with_examples(validator)
    with_linter()


if __name__ == "__main__":
    sys.exit(main())
