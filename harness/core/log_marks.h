// Lines that a log of an attempt (harness/process/capture.h) holds beside the output.
#pragma once

#include <string_view>

namespace proctor {

// The only line of the log of a process that printed nothing.
inline constexpr std::string_view kNoOutputMark = "-------- no output --------";

}  // namespace proctor
