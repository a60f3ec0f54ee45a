#!/usr/bin/env python3
"""`./dev test --full registry`: what "Where to add" in docs/internals/architecture.md says, done. In a scratch copy of the
tree, one toy of each kind of thing is added by exactly those steps, and the files that it took are counted. The program
that is built there has to know the toy; a toy that is added wrongly must not compile, or a test has to name it."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import harness
from harness import ROOT, Sandbox, check, report

SCRATCH = ROOT / "build-registry"
TREE, BUILD = SCRATCH / "tree", SCRATCH / "tree" / "build-batched"


@dataclass
class Edit:
    """`text` is put behind what matches `after`, which stands there once; None: it is the whole of a new file."""
    file: str
    after: str | None
    text: str


@dataclass
class Wrong:
    """A mistake: `old` is written as `new` in a file of the toy. `seen_by` says `named`: the compiler of this source, a
    script of harness/e2e, or the tests of the toy's program that match."""
    what: str
    file: str
    old: str
    new: str
    seen_by: str
    named: str


@dataclass
class Toy:
    what: str
    most: int                         # files, besides pages in docs/
    edits: list[Edit]
    test_program: str                 # which has the tests of its table, ...
    tests: str                        # ... by GoogleTest's filter
    is_known: Callable[[Sandbox], None]
    wrong: list[Wrong] = field(default_factory=list)


# ---- a test framework ----

TOY_KIND = """#include "harness/plan/kinds/toy.h"

namespace proctor {
namespace {

// Its program prints "case NAME" for each case when it is asked for --toy-list, and runs one with --toy-run=NAME.
class ToyKind final : public Kind {
 public:
  ToyKind() : Kind({.name = "toy", .framework = "toys", .markers = {"--toy-list"}, .processes = {"case"}}) {}

  std::vector<std::string> list_command(const Suite& suite) const override {
    return with(suite.command, {"--toy-list"});
  }
  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask&,
                                      std::vector<Warning>&) const override {
    std::vector<Case> cases;
    std::size_t at = 0;
    while ((at = out.stdout_text.find("case ", at)) != std::string::npos) {
      at += 5;
      Case test = whole_command(suite);
      test.id = test.name = out.stdout_text.substr(at, out.stdout_text.find('\\n', at) - at);
      test.argv = with(suite.command, {"--toy-run=" + test.name});
      cases.push_back(std::move(test));
    }
    return cases;
  }
  Verdict judge(const CaseEnd& end) const override {
    return end.exit_code == 0 ? Verdict{Outcome::kPass, {}} : Verdict{Outcome::kFail, {Reason::kExit, end.exit_code}};
  }
};

}  // namespace

const Kind& toy_kind() {
  static const ToyKind kKind;
  return kKind;
}

}  // namespace proctor
"""
TOY_PROGRAM = """#!/bin/sh
case $1 in
--toy-list) printf 'case good\\ncase bad\\n' ;;
--toy-run=bad) exit 3 ;;
esac
"""


def framework_is_known(sandbox):
    check("toy" in harness.frameworks(), harness.frameworks())
    program = sandbox.path / "program"
    program.write_text(TOY_PROGRAM)
    program.chmod(0o755)
    listed = sandbox.proctor("list", "--kind", "toy", "--", program)
    check(listed.stdout == "program/good\nprogram/bad\n", listed.stdout, listed.stderr)
    done = sandbox.proctor("run", "--kind", "toy", "--out", sandbox.out(), "--", program)
    ends = {case["id"]: (case["outcome"], case["reason"]) for case in report(sandbox.last_out())["cases"]}
    check(ends == {"program/good": ("pass", ""), "program/bad": ("fail", "exit:3")}, ends, done.stderr)
    again = sandbox.proctor("report", "render", sandbox.last_out())
    check(again.returncode == 0, again.stderr)
    refused = sandbox.proctor("list", "--kind", "toi", "--", program)
    check("toy" in refused.stderr, refused.stderr)


