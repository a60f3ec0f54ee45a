// What a driver says about its devices at one moment. A number that it does not give is empty, with a reason.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

enum class Metric { kMemoryUsed, kUtilisation, kTemperature, kPower, kClock, kThrottle, kEccErrors };
inline constexpr std::size_t kMetrics = 7;
inline constexpr std::array<Metric, kMetrics> kAllMetrics = {
    Metric::kMemoryUsed, Metric::kUtilisation, Metric::kTemperature, Metric::kPower,
    Metric::kClock,      Metric::kThrottle,    Metric::kEccErrors};

std::string_view to_string(Metric metric);  // "memory_used"; also its key on the wire
std::string_view unit_of(Metric metric);    // "bytes"; "" for throttle reasons

struct MetricReading {
  std::optional<double> value;     // for kThrottle, the number of reasons
  std::vector<std::string> words;  // for kThrottle, the reasons
  std::string source;              // "sysman", "nvml", "nvidia-smi", "xpu-smi"
  std::string reason;              // why there is no value
};

using DeviceSample = std::array<MetricReading, kMetrics>;
inline MetricReading& reading(DeviceSample& sample, Metric metric) {
  return sample[static_cast<std::size_t>(metric)];
}
inline const MetricReading& reading(const DeviceSample& sample, Metric metric) {
  return sample[static_cast<std::size_t>(metric)];
}

// A sample in which every value is missing, for one reason.
DeviceSample missing_sample(const std::string& reason);

struct Sample {
  std::map<std::string, DeviceSample> devices;  // by id
  std::string missing;  // "library_missing:libnvidia-ml.so.1": the source is not there at all
};

// One answer of the monitor's child (suites/probe/probe_main.h). `ids` are those of the devices, in the probe's
// order.
Result<Sample> parse_sample(std::string_view line, const std::vector<std::string>& ids);

}  // namespace proctor
