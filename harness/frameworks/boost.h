// Boost.Test programs, from version 1.60 on.
//
//   list   CMD --list_content=DOT --report_sink=stdout: a graph of suites and test cases with labels, expected failures and
//          dependencies, and whether each is enabled. It heeds no --run_test, so that a command with one is refused.
//   run    CMD --run_test=PREREQUISITE:...:SUITE/CASE --log_format=XML --log_level=test_suite --log_sink=FILE
//
// With --catch_system_errors=no: Boost.Test would turn a signal into a failed assertion, and the process would go on and
// exit by itself, with a damaged memory and without a trace of where it crashed. --result_code=yes: its exit code says
// whether the test passed. Words behind a `--` of the command are the program's own.
//
// depends_on(): Boost.Test runs the prerequisites of a case before it, in the same process, whatever is asked for. The
// command names them, and what the report says of them counts for nothing; the time limit and a crash are those of the
// process. A test that is neither asked for nor a prerequisite is another one that ran.
//
// What a list declares and a report has is the result; the exit code can only contradict it.
//
//   1 to N failed checks of a case that is listed with N expected failures, exit 0        xfail(expected_failures)
//   a prerequisite failed, precondition() is false                                        skip(as Boost.Test says)
//   a global fixture failed                                                               fail
//   else                                                                                  as kind.h says of judge_reported
//
// Boost.Test writes its log when a buffer is full and at the end, so that a test which hangs or crashes leaves none.
#pragma once

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& boost_kind();

}  // namespace proctor
