#include "harness/devices/probe/nvml_sampler.h"

#include <dlfcn.h>

namespace proctor::probe {
namespace {

using nlohmann::json;

std::string name_of(nvml::Result result) {
  switch (result) {
    case 1:
      return "UNINITIALIZED";
    case 3:
      return "NOT_SUPPORTED";
    case 4:
      return "NO_PERMISSION";
    case 9:
      return "DRIVER_NOT_LOADED";
    case 15:
      return "GPU_IS_LOST";
    case 18:
      return "LIB_RM_VERSION_MISMATCH";
    default:
      return std::to_string(result);
  }
}

// What keeps a clock down against somebody's wish; that a device idles or was told a clock is no reason.
json throttle_words(unsigned long long flags) {
  struct Word {
    unsigned long long flag;
    const char* word;
  };
  constexpr Word kWords[] = {
      {0x4, "software_power_cap"}, {0x8, "hardware_slowdown"}, {0x20, "software_thermal_slowdown"},
      {0x40, "thermal_limit"},     {0x80, "power_brake"},
  };
  json words = json::array();
  for (const auto& [flag, word] : kWords) {
    if ((flags & flag) != 0) words.push_back(word);
  }
  return words;
}

}  // namespace

// What went wrong, or "".
template <typename... Arguments>
std::string NvmlSampler::call(const char* function, Arguments... arguments) const {
  using Function = nvml::Result (*)(Arguments...);
  const auto found = reinterpret_cast<Function>(dlsym(library_, function));
  if (found == nullptr) return std::string("symbol_missing:") + function;
  const nvml::Result result = found(arguments...);
  return result == nvml::kSuccess ? "" : std::string(function) + ": " + name_of(result);
}

NvmlSampler::NvmlSampler() : library_(dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    problem_ = std::string("library_missing:") + kLibrary;
    return;
  }
  problem_ = call("nvmlInit_v2");
  if (problem_.empty()) list();
}

void NvmlSampler::list() {
  unsigned count = 0;
  problem_ = call("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; problem_.empty() && i < count; ++i) {
    nvml::Device device = nullptr;
    char uuid[nvml::kUuidBytes] = {};
    if (!call("nvmlDeviceGetHandleByIndex_v2", i, &device).empty()) continue;  // lost: it has no values
    if (!call("nvmlDeviceGetUUID", device, &uuid[0], nvml::kUuidBytes).empty()) continue;
    uuid[nvml::kUuidBytes - 1] = '\0';
    devices_.push_back({device, uuid});
  }
}

json NvmlSampler::sample() {
  json entries = json::array();
  for (const auto& device : devices_) {
    json entry = read(device.handle).json();
    entry["uuid"] = device.uuid;
    entries.push_back(std::move(entry));
  }
  return {{"v", 1}, {"source", "nvml"}, {"problem", problem_}, {"devices", std::move(entries)}};
}

Reading NvmlSampler::read(nvml::Device device) const {
  Reading reading;
  const auto put = [&](const char* key, const std::string& why, auto value) {
    if (why.empty()) return reading.set(key, value);
    reading.miss(key, why);
  };
  nvml::Memory memory{};
  const auto no_memory = call("nvmlDeviceGetMemoryInfo", device, &memory);
  put("memory_used", no_memory, memory.used);
  nvml::Utilization busy{};
  const auto no_busy = call("nvmlDeviceGetUtilizationRates", device, &busy);
  put("utilisation", no_busy, busy.gpu);
  unsigned celsius = 0;
  const auto no_celsius = call("nvmlDeviceGetTemperature", device, nvml::kTemperatureGpu, &celsius);
  put("temperature", no_celsius, celsius);
  unsigned milliwatts = 0;
  const auto no_power = call("nvmlDeviceGetPowerUsage", device, &milliwatts);
  put("power", no_power, milliwatts / 1000.0);
  unsigned mhz = 0;
  const auto no_clock = call("nvmlDeviceGetClockInfo", device, nvml::kClockSm, &mhz);
  put("clock", no_clock, mhz);
  unsigned long long errors = 0;
  const auto no_errors =
      call("nvmlDeviceGetTotalEccErrors", device, nvml::kUncorrectedErrors, nvml::kSinceDriverLoad, &errors);
  put("ecc_errors", no_errors, errors);
  read_throttle(device, reading);
  return reading;
}

// Renamed with driver 535; the old name is still there.
void NvmlSampler::read_throttle(nvml::Device device, Reading& reading) const {
  unsigned long long flags = 0;
  const auto why = call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &flags);
  if (!why.empty()) return reading.miss("throttle", why);
  reading.set("throttle", throttle_words(flags));
}

}  // namespace proctor::probe
