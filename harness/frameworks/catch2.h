// Catch2 programs, versions 2 and 3.
//
//   list   CMD --list-tests --reporter xml. Version 2 prints a text with wrapped lines for people instead. A second
//          command with --list-test-names-only prints the names, and its exit code is their number. Hidden tests are
//          not listed, unless the command selects them.
//   run    CMD --reporter xml NAME --out FILE. Proctor reads the XML report while Catch2 writes it, so the steps of
//          a case that hangs are known. Catch2 puts the output of a test on std::cout into the report.
//   batch  CMD --reporter xml --input-file NAMES --out FILE
//
// A test specification in the command applies to the list; each process gets its own. The command's own
// reporter and output file are removed from both.
//
//   failed, and [!mayfail] or [!shouldfail]   xfail, with the tag
//   passed, and [!shouldfail]                 fail, with the tag: Catch2 also counts it as a failure
//   SKIP("reason") (version 3)                skip(reason)
//   else                                      see judge_reported in kind.h. If an earlier case of a batch failed, the
//                                             last one passes with any exit code, which counts failures.
//
// The sections of a test become its steps, and each BENCHMARK becomes a measure in ns.
#pragma once

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& catch2_kind();

}  // namespace proctor
