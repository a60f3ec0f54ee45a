// What the kernel says of the devices of a run, and which driver the probe had loaded for them: facts by which somebody else
// may believe that there was hardware. No driver is asked here, and none is loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/rooted_files.h"
#include "harness/journal/events.h"
#include "harness/runner/machine/found_devices.h"

namespace proctor {

// For each device that the run may lease. `machine` has /sys and /proc; the driver's library is a file of this machine.
// Of a simulated device the kernel says nothing: its address may be that of another one.
std::vector<HardwareEvidence> gather_hardware_evidence(const FoundDevices& devices,
                                                       const RootedFiles& machine, std::string_view when);

}  // namespace proctor
