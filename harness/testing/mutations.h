// Generates every small mistake in a text, for tests of parsers. The order is fixed, so a failure is reproducible.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace proctor::testing_support {

// Calls `judge` once for each mutation: the text cut off at each position, without each of its characters, and with
// each character of `inserted` at each position.
inline void for_each_mutation(const std::string& text, std::string_view inserted,
                              const std::function<void(const std::string&)>& judge) {
  for (std::size_t at = 0; at <= text.size(); ++at) {
    judge(text.substr(0, at));
    if (at < text.size()) judge(text.substr(0, at) + text.substr(at + 1));
    for (const char c : inserted) judge(text.substr(0, at) + c + text.substr(at));
  }
}

}  // namespace proctor::testing_support
