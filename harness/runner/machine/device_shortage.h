// The one rule for devices that are not here. What the command line asks for and the machine lacks is a trouble of the
// machine (exit 75); what only a suite needs is a reason to skip its cases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "harness/runner/machine/found_devices.h"

namespace proctor {

// What the command line says of devices.
struct AskedDevices {
  bool backend = false;        // --backend
  std::optional<int> count{};  // --gpus, or the number that --devices implies
};

struct DeviceShortage {
  std::string backend;
  int asked = 0;
  int present = 0;
  std::string why;  // the reason of the skips: "no_driver"; "" where only the number is too small
};

// One for each backend of which the plan's cases need devices, and of which there are too few.
std::vector<DeviceShortage> device_shortages(const Plan& plan, const FoundDevices& devices,
                                             const AskedDevices& asked);

std::string requested(const DeviceShortage& shortage);  // "3 cuda devices requested"
std::string to_string(const DeviceShortage& shortage);  // "3 cuda devices requested, 2 present"

}  // namespace proctor
