// Parses and prints durations such as `250ms`, `30s`, `2m` and `1h`. A number without a unit is refused, and
// so is a sign. Example:
//
//   const Result<Milliseconds> limit = parse_duration("1.5s");
//   if (limit) std::puts(format_duration(*limit).c_str());  // 1500ms
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "harness/base/result.h"

namespace proctor {

using Milliseconds = std::chrono::milliseconds;

// Returns whole milliseconds. Fractions such as `1.5s` and zero are allowed. A duration of more than 365 days
// is an error.
Result<Milliseconds> parse_duration(std::string_view text);

// Returns the shortest text that parse_duration() parses to the same value: "90s" for 90 s, "1500ms" for 1500
// ms.
std::string format_duration(Milliseconds duration);

// Returns a text for output: "312 ms", "4.1 s", "2 min 05 s".
std::string human_duration(Milliseconds duration);

}  // namespace proctor
