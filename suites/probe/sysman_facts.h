// The facts of Level Zero devices (facts.h) through Sysman. Its handles are those of the devices, as in sysman_sampler.h.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "suites/accel/xpu/level_zero.h"

namespace proctor::probe {

nlohmann::json sysman_facts(const xpu::LevelZero& ze, ze_device_handle_t device);

}  // namespace proctor::probe
