// The management interface of a process of its own, which needs no zeInit and knows no mask.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "suites/accel/xpu/level_zero.h"

namespace proctor::visibility {

// {"result":CODE, "devices":[{"uuid","pci","tiles","tiles_with_memory"}], "names":{UUID: {"result","device","tile"}}}: what zesInit
// answers; each device with the numbers of its tiles and of those with memory modules; and the place in that list, or -1, of the
// device that has one of `uuids`, with the number of its tile, or -1 for the whole. "names" is missing where the driver has no
// such function, and all of it where neither the loader nor the driver has the interface.
nlohmann::json enumerate_sysman(const xpu::LevelZero& ze, const std::vector<std::string>& uuids);

}  // namespace proctor::visibility
