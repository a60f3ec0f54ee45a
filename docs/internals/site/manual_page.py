"""The man page as Markdown: what `proctor manual page` prints, a section for each command."""

import re

ESCAPES = {r"\e": "\\", r"\-": "-", r"\(aq": "'", r"\(ga": "`", r"\(ha": "^", r"\(ti": "~", r"\&": ""}


def plain(text):
    text = re.sub(r"\\f[BIRP]", "", text)
    return re.sub(r"\\(?:\(..|[-e&])", lambda escape: ESCAPES[escape[0]], text)


def prose(text):
    """Code in backticks stays code; anything else that Markdown or HTML would read is escaped."""
    parts = re.split(r"(`[^`]*`)", plain(text))
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_<>\[\]|#])", r"\\\1", part) for part in parts)


def code(text):
    return f"`{plain(text)}`"


class Writer:
    def __init__(self):
        self.out, self.title, self.is_literal, self.is_example, self.next_is_term = [], "", False, False, False

    def line(self, text=""):
        self.out.append(text)

    def request(self, name, text):
        if name in ("SH", "SS"):
            self.section(name, text)
        elif name == "TP":
            self.next_is_term = True
        elif name == "PP":
            self.line()
        elif name in ("RS", "RE"):
            self.is_example = name == "RS"
        elif name in ("nf", "fi"):
            self.is_literal = name == "nf"
            self.line("\n```text" if self.is_literal else "```\n")
        elif name in ("B", "I", "RI", "BR", "RB", "IR"):
            self.text(text.replace(" ", "") if len(name) == 2 else text, is_code=True)

    def section(self, name, text):
        if name == "SH":
            self.title = text.capitalize()
            self.line(f"\n## {self.title}\n")
            return
        command = re.match(r"(?:proctor )?[a-z -]*[a-z]", plain(text))[0]
        self.line(f"\n### `{command}`\n\n```text\n{plain(text)}\n```\n")

    def text(self, text, is_code=False):
        if self.is_literal:
            self.line(plain(text))
        elif self.next_is_term:
            self.next_is_term = False
            self.line(f"\n{code(text)}")
            self.line(":   ")
        elif self.out and self.out[-1] == ":   ":
            self.out[-1] += prose(text)
        elif self.title == "Synopsis" or self.is_example:
            self.line(f"    {plain(text)}")
        else:
            self.line(code(text) if is_code else prose(text))


def markdown(manual):
    writer = Writer()
    for line in manual.splitlines():
        request = re.match(r"\.([A-Z]+|[a-z]{2})(?: (.*))?$", line)
        if line.startswith(('.\\"', ".TH", ".br")):
            continue
        if request:
            writer.request(request[1], request[2] or "")
        else:
            writer.text(line)
    body = "\n".join(writer.out)
    body = re.sub(r"\n\n([A-Z][\w ]*):\n\n(?=`)", r"\n\n**\1**\n\n", body)  # a group of options
    return "# Commands\n\n" + re.sub(r"\n{3,}", "\n\n", re.sub(r"^\s*## Name\n\n.*\n", "", body)).lstrip() + "\n"