FRAMEWORK = Toy(
    "a test framework", 8,
    [Edit("harness/plan/kinds/toy.h", None, """// Toys.
#pragma once

#include "harness/plan/kinds/kind.h"

namespace proctor {

const Kind& toy_kind();

}  // namespace proctor
"""),
     Edit("harness/plan/kinds/toy.cc", None, TOY_KIND),
     Edit("harness/plan/kinds/all_kinds.cc", r'^#include "harness/plan/kinds/pytest\.h"\n',
          '#include "harness/plan/kinds/toy.h"\n'),
     Edit("harness/plan/kinds/all_kinds.cc", r"&pytest_kind\(\),", " &toy_kind(),"),
     Edit("harness/plan/CMakeLists.txt", r"^  kinds/pytest\.cc\n", "  kinds/toy.cc\n"),
     Edit("docs/reference/config.md", r"^\| pytest \| .*\n", "| toy | `CMD --toy-list` | an executable that knows `--toy-list` |\n")],
    "proctor_plan_test", "Kinds.*:ConfigPage.*:Rows/BadConfigTest.*", framework_is_known,
    [Wrong("two kinds of one name", "harness/plan/kinds/toy.cc", '.name = "toy"', '.name = "gtest"',
           "Kinds.EachHasANameThatFindsIt", "gtest"),
     Wrong("a kind that writes reports which nobody reads", "harness/plan/kinds/toy.cc", '.processes = {"case"}',
           '.processes = {"case"}, .voice = Voice::kFile, .output = {"{}"}', "Kinds.WhoHasWordsOfItsOwnHasATranslator", "toy"),
     Wrong("a kind without a row in the page", "docs/reference/config.md", "\n| toy | ", "\n| toi | ", "ConfigPage.HasARowForEachKind",
           "toy")])


# ---- a report ----


def report_is_known(sandbox):
    formats, default = harness.report_files(sandbox)
    check(formats.get("toy") == ["toy.txt"] and "toy" in default, formats, default)
    done = sandbox.proctor("run", "--out", sandbox.out(), "--", "true")
    check("toy.txt" in (sandbox.last_out() / "index.html").read_text(), "the page has no link to it")
    written = sandbox.last_out() / "toy.txt"
    check(written.read_text() == "1 cases\n", done.stderr)
    written.unlink()
    again = sandbox.proctor("report", "render", "--format", "toy", sandbox.last_out())
    check(written.read_text() == "1 cases\n", again.stderr)


REPORT = Toy(
    "a report", 5,
    [Edit("reports/formats/toy.h", None, """// How many cases there are.
#pragma once

#include "reports/formats/text_output.h"
#include "reports/model/run_model.h"

namespace proctor {

void write_toy(const RunModel& model, TextOutput& output);

}  // namespace proctor
"""),
     Edit("reports/formats/toy.cc", None, """#include "reports/formats/toy.h"

#include <fmt/format.h>

namespace proctor {

void write_toy(const RunModel& model, TextOutput& output) {
  output.pending() += fmt::format("{} cases\\n", model.cases().size());
}

}  // namespace proctor
"""),
     Edit("reports/CMakeLists.txt", r"^  formats/summary\.cc\n", "  formats/toy.cc\n"),
     Edit("reports/report_formats.cc", r'^#include "reports/formats/summary\.h"\n', '#include "reports/formats/toy.h"\n'),
     Edit("reports/report_formats.cc", r'^    ReportFormat\{"html".*\n',
          '    ReportFormat{"toy", "toy.txt", "", kByDefault, of_model<write_toy>},\n'),
     Edit("docs/how-to/ci.md", r"^\| `html` \* .*\n", "| `toy` * | `toy.txt` | who counts |\n")],
    "proctor_reports_test", "ReportFormats.*", report_is_known,
    [Wrong("two formats of one name", "reports/report_formats.cc", '{"toy", ', '{"json", ', "reports/report_formats.cc",
           "two formats have one name"),
     Wrong("a format that nobody writes", "reports/report_formats.cc", "of_model<write_toy>", "nullptr",
           "reports/report_formats.cc", "a format has no writer"),
     Wrong("a format without a row in the page", "docs/how-to/ci.md", "\n| `toy` * ", "\n| `toi` * ",
           "ReportFormats.EachIsInTheTableOfItsPage", "toy.txt")])


# ---- a reason of an outcome ----


def reason_is_known(sandbox):
    done = sandbox.proctor("run", "--out", sandbox.out(), "--", "sh", "-c", "exit 42")
    case = report(sandbox.last_out())["cases"][0]
    check((case["outcome"], case["reason"]) == ("fail", "toy"), case)
    check(done.returncode == 1 and "ended as toys do" in done.stdout + done.stderr, done.stdout, done.stderr)


