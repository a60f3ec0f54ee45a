// Narrows the devices that a probe found to those of the caller's own mask. A batch system or a shell can
// restrict this process to some of the machine's devices. The runner calls this before it plans cases;
// nothing here leases devices.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/device.h"
#include "harness/devices/environment.h"
#include "harness/devices/inventory.h"

namespace proctor {

LeasedDevice to_leased(const Device& device, int ordinal);

// Probes for devices again in the given environment.
using DeviceProbe = std::function<Inventory(const Environment&)>;

// `devices` are those of the whole machine, as probed in unmasked(backend, caller). A mask that the linter
// refuses is a usage error. Otherwise:
//   Level Zero  `probe` runs in the caller's own environment. The mask selects the devices that this probe sees,
//               matched by address and UUID: cards, or some of their tiles. The hierarchy and order can be unknown. The
//               result is an error if the probe fails, or sees a device that is not in `devices`.
//   CUDA        A mask with names needs no probe. Ordinals have the order of the caller's CUDA_DEVICE_ORDER. If that
//               order is unknown, `probe` determines it. An ordinal that cannot be translated is a usage error.
Result<std::vector<LeasedDevice>> caller_devices(Backend backend, const std::vector<Device>& devices,
                                                 const Environment& caller, const DeviceProbe& probe);

// ---- CTest's resource allocation ----
// The devices that CTest may allocate, and those that it allocated to this test. Source: cmake-ctest(1),
// "Resource Allocation".

// Returns the specification file of this machine: one slot of `xpu_gpus` or `cuda_gpus` per device. On a
// machine with one vendor, `gpus` also contains all devices. CTest allows only [a-z0-9_] in ids.
nlohmann::json ctest_resource_spec(const std::vector<Device>& devices);

// Returns those of `ids` that CTest allocated to this process (CTEST_RESOURCE_GROUP_*), or none if it
// allocated nothing. Another allocated id is an error, because the specification is then that of another
// machine.
Result<std::optional<std::vector<std::string>>> ctest_allocation(const Environment& environment,
                                                                 const std::vector<std::string>& ids);

// Returns true if CTest allocated devices of `backend` ("cuda", "xpu") to this process, according to the ids.
bool has_ctest_allocation(const Environment& environment, std::string_view backend);

}  // namespace proctor
