// doctest programs, from version 2.4.7.
//
//   list   CMD --list-test-cases -r=xml -ns=true. Tests with the decorator skip() are included, as skip(disabled).
//   run    CMD -tc=NAME -ts=SUITE -r=xml -o=FILE. Proctor reads the XML report while doctest writes it, so the steps
//          of a case that hangs are known.
//   batch  CMD -tc=NAME,NAME -r=xml -o=FILE
//
// A test in a TEST_SUITE has the id SUITE/NAME, and the suite as its tag. The filters of the command apply to
// the list; each process gets its own.
//
//   failed, and may_fail() or should_fail(), or the number in expected_failures()   xfail, with the decorator
//   passed, and should_fail()                                                       fail(should_fail)
//   else                                                                            see judge_reported in kind.h
//
// The subcases of a test become its steps.
#pragma once

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& doctest_kind();

}  // namespace proctor
