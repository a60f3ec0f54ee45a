"""The rules of suites/rules.toml as Markdown, with the sources and checks that `proctor list` prints."""

import re
import tomllib

HEAD = """# Rules

Every check of the conformance suites proves a rule. `proctor explain CASE`, `report.json` (`cases[].rule`) and the
messages of failures name the rule by its id. The letter shows where a rule belongs: V visibility, M memory, C
collectives, K kernels, S failures seen in the field, B all calls. An id is never given to another rule.

`proctor explain` lists the faults that a check must detect; [the self-test](../explanation/selftest.md) proves it. Rules
of a diagnosis, such as `xid:79`, are in [Rules of a diagnosis](diagnosis-rules.md).

| rule | sentence | source | checks |
| --- | --- | --- | --- |
"""
NOT_BUILT = "not in the build that made this page"


def natural(rule):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", rule)]


def check_of(case):
    """Copy.DestinationHasSourceBytes, of all parameters; the rows of a table of masks are one."""
    name = case["name"].split("/")[0]
    group = name.split(".")[0]
    return group if group in ("AffinityMask", "VisibleDevices") else name


def row(rule, sentence, cases):
    suites = {}
    for case in cases:
        suites.setdefault(case["suite"], set()).add(check_of(case))
    sources = "; ".join(sorted({case["source"] for case in cases})) or NOT_BUILT
    checks = "; ".join(f"{suite}: " + ", ".join(f"`{name}`" for name in sorted(suites[suite])) for suite in sorted(suites))
    return f'| <a id="{rule}"></a>`{rule}` | {sentence} | {sources} | {checks} |\n'


def markdown(sentences, cases):
    of_rule = {}
    for case in cases:
        of_rule.setdefault(case["rule"], []).append(case)
    rules = tomllib.loads(sentences)
    return HEAD + "".join(row(rule, rules[rule], of_rule.get(rule, [])) for rule in sorted(rules, key=natural))
