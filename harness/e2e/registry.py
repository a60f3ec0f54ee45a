#!/usr/bin/env python3
"""`./dev test --full registry`: what "Where to add" in docs/internals/architecture.md says, done. In a scratch copy of the
tree, one toy of each kind of thing is added by exactly those steps, and the files that it took are counted. The program
that is built there has to know the toy; a toy that is added wrongly must not compile, or a test has to name it."""

import re
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
    """A mistake: `old` is written as `new` in a file of the toy. It does not compile, or the tests that match `tests` name
    `named`."""
    what: str
    file: str
    old: str
    new: str
    tests: str
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
    return end.exit_code == 0 ? Verdict{Outcome::kPass, {}} : Verdict{Outcome::kFail, exit_reason(end.exit_code)};
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
     Edit("docs/config.md", r"^\| pytest \| .*\n", "| toy | `CMD --toy-list` | an executable that knows `--toy-list` |\n")],
    "proctor_plan_test", "Kinds.*:ConfigPage.*:Rows/BadConfigTest.*", framework_is_known,
    [Wrong("two kinds of one name", "harness/plan/kinds/toy.cc", '.name = "toy"', '.name = "gtest"',
           "Kinds.EachHasANameThatFindsIt", "gtest"),
     Wrong("a kind that writes reports which nobody reads", "harness/plan/kinds/toy.cc", '.processes = {"case"}',
           '.processes = {"case"}, .voice = Voice::kFile, .output = {"{}"}', "Kinds.WhoHasWordsOfItsOwnHasATranslator", "toy"),
     Wrong("a kind without a row in the page", "docs/config.md", "\n| toy | ", "\n| toi | ", "ConfigPage.HasARowForEachKind",
           "toy")])

TOYS = [FRAMEWORK]


# ---- adding and building ----


def copy_tree():
    """The tracked files, as they are in the working tree. What is the same keeps its time, so that it is not built again."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    wanted = {name for name in names if name and (ROOT / name).is_file()}
    for name in wanted:
        source, copy = ROOT / name, TREE / name
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    toys = {edit.file for toy in TOYS for edit in toy.edits}
    for name in toys - wanted:
        (TREE / name).unlink(missing_ok=True)


def add(edit):
    path = TREE / edit.file
    if edit.after is None:
        check(not path.exists(), path, "is there without the toy")
        path.write_text(edit.text)
        return
    text = path.read_text()
    found = list(re.finditer(edit.after, text, re.MULTILINE))
    check(len(found) == 1, f"{edit.file}: {len(found)} places match {edit.after}")
    path.write_text(text[:found[0].end()] + edit.text + text[found[0].end():])


def build(*targets):
    """What the compiler said; None: it is built."""
    done = subprocess.run(["cmake", "--build", BUILD, "--target", *targets], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.stdout if done.returncode else None


def run_tests(program, tests):
    done = subprocess.run([BUILD / "bin" / program, f"--gtest_filter={tests}"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    check(re.search(r"Running [1-9]\d* test", done.stdout), f"{program} has no test {tests}", done.stdout)
    return done.returncode == 0, done.stdout


def count(toy):
    files = sorted({edit.file for edit in toy.edits if not edit.file.startswith("docs/")})
    print(f"{toy.what}: {len(files)} files (at most {toy.most}), besides its page: {' '.join(files)}", flush=True)
    check(len(files) <= toy.most, toy.what, "takes too many files")


def check_wrong(toy, wrong):
    path = TREE / wrong.file
    text = path.read_text()
    check(wrong.old in text, wrong.file, "has no", wrong.old)
    path.write_text(text.replace(wrong.old, wrong.new, 1))
    said = build(toy.test_program)
    passed = False
    if said is None:
        passed, said = run_tests(toy.test_program, wrong.tests)
    path.write_text(text)
    check(not passed and wrong.named in said, toy.what + ":", wrong.what, "goes unseen:", said[-3000:])
    print(f"{toy.what}: {wrong.what} is seen", flush=True)


def main():
    copy_tree()
    for toy in TOYS:
        for edit in toy.edits:
            add(edit)
        count(toy)
    configured = subprocess.run(["cmake", "--preset", "batched", "-DPROCTOR_WERROR=ON"], cwd=TREE, stdout=subprocess.PIPE,
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
