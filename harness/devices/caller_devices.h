// What the caller's own mask leaves of the devices that a probe found: never more. A batch system or a shell
// gave this process some of the machine's devices, and the rest is somebody else's.
#pragma once

#include <functional>
#include <vector>

#include "harness/core/result.h"
#include "harness/devices/environment.h"
#include "harness/devices/inventory.h"

namespace proctor {

LeasedDevice to_leased(const Device& device, int ordinal);

// Finds the devices again, in this environment.
using DeviceProbe = std::function<Inventory(const Environment&)>;

// `devices`: of the whole machine, as probed in unmasked(backend, caller). Ordinals in CUDA_VISIBLE_DEVICES
// count in the order that the caller's CUDA_DEVICE_ORDER gives, which `probe` is asked for when it is not
// known. Errors (usage): a mask that the linter refuses, and ordinals that nobody can translate.
Result<std::vector<LeasedDevice>> caller_devices(Backend backend, const std::vector<Device>& devices,
                                                 const Environment& caller, const DeviceProbe& probe);

}  // namespace proctor
