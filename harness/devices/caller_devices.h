// The devices that a probe found, narrowed by the caller's own mask. A batch system or a shell may have given
// this process only some of the machine's devices.
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

// ---- CTest's resource allocation ----
// Which devices CTest may give out, and which it gave to this test: cmake-ctest(1), "Resource Allocation".

// The specification file of this machine: one slot of `xpu_gpus` or `cuda_gpus` per device; on a machine of
// one vendor, `gpus` also has them all. CTest allows only [a-z0-9_] in ids.
nlohmann::json ctest_resource_spec(const std::vector<Device>& devices);

// Those of `ids` that CTest allocated to this process (CTEST_RESOURCE_GROUP_*), or none if it allocated
// nothing. It is an error if CTest allocated something else, because then its specification is for another
// machine.
Result<std::optional<std::vector<std::string>>> ctest_allocation(const Environment& environment,
                                                                 const std::vector<std::string>& ids);

// Whether CTest allocated devices of `backend` to this process, as its ids tell: "cuda", "xpu".
bool has_ctest_allocation(const Environment& environment, std::string_view backend);

}  // namespace proctor
