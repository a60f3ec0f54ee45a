// Splits text into words and joins words. Only ASCII letters count as letters, so the answer is the same in
// every locale. Example:
//
//   std::vector<std::string> names;
//   for (const std::string_view word : split("xpu, cuda", ',')) names.emplace_back(trimmed(word));
//   const std::string text = joined(names, " and ");  // "xpu and cuda"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

// `text` without the `blanks` at both ends. The answer is a part of `text`, which must outlive it.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\n\v\f\r");

std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);

std::string joined(const std::vector<std::string>& words, std::string_view between = " ");

// The pieces between separators, also the empty ones: "a,,b" has three, "" has one. They are parts of `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

// The lines without their ends. No empty line follows the last end. They are parts of `text`.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace proctor
