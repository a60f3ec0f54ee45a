// doctest programs.
//
//   list   CMD -ltc -r=xml -ns=true: also the tests with the decorator skip(), which become skip(disabled)
//   run    CMD -tc=NAME -ts=SUITE -r=xml -o=FILE, the XML report being read while it is written, so that a case
//          which crashes or hangs has told what it did
//   batch  CMD -tc=NAME,NAME -r=xml -o=FILE
//
// A test in a TEST_SUITE is called SUITE/NAME, and has the suite as its tag. The filters of the command apply to
// the list.
//
//   failed, and may_fail() or should_fail() or as expected_failures() says   xfail, with the decorator
//   passed, and should_fail()                                                fail(should_fail)
//   else                                                                     as kind.h says of judge_reported
//
// The subcases of a test are its steps.
#pragma once

#include "harness/plan/kinds/kind.h"

namespace proctor {

const Kind& doctest_kind();

}  // namespace proctor
