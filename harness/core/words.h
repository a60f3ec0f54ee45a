// Text cut into words, and words put together. Letters are those of ASCII: the answer is the same in every locale.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

// Without `blanks` at both ends. A part of `text`: it must outlive the answer.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\n\v\f\r");

std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);

std::string joined(const std::vector<std::string>& words, std::string_view between = " ");

// What stands between separators, empty pieces too: "a,,b" is three, "" is one. Parts of `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

// The lines without their ends; no line follows the last end. Parts of `text`.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace proctor
