// The facts of NVIDIA devices (facts.h) through NVML.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "suites/probe/nvml.h"

namespace proctor::probe {

nlohmann::json nvml_facts(const Nvml& nvml, std::size_t device);

}  // namespace proctor::probe
