#!/usr/bin/env python3
"""Every command of ours in the README and in docs/ runs as it stands there, or the page says why not.

Commands are what a page shows in fences ```sh and in indented blocks, one a line; "# ..." and what stands behind two
blanks is explanation. `[...]` may be left out: the command runs without and with it, and once for each of `a|b`.
Fences without a language are output, and say by a mark what prints it. Fences of another language are no commands;
with a name behind the language, ```toml my.toml, they are files that the commands find. A file of that name in the tree
has the same content.

A fence ```console holds commands, each after "$ ", and the lines that they print, in that order. "..." stands for
anything in a line, and alone for any lines; the number of spaces does not matter. "# exits 1" after a command is its exit
code. A page with such a fence begins in an empty directory, and without --sim.

The programs and directories of all other pages are in World, and their devices are simulated, whatever the machine has.
Comments above a block, which no reader sees, say more of it:

    <!-- not run: REASON -->          its commands are not run
    <!-- not run, PATTERN: REASON --> those that fit the regular expression are not
    <!-- exits N -->, <!-- exits N, PATTERN -->   they end so, and not with 0
    <!-- runs: COMMAND -->            in their place: what proves a block that is no command
    <!-- shows: COMMAND -->           it is what this prints, with "..." as in a console
    <!-- no commands: WHAT -->        it holds something else

    walk.py names PAGE...             each option and subcommand that a page names exists; each block runs or has a reason
    walk.py run K/N PAGE...           runs the commands of every N-th page
"""

import glob
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from harness import BIN, CUDA_SIMULATOR, ROOT, Sandbox, check, frameworks, skip
from manual import all_commands as told_commands

SIM = "xpu:2x2,cuda:4"
INTEL_DRIVER = "libze_intel_gpu.so.1"

# Options in the pages that are not Proctor's, by whose they are. Those of test frameworks are in the sources of their kinds.
OTHERS = {
    "test frameworks": {option for source in (ROOT / "harness/frameworks").glob("*.cc")
                        for option in re.findall(r'"(--[a-z][\w-]*)', source.read_text())},
    "GoogleTest": {"--gtest_repeat"}, "Google Benchmark": {"--benchmark_repetitions"},
    "pytest": {"--capture", "--deselect", "--ff", "--ignore", "--junitxml", "--lf", "--maxfail", "--nf", "--pdb", "--pyargs",
               "--sw", "--trace"},
    "plugins of pytest": {"--benchmark-json", "--cov", "--cov-fail-under", "--cov-report", "--csv", "--dist", "--excelreport", "--forked",
                          "--html", "--json-report", "--md-report", "--report-log", "--reruns", "--tap-"},
    "gtest-parallel": {"--workers", "--retry_failed", "--shard_count", "--shard_index"},
    "CTest": {"--repeat", "--rerun-failed", "--stop-on-failure", "--stop-time", "--output-on-failure"},
    "our suites": {"--proctor-list", "--proctor-case"},
    "Slurm": {"--array", "--chdir", "--export", "--gres", "--gpus-per-node", "--job-name", "--no-requeue", "--nodes", "--output", "--signal", "--time", "--wait"},
    "pyxis": {"--container-image", "--container-mounts", "--container-workdir"},
    "docker": {"--build-arg", "--cap-add", "--cap-drop", "--device", "--env", "--env-file", "--gpus", "--ipc", "--mount", "--network",
               "--pid", "--privileged", "--runtime", "--security-opt", "--tmpfs", "--user", "--volume"}, "podman": {"--input"},
    "pip and uv": {"--find-links", "--force-reinstall", "--no-deps", "--no-index", "--require-hashes", "--user", "--with"}, "nvcc": {"--default-stream"},
    "apt": {"--allow-unauthenticated"},
}


