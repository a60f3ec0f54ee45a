// For tables with a row for each enumerator, whose rows have `known` and `spelling`.
#pragma once

#include <array>
#include <cstddef>

namespace proctor {

// Each of `count` enumerators has the row in its place, and no two rows have one spelling.
template <typename Row, std::size_t N>
constexpr bool is_whole(const std::array<Row, N>& rows, std::size_t count) {
  for (std::size_t i = 0; i < N; ++i) {
    if (static_cast<std::size_t>(rows[i].known) != i || rows[i].spelling.empty()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (rows[j].spelling == rows[i].spelling) return false;
    }
  }
  return N == count;
}

}  // namespace proctor
