// When a speed says something about a device: beside devices of the same model that worked at the same time.
#pragma once

#include <set>
#include <string>

#include "reports/accept/acceptance.h"

namespace proctor {

// Devices that work at the same time share the links to the host, so that one of them is slower for the others.
inline bool is_of_device_alone(const std::string& figure) {
  static const std::set<std::string> kAlone = {"memory.ceiling", "memory.bandwidth.device_to_device",
                                               "kernels.saxpy", "kernels.matmul"};
  return kAlone.contains(figure) || figure.starts_with("memory.patterns.");
}

// More than 10 % below the best, beyond its own spread.
inline bool is_far_below(const AcceptFigure& figure, double best) {
  return figure.value + figure.spread / 2 < 0.9 * best;
}

}  // namespace proctor
