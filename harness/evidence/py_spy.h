// The output of `py-spy dump`.
#pragma once

#include <string_view>
#include <vector>

#include "harness/evidence/stack_frame.h"

namespace proctor {

// Threads in the order of the text, the one called MainThread first. Their numbers are not used, because some
// versions print the pthread's address.
std::vector<ThreadStack> parse_py_spy(std::string_view text);

}  // namespace proctor