class Block:
    """A fence or an indented block: where it begins, its language ("" if none, "sh" if indented), and its marks."""

    def __init__(self, place, language, name, marks):
        self.place, self.language, self.name, self.marks, self.lines = place, language, name, marks, []

    def says(self, kind, text=""):
        """What a mark says of a command that contains its words: the reason, or the number."""
        for mark, words, value in self.marks:
            if mark == kind and re.search(words, text):
                return value
        return None

    def those(self, kind):
        return [value for mark, _, value in self.marks if mark == kind]


def mark_of(line, place):
    comment = re.fullmatch(r"\s*<!-- (.+) -->", line)
    if not comment:
        return None
    found = re.fullmatch(r"(not run|no commands)(?:, ([^:]+))?: (.+)|exits (\d+)(?:, (.+))?|(runs|shows): (.+)", comment[1])
    check(found or not re.match("not? |exits|runs|shows", comment[1]), place, "a mark that the walk does not know:", line)
    if not found:
        return None
    if found[1]:
        return found[1], found[2] or "", found[3]
    return ("exits", found[5] or "", int(found[4])) if found[4] else (found[6], "", found[7])


def blocks(page):
    """Those of a page, in order. A fence may be indented, as in a list; an indented block follows an empty line and is
    four deeper than the list's text."""
    found, block, marks, fence, margin, above = [], None, [], None, 0, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        place, indent = f"{page.name}:{number}", len(line) - len(line.lstrip())
        opening = re.fullmatch(r"\s*```(\w*) ?(\S*)", line)
        if fence is not None and line.strip() == "```":
            block = fence = None
        elif fence is not None:
            block.lines.append(line[fence:])
        elif opening:
            block = Block(place, opening[1], opening[2], marks)
            found.append(block)
            fence, marks = indent, []
        elif block is not None and (indent >= margin + 4 or not line.strip()):
            block.lines.append(line)
        elif line.strip() and indent >= margin + 4 and not above.strip():
            block = Block(place, "sh", "", marks)
            found.append(block)
            marks = []
            block.lines.append(line)
        else:
            block = None
            item = re.match(r"\s*(?:[*-]|\d+\.) +", line)
            margin = len(item[0]) if item else margin if indent or not line.strip() else 0
            mark = mark_of(line, place)
            check(mark or not marks or not line.strip(), place, "a mark that stands above no block")
            marks += [mark] if mark else []
        above = "" if mark_of(line, place) else line
    check(not marks, page.name, "a mark that stands above no block")
    return found


def command_lines(block):
    """The commands as they stand there, without what explains them."""
    if block.says("no commands"):
        return []
    lines = [line for line in block.lines if line.strip()]
    if any(line.lstrip().startswith("$ ") for line in lines):  # a session: what is not behind "$ " is output
        return [line.lstrip()[2:] for line in lines if line.lstrip().startswith("$ ")]
    found, begin = [], len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    steps = any(line.lstrip().startswith("- ") for line in lines)  # of a workflow
    for line in lines:
        if found and found[-1].endswith("\\"):
            found[-1] = found[-1][:-1] + line.strip()
        elif steps and not re.search(r"\brun: [^|]", line) and re.match(r"\s*(- )?[\w-]+:", line):
            pass  # a step's key
        elif len(line) - len(line.lstrip()) < begin + 8 and not line.lstrip().startswith("#"):
            found.append(re.split(r"\s+# |\s{2,}|\s+\(\[", re.sub(r"^(- )?run: ", "", line.strip()))[0])
    return found


# ---- a command, and what it prints ----


class Command:
    def __init__(self, place, text, code=0, expected=()):
        exits = re.search(r"\s+# exits (\d+)$", text)
        self.place, self.code, self.expected = place, int(exits[1]) if exits else code, list(expected)
        self.text = text[:exits.start()] if exits else text


def session(block):
    """The commands of a fence ```console."""
    found = []
    for line in block.lines:
        if found and found[-1].text.endswith("\\"):
            found[-1] = Command(block.place, found[-1].text + "\n" + line)
        elif line.startswith("$ "):
            found.append(Command(block.place, line[2:]))
        else:
            check(found, block.place, "output before the first command")
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


