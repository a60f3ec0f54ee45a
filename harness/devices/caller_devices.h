// The devices that a probe found, narrowed by the caller's own mask. A batch system or a shell may have given
// this process only some of the machine's devices.
#pragma once

#include <functional>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/environment.h"
#include "harness/devices/inventory.h"

namespace proctor {

LeasedDevice to_leased(const Device& device, int ordinal);

// Probes for devices again, in the given environment.
using DeviceProbe = std::function<Inventory(const Environment&)>;

// `devices` are those of the whole machine, as probed in unmasked(backend, caller). A mask that the linter refuses is a
// usage error. Otherwise:
//   Level Zero  `probe` runs in the caller's own environment. What it sees, by address and UUID, is what the mask selects:
//               cards, or some of their tiles. So the hierarchy and the order do not need to be known. A probe that
//               fails, or sees a device that is not in `devices`, is an error.
//   CUDA        a mask with names needs no probe. Ordinals count in the order of the caller's CUDA_DEVICE_ORDER. If that
//               order is not known, `probe` determines it. An ordinal that cannot be translated is a usage error.
Result<std::vector<LeasedDevice>> caller_devices(Backend backend, const std::vector<Device>& devices,
                                                 const Environment& caller, const DeviceProbe& probe);

}  // namespace proctor
