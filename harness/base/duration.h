// Durations as people write them: `250ms`, `30s`, `2m`, `1h`. A number without a unit is refused, and so is a
// sign. Example:
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

// The result is in whole milliseconds. Fractions as in `1.5s` are allowed, and so is zero. More than 365 days
// is an error.
Result<Milliseconds> parse_duration(std::string_view text);

// The shortest form that parse_duration reads back to the same value: `90s` is "90s", 1500 ms is "1500ms".
std::string format_duration(Milliseconds duration);

// For people: "312 ms", "4.1 s", "2 min 05 s".
std::string human_duration(Milliseconds duration);

}  // namespace proctor
