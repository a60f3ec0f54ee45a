// Finds out which of several tests a GoogleTest program runs, from the lines that it prints. Source:
// googletest, src/gtest.cc, PrettyUnitTestResultPrinter.
//
//   [ RUN      ] GROUP.NAME
//   FILE:LINE: Skipped                      the next line is the reason, which the result file of 1.12 does not have
//   FILE:LINE: Failure                      outside of all tests: of an environment or a group
//   [       OK ] GROUP.NAME (0 ms)          also [  FAILED  ] and [  SKIPPED ]; --gtest_print_time=0: no time
//   [==========] 3 tests from 2 test suites ran. (0 ms total)
//
// GoogleTest flushes stdout after each of the lines that begin with `[`. The output of a test before such a
// line may lack its end of line.
#pragma once

#include <memory>

#include "harness/frameworks/kind.h"

namespace proctor {

std::unique_ptr<ProgressReader> gtest_progress();

}  // namespace proctor
