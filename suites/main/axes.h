// Axes that several checks share: values at which drivers and devices have failed before
// (docs/reference/axes.md). An axis of one check is in that check.
//
// The pages of a driver are 4 KiB, 64 KiB or 2 MiB; simgpu's are 64 KiB.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/base/axes.h"

namespace proctor::suite::axis {

// Sizes in bytes: 0, 1, odd sizes, and sizes around the ends of pages. Sizes over 32 bits are tried only with
// all points.
inline Axis bytes(std::string name = "bytes") {
  return {std::move(name),
          {"0", "1", "3", "4095", "4096", "4097", "65535", "65536", "65537", "262147", "2097152", "2097153"},
          {"67108867", "4294967301"}};
}

// Offsets within 16 bytes.
inline Axis offset(std::string name = "offset") {
  return {std::move(name), {"0", "1", "2", "3", "4", "5", "7", "8", "11", "12", "13", "15"}, {}};
}

}  // namespace proctor::suite::axis
