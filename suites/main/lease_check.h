// Whether a process sees exactly the devices that it has leased (PROCTOR_DEVICES). The runner masks devices by
// identity; a driver, a library under the program, or a variable that nobody thought of may still show others, and
// then every result would be about a device that somebody else holds. So each check asks first:
// error(mask_mismatch) is the machine's, and no step of the check is made.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/device_identity.h"

namespace proctor::suite {

using Identity = DeviceIdentity;

// The devices that this process can see. `with_uuid`: also where that is dear. May throw what a check would.
using VisibleDevices = std::function<std::vector<Identity>(bool with_uuid)>;

// What differs between the devices of `lease`, as in PROCTOR_DEVICES, and those that are visible; "" when nothing
// does, or when the lease says of some device only what no driver knows. A device is the leased one by its UUID or its address:
// a tile has the address of its card. So have the parts of a divided GPU: one of them is another one's only when it has
// a name of `pool`, as in PROCTOR_POOL, that is not leased.
std::string difference_from_lease(std::string_view lease, std::string_view pool,
                                  const VisibleDevices& visible);

}  // namespace proctor::suite
