// doctest programs, from version 2.4.7.
//
//   list   CMD --list-test-cases -r=xml -ns=true: also the tests with the decorator skip(), which become skip(disabled)
//   run    CMD -tc=NAME -ts=SUITE -r=xml -o=FILE, the XML report being read while it is written, so that a case
//          which hangs has told where it was
//   batch  CMD -tc=NAME,NAME -r=xml -o=FILE
//
// A test in a TEST_SUITE is called SUITE/NAME, and has the suite as its tag. The filters of the command apply to
// the list; each process gets its own.
//
//   failed, and may_fail() or should_fail() or as expected_failures() says   xfail, with the decorator
//   passed, and should_fail()                                                fail(should_fail)
//   else                                                                     as kind.h says of judge_reported
//
// The subcases of a test are its steps.
#pragma once

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& doctest_kind();

}  // namespace proctor
