// The code of the warning that the command line asked for devices, or for a number of them, that the machine lacks.
// It makes the machine red.
#pragma once

#include <string_view>

namespace proctor {

inline constexpr std::string_view kDeviceShortage = "device_shortage";

}  // namespace proctor
