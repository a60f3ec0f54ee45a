// Long text made short. The input is clean (base/text.h) and the output stays so:
// nothing is cut inside a character.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "harness/base/number_text.h"

namespace proctor {

// The beginning on one line (runs of white space become one blank), at most `limit` bytes, "..." included
// when something is missing.
std::string one_line(std::string_view text, std::size_t limit);

// Keeps the beginning and the end on one line. The end is twice as long, because quoted output ends with the reason.
std::string both_ends(std::string_view text, std::size_t limit);

// The beginning with its lines, at most `limit` bytes, "..." included when something is missing.
std::string truncate(std::string_view text, std::size_t limit);

// Returns "a, b and 3 more": the texts of the first `most` items.
template <typename Items, typename TextOf = std::identity>
std::string some_of(const Items& items, std::size_t most, const TextOf& text_of = {}) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& item : items) {
    if (shown == most) return text + " and " + thousands(items.size() - most) + " more";
    text += shown++ == 0 ? "" : ", ";
    text += text_of(item);
  }
  return text;
}

inline constexpr std::size_t kShownHeadBytes = 16 * 1024;
inline constexpr std::size_t kShownTailBytes = 48 * 1024;

// The first 16 KiB and the last 48 KiB, with the number of bytes between them; short text unchanged.
std::string elide_middle(std::string_view text);

}  // namespace proctor
