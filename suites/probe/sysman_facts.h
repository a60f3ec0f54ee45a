// The facts of Level Zero devices (facts.h) through Sysman.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/sysman.h"

namespace proctor::probe {

nlohmann::json sysman_facts(const xpu::LevelZero& ze, const xpu::ManagedDevice& device);

}  // namespace proctor::probe
