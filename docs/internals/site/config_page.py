"""The comments of harness/plan/defaults.toml as Markdown: a section for each table, a row for each key."""

import re

HEAD = """# Keys of proctor.toml

Every key of `proctor.toml`, with its built-in default or an example. [Configuration](config.md) describes where a value
comes from. Durations need a unit: `"250ms"`, `"30s"`, `"2m"`, `"1h"`.

## The file
"""
NAMES = {"defaults.proctor": "defaults.KIND", "suite.attention": "suite.NAME", "profile.ci": "profile.NAME",
         "group.licence": "group.NAME"}
BLOCK = re.compile(r"((?:^# .*\n)+)((?:^(?!# ).+\n)+)", re.MULTILINE)  # a comment, and the lines that it describes


def linked(text):
    """A page that a comment names is a link, from docs/reference/."""
    def link(match):
        path = match[1].removeprefix("reference/") if match[1].startswith("reference/") else f"../{match[1]}"
        return f"[{match[1].rpartition('/')[2]}]({path}{match[2] or ''})"
    return re.sub(r"\bdocs/([\w/-]+\.md)(#[\w-]+)?", link, text.replace("|", "\\|"))


def row(keys, text, head):
    names, values = ("<br>".join(f"`{each}`" for each in column) for column in zip(*keys))
    return head + f"| {names} | {values} | {linked(text)} |\n"


def markdown(defaults):
    body = defaults.partition("\n\n")[2]  # without the comment about the file itself
    if rest := BLOCK.sub("", body).strip():
        raise ValueError(f"defaults.toml: lines without a comment above them: {rest}")
    out, has_rows = [HEAD], False
    for comment, lines in BLOCK.findall(body):
        text = " ".join(line[2:] for line in comment.splitlines())
        code = [line.removeprefix("#: ") for line in lines.splitlines()]
        table = re.sub(r"[\w]+\.\w+", lambda name: NAMES.get(name[0], name[0]), code[0])
        if code[0].startswith("[") and not table.endswith(".env]"):
            title, _, more = text.partition(". ")
            out.append(f"\n## {title.removesuffix('.')}: `{table}`\n" + (f"\n{linked(more)}\n" if more else ""))
            has_rows = False
            continue
        column = "example" if lines.startswith("#: ") else "default"
        head = "" if has_rows else f"\n| key | {column} | meaning |\n| --- | --- | --- |\n"
        keys = [("env", table)] if code[0].startswith("[") else [line.split(" = ", 1) for line in code]
        out.append(row(keys, text, head))
        has_rows = True
    return "".join(out)
