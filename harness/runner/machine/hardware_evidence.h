// Gathers facts about the devices of a run from the kernel, and about the driver that the probe had loaded. They are
// evidence for other people that real hardware was used. No driver is loaded or called. prepare() and finish_run() call
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/rooted_files.h"
#include "harness/journal/events.h"
#include "harness/runner/machine/found_devices.h"

namespace proctor {

// Returns one entry for each device that the run may lease. `machine` has /sys and /proc; the library of the driver is
// a file of this machine. The kernel has no facts about a simulated device: its address may belong to another device.
std::vector<HardwareEvidence> gather_hardware_evidence(const FoundDevices& devices,
                                                       const RootedFiles& machine, std::string_view when);

}  // namespace proctor
