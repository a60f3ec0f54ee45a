// In which order groups of cases start, where they do not wait for devices: those for several devices first, of these
// the ones for most devices, and then the longest. So nothing long is left to run alone at the end. Pure logic.
//
// Durations are of earlier runs. They are compared by powers of two, and those below kShort are equal: what differs by
// chance alone stays in the planned order.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/plan/plan.h"

namespace proctor {

inline constexpr double kShort = 64;  // ms

// What the place of a group depends on.
struct StartKey {
  int devices = 0;         // that no other group may use meanwhile
  double duration_ms = 0;  // of all its cases
};

// Places in `keys`, in the order in which they start. Equal ones stay in their order.
std::vector<std::size_t> longest_first(const std::vector<StartKey>& keys);

}  // namespace proctor
