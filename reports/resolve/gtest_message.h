// The message of a failed expectation of GoogleTest, with the words of the test in front: GoogleTest writes what was
// compared first, and then what the test added with `<<`.
#pragma once

#include <string>

namespace proctor {

// "sum of row 3\nExpected equality of these values:\n  got\n    Which is: 1\n  2"; unchanged if the test added nothing, or
// if it is not known where its words begin.
std::string words_of_test_first(const std::string& message);

}  // namespace proctor
