#include "harness/devices/telemetry/telemetry_sample.h"

#include <stdexcept>

#include "harness/base/json.h"

namespace proctor {
namespace {

using nlohmann::json;

MetricReading read_metric(const json& entry, Metric metric, const std::string& source) {
  const std::string key(to_string(metric));
  MetricReading read;
  const auto& values = entry.at("values").get_ref<const json::object_t&>();
  const auto value = values.find(key);
  if (value == values.end()) {
    read.reason = entry.value("missing", json::object()).value(key, "the driver does not report it");
    return read;
  }
  read.source = source;
  if (metric == Metric::kThrottle) {
    read.words = value->second.get<std::vector<std::string>>();
    read.value = static_cast<double>(read.words.size());
  } else {
    read.value = value->second.get<double>();
  }
  return read;
}

}  // namespace

std::string_view to_string(Metric metric) {
  switch (metric) {
    case Metric::kMemoryUsed:
      return "memory_used";
    case Metric::kUtilisation:
      return "utilisation";
    case Metric::kTemperature:
      return "temperature";
    case Metric::kPower:
      return "power";
    case Metric::kClock:
      return "clock";
    case Metric::kThrottle:
      return "throttle";
    case Metric::kEccErrors:
      return "ecc_errors";
  }
  return "";
}

std::string_view unit_of(Metric metric) {
  switch (metric) {
    case Metric::kMemoryUsed:
      return "bytes";
    case Metric::kUtilisation:
      return "%";
    case Metric::kTemperature:
      return "C";
    case Metric::kPower:
      return "W";
    case Metric::kClock:
      return "MHz";
    case Metric::kThrottle:
      return "";
    case Metric::kEccErrors:
      return "errors";
  }
  return "";
}

DeviceSample missing_sample(const std::string& reason) {
  DeviceSample sample;
  for (auto& one : sample) one.reason = reason;
  return sample;
}

Result<Sample> parse_sample(std::string_view line, const std::vector<std::string>& ids) {
  const json document = parse_json(line);
  try {  // nlohmann::json throws
    Sample sample;
    const std::string source = document.at("source");
    sample.missing = document.at("problem");
    for (const json& entry : document.at("devices")) {
      DeviceSample& device = sample.devices[ids.at(entry.at("device").get<std::size_t>())];
      for (const Metric metric : kAllMetrics) reading(device, metric) = read_metric(entry, metric, source);
    }
    return sample;
  } catch (const json::exception& error) {
    return Error::internal(std::string("read a telemetry sample: ") + error.what());
  } catch (const std::out_of_range&) {
    return Error::internal("read a telemetry sample: it names a device that the probe had not found");
  }
}

}  // namespace proctor
