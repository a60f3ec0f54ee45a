// Enumerates devices through Level Zero, in the calling process.
#pragma once

#include <vector>

#include "suites/accel/xpu/level_zero.h"
#include "suites/visibility/enumeration.h"

namespace proctor::visibility {

// Enumerates the devices of all drivers. Calls zeInit first, even if it was called before.
Enumeration enumerate_level_zero(const xpu::LevelZero& ze);

// Enumerates the sub-devices of all devices. zeInit must have been called.
Enumeration enumerate_tiles(const xpu::LevelZero& ze);

// The handles of the devices of enumerate_level_zero(), in the same order.
std::vector<ze_device_handle_t> all_devices(const xpu::LevelZero& ze);

}  // namespace proctor::visibility
