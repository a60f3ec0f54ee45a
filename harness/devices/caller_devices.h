// The devices that a probe found and that the caller's own mask leaves, never more. A batch system or a shell
// gave this process some of the machine's devices, and the others belong to somebody else.
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
// CUDA_VISIBLE_DEVICES count in the order that the caller's CUDA_DEVICE_ORDER gives; if that order is not
// known, `probe` finds it out. A mask that the linter refuses and ordinals that cannot be translated are
// usage errors.
Result<std::vector<LeasedDevice>> caller_devices(Backend backend, const std::vector<Device>& devices,
                                                 const Environment& caller, const DeviceProbe& probe);

}  // namespace proctor
