// Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002). It
// finds a small part of a list for which a condition still holds. Example:
//
//   const auto found = minimal_subset<int>({1, 2, 3}, [](const auto& part) { return Result(!part.empty()); });
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

template <typename T>
using Holds = std::function<Result<bool>(const std::vector<T>&)>;

// `all` without the entries from `begin` to `end`.
template <typename T>
std::vector<T> without_range(const std::vector<T>& all, std::size_t begin, std::size_t end) {
  std::vector<T> rest(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin));
  rest.insert(rest.end(), all.begin() + static_cast<std::ptrdiff_t>(end), all.end());
  return rest;
}

// Returns a part of `all`, in the same order, for which `holds` is true. Removing any single entry would make
// `holds` false. `holds(all)` must be true, and `holds` must be deterministic. An error of `holds` is
// returned.
template <typename T>
Result<std::vector<T>> minimal_subset(std::vector<T> all, const Holds<T>& holds) {
  std::size_t pieces = 2;
  while (all.size() >= 2) {
    const std::size_t size = (all.size() + pieces - 1) / pieces;
    bool smaller = false;
    for (std::size_t begin = 0; begin < all.size() && !smaller; begin += size) {
      const std::size_t end = std::min(begin + size, all.size());
      const std::vector<T> piece(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                 all.begin() + static_cast<std::ptrdiff_t>(end));
      for (auto& part : {piece, without_range(all, begin, end)}) {
        if (part.empty() || part.size() == all.size()) continue;
        const auto answer = holds(part);
        if (!answer) return answer.error();
        if (!*answer) continue;
        pieces = part.size() == piece.size() ? 2 : std::max<std::size_t>(pieces - 1, 2);
        all = part;
        smaller = true;
        break;
      }
    }
    if (smaller) continue;
    if (pieces >= all.size()) break;
    pieces = std::min(pieces * 2, all.size());
  }
  return all;
}

}  // namespace proctor
