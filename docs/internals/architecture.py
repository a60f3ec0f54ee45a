#!/usr/bin/env python3
"""Holds the tree to the libraries that CMake links, to docs/internals/architecture.md, and to limits.

    architecture.py [check] [TREE]    what differs; exits 1 if something does
    architecture.py circles [TREE]    the circles of units and of rooms today, each with a way round

A room is a folder with sources. A unit is x.cc with x.h, or either alone. A circle is a set of units, or of rooms, each
of which includes, directly or by others of them, all the rest. A test is x_test.cc, and what only tests include. A file may
include headers of its own library, and of those that this library links.
"""

import re
import sys
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/internals/architecture.md"
TOPS = ("harness", "reports", "suites", "fixtures")
SOURCES = {".cc", ".h", ".cl", ".cu", ".def", ".inc"}
TEXTS = {".py", ".sh", ".txt", ".cmake", ".toml", ".md", ".yml"}
INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')


NAME_IN_CODE = re.compile(r"[A-Z]\w+|\w+(::\w+)*\(\)|\w+::\w+")  # `Runner`, `judge()`, `Error::usage`


# ---- the tree ----


def room_of(path):
    return str(PurePosixPath(path).parent)


def unit_of(path):
    return str(PurePosixPath(path).with_suffix(""))


class Include:
    """A line of a source; `target` is as it is written there: a path in the tree, or a header of somebody else."""

    def __init__(self, source, line, target):
        self.source, self.line, self.target = source, line, target

    def __str__(self):
        return f"{self.source}:{self.line} includes {self.target}"


