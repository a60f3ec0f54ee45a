#include "harness/runner/schedule/start_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

namespace proctor {
namespace {

constexpr double kHuge = 1e15;  // limit for durations of a damaged history

int magnitude_of(double ms) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(ms / kShort)));
}

}  // namespace

std::vector<std::size_t> longest_first(const std::vector<StartKey>& keys) {
  std::vector<std::pair<int, int>> urgency;
  urgency.reserve(keys.size());
  for (const StartKey& key : keys)
    urgency.emplace_back(std::max(key.devices, 1), magnitude_of(std::min(key.duration_ms, kHuge)));
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t place) { return urgency[place]; });
  return order;
}

}  // namespace proctor
