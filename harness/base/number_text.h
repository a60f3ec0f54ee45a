// Formats numbers for output: "1 case", "20,000 cases". Formats for machines use plain digits.
// human_duration() (duration.h) formats durations, percent_text() (failure_rate.h) formats shares. Example:
//
//   const std::string runs = count_text(3, "run");  // "3 runs"
//   const std::string_view end = plural(2);         // "s"
//   const std::string cases = thousands(20'000);    // "20,000"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.h"

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

// ---- Sizes of memory ---- Sizes are written as `512M`, `4G` or `1.5G`, in powers of 1024. A number without
// a unit is refused.

// Every program of a case has this variable: the value of --mem-cap, in bytes.
inline constexpr const char* kMemoryCapVariable = "PROCTOR_MEM_CAP";

// Parses a size from 1M to 1024T. The result is a multiple of 1 KiB. `MiB` and `GiB` mean the same as `M` and
// `G`.
Result<std::uint64_t> parse_memory_size(std::string_view text);

// Returns the shortest text that parse_memory_size() parses to the same value: "512M".
std::string format_memory_size(std::uint64_t bytes);

// ---- Numbers that another program wrote in its own locale ----
// With std::locale("de_DE"), 1204 is "1.204" and 17.6 is "17,6". A number that cannot be parsed completely
// has no value: its beginning alone is a different number.
//
//   NumberForm form;
//   for (const auto& text : {"17,6", "1.234"}) form.see(text);
//   form.figure("1.234");  // 1234, as a comma is the decimal point of this report

// Parses an integer with or without thousands separators: "1204", "1.204", "1,204", "1'204", "1 204".
std::optional<std::int64_t> written_count(std::string_view text);

// Detects which character is the decimal point of a report. A single number can be ambiguous: "1.234" has a
// fraction in one locale and is 1234 in another. Therefore all numbers of the report are collected before one
// of them is parsed.
class NumberForm {
 public:
  void see(std::string_view number);
  // Returns nothing if the text is not a finite number, or is ambiguous in this report.
  std::optional<double> figure(std::string_view number) const;

 private:
  bool has_point_ = false;
  bool has_comma_ = false;
};

}  // namespace proctor
