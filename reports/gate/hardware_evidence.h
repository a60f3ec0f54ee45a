// Evidence that a run was on hardware: what the kernel says of each device, and not what a driver says of itself. Whatever is
// missing leaves a cell empty, and is said by name.
#pragma once

#include <string>
#include <vector>

#include "reports/model/run_model.h"

namespace proctor {

// Of one device at one moment.
struct DeviceEvidence {
  std::string id{};             // the leased one
  std::string when{};           // "start" or "end"
  std::string pci{};            // its address
  std::string vendor{};         // of /sys/bus/pci: "8086"
  std::string device{};         // the same: "e20b"
  std::string kernel_driver{};  // which is bound to it: "xe"
  std::string driver_file{};    // the driver's library that the probe had loaded
  std::string driver_build_id{};
  std::string boot_id{};
  bool probed = false;     // the health probe copied, computed and compared on it in this run
  bool simulator = false;  // the library is a simulator
};

// What a journal holds of it.
std::vector<DeviceEvidence> hardware_evidence_of(const RunModel& model);

// What is missing before this device counts as hardware: "no evidence at the start", "the kernel's driver is vfio-pci, and
// not xe or i915"; empty: nothing.
std::vector<std::string> missing_evidence(const PlannedDevice& device,
                                          const std::vector<DeviceEvidence>& evidence);

}  // namespace proctor
