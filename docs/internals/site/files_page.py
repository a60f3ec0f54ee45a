"""The schemas of reports/schema as Markdown: a section for each file and each definition, a row for each member."""

import json

from config_page import linked

FILES = ("report", "diff", "history", "gate", "selftest")
HEAD = """# JSON files

The members of the JSON files that Proctor writes, from their schemas in `reports/schema`. `?` marks an optional member.
`[]` is each element of an array, `.*` each member of an object.
"""


class File:
    def __init__(self, name, schema):
        self.name, self.schema, self.waiting = name, schema, []

    def definition(self, node):
        name = node.get("$ref", "").rpartition("/")[2]
        return name, self.schema["definitions"].get(name, node)

    def type(self, node):
        name, node = self.definition(node)
        if name and ("properties" in node or len(node.get("enum", [])) > 4):
            if name not in self.waiting:
                self.waiting.append(name)
            return f"[{name}](#{self.name}-{name})"
        if alternatives := node.get("oneOf") or node.get("anyOf"):
            return " or ".join(dict.fromkeys(self.type(each) for each in alternatives))
        if values := node.get("enum", [node["const"]] if "const" in node else []):
            return " or ".join(f"`{json.dumps(each)}`" for each in values)
        types = node.get("type", "any")
        if types == "array":
            return f"array of {self.type(node['items'])}"
        return types if isinstance(types, str) else " or ".join(types)

    def rows(self, node, path=""):
        """The members that are below a node, without those of a definition that has a section."""
        for one in node.get("oneOf", []) + node.get("anyOf", []):
            yield from self.below(one, path)
        for key, member in node.get("properties", {}).items():
            mark = "" if key in node.get("required", []) else "?"
            here = f"{path}.{key}".removeprefix(".")
            meaning = member.get("description") or self.definition(member)[1].get("description", "")
            yield f"| `{here}`{mark} | {self.type(member)} | {linked(meaning)} |\n"
            yield from self.below(member, here)

    def below(self, node, path):
        name, target = self.definition(node)
        if name and "properties" in target:
            return
        yield from self.rows(target, path)
        for key, suffix in (("items", "[]"), ("additionalProperties", ".*")):
            if isinstance(target.get(key), dict):
                yield from self.below(target[key], path + suffix)

    def table(self, node):
        if "enum" in node:
            return "One of " + ", ".join(f"`{json.dumps(each)}`" for each in node["enum"]) + ".\n"
        return "| member | type | meaning |\n| --- | --- | --- |\n" + "".join(self.rows(node))

    def markdown(self):
        title = self.schema["title"].removeprefix("Proctor ")
        out = f"\n## {title}\n\n{self.schema['description']}\n\n{self.table(self.schema)}"
        for name in self.waiting:  # it grows; no headings, or a search for an outcome finds them first
            out += f"\n**{name}**\n{{ #{self.name}-{name} }}\n\n{self.table(self.schema['definitions'][name])}"
        return out


def markdown(directory):
    schemas = {name: json.loads((directory / f"{name}.schema.json").read_text(encoding="utf-8")) for name in FILES}
    return HEAD + "".join(File(name, schema).markdown() for name, schema in schemas.items())
