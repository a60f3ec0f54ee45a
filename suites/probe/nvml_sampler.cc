#include "suites/probe/nvml_sampler.h"

#include <utility>

namespace proctor::probe {
namespace {

using nlohmann::json;

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

json NvmlSampler::sample(std::uint64_t mask) const {
  json entries = json::array();
  const auto& devices = nvml_.devices();
  for (std::size_t i = 0; i < devices.size() && i < 64; ++i) {
    if ((mask >> i & 1) == 0) continue;
    json entry = read(devices[i].handle).json();
    entry["device"] = i;
    entries.push_back(std::move(entry));
  }
  return {{"v", 1}, {"source", "nvml"}, {"problem", nvml_.problem()}, {"devices", std::move(entries)}};
}

Reading NvmlSampler::read(nvml::Device device) const {
  Reading reading;
  const auto put = [&](const char* key, const std::string& why, auto value) {
    if (why.empty()) return reading.set(key, value);
    reading.miss(key, why);
  };
  nvml::Memory memory{};
  const auto no_memory = nvml_.call("nvmlDeviceGetMemoryInfo", device, &memory);
  put("memory_used", no_memory, memory.used);
  nvml::Utilization busy{};
  const auto no_busy = nvml_.call("nvmlDeviceGetUtilizationRates", device, &busy);
  put("utilisation", no_busy, busy.gpu);
  unsigned celsius = 0;
  const auto no_celsius = nvml_.call("nvmlDeviceGetTemperature", device, nvml::kTemperatureGpu, &celsius);
  put("temperature", no_celsius, celsius);
  unsigned milliwatts = 0;
  const auto no_power = nvml_.call("nvmlDeviceGetPowerUsage", device, &milliwatts);
  put("power", no_power, milliwatts / 1000.0);
  unsigned mhz = 0;
  const auto no_clock = nvml_.call("nvmlDeviceGetClockInfo", device, nvml::kClockSm, &mhz);
  put("clock", no_clock, mhz);
  unsigned long long errors = 0;
  const auto no_errors = nvml_.call("nvmlDeviceGetTotalEccErrors", device, nvml::kUncorrectedErrors,
                                    nvml::kSinceDriverLoad, &errors);
  put("ecc_errors", no_errors, errors);
  read_throttle(device, reading);
  return reading;
}

// Renamed with driver 535; the old name is still there.
void NvmlSampler::read_throttle(nvml::Device device, Reading& reading) const {
  unsigned long long flags = 0;
  const auto why = nvml_.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &flags);
  if (!why.empty()) return reading.miss("throttle", why);
  reading.set("throttle", throttle_words(flags));
}

}  // namespace proctor::probe