def execute(command, world):
    done = subprocess.run(["bash", "-c", command.text], cwd=world.path, env=world.env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300)
    check(done.returncode == command.code, command.place, f"`{command.text}` exits {done.returncode}, not {command.code}\n" + done.stdout)
    missing = missing_line(command.expected, done.stdout.splitlines())
    check(missing is None, command.place, f"`{command.text}` does not print\n  {missing}\nbut\n" + done.stdout)


def variants(text):
    """proctor x [--a] [--b c|d]: without, and with each."""
    text = re.sub(r"(\w)(?:\.\.\.|…)", r"\1", text)
    plain = re.sub(r"\s*\[[^\]]*\]", "", text)
    full = re.sub(r"\[([^\]]*)\]", r"\1", text)
    found = [plain]
    if full != plain or "|" in full:
        choices = re.search(r"\S+?(?:\|[^\s|]+)+", full)
        for choice in choices[0].split("|") if choices else [None]:
            found.append(full.replace(choices[0], choice) if choices else full)
    return list(dict.fromkeys(variant for variant in found if "|" not in variant))


def is_synopsis(text):
    return bool(re.search(r"(?<=\s)\[[^\]\"]*\]|\w…|\w\.\.\.|\w\|\w", re.sub(r"'[^']*'|\"[^\"]*\"", "", text)))


# ---- names: what a page says is there ----


def proctor_words(text):
    """The words of ours behind `proctor`, or None: the command behind -- is another program's."""
    found = re.match(r"(?:\w+=\S+ )*(?:exec )?(?:\S*/)?proctor(?: (.*))?$", text)
    return re.split(r"(?:^| )-- ", " " + (found[1] or "") + " ")[0].split() if found else None


# Commands that take nothing but a subcommand.
WITHOUT_ARGUMENTS = (("stack",), ("report",), ("history",), ("devices",), ("slurm",), ("gate", "known-failures"))


def check_names(text, told, place):
    words = proctor_words(text)
    if words is None:
        return
    command = ()
    for word in words:
        if command + (word,) not in told:
            break
        command += (word,)
    below = [other for other in told if other[:-1] == command and other]
    following = words[len(command):]
    check(command or not following or following[0].startswith("-") or not re.fullmatch(r"[a-z]+", following[0]), place,
          f"`{text}`: no such subcommand")
    if below and following and re.fullmatch(r"[a-z][a-z-]*", following[0]) and command in WITHOUT_ARGUMENTS:
        check(False, place, f"`{text}`: {' '.join(command)} has no {following[0]}")
    known = told.get(command, set()) | ({"--help", "--version"} if not command else {"--help"})
    known |= OTHERS["Slurm"] if command == ("slurm", "run") else set()
    for option in re.findall(r"(?<![\w=-])--[a-z][\w-]*", " ".join(following)):
        check(option in known, place, f"`{text}`: no option {option}")


def check_inline(page, told, dev):
    everything = set().union(*told.values(), *OTHERS.values()) | {"--help", "--version"}
    fenced = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        for code in [] if fenced else re.findall(r"`([^`]+)`", line):
            place = f"{page.name}:{number}"
            if code.startswith("proctor "):
                check_names(code, told, place)
            elif code.startswith("./dev "):
                check(code.split()[1] in dev, place, f"`{code}`: ./dev has no such command")
            elif re.match(r"--\w", code):
                option = re.match(r"--[\w-]+", code)
                check(option and option[0] in everything, place, f"`{code}`: nobody has this option")


def dev_commands():
    """{command: what `./dev help` tells of it}"""
    text = (ROOT / "dev").read_text().partition("USAGE'\n")[2].partition("\nUSAGE")[0]
    return {name: text for name in re.findall(r"^\./dev (\w+)", text, re.MULTILINE)}


