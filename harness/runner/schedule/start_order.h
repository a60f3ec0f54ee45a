// The start order of groups that do not wait for devices. Groups for the most devices are first, and among these the
// longest ones. Thus no long group runs alone at the end of a run. Pure logic. PendingCases uses it.
//
// The durations come from earlier runs. They are compared by powers of two, and durations below kShort are equal.
// Groups that differ by chance only keep the planned order.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/plan/plan.h"

namespace proctor {

inline constexpr double kShort = 64;  // ms

// The facts of a group that determine its place.
struct StartKey {
  int devices = 0;         // devices that no other group may use meanwhile
  double duration_ms = 0;  // sum over its cases
};

// Returns the indices of `keys` in start order. Equal keys keep their order.
std::vector<std::size_t> longest_first(const std::vector<StartKey>& keys);

}  // namespace proctor