REASON_ROW = '    ReasonMeaning{R::kToy, "toy", only(kFail), kSetup, kAnywhere, kByOutcome, "ended as toys do"},\n'
REASON = Toy(
    "a reason of an outcome", 4,
    [Edit("harness/core/outcome.h", r"^  // of fail\n", "  kToy,\n"),
     Edit("harness/core/reasons.cc", r"^constexpr std::array kReasons = \{\n", REASON_ROW),
     Edit("harness/run/attempt/verdict.cc", r"^    return \{Outcome::kCrash, .*\n",
          "  if (evidence.exit_code == 42) return {Outcome::kFail, Reason::kToy};\n"),
     Edit("docs/reference/outcomes.md", r"^\| reason \| .*\n\| --- .*\n", "| `fail(toy)` | set-up | 1 | red | ended as toys do |\n")],
    "proctor_core_test", "Reasons.*:Outcome.*", reason_is_known,
    [Wrong("two reasons of one name", "harness/core/reasons.cc", '"toy"', '"leaky"', "harness/core/reasons.cc", "all_go_together"),
     Wrong("a reason without a row", "harness/core/reasons.cc", REASON_ROW, "", "harness/core/reasons.cc",
           "every_reason_has_a_row"),
     Wrong("a reason that the page does not show", "docs/reference/outcomes.md", "`fail(toy)`", "`fail(toi)`",
           "Reasons.ThePageShowsTheTable", "fail(toy)")])


# ---- a warning ----


def warning_is_known(sandbox):
    done = sandbox.proctor("run", "--name", "toy", "--out", sandbox.out(), "--", "true")
    warnings = report(sandbox.last_out())["warnings"]
    check({"code": "toy", "text": "a suite of toys"} in warnings, warnings)
    check(done.returncode == 75, "it does not make the machine red:", done.returncode, done.stderr)


WARNING_ROW = '    {WarningCode::kToy, "toy"},\n'
WARNING = Toy(
    "a warning", 4,
    [Edit("harness/core/event_words.h", r"^  kTelemetryTool,\n", "  kToy,\n"),
     Edit("harness/core/event_words.cc", r"^    \{WarningCode::kTelemetryTool, .*\n", WARNING_ROW),
     Edit("harness/core/event_words.cc", r"^constexpr std::array kMachineWarnings = \{\n", "    WarningCode::kToy,\n"),
     Edit("harness/plan/planner.cc", r"^  for \(Warning& warning : clock_warnings\(plan\)\) .*\n", """  for (const Suite& suite : plan.suites)
    if (suite.name == "toy") outcome.warnings.push_back({WarningCode::kToy, "a suite of toys"});
""")],
    "proctor_core_test", "EventWords.*", warning_is_known,
    [Wrong("two warnings of one spelling", "harness/core/event_words.cc", '"toy"', '"swept"', "harness/core/event_words.cc",
           "is_whole(kWarnings"),
     Wrong("a warning without a row", "harness/core/event_words.cc", WARNING_ROW, "", "harness/core/event_words.cc",
           "is_whole(kWarnings")])


# ---- a containment layer ----


def layer_is_known(sandbox):
    check("toy" in harness.LAYERS, harness.LAYERS)
    told = sandbox.proctor("doctor").stdout
    check(re.search(r"^  toy +works$", told, re.MULTILINE), told)
    done = sandbox.proctor("run", "--containment", "toy", "--out", sandbox.out(), "--", "true")
    run = report(sandbox.last_out())["run"]
    check((run["containment"], run["containment_layer"]) == ("subreaper", "toy"), run, done.stderr)
    good, said = run_script("harness/e2e/torture.py --layer toy")
    check(good, said)
    good, said = run_script("harness/e2e/attack_page.py --check")
    check(not good and "containment.md" in said, "nobody misses its attacks in the page:", said)


LAYER_ROW = "    {Layer::kToy, try_signal_scopes, {}, {&kOutlives}},\n"
LAYER = Toy(
    "a containment layer", 10,
    [Edit("harness/core/containment_layer.h", r"^enum class Layer \{.*kSubreaper", ", kToy"),
     Edit("harness/core/containment_layer.h", r"^    \{Layer::kSubreaper, .*\n",
          '    {Layer::kToy, "toy", Layer::kSubreaper, false, false, Layer::kToy},\n'),
     Edit("harness/process/layers.cc", r"&kForkRace\}\},\n", LAYER_ROW),
     Edit("fixtures/misbehaving/table.toml", r"^\[layer\.subreaper\]\n.*\n", "[layer.toy]\nkill_to_empty_ms = 2000\n")],
    "proctor_process_test", "Layers/LimitsTest.*/toy", layer_is_known,
    [Wrong("two layers of one name", "harness/core/containment_layer.h", '"toy"', '"subreaper"', "harness/process/layers.cc",
           "each row has a name of its own"),
     Wrong("a layer that nobody tries", "harness/process/layers.cc", LAYER_ROW, "", "harness/process/layers.cc",
           "each layer has a row"),
     Wrong("a layer without a bound of its kill", "fixtures/misbehaving/table.toml", "[layer.toy]", "[layer.toi]",
           "harness/e2e/torture.py --layer toy", "KeyError: 'toy'")])