def test_names():
    """The tests of CTest that are scripts, which a reason may name."""
    text = (ROOT / "harness/e2e/CMakeLists.txt").read_text()
    return set(re.findall(r"proctor_(?:e2e|attack)\((\w[\w${}]*) \w+\.py", text))


def check_reason(reason, place, tests):
    for name in re.findall(r"\btests? `?(\w+)`?", reason):
        known = any(re.fullmatch(re.sub(r"\$\{\w+\}", r"\\w+", test), name) for test in tests)
        check(known, place, f"`{reason}`: there is no test {name}")


def names(pages):
    told, dev, tests = told_commands(), dev_commands(), test_names()
    run, not_run = 0, []
    for page in pages:
        check_inline(page, told, dev)
        for block in blocks(page):
            if block.language == "console":
                run += len(session(block))
                continue
            lines = command_lines(block)
            check(block.language or block.marks, block.place, "what prints this? `shows: COMMAND`, or `no commands: WHAT` it is")
            if block.language != "sh":
                hidden = [line for line in lines if proctor_words(line) and (proctor_words(line)[0],) in told]
                check(block.language not in ("bash", "shell") and not hidden, block.place,
                      "commands belong into a fence ```sh", hidden)
                continue
            for line in [] if block.name or block.those("runs") else lines:
                check_names(line, told, block.place)
                reason = block.says("not run", line)
                run += reason is None
                if reason:
                    check_reason(reason, block.place, tests)
                    not_run.append((block.place, line, reason))
    print(f"{run} commands run; not run are {len(not_run)}:")
    for place, line, reason in not_run:
        print(f"  {place:28} {line}\n  {'':28}   {reason}")


# ---- running them ----


class World:
    """What the pages take for granted: a project with tests of each kind, a script, a configuration, and, where a page
    speaks of RUN_DIR, a run that failed."""

    PROGRAMS = {**{f"build/my_{kind}": f"plan_sample_{kind}" for kind in frameworks()}, "build/my_test": "plan_sample_gtest",
                "build/attention_test": "plan_sample_gtest", "build/kernel_tests": "plan_sample_gtest",
                "gpu_tests": "plan_sample_gtest", "my_cuda_program": "proctor_cudart_sample"}
    OF_PAGE = {**{f"{kind}.md": {"build/my_tests": f"plan_sample_{kind}"} for kind in frameworks()},
               "gtest.md": {"build/my_test": "plan_listener_gtest"}}
    FAILING = "memory.xpu/Copy.HostToDeviceIsByteExact"

    def __init__(self, sandbox, page, is_empty):
        self.page, self.path = page, sandbox.path / "pages" / page.stem
        self.path.mkdir(parents=True)
        self.env = {**sandbox.env, "PATH": f"{BIN}:{self.path}/bin:{os.environ['PATH']}", "NO_COLOR": "1"}
        self.programs = {}
        if not is_empty:
            self.furnish()

    def furnish(self):
        # Some of the samples hang, on purpose.
        self.write("../../config/proctor/proctor.toml", '[defaults]\ntimeout = "3s"\ngrace = "100ms"\n')
        self.write("proctor.toml", '[suite.train]\ncommand = ["./train.sh"]\n')
        for name in ("train_step.py", "DIR/id"):
            self.write(name, "")
        shutil.copytree(ROOT / "docker", self.path / "docker")
        shutil.copy(ROOT / "docker/cpu-sim/Dockerfile", self.path)
        self.programs = {**self.PROGRAMS, **self.OF_PAGE.get(self.page.name, {})}
        for name, program in self.programs.items():
            (self.path / name).parent.mkdir(exist_ok=True)
            (self.path / name).symlink_to(BIN / program)
        (self.path / "build/bin").symlink_to(BIN)
        self.write("tests/gpu/test_gpu.py", "def test_adds():\n    assert 1 + 1 == 2\n")
        for name in ("train.sh", "it.sh", "serve_and_query.sh", "your-program", "my_level_zero_program", "bin/torchrun"):
            self.write(name, "#!/bin/sh\necho working\n").chmod(0o755)

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def misses(self, line):
        """A program in it that is not here, or was not built because its framework or toolkit is not here; else None."""
        if re.search(r"\bpytest\b", line) and not any(shutil.which(name) for name in ("pytest", "pytest-3")):
            return "pytest"
        if ",driver=intel" in line and not glob.glob(f"/usr/lib/*/{INTEL_DRIVER}"):
            return INTEL_DRIVER
        return next((name for name in self.programs if name in line and not (self.path / name).exists()), None)

    def make_run(self):
        """RUN_DIR, and the latest run."""
        for out in ([], ["--out", "RUN_DIR"]):
            execute(Command(self.page.name, f"PROCTOR_SIM_FAULTS=copy.short:min=65537 proctor run memory --sim xpu:1x1 "
                                            f"--case {self.FAILING} {' '.join(out)}", 1), self)


