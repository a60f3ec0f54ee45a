// Enumerates through Level Zero, in the process that calls it.
#pragma once

#include <vector>

#include "suites/accel/xpu/level_zero.h"
#include "suites/visibility/enumeration.h"

namespace proctor::visibility {

// Calls zeInit first (again, if it was called before).
Enumeration enumerate_level_zero(const xpu::LevelZero& ze);

// The same of the sub-devices of all devices, after zeInit.
Enumeration enumerate_tiles(const xpu::LevelZero& ze);

// The handles that `enumerate_level_zero` described, in the same order.
std::vector<ze_device_handle_t> all_devices(const xpu::LevelZero& ze);

}  // namespace proctor::visibility
