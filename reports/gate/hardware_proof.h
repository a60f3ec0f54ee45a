// Evidence that a run was on hardware: what the kernel says of each device, and not what a driver says of itself. Whatever is
// missing leaves a cell empty, and is said by name.
#pragma once

#include <string>
#include <vector>

#include "harness/journal/events.h"

namespace proctor {

// What is missing before this device counts as hardware: "no evidence at the start", "kernel_driver is vfio-pci, and not xe
// or i915"; empty: nothing. `probed`: the health probe copied, computed and compared on it in this run.
std::vector<std::string> missing_evidence(const PlannedDevice& device,
                                          const std::vector<HardwareEvidence>& evidence, bool probed);

}  // namespace proctor
