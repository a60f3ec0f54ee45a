// Axes that several checks share: the values at which drivers and cards have been wrong before
// (docs/reference/axes.md). What only one check needs it says itself.
//
// The pages of a driver are 4 KiB, 64 KiB or 2 MiB; simgpu's are 64 KiB.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/core/axes.h"

namespace proctor::suite::axis {

// Sizes in bytes: none, one, odd ones, and those around the ends of pages; beyond what 32 bits count only when all is
// tried.
inline Axis bytes(std::string name = "bytes") {
  return {std::move(name),
          {"0", "1", "3", "4095", "4096", "4097", "65535", "65536", "65537", "262147", "2097152", "2097153"},
          {"67108867", "4294967301"}};
}

// Where in a line of 16 bytes something begins.
inline Axis offset(std::string name = "offset") {
  return {std::move(name), {"0", "1", "2", "3", "4", "5", "7", "8", "11", "12", "13", "15"}, {}};
}

}  // namespace proctor::suite::axis
