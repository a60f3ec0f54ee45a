// What a GoogleTest program sends to --gtest_stream_result_to=HOST:PORT, one line each. Source: googletest,
// src/gtest-internal-inl.h, StreamingListener. %, =, & and line breaks in FILE and TEXT are %XX.
//
//   gtest_streaming_protocol_version=1.0                  the child of a threadsafe death test sends only this
//   event=TestProgramStart
//   event=TestIterationStart&iteration=0
//   event=TestCaseStart&name=GROUP
//   event=TestStart&name=NAME
//   event=TestPartResult&file=FILE&line=N&message=TEXT    a failure, a skip or a success: it does not say which
//   event=TestEnd&passed=0|1&elapsed_time=Nms             0: failed or skipped
//   event=TestCaseEnd&passed=0|1&elapsed_time=Nms
//   event=TestIterationEnd&passed=0|1&elapsed_time=Nms
//   event=TestProgramEnd&passed=0|1
//
// A test that did not pass is told as failed; the result file says whether it was skipped (googletest#3411). What is
// told between two tests concerns all tests of its group, or of the program: is_unclear().
//
// A process that a test forked has the same connection. If it speaks, the order above is broken, because its parent
// says the same once more. Then nothing counts: doubt().
#pragma once

#include <memory>

#include "harness/frameworks/kind.h"

namespace proctor {

std::unique_ptr<Testimony> gtest_stream();

}  // namespace proctor
