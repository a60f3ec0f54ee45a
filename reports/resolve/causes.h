// Where a case went wrong, and which cases went wrong for one cause.
//
// A cause is the outcome with the first of these that is known:
//   1. the rule of a diagnosis that blames the machine: one dead device is one cause
//   2. the source line of the first failed expectation
//   3. the innermost frame of the program's own, of a crash or a process that hung
//   4. the rule of any other diagnosis
//   5. the reason with the whole message, in which numbers do not count
// The words of a message decide last: two lines may say the same, and one line says something else each time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reports/resolve/resolved_run.h"

namespace proctor {

struct Place {
  std::string file{};  // "" unknown
  int line = 0;        // 0: unknown
  std::string function{};
};

// Of the first failed expectation or, if none has a file, of the frame; all empty if neither is known.
Place place_of(const Attempt& attempt);
// Of the attempt that explains the case best.
Place place_of(const ResolvedCase& test);

// "src/kernels_test.cc:26", "wait_for_it at src/queue.cc:40", "wait_for_it"; "" unknown.
std::string to_string(const Place& place);

// The text with each number as "#".
std::string without_numbers(std::string_view text);

// Equal for cases of one cause.
std::string cause_key(const ResolvedCase& test);

// Groups the cases that failed, failed on one device only, or were flaky. A case that was never started is not one of them:
// what stopped the run explains it.
void resolve_causes(ResolvedRun& run);

// Since when its cases fail: "NEW: passed in 0123abc", "first failed in 0123abc (3 runs)" of the oldest one, and how many of
// them are new; of a flaky one, how often it was so. "" without a history.
std::string age_of(const CauseGroup& group);

// The message of the case, whole, with its line breaks: of the first failed expectation that has words, or else
// its headline. What a test added to an expectation of GoogleTest is in front. Clean text.
std::string whole_message(const ResolvedCase& test);

// The same for a text that begins with its headline: "" if that has all of it, else at most `limit` bytes with an empty
// line behind it.
std::string message_beyond_headline(const ResolvedCase& test, std::size_t limit);

// The message of a failed expectation of GoogleTest, with the words of the test in front: GoogleTest writes what was
// compared first, and then what the test added with `<<`.

// "sum of row 3\nExpected equality of these values:\n  got\n    Which is: 1\n  2"; unchanged if the test added nothing, or
// if it is not known where its words begin.
std::string describe_test_first(const std::string& message);

}  // namespace proctor
