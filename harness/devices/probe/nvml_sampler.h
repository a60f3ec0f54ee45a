// Telemetry of NVIDIA devices through NVML, found at run time and declared here as far as it is used: the
// build needs no CUDA. NVML makes no CUDA context.
// Source: NVIDIA, NVML API Reference Guide (nvml.h keeps the ABI of its versioned functions).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/devices/probe/reading.h"

namespace proctor::probe {

namespace nvml {

using Device = void*;
using Result = int;  // nvmlReturn_t
inline constexpr Result kSuccess = 0;

struct Memory {  // nvmlMemory_t
  unsigned long long total, free, used;
};
struct Utilization {  // nvmlUtilization_t
  unsigned int gpu, memory;
};
inline constexpr int kTemperatureGpu = 0;     // nvmlTemperatureSensors_t
inline constexpr int kClockSm = 1;            // nvmlClockType_t
inline constexpr int kUncorrectedErrors = 1;  // nvmlMemoryErrorType_t
inline constexpr int kSinceDriverLoad = 0;    // nvmlEccCounterType_t: volatile
inline constexpr unsigned kUuidBytes = 96;    // NVML_DEVICE_UUID_V2_BUFFER_SIZE

}  // namespace nvml

class NvmlSampler {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  // Loads the library; it is never unloaded.
  NvmlSampler();

  // All devices:
  // {"v":1,"source":"nvml","problem":"" | "library_missing:libnvidia-ml.so.1" | WHY,
  //  "devices":[{"uuid":TEXT,"values":{..},"missing":{..}}]}
  nlohmann::json sample();

 private:
  struct Device {
    nvml::Device handle;
    std::string uuid;
  };

  template <typename... Arguments>
  std::string call(const char* function, Arguments... arguments) const;
  void list();
  Reading read(nvml::Device device) const;
  void read_throttle(nvml::Device device, Reading& reading) const;

  void* library_ = nullptr;
  std::string problem_;
  std::vector<Device> devices_;
};

}  // namespace proctor::probe
