#!/usr/bin/env python3
"""What a guide shows is what happens: its commands run, in order, and their output is what they print.

A guide is a page with a fence ```console. Of the pages that are given, only the guides are read.

A fence ```console holds commands, each after "$ ", and lines of their output. Those lines must come in that order; "..."
stands for anything in a line, and alone for any lines; how many spaces does not matter. "# exits 1" after a command says so; otherwise it is 0. A fence
with a name after its language, ```toml proctor.toml, is a file that the commands find; where the tree has one of that name, they are the
same. What cannot run just anywhere
stands in a fence ```sh below a comment <!-- not run: REASON -->. Indented blocks would escape all this and are refused.

    guide.py PAGE.md...
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from harness import BIN, CUDA_SIMULATOR, ROOT, Sandbox, check


class Fence:
    def __init__(self, place, language, name, lines, reason):
        self.place, self.language, self.name, self.lines, self.reason = place, language, name, lines, reason


def fences(guide):
    found, fence, reason = [], None, None
    for number, line in enumerate(guide.read_text().splitlines(), 1):
        place = f"{guide.name}:{number}"
        opening = re.fullmatch(r"```(\w*) ?(\S*)", line)
        if fence is not None and line == "```":
            found.append(fence)
            fence = reason = None
        elif fence is not None:
            fence.lines.append(line)
        elif opening:
            check(opening[1], place, "a fence without a language")
            fence = Fence(place, opening[1], opening[2], [], reason)
        else:
            check(not line.startswith("    "), place, "an indented block: use a fence")
            comment = re.fullmatch(r"<!-- not run: (.+) -->", line)
            reason = comment[1] if comment else reason if not line else None
    check(fence is None, guide.name, "the last fence has no end")
    return found


class Command:
    def __init__(self, place, text):
        exits = re.search(r"\s+# exits (\d+)$", text)
        self.place, self.code, self.expected = place, int(exits[1]) if exits else 0, []
        self.text = text[:exits.start()] if exits else text


def commands(fence):
    found = []
    for line in fence.lines:
        if found and found[-1].text.endswith("\\"):
            found[-1] = Command(fence.place, found[-1].text + "\n" + line)
        elif line.startswith("$ "):
            found.append(Command(fence.place, line[2:]))
        else:
            check(found, fence.place, "output before the first command")
            found[-1].expected.append(line)
    return found


def missing_line(expected, output):
    """The first expected line that does not come, or None. Without "..." above it, it is the very next one."""
    rest, anywhere = output, True
    for line in expected:
        if line.strip() == "...":
            anywhere = True
            continue
        pattern = ".*".join(re.escape(part) for part in " ".join(line.split()).split("..."))
        places = [i for i, text in enumerate(rest) if re.fullmatch(pattern, " ".join(text.split()))]
        if not places or (not anywhere and places[0] != 0):
            return line
        rest, anywhere = rest[places[0] + 1:], False
    return None


def execute(command, directory, env):
    done = subprocess.run(["bash", "-c", command.text], cwd=directory, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300)
    check(done.returncode == command.code, command.place, f"`{command.text}` exits {done.returncode}, the guide says",
          command.code, "\n" + done.stdout)
    missing = missing_line(command.expected, done.stdout.splitlines())
    check(missing is None, command.place, f"`{command.text}` does not print\n  {missing}\nbut\n" + done.stdout)


def is_guide(page):
    return "\n```console\n" in page.read_text()


def needs_cuda(guide):
    """Its simulator is built where its toolkit is."""
    return any("cuda" in command.text for fence in fences(guide) if fence.language == "console" for command in commands(fence))


def follow(guide, sandbox):
    """Like a reader who starts in an empty directory."""
    directory = sandbox.path / guide.stem
    directory.mkdir()
    env = {**sandbox.env, "PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1"}
    count = 0
    for fence in fences(guide):
        if fence.name:
            text, example = "\n".join(fence.lines) + "\n", ROOT / fence.name
            check(not example.exists() or example.read_text() == text, fence.place, f"{fence.name} is another one in the tree")
            (directory / fence.name).parent.mkdir(parents=True, exist_ok=True)
            (directory / fence.name).write_text(text)
        elif fence.language == "console":
            for command in commands(fence):
                execute(command, directory, env)
                count += 1
        else:
            check(fence.reason, fence.place, "this does nothing: say why in <!-- not run: REASON --> above it")
    check(count, guide.name, "has no command")
    print(f"{guide.name}: {count} commands do what it says")


def main():
    with Sandbox() as sandbox:
        for page in filter(is_guide, map(Path, sys.argv[1:])):
            if needs_cuda(page) and not CUDA_SIMULATOR.exists():
                print(f"{page}: not followed, library_missing:{CUDA_SIMULATOR}")
            else:
                follow(page, sandbox)


if __name__ == "__main__":
    main()
