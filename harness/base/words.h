// Splits and joins words. Only ASCII letters count as letters, so the result is the same in every locale.
// Example:
//
//   std::vector<std::string> names;
//   for (const std::string_view word : split("xpu, cuda", ',')) names.emplace_back(trimmed(word));
//   const std::string text = joined(names, " and ");  // "xpu and cuda"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

// Returns `text` without the `blanks` at both ends. The result refers to `text`, which must outlive it.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\n\v\f\r");

std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);

std::string joined(const std::vector<std::string>& words, std::string_view between = " ");

// Returns the pieces between separators, including empty ones: "a,,b" has three pieces, "" has one. The
// pieces refer to `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

// Returns the lines without their line ends. A line end at the end of the text does not begin another line.
// The lines refer to `text`.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace proctor
