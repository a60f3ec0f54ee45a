// Telemetry of NVIDIA devices through NVML.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "suites/probe/nvml.h"
#include "suites/probe/reading.h"

namespace proctor::probe {

class NvmlSampler {
 public:
  explicit NvmlSampler(const Nvml& nvml) : nvml_(nvml) {}

  // Samples the devices whose bits are set, see monitor.h.
  nlohmann::json sample(std::uint64_t mask) const;

 private:
  Reading read(nvml::Device device) const;
  void read_throttle(nvml::Device device, Reading& reading) const;

  const Nvml& nvml_;
};

}  // namespace proctor::probe
