// The devices that a probe found, narrowed by the caller's own mask. A batch system or a shell may have given
// this process only some of the machine's devices.
#pragma once

#include <functional>
#include <vector>

#include "harness/core/result.h"
#include "harness/devices/environment.h"
#include "harness/devices/inventory.h"

namespace proctor {

LeasedDevice to_leased(const Device& device, int ordinal);

// Probes for devices again, in the given environment.
using DeviceProbe = std::function<Inventory(const Environment&)>;

// `devices` are those of the whole machine, as probed in unmasked(backend, caller). Ordinals in
// CUDA_VISIBLE_DEVICES count in the order of the caller's CUDA_DEVICE_ORDER. If that order is not known,
// `probe` determines it. A mask that the linter refuses, or an ordinal that cannot be translated, is a usage
// error.
Result<std::vector<LeasedDevice>> caller_devices(Backend backend, const std::vector<Device>& devices,
                                                 const Environment& caller, const DeviceProbe& probe);

}  // namespace proctor
