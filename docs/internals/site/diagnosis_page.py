"""The rules of harness/classify/rules.toml as Markdown: a section for each of its headings, a row for each rule."""

import re
import tomllib

HEAD = """# Rules of a diagnosis

Every rule by which Proctor [diagnoses](diagnosis.md) a failed attempt, in the order in which they are tested. The first
rule that matches is the diagnosis. `proctor explain RULE` prints its row. A rule links to its source.
"""
HEADING = re.compile(r"^# ---- (\d+\. .*) ----$", re.MULTILINE)


def text(words):
    return re.sub(r"([\\*_<>\[\]|#])", r"\\\1", words)


def row(rule):
    name = f"`{rule['id']}`"
    if rule["source"].startswith("https://"):
        name = f"[{name}]({rule['source']})"
    becomes = f" The outcome becomes `{rule['becomes']}`." if "becomes" in rule else ""
    return f"| {name} | `{rule['class']}` | {rule['owner']} | {rule['severity']} | {text(rule['next'])}{becomes} |\n"


def markdown(rules):
    before, *sections = HEADING.split(rules)
    if "[[rule]]" in before:
        raise ValueError("rules.toml: a rule above the first heading")
    out = [HEAD]
    for heading, body in zip(sections[::2], sections[1::2]):
        out.append(f"\n## {heading}\n\n| rule | class | owner | severity | next step |\n| --- | --- | --- | --- | --- |\n")
        out += [row(rule) for rule in tomllib.loads(body)["rule"]]
    return "".join(out)
