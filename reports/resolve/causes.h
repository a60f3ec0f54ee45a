// Finds the location of a failure, and groups the cases that failed for one cause.
//
// The cause of a case is its outcome with the first of these that is known:
//   1. the rule of a diagnosis whose owner is the machine: one dead device is one cause
//   2. the source line of the first failed expectation
//   3. the innermost stack frame in the program's own code, for a crash or a hang
//   4. the rule of any other diagnosis
//   5. the reason with the complete message, in which numbers are ignored
// The message has the lowest priority, because two lines may print the same text, and one
// line may print different texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// A source location.
struct Place {
  std::string file{};  // "": unknown
  int line = 0;        // 0: unknown
  std::string function{};
};

// Returns the location of the first failed expectation. If no expectation has a file, it is the location of the frame.
// All members are empty if neither is known.
Place place_of(const Attempt& attempt);
// Returns the location of the attempt that explains the case best.
Place place_of(const ResolvedCase& test);

// Returns "src/kernels_test.cc:26", "wait_for_it at src/queue.cc:40" or "wait_for_it"; "" if it is unknown.
std::string to_string(const Place& place);

// Returns the text with each number replaced by "#".
std::string without_numbers(std::string_view text);

// Returns a key that is equal for all cases of one cause.
std::string cause_key(const ResolvedCase& test);

// Groups the cases that failed, failed on one device only, or were flaky. Cases that never started are not included,
// because the reason of the stop explains them.
void resolve_causes(ResolvedRun& run);

// Returns since when the cases fail: "NEW: passed in 0123abc", or "first failed in 0123abc (3 runs)" for the oldest
// case, and how many cases are new. For a flaky case it returns how often it was flaky; "" without a history.
std::string age_of(const CauseGroup& group);

// Returns the complete message of the case with its line breaks. It is the message of the first failed expectation with
// text, or otherwise the headline. Text that a test added to a GoogleTest expectation comes
// first. The result is clean text.
std::string whole_message(const ResolvedCase& test);

// Returns the message for a text that begins with the headline: "" if the headline has all of it. Otherwise it returns
// at most `limit` bytes and an empty line.
std::string message_beyond_headline(const ResolvedCase& test, std::size_t limit);

// Reorders the message of a failed GoogleTest expectation. GoogleTest writes the compared values first, and then the
// text that the test added with `<<`.

// Returns "sum of row 3\nExpected equality of these values:\n  got\n    Which is: 1\n  2". The message is unchanged if
// the test added nothing, or if the start of the added text is unknown.
std::string describe_test_first(const std::string& message);

}  // namespace proctor