def simulated(text, told):
    """With --sim, where the command takes it and does not say it."""
    words = proctor_words(text)
    if words is None:
        return text
    command = ()
    while len(command) < len(words) and command + (words[len(command)],) in told:
        command += (words[len(command)],)
    if "--sim" not in told.get(command, ()) or {"--sim", "--plan", "--root"} & set(words):
        return text
    return re.sub(r"(proctor " + " ".join(command) + r")\b", rf"\1 --sim {SIM}", text, count=1)


def write_file(block, world):
    text, ours = "\n".join(block.lines) + "\n", ROOT / block.name
    check(not ours.exists() or ours.read_text() == text, block.place, f"{block.name} is another one in the tree")
    world.write(block.name, text).chmod(0o755)


def commands_of(block, told):
    """What is run of a block: its own commands, or those of its marks; and each line that is shown in a page."""
    for line in block.those("shows"):
        yield line, [Command(block.place, line, 0, block.lines)]
    if block.language == "console":
        for command in session(block):
            yield command.text, [command]
        return
    instead = block.those("runs")
    for line in instead or (command_lines(block) if block.language == "sh" and not block.name else []):
        if instead or not block.says("not run", line):
            code = block.says("exits", line) or 0
            yield line, [Command(block.place, simulated(re.sub(r"\bCASE\b", World.FAILING, variant), told), code)
                         for variant in (variants(line) if is_synopsis(line) else [line])]


def walk(page, told, sandbox):
    count, has_run, found = 0, False, blocks(page)
    is_session = any(block.language == "console" for block in found)
    world = World(sandbox, page, is_session)
    for block in found:
        if block.name:
            write_file(block, world)
        for line, commands in commands_of(block, told):
            if world.misses(line):
                print(f"{block.place}: not run, {world.misses(line)} was not built or is not here: {line}")
                continue
            if not is_session and re.search(r"\bRUN_DIR\b|proctor-out|\bCASE\b", line) and not has_run:
                world.make_run()
                has_run = True
            for command in commands:
                execute(command, world)
                count += 1
    if count:
        print(f"{page.name}: {count} commands run", flush=True)


def needs_cuda(found):
    sessions = [command.text for block in found if block.language == "console" for command in session(block)]
    return any("cuda" in text for text in sessions) if sessions else True


def run(part, pages):
    index, of = (int(number) for number in part.split("/"))
    told, without_cuda = told_commands(), []
    for page in pages[index - 1::of]:
        if CUDA_SIMULATOR.exists() or not needs_cuda(blocks(page)):
            with Sandbox() as sandbox:
                walk(page, told, sandbox)
        else:
            without_cuda.append(page.name)
    if without_cuda:
        skip(f"library_missing:{CUDA_SIMULATOR}: not run: {' '.join(without_cuda)}")


def main():
    if sys.argv[1] == "names":
        names([Path(name) for name in sys.argv[2:]])
    else:
        run(sys.argv[2], [Path(name) for name in sys.argv[3:]])


if __name__ == "__main__":
    main()
