#!/usr/bin/env python3
"""compatible.py OLD NEW: whether a reader of the schema OLD may read what is valid under NEW, both JSON schemas (draft 7).

The format only grows, so NEW may have more keys, and require more of them. What OLD promises stays: a key that it requires
is required, a type or an enumeration does not widen, an object that it closes gets no key, a number's limits do not move
outwards, and `$ref`, `items` and alternatives (oneOf, anyOf) lead to what keeps all that. Each line that it prints is a
promise that NEW breaks; it exits with 1 where there is one.
"""
import json
import sys

TYPES = ("null", "boolean", "object", "array", "number", "integer", "string")


def resolved(node, root):
    while "$ref" in node:
        target = root
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def types(node):
    stated = node.get("type", TYPES)
    found = {stated} if isinstance(stated, str) else set(stated)
    return found | {"integer"} if "number" in found else found


def values(node):
    """Those of an enumeration, as text; None where any will do."""
    if "const" in node:
        return {json.dumps(node["const"])}
    return {json.dumps(value) for value in node["enum"]} if "enum" in node else None


def alternatives(node):
    return node.get("oneOf") or node.get("anyOf") or [node]


class Comparison:
    def __init__(self, old, new):
        self.old, self.new = old, new
        self.seen = set()

    def broken(self, old, new, where):
        """The promises of `old` that `new` breaks."""
        old, new = resolved(old, self.old), resolved(new, self.new)
        if (id(old), id(new)) in self.seen:  # a schema may hold itself
            return
        self.seen.add((id(old), id(new)))
        olds, news = alternatives(old), alternatives(new)
        if len(olds) == len(news) == 1:
            yield from self.broken_plain(old, new, where)
            return
        for number, one in enumerate(news):
            attempts = [list(Comparison(self.old, self.new).broken(other, one, where)) for other in olds]
            if all(attempts):
                yield f"{where}: alternative {number + 1} is new: {min(attempts, key=len)[0]}"

    def broken_plain(self, old, new, where):
        wider = types(new) - types(old)
        if wider and values(new) is None:
            yield f"{where}: it may be {', '.join(sorted(wider))} now"
        if values(old) is not None and (values(new) is None or values(new) - values(old)):
            more = "anything" if values(new) is None else ", ".join(sorted(values(new) - values(old)))
            yield f"{where}: it may be {more} now"
        if "pattern" in old and new.get("pattern") != old["pattern"]:
            yield f"{where}: its pattern is another"
        for limit, outwards in (("minimum", lambda a, b: b < a), ("maximum", lambda a, b: b > a)):
            if limit in old and (limit not in new or outwards(old[limit], new[limit])):
                yield f"{where}: its {limit} is not what it was"
        yield from self.broken_object(old, new, where)
        if isinstance(old.get("items"), dict):
            yield from self.broken(old["items"], new.get("items", {}), f"{where}[]")

    def broken_object(self, old, new, where):
        for key in sorted(set(old.get("required", [])) - set(new.get("required", []))):
            yield f"{where}/{key}: it was required"
        known, now = old.get("properties", {}), new.get("properties", {})
        for key, value in known.items():
            if key in now:
                yield from self.broken(value, now[key], f"{where}/{key}")
            else:
                yield f"{where}/{key}: it is gone"
        others = old.get("additionalProperties", True)
        if others is False:
            for key in sorted(set(now) - set(known)):
                yield f"{where}/{key}: it is new, in an object that was closed"
            if new.get("additionalProperties", True) is not False:
                yield f"{where}: it was closed"
        elif isinstance(others, dict):
            for key in sorted(set(now) - set(known)):
                yield from self.broken(others, now[key], f"{where}/{key}")
            yield from self.broken(others, new.get("additionalProperties", {}), f"{where}/*")


def main():
    if len(sys.argv) != 3:
        return __doc__
    old, new = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
    found = list(Comparison(old, new).broken(old, new, ""))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
