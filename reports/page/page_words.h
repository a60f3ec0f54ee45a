// The words of words.def: a constant for each, so that a name that is none does not compile, and all of them by their names
// for the template and the script.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "harness/core/number_text.h"

namespace proctor {

struct PageWord {
  std::string_view name;
  std::string_view one;
  std::string_view several{};  // "": as of one
};

namespace words {
#define PAGE_WORD(name, ...) inline constexpr PageWord name{#name, __VA_ARGS__};
#include "reports/page/words.def"
#undef PAGE_WORD
}  // namespace words

std::span<const PageWord> all_words();

std::string counted(std::size_t count, const PageWord& word);  // "1 case", "12,345 cases"

}  // namespace proctor
