// CTest's resource allocation (cmake-ctest(1), "Resource Allocation"): which devices it may give out, and
// which it gave to this test.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/device.h"
#include "harness/devices/environment.h"

namespace proctor {

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
