// Catch2 programs, versions 2 and 3.
//
//   list   CMD --list-tests --reporter xml. Version 2 prints a text for people instead, whose lines it breaks, and
//          is asked for the names with --list-test-names-only; its exit code is how many there are. Hidden tests
//          are not listed, unless the command selects them.
//   run    CMD --reporter xml NAME --out FILE, the XML report being read while it is written, so that a case which
//          hangs has told where it was. What a test prints on std::cout, Catch2 puts into the report.
//   batch  CMD --reporter xml --input-file NAMES --out FILE
//
// A test specification in the command applies to the list; each process gets its own. A reporter and a file for it
// are left out of both.
//
//   failed, and [!mayfail] or [!shouldfail]   xfail, with the tag
//   passed, and [!shouldfail]                 fail, with the tag: the program is red too
//   SKIP("reason") (version 3)                skip(reason)
//   else                                      as kind.h says of judge_reported. In a batch, where a case before it
//                                             failed, the last one passes with any exit code: it is a count.
//
// The sections of a test are its steps, BENCHMARKs its measures, in ns.
#pragma once

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& catch2_kind();

}  // namespace proctor
