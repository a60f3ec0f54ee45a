#!/usr/bin/env python3
"""The man page and bash's completion say what --help says: every command, every option, and nothing that roff or bash
complains about."""

import os
import re
import shutil
import subprocess
import sys

from harness import BIN, ROOT, Sandbox, check, write_config

PAGE, COMPLETION = BIN.parent / "manual/proctor.1", ROOT / "harness/cli/completion/proctor.bash"


def output_of(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **options)
    check(done.returncode == 0 and not done.stderr, *command, done.returncode, done.stderr)
    return done.stdout


def help_of(*words, flag="--help", columns="100", **options):
    return output_of(BIN / "proctor", *words, flag, env={**os.environ, "COLUMNS": columns}, **options)


def commands(*words):
    """{("proctor", "devices", "drain"): its long options}, as --help tells."""
    text = help_of(*words)
    found = {words: set(re.findall(r"^  (?:-\w, |    )(--[\w-]+)", text, re.MULTILINE)) - {"--help"}}
    below = text.partition("\nCommands:\n")[2].partition("\n\n")[0]
    for name in re.findall(r"^  (\w[\w-]*)", below, re.MULTILINE):
        found.update(commands(*words, name))
    return found


# --help lists those that people need. These work, and have their own help.
HIDDEN = (("selftest",), ("dump",), ("ctest",), ("slurm", "accept"))
MOST_COMMANDS, MOST_LEAVES = 18, 32


def all_commands():
    """commands(), and the hidden ones."""
    return {command: options for words in ((), *HIDDEN) for command, options in commands(*words).items()}


def numbers(told):
    """A head can hold the commands."""
    first = [command for command in told if len(command) == 1]
    leaves = [command for command in told if not any(other[:-1] == command for other in told)]
    check(len(first) <= MOST_COMMANDS, len(first), "commands:", first)
    check(len(leaves) <= MOST_LEAVES, len(leaves), "leaves:", leaves)
    check(not set(HIDDEN) & set(told), "are not hidden:", set(HIDDEN) & set(told))
    print(f"ok {len(first)} commands and {len(leaves)} leaves are shown")


def sections(page):
    """The same of the page."""
    found = {}
    for part in page.replace("\\-", "-").split("\n.SS \\fB")[1:]:
        name, _, body = part.partition("\\fR")
        body = body.partition("\n.SH")[0]
        found[tuple(name.split()[1:])] = set(re.findall(r"\n\.TP\n(?:\\fB-\w\\fR, )?\\fB(--[\w-]+)", body))
    return found


def page(told):
    text = PAGE.read_text()
    written = sections(text)
    for command, options in told.items():
        if command:
            check(written.get(command) == options, command, "is in the page with", written.get(command), "not", options)
    check(set(written) == set(told) - {()}, set(written) ^ set(told))
    check(text == output_of(BIN / "proctor", "manual", "page"), "the page is of another build")
    for tool in (["groff", "-man", "-ww", "-z", "-Tutf8"], ["mandoc", "-Tlint"]):
        if shutil.which(tool[0]):
            done = subprocess.run([*tool, PAGE], capture_output=True, text=True, timeout=60)
            # Generated lines may be long; and there is no date, so that the same sources make the same bytes.
            wrong = [line for line in (done.stdout + done.stderr).splitlines()
                     if "missing date" not in line and "STYLE: input text line longer" not in line]
            check(not wrong, *tool, *wrong)
    print(f"ok the man page has {len(written)} commands and their options")


# Words that have a better one, where they cannot mean anything else.
FORBIDDEN = re.compile(r"\b(candidate|accelerator|stray|set-up|good|well|sick\b(?! \()|somebody|nobody|everybody|who|our|ours|we"
                       r"|mend|mends|look at|lies|stands|told|e\.g\.)\b", re.IGNORECASE)
MOST_CHARACTERS = 280


def entries(*words):
    """[(heading, what stands on the left, description)] of --help, with each description on one line."""
    heading, found, pending = "", [], None
    for line in help_of(*words, columns="1000").splitlines():
        if re.fullmatch(r"\S.*:", line):
            heading = line[:-1]
        elif pending and line.startswith(" " * 30):
            found.append((heading, pending, line.strip()))
            pending = None
        elif heading not in ("", "Examples") and (entry := re.match(r"  (\S.*?|    -.*?)(?:  +(\S.*))?$", line)):
            head = entry[1].strip()
            if entry[2] is None:
                pending = head
            else:
                found.append((heading, head, entry[2]))
    return found


def words_of_help(told):
    """Each option, argument and command is described as STYLE asks: what stands here are the rules."""
    count = 0
    for command in told:
        described = entries(*command)
        check({head for _, head, _ in described if "--help" in head}, command, "has no entries:", described)
        for heading, head, text in described:
            place = (*command, heading, head)
            count += 1
            check(len(text) <= MOST_CHARACTERS, place, "is longer than", MOST_CHARACTERS, "characters:", len(text))
            check(not text.endswith("."), place, "ends with a full stop:", text)
            check(heading == "Exit codes" or text[0].isupper() or text[0] == "[", place, "begins in lower case:", text)
            check(not (bad := FORBIDDEN.search(text)), place, "has the word", bad and bad[0], text)
            if heading not in ("Commands", "Exit codes", "Arguments"):
                check(head.startswith("-"), place, "is no option")
            check(not re.search(r"\b(TEXT|INT|UINT|FLOAT)\b", head) or head == "--reason TEXT", place, "has no placeholder")
    print(f"ok {count} entries of help are described by the rules")


