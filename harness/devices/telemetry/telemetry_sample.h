// The telemetry that a driver reports about its devices at one moment. A missing number has a reason.
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

std::string_view to_string(Metric metric);  // "memory_used"; also its key in the child's output
std::string_view unit_of(Metric metric);    // "bytes"; "" for throttle reasons

// The value of one metric of one device at one moment.
struct MetricReading {
  std::optional<double> value;     // for kThrottle, the number of reasons
  std::vector<std::string> words;  // for kThrottle, the reasons
  std::string source;              // "sysman", "nvml", "nvidia-smi", "xpu-smi"
  std::string reason;              // why `value` is empty
};

using DeviceSample = std::array<MetricReading, kMetrics>;
inline MetricReading& reading(DeviceSample& sample, Metric metric) {
  return sample[static_cast<std::size_t>(metric)];
}
inline const MetricReading& reading(const DeviceSample& sample, Metric metric) {
  return sample[static_cast<std::size_t>(metric)];
}

// Returns a sample in which every value is missing, for one reason.
DeviceSample missing_sample(const std::string& reason);

// The metrics of several devices at one moment.
struct Sample {
  std::map<std::string, DeviceSample> devices;  // by id
  std::string missing;  // "library_missing:libnvidia-ml.so.1": the source does not exist at all
};

// Parses one line of the monitor's child (suites/probe/probe_main.h). `ids` are those of the devices, in
// the probe's order.
Result<Sample> parse_sample(std::string_view line, const std::vector<std::string>& ids);

}  // namespace proctor
