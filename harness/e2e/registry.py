#!/usr/bin/env python3
"""`./dev test --full registry`: "Where to add" of docs/internals/architecture.md, done. In a copy of the tree, an option of
`run`, which is a key too, and a fact of the journal are added by exactly those steps, and the files that they take are counted. The program that
is built there has both. A row that is forgotten does not compile, or fails a test.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass

import harness
from harness import ROOT, Sandbox, check, report

TREE = ROOT / "build-registry" / "tree"
BUILD = TREE / "build-batched"


@dataclass
class Edit:
    """`text` is put behind what matches `after`, which is there once."""
    file: str
    after: str
    text: str


OPTION_ROW = '''      {.name = "--toy",
       .value = FlagValue{PROCTOR_AT(verdicts.toy)},
       .help = "Report a toy",
       .in = kForRun,
       .heading = kVerdicts,
       .effect = GateEffect::kNone,
       .key = "toy"},
'''
KEY_COMMENT = "# With `true`, a toy is reported. Default: `false`.\n#: toy = true\n"
FACT_ROW = '    {WarningCode::kToy, "toy"},\n'
TOYS = {
    "an option": [
        Edit("harness/request/run_request.h", r"^struct VerdictRequest \{\n", "  std::optional<bool> toy{};\n"),
        Edit("harness/request/options.cc", r"^Rows report_rows\(\) \{\n  return \{\n", OPTION_ROW),
        Edit("harness/plan/defaults.toml", r"^\[run\]\n", KEY_COMMENT),
        Edit("harness/runner/plan_step.cc", r"^  const auto known = known_failure_warnings\(.*\n",
             "  if (planned.request.verdicts.toy.value_or(false))\n"
             '    planned.warnings.push_back({WarningCode::kToy, "a toy"});\n'),
        Edit("harness/e2e/rerun_options.py", r"^ROWS = \{\n", '    "--toy": ["--toy"],\n')],
    "a fact": [
        Edit("harness/journal/event_words.h", r"^  kTelemetryTool,\n", "  kToy,\n"),
        Edit("harness/journal/event_words.cc", r"^    \{WarningCode::kTelemetryTool, .*\n", FACT_ROW),
        Edit("harness/journal/event_words.cc", r"^constexpr std::array kMachineWarnings = \{\n", "    WarningCode::kToy,\n")],
}
MOST_FILES = {"an option": 5, "a fact": 2}
# A row that is forgotten: its file, the program that is built then, its tests, and the words of the error.
FORGOTTEN = [("harness/plan/defaults.toml", KEY_COMMENT, "proctor_plan_test", "toy"),
             ("harness/journal/event_words.cc", FACT_ROW, "proctor_journal_test", "is_whole(kWarnings")]


def add(edit):
    path = TREE / edit.file
    text = path.read_text()
    found = list(re.finditer(edit.after, text, re.MULTILINE))
    check(len(found) == 1, f"{edit.file}: {len(found)} places match {edit.after}")
    path.write_text(text[:found[0].end()] + edit.text + text[found[0].end():])


def copy_tree():
    """The files that git knows, as they are in the working tree."""
    shutil.rmtree(TREE, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)


def run(*command):
    return subprocess.run([str(word) for word in command], cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def build(*targets):
    return run("cmake", "--build", BUILD, "--target", *targets)


def program_has_both(sandbox):
    done = sandbox.proctor("run", "--toy", "--out", sandbox.out(), "--", "true")
    warnings = report(sandbox.last_out())["warnings"]
    check({"code": "toy", "text": "a toy"} in warnings, warnings)
    check(done.returncode == 75, "the fact does not fail the machine:", done.returncode, done.stderr)
    check("--toy" in sandbox.proctor("run", "--help").stdout, "the help has no --toy")
    check("`--toy`" in sandbox.proctor("run", "--toi").stderr, "the near miss is not named")


def main():
    copy_tree()
    for what, edits in TOYS.items():
        files = sorted({edit.file for edit in edits})
        print(f"{what}: {len(files)} files: {' '.join(files)}", flush=True)
        check(len(files) <= MOST_FILES[what], what, "takes too many files")
        for edit in edits:
            add(edit)
    configured = run("cmake", "--preset", "batched")
    check(configured.returncode == 0, configured.stdout[-3000:])
    built = build("component_runner", *(program for _, _, program, _ in FORGOTTEN))
    check(built.returncode == 0, "the tree with the toys does not compile:", built.stdout[-6000:])
    harness.BIN = BUILD / "bin"
    with Sandbox() as sandbox:
        program_has_both(sandbox)
    for file, row, program, error in FORGOTTEN:
        tested = run(BUILD / "bin" / program)
        check(tested.returncode == 0, program, tested.stdout[-3000:])
        text = (TREE / file).read_text()
        (TREE / file).write_text(text.replace(row, "", 1))
        built = build(program)
        said = built.stdout if built.returncode else run(BUILD / "bin" / program).stdout
        check(error in said, file, "without its row: no", error, said[-3000:])
        (TREE / file).write_text(text)
        print(f"{file}: a row that is forgotten is found", flush=True)


if __name__ == "__main__":
    main()