def sizes(told):
    """-h is short, and both are readable at any width."""
    for command in told:
        short = help_of(*command, flag="-h")
        check(len(short.splitlines()) <= 40, *command, "-h has", len(short.splitlines()), "lines")
        for columns, width in (("60", 60), ("80", 80), ("100", 100), ("40", 60), ("abc", 100), ("", 100), ("0", 100), ("-5", 100)):
            for flag in ("-h", "--help"):
                text = help_of(*command, flag=flag, columns=columns)
                for line in text.splitlines():
                    # An example is one line, and a word that is longer than a line is not broken.
                    check(len(line) <= width or re.match(r"  (#|proctor )", line) or len(line.split()) == 1, *command, flag,
                          f"COLUMNS={columns}", len(line), line)
                check("Excludes" not in text and "Needs" not in text and "\x1b" not in text, *command, text)
    bare = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    piped = output_of(BIN / "proctor", "run", "--help", env=bare)
    check(piped == help_of("run") == output_of(BIN / "proctor", "run", "--help", env={**bare, "NO_COLOR": "1"}), "into a pipe")
    for command in ("run", "exec", "gate", "report", "rerun", "devices", "doctor", "history", "finish", "plan"):
        text = help_of(command)
        check(text.count("\n  # ") >= 2 and text.index("\nExamples:") < text.index("\nHelp:"), command, "has no two examples", text)
    print("ok -h has at most 40 lines, and help is wrapped at any width")


def completed(*words, cwd=None):
    """What bash offers at the end of a line with these words, the last of which is being typed."""
    script = 'source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; _proctor; printf "%s\\n" "${COMPREPLY[@]}"'
    return set(output_of("bash", "-euc", script, "bash", COMPLETION, " ".join(map(str, words)), cwd=cwd).splitlines()) - {""}


def completion(told):
    offered = lambda *words: completed(BIN / "proctor", *words)
    for command, options in told.items():
        below = {other[-1] for other in told if other[:-1] == command and other}
        check(below <= offered(*command, ""), command, offered(*command, ""))
        check(options <= offered(*command, "--"), command, offered(*command, "--"))
    check(offered("run", "--hierarchy", "") == {"composite", "flat", "combined"}, "values")
    check(offered("run", "--hierarchy=") == {"composite", "flat", "combined"}, "bash replaces only what follows =")
    check(offered("run", "memory", "--hier") == {"--hierarchy"}, "an option after a suite")
    check(offered("run", "--out", "") == set(), "a file")
    check(offered("exec", "--", "pytest", "--") == set(), "a command of yours")
    print(f"ok bash completes {sum(map(len, told.values()))} options")


def words_of_the_machine():
    """Suites of the configuration, cases and devices of the last run or of the one that is named, runs, and rules."""
    proctor = BIN / "proctor"
    with Sandbox() as sandbox:
        offered = lambda *words: completed(proctor, *words, cwd=sandbox.path)
        check(offered("run", "--case", "") == set() == offered("rerun", "proctor-"), "there is no run yet")
        check("memory" in offered("run", "me"), "the built-in suites:", offered("run", ""))
        check({"cgroup", "pidns"} < offered("run", "--containment", ""), "layers of containment")
        write_config(sandbox.path / "proctor.toml", {name: {"kind": "command", "backend": "xpu", "command": ["./a b;$(touch x).sh"]}
                                                     for name in ("attention", "moe")})
        script = sandbox.path / "a b;$(touch x).sh"
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        check(offered("run", "att") == {"attention"} and "memory" not in offered("run", ""), "suites:", offered("run", "a"))
        done = sandbox.proctor("run", "--sim", "xpu:1x1", "attention")
        check(done.returncode == 0, done.stdout, done.stderr)
        ids = offered("run", "--case", "att")
        check(len(ids) == 1 and "\\$\\(touch" in next(iter(ids)), "an id that must not be a command:", ids)
        check(ids == offered("log", "att") == offered("explain", "att") == {f"{word}" for word in offered("run", "--case=att")}, ids)
        check(not (sandbox.path / "x").exists(), "an id was executed")
        check(offered("run", "--devices", "xpu-") == {"xpu-sim:0"} == offered("devices", "drain", "xpu"), "devices:", offered("run", "--devices", "xpu-"))
        check(offered("run", "--devices", "xpu-sim:") == {"0"}, "bash replaces only what follows the colon")
        runs = offered("rerun", "proctor-out/")
        check(len(runs) == 2 and "proctor-out/latest" in runs, runs)
        check("79" in offered("explain", "xid:7") and "xid:79" in offered("explain", "xi"), offered("explain", "xi"))
        first = (runs - {"proctor-out/latest"}).pop()
        check(sandbox.proctor("run", "--sim", "xpu:1x1", "moe").returncode == 0, "moe")
        check({id.partition("/")[0] for id in offered("rerun", first, "--case", "")} == {"attention"}, "of the run that is named")
        check({id.partition("/")[0] for id in offered("run", "--case", "")} == {"moe"}, "of the latest")
    print("ok bash completes what this machine has")


def main():
    told = commands()
    numbers(told)
    words_of_help(all_commands())
    sizes(all_commands())
    page(told)
    completion(told)
    words_of_the_machine()


if __name__ == "__main__":
    sys.exit(main())
