// Boost.Test programs, from version 1.60 on.
//
//   list   CMD --list_content=DOT --report_sink=stdout: a graph of suites and test cases with labels, expected
//          failures and dependencies, and whether each is enabled. The list ignores --run_test, so a command with
//          this option is refused.
//   run    CMD --run_test=PREREQUISITE:...:SUITE/CASE --log_format=XML --log_level=test_suite --log_sink=FILE
//
// The command also has --catch_system_errors=no. Otherwise Boost.Test turns a signal into a failed assertion.
// The process then continues with damaged memory, and exits without a trace of the crash. --result_code=yes
// makes the exit code show whether the test passed. The words after a `--` of the command belong to the
// program.
//
// depends_on(): Boost.Test always runs the prerequisites of a case before it, in the same process. The
// command names them, and their results in the report do not count. The time limit and a crash are those of
// the process. A test that is neither the case nor a prerequisite counts as another case that ran.
//
// The declarations in the list and the report determine the result. The exit code can only contradict it.
//
//   1 to N failed checks of a case that is listed with N expected failures, exit 0        xfail(expected_failures)
//   a prerequisite failed, precondition() is false                                        skip(Boost.Test's reason)
//   a global fixture failed                                                               fail
//   else                                                                                  see judge_reported in kind.h
//
// Boost.Test writes its log when a buffer is full and at the end, so a test that hangs or crashes leaves no
// log.
#pragma once

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& boost_kind();

}  // namespace proctor
