// Verifies that a process sees exactly its leased devices (PROCTOR_DEVICES). The runner masks devices by identity,
// but a driver, a library or an unknown variable can still show other devices. The result of a check would then be
// about a device that another process holds. Each check therefore compares before its first step. On a difference
// it ends as error(mask_mismatch), cause machine.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/backend.h"

namespace proctor::suite {

using Identity = DeviceIdentity;

// Returns the devices that this process can see. `with_uuid`: includes UUIDs even if that is slow. May throw, as a
// check may.
using VisibleDevices = std::function<std::vector<Identity>(bool with_uuid)>;

// The difference between the devices of `lease` (as in PROCTOR_DEVICES) and the visible ones. Empty if there is no
// difference, or if a leased device has neither UUID nor address. A device matches by its UUID or its address. A
// tile has the address of its card. The parts of a divided GPU also share one address: a part is not leased only
// if its name is in `pool` (as in PROCTOR_POOL) and not in the lease.
std::string difference_from_lease(std::string_view lease, std::string_view pool,
                                  const VisibleDevices& visible);

}  // namespace proctor::suite