TOYS = [FRAMEWORK, REPORT, REASON, WARNING, LAYER]


# ---- adding and building ----


def tracked_files():
    """{name: content}, as they are in the working tree."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    return {name: (ROOT / name).read_bytes() for name in names if name and (ROOT / name).is_file()}


def add(files, edit):
    if edit.after is None:
        check(edit.file not in files, edit.file, "is there without the toy")
        files[edit.file] = edit.text.encode()
        return
    text = files[edit.file].decode()
    found = list(re.finditer(edit.after, text, re.MULTILINE))
    check(len(found) == 1, f"{edit.file}: {len(found)} places match {edit.after}")
    files[edit.file] = (text[:found[0].end()] + edit.text + text[found[0].end():]).encode()


def write_tree(files):
    """What is the same keeps its time, so that it is not built again."""
    for name, content in files.items():
        copy = TREE / name
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        if (ROOT / name).exists():
            shutil.copymode(ROOT / name, copy)


def build(*targets):
    """What the compiler said; None: it is built."""
    done = subprocess.run(["cmake", "--build", BUILD, "--target", *targets], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.stdout if done.returncode else None


def compile_only(source):
    """Whether the source compiles, and what the compiler said. Nothing is written, so nothing has to be built again."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        batch = Path(entry["file"])
        if batch.is_file() and (batch == TREE / source or f'"{TREE / source}"' in batch.read_text()):
            break
    else:
        check(False, source, "is in no target")
    words = shlex.split(entry["command"])
    command = words[:words.index("-o")] + ["-fsyntax-only", TREE / source]
    done = subprocess.run(command, cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout


def run_script(line):
    done = subprocess.run([sys.executable, "-B", *line.split()], cwd=TREE, env={**os.environ, "PROCTOR_BIN_DIR": str(BUILD / "bin")},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout


def run_tests(program, tests):
    done = subprocess.run([BUILD / "bin" / program, f"--gtest_filter={tests}"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    check(re.search(r"Running [1-9]\d* test", done.stdout), f"{program} has no test {tests}", done.stdout)
    return done.returncode == 0, done.stdout


def count(toy):
    files = sorted({edit.file for edit in toy.edits if not edit.file.startswith("docs/")})
    print(f"{toy.what}: {len(files)} files (at most {toy.most}), besides its page: {' '.join(files)}", flush=True)
    check(len(files) <= toy.most, toy.what, "takes too many files")


def see(toy, seen_by):
    """Whether all is well, and what was said."""
    if seen_by.endswith(".cc"):
        return compile_only(seen_by)
    if seen_by.startswith("harness/"):
        return run_script(seen_by)
    said = build(toy.test_program)
    return run_tests(toy.test_program, seen_by) if said is None else (False, said)


def check_wrong(toy, wrong):
    path = TREE / wrong.file
    text, before = path.read_text(), path.stat()
    check(wrong.old in text, wrong.file, "has no", wrong.old)
    path.write_text(text.replace(wrong.old, wrong.new, 1))
    good, said = see(toy, wrong.seen_by)
    path.write_text(text)
    if wrong.seen_by.endswith(".cc"):
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # no object has it
    check(not good and wrong.named in said, toy.what + ":", wrong.what, "goes unseen:", said[-3000:])
    print(f"{toy.what}: {wrong.what} is seen", flush=True)


def main():
    files = tracked_files()
    for toy in TOYS:
        for edit in toy.edits:
            add(files, edit)
        count(toy)
    write_tree(files)
    configured = subprocess.run(["cmake", "--preset", "batched"], cwd=TREE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
    check(configured.returncode == 0, configured.stdout[-3000:])
    said = build("component_runner", *{toy.test_program for toy in TOYS})
    check(said is None, "the tree with the toys does not compile:", (said or "")[-6000:])
    harness.BIN = BUILD / "bin"
    for toy in TOYS:
        passed, said = run_tests(toy.test_program, toy.tests)
        check(passed, toy.what, said[-3000:])
        with Sandbox() as sandbox:
            toy.is_known(sandbox)
        print(f"{toy.what}: the program and its tests know the toy", flush=True)
        for wrong in toy.wrong:
            check_wrong(toy, wrong)


if __name__ == "__main__":
    sys.exit(main())