class Tree:
    def __init__(self, root):
        self.root = root
        self.sources = {str(path.relative_to(root)) for top in TOPS for path in (root / top).rglob("*")
                        if path.suffix in SOURCES and "testdata" not in path.parts}
        self.includes = [include for source in sorted(self.sources) for include in self.read(source)]
        self.rooms = {room_of(source) for source in self.sources}
        self.tests = self.find_tests()

    def read(self, source):
        with open(self.root / source, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if found := INCLUDE.match(line):
                    yield Include(source, number, found[1])

    def ours(self):
        return [include for include in self.includes if include.target in self.sources]

    def find_tests(self):
        """Units that are tests, or that tests and nobody else include."""
        includers = defaultdict(set)
        for include in self.ours():
            if unit_of(include.source) != unit_of(include.target):
                includers[unit_of(include.target)].add(unit_of(include.source))
        tests = {unit for unit in map(unit_of, self.sources) if unit.endswith("_test")}
        while more := {unit for unit, by in includers.items() if unit not in tests and by <= tests}:
            tests |= more
        return tests

    def is_test(self, include):
        return unit_of(include.source) in self.tests

    def circles(self):
        """Of units, and of rooms: what includes each other, with the includes among it. Tests are left out."""
        found = {}
        for whole in (unit_of, room_of):
            edges = defaultdict(dict)
            for include in self.ours():
                source, target = whole(include.source), whole(include.target)
                if source != target and not self.is_test(include):
                    edges[source].setdefault(target, include)
            for group in strongly_connected(edges):
                if len(group) > 1:
                    found[group] = {node: {to: include for to, include in edges[node].items() if to in group}
                                    for node in group}
        return found


def strongly_connected(edges):
    """Tarjan's algorithm, with a stack of its own: a tree's includes go deeper than Python calls."""
    index, low, path, groups = {}, {}, [], []
    for start in sorted(edges):
        if start in index:
            continue
        index[start] = low[start] = len(index)
        path.append(start)
        work = [(start, iter(edges[start]))]
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    path.append(target)
                    work.append((target, iter(edges.get(target, ()))))
                    break
                if target in path:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    groups.append(frozenset(path[path.index(node):]))
                    del path[path.index(node):]
    return groups


def way_round(edges):
    """A shortest circle of includes in there, to show where it could be cut."""
    ways = []
    for start in sorted(edges):
        queue, came = [start], {}
        for node in queue:
            for target, include in edges[node].items():
                if target not in came:
                    came[target] = (node, include)
                    queue.append(target)
        node, include = came[start]
        way = [include]
        while node != start:
            node, include = came[node]
            way.insert(0, include)
        ways.append(way)
    return min(ways, key=len)


# ---- the page ----


def expanded(name):
    """`a/{b,c}` is `a/b` and `a/c`."""
    braces = re.search(r"\{([^}]*)\}", name)
    if not braces:
        return [name]
    return [each for part in braces[1].split(",")
            for each in expanded(name[:braces.start()] + part.strip() + name[braces.end():])]


def code(text):
    """What stands in backticks there."""
    return [each for name in re.findall(r"`([^`]+)`", text) for each in expanded(name)]


class Row:
    def __init__(self, line, cells):
        self.line, self.cells = line, cells
        self.names = code(cells[0])

    def __str__(self):
        return f"{PAGE}:{self.line}"


class Page:
    def __init__(self, text):
        self.text = text
        self.rows = self.table("room")
        self.rooms = {room: row for row in self.rows for room in row.names}
        self.vendors = [(row, code(row.cells[1])) for row in self.table("vendor's headers")]
        self.circles = {frozenset(row.names): row for row in self.table("circle")}

    def table(self, heading):
        """The rows of the table whose first column is called so."""
        rows, inside = [], False
        for number, line in enumerate(self.text.splitlines(), 1):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
            if not cells:
                inside = False
            elif cells[0] == heading:
                inside = True
            elif inside and not re.fullmatch(r"[-: ]+", cells[0]):
                rows.append(Row(number, cells))
        if not rows:
            sys.exit(f"{PAGE}: it has no table whose first column is called '{heading}'")
        return rows

    def prose(self):
        """What is in backticks, with its line; the rooms and units of the tables are looked at elsewhere."""
        lines = dict(enumerate(self.text.splitlines(), 1))
        lines |= {row.line: row.cells[1] for row in (*self.rows, *self.circles.values())}
        lines |= {row.line: "" for row, _ in self.vendors}
        return [(line, name) for line, text in lines.items() for name in code(text)]


# ---- the two compared ----


def matches(room, patterns):
    return any(fnmatchcase(room, pattern) for pattern in patterns)


def unknown_rooms(tree, page):
    for room in sorted(tree.rooms - page.rooms.keys()):
        yield f"{room}: a folder with sources that {PAGE} does not know: give it a row in the table of rooms"
    for room in sorted(page.rooms.keys() - tree.rooms):
        yield f"{page.rooms[room]}: {room} has no sources: take it out"


class Targets:
    """What the CMakeLists.txt of the tree compile and link, in the words of our functions and of CMake's own."""

    COMMAND = re.compile(r"^ *(\w+)\(\s*(\w[\w-]*)\s([^()]*)\)", re.M)

    def __init__(self, tree):
        self.links, self.rooms = defaultdict(set), defaultdict(set)
        for file in sorted(tree.root.rglob("CMakeLists.txt")):
            folder, values = file.parent.relative_to(tree.root), {}
            if folder.parts[:1] not in ((top,) for top in TOPS):
                continue
            for command, name, words in self.COMMAND.findall(re.sub(r"#.*", "", file.read_text(encoding="utf-8"))):
                words = re.sub(r"\$\{(\w+)\}", lambda each: values.get(each[1], each[0]), words)
                if command == "set":
                    values[name] = words
                elif "target_" in command or command.startswith(("add_", "proctor_")):
                    self.add(tree, folder, name, words.split())

    def add(self, tree, folder, target, words):
        for word in words:
            if (path := (folder / word).as_posix()) in tree.sources and unit_of(path) not in tree.tests:
                self.rooms[room_of(path)].add(target)
            elif re.fullmatch(r"proctor_\w+", word):
                self.links[target].add(word)

    def reached(self, targets):
        found, work = set(targets), list(targets)
        while work:
            for each in self.links[work.pop()] - found:
                found.add(each)
                work.append(each)
        return found


def unlinked_includes(tree, _):
    targets = Targets(tree)
    reached = {room: targets.reached(of_room) for room, of_room in targets.rooms.items()}
    for include in tree.ours():
        source, target = room_of(include.source), room_of(include.target)
        known = source in reached and target in reached and source != target and source.startswith(("harness/", "reports"))
        if known and not tree.is_test(include) and not reached[source] & targets.rooms[target]:
            yield (f"{include}, but {' and '.join(sorted(targets.rooms[source]))} does not link "
                   f"{' or '.join(sorted(targets.rooms[target]))}: move it, or add the library to DEPS")


def vendors_headers(tree, page):
    for row, rooms in page.vendors:
        users = [include for include in tree.includes if matches(include.target, row.names)]
        for include in users:
            if not matches(room_of(include.source), rooms):
                yield (f"{include}: a vendor's header, which {' '.join(['only', *rooms]) if rooms else 'no room'} may "
                       f"include ({row}): what needs a driver is a program of suites/, and the harness starts it")
        for room in rooms:
            if not any(fnmatchcase(room_of(include.source), room) for include in users):
                yield f"{row}: nothing in {room} includes {' '.join(row.names)}: take it out"


def unreasoned_circles(tree, page):
    found = tree.circles()
    for group in sorted(found.keys() - page.circles.keys(), key=sorted):
        way = "\n".join(f"    {include}" for include in way_round(found[group]))
        yield (f"{' '.join(sorted(group))}: a circle that {PAGE} does not know. Cut it (a plain type in a "
               f"header of its own, a callback, a declaration), or name it there with its reason. A way round:\n{way}")
    for group in sorted(page.circles.keys() - found.keys(), key=sorted):
        yield f"{page.circles[group]}: this is no circle, or not the whole of one: mend the row or take it out"


def missing_names(tree, page):
    words = {word for source in tree.sources
             for word in re.findall(r"\w+", (tree.root / source).read_text(encoding="utf-8"))}
    for line, name in page.prose():
        if "/" in name and re.fullmatch(r"[\w./-]+", name) and not (tree.root / name).exists():
            yield f"{PAGE}:{line}: {name} does not exist"
        elif NAME_IN_CODE.fullmatch(name) and not set(re.findall(r"\w+", name)) <= words:
            yield f"{PAGE}:{line}: no source knows a {name}"


# Whoever walks or destroys a tree that somebody else has written calls himself for each level of it.
PARSERS = re.compile(r"\b(?:[jJ]son::(?:parse|sax_parse|accept|from_\w+)|toml::parse(?:_file)?|load_(?:buffer|file|string)\w*|read_xml) *\(")
BOUNDED = {"harness/base/json.cc", "harness/base/toml_reader.cc", "harness/frameworks/xml_report.cc",
           "reports/compare/junit_results.cc"}


def unbounded_parsers(tree, _):
    for source in sorted(tree.sources - BOUNDED):
        if not source.startswith(("harness/", "reports/")) or unit_of(source) in tree.tests:
            continue
        for number, line in enumerate((tree.root / source).read_text(encoding="utf-8").splitlines(), 1):
            if found := PARSERS.search(line.partition("//")[0]):
                yield (f"{source}:{number}: {found[0]}) takes a document of any depth: "
                       "parse_json(), parse_toml() and parse_xml() hold to harness/base/document_limits.h")


# Words of the wire are enumerators (event_words.h, outcome.h): a comparison with a spelling would miss a change of it.
WORDS = "harness/journal/event_words.cc"
COMPARED = re.compile(r"""(\.text\(\)\s*)?(?:[=!]==?|includes\()\s*"(\w+)"|"(\w+)"\s*[=!]==?""")


def compared_spellings(tree, _):
    spelled = set(re.findall(r'^ +\{\w+::k\w+, "(\w+_\w+)"\},$', (tree.root / WORDS).read_text(encoding="utf-8"), re.M))
    if not spelled:
        yield f"{WORDS}: no row of a table is found"
    scripts = [str(path.relative_to(tree.root)) for path in (tree.root / "reports").rglob("*.js")]
    for source in (*sorted(tree.sources), *scripts):
        if unit_of(source) in tree.tests or source.startswith("fixtures/"):
            continue
        for number, line in enumerate((tree.root / source).read_text(encoding="utf-8").splitlines(), 1):
            for of_word, right, left in COMPARED.findall(line.partition("//")[0]):
                if of_word or (right or left) in spelled:
                    yield f'{source}:{number}: compares with "{right or left}", which is spelled in {WORDS} alone'


# A file of ours as comments and pages name it: from the root, from the harness, or from a folder above them. Words in
# capitals stand for any name, but a document that is called so.
NAMED = re.compile(r"(?<![\w./:-])(?:[a-z_0-9.-]+/)+[\w.-]+\.(?:cc|h|def|cl|py|sh|cmake|toml|md)\b")
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b")
DOCUMENT = re.compile(r"(?<![\w./-])[A-Z_]{4,}\.md\b(?!\.)")


def texts(root):
    paths = [path for top in (*TOPS, "docs", "cmake", "docker", ".github") for path in sorted((root / top).rglob("*"))]
    return [path.relative_to(root) for path in (*paths, *sorted(root.glob("*.md")))
            if path.suffix in SOURCES | TEXTS and path.is_file() and "testdata" not in path.parts and path != root / PAGE]


def comment(suffix, line):
    """What of the line is for people."""
    return line if suffix == ".md" else line.partition("//" if suffix in SOURCES else "# ")[2]


def stale_names(tree, _):
    """A comment that sends a reader to a file has to send him to one that is there."""
    beginnings = {path.name for top in ("", "harness") for path in (tree.root / top).glob("*") if path.is_dir()}
    for text in texts(tree.root):
        near = [tree.root / folder for folder in (*text.parents, *TOPS)]
        for number, line in enumerate((tree.root / text).read_text(encoding="utf-8").splitlines(), 1):
            words = comment(text.suffix, line)
            names = [name for name in NAMED.findall(words)
                     if name.split("/")[0] in beginnings and not PLACEHOLDER.search(name)]
            for name in (*names, *DOCUMENT.findall(words)):
                if not any((folder / f"{name}{suffix}").exists() for folder in near for suffix in ("", ".in")):
                    yield f"{text}:{number}: names {name}, which is not there"


# A class is taken apart before nobody can keep it in mind (`RunningAttempt`).
MOST = 15
CONCURRENT = tuple(f"harness/{room}/" for room in ("devices/admission", "runner/attempt", "runner/record", "runner/schedule"))
CLASS = re.compile(r"(?<!enum )\b(class|struct)\s+(\w+)(?:\s+final)?(?:\s*:[^;{}()]*)?\s*\{")
NO_MEMBER = re.compile(r"(?:using|typedef|friend|static_assert|static constexpr|enum|class|struct|union)\b")


def code_of(text):
    """The text without comments and without what stands in quotes, with its lines where they were."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])\'', re.S)
    return pattern.sub(lambda found: "\n" * found[0].count("\n") if found[0].startswith(("//", "/*", "R")) else '""', text)


def without_groups(body):
    """Of the inside of a class, which ends where its brace does: blocks are {}, parentheses @, and <> are gone."""
    depth, flat = 1, ""
    for char in body:
        depth -= char == "}"
        if depth == 0:
            break
        if depth == 1 and char != "\n":
            flat += char
        depth += char == "{"
    before = ""
    while before != flat:
        before, flat = flat, re.sub(r"\([^()<>]*\)|<[^()<>]*>", lambda group: "@" * (group[0][0] == "("), flat)
    return re.sub(r"operator[^\w@]+", "operator", flat)


def statements(flat):
    """Each declaration of a class. A function ends with its body, anything else with its semicolon."""
    head = ""
    for part in re.findall(r"\{\}|;|[^;{}]+|.", flat.replace("{}", " {}")):
        head += part
        is_function = "@" in head.partition("=")[0].partition("{")[0]
        if part == ";" or (part.startswith("{") and is_function):
            yield head.strip().rstrip(";")
            head = ""


def counts(kind, flat):
    """Private methods and data members."""
    access, methods, members = {"class": "private", "struct": "public"}[kind], 0, 0
    for statement in statements(flat):
        while label := re.match(r"(public|protected|private)\s*:(?!:)\s*", statement):
            access, statement = label[1], statement[label.end():]
        declared = statement.partition("=")[0].partition("{")[0]
        if not declared.strip() or statement.startswith(",") or NO_MEMBER.match(statement):
            continue  # a comma: of the list before a constructor's body
        if "@" in declared:
            methods += access == "private"
        else:
            members += 1 + statement.count(",")
    return methods, members


def crowded_classes(tree, _):
    for source in sorted(tree.sources):
        if not source.startswith(CONCURRENT):
            continue
        text = code_of((tree.root / source).read_text(encoding="utf-8"))
        for found in CLASS.finditer(text):
            methods, members = counts(found[1], without_groups(text[found.end():]))
            for count, what in ((methods, "private methods"), (members, "data members")):
                if count > MOST:
                    yield f"{source}: {found[2]} has {count} {what}, and no class more than {MOST}: take it apart"


CHECKS = (unknown_rooms, unlinked_includes, vendors_headers, unreasoned_circles, missing_names,
          stale_names, unbounded_parsers, compared_spellings, crowded_classes)


def check(root):
    tree, page = Tree(root), Page((root / PAGE).read_text(encoding="utf-8"))
    return [finding for each in CHECKS for finding in each(tree, page)]


# ---- what the tree does, for whoever edits the page ----


def print_circles(tree):
    found = tree.circles()
    for group in sorted(found, key=sorted):
        print(" ".join(sorted(group)))
        for include in way_round(found[group]):
            print(f"    {include}")
    of_rooms = sum(group <= tree.rooms for group in found)
    print(f"{len(found) - of_rooms} circles of units, {of_rooms} of rooms")


def main(arguments):
    verb = arguments.pop(0) if arguments and arguments[0] in ("check", "circles") else "check"
    root = Path(arguments[0]).resolve() if arguments else ROOT
    if verb == "circles":
        print_circles(Tree(root))
    else:
        findings = check(root)
        print(*findings, sep="\n", end="\n" if findings else "")
        sys.exit(bool(findings))


if __name__ == "__main__":
    main(sys.argv[1:])
