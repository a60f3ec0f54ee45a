// What a log of an attempt (harness/process/capture.h) holds beside the output.
#pragma once

#include <string_view>

namespace proctor {

// The only line of the log of a bad attempt that printed nothing. A good one has no log then: each file costs more than
// the whole start of a small case.
inline constexpr std::string_view kNoOutputMark = "-------- no output --------";

}  // namespace proctor
