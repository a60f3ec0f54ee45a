// Counts as people read them: "1 case", "2 cases". Example:
//
//   fmt::format("{} removed", count_text(3, "run"));  // "3 runs removed"
//   fmt::format("{} suite{}", 2, plural(2));             // "2 suites"
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace proctor {

template <typename Count>
constexpr std::string_view plural(Count count, std::string_view one = "", std::string_view many = "s") {
  return count == 1 ? one : many;
}

template <typename Count>
std::string count_text(Count count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, plural(count));
}

}  // namespace proctor
