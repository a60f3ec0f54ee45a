// Counts as people read them: "1 case", "20,000 cases". Formats for machines have plain digits. Durations are
// human_duration() (duration.h), shares are percent_text() (failure_rate.h). Example:
//
//   const std::string runs = count_text(3, "run");  // "3 runs"
//   const std::string_view end = plural(2);         // "s"
//   const std::string cases = thousands(20'000);    // "20,000"
#pragma once

#include <string>
#include <string_view>

namespace proctor {

template <typename Count>
std::string thousands(Count count) {
  std::string digits = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

template <typename Count>
constexpr std::string_view plural(Count count, std::string_view one = "", std::string_view many = "s") {
  return count == 1 ? one : many;
}

template <typename Count>
std::string count_text(Count count, std::string_view noun) {
  return thousands(count).append(" ").append(noun).append(plural(count));
}

}  // namespace proctor
