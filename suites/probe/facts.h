// What a management library says of one card besides how it is: `PROBE --facts INDEX` prints it and ends. INDEX is the place
// of the device in the probe's document. One process asks about one device: a query that hangs costs nobody else's answer.
//   {"v":1,"source":"nvml" | "sysman","problem":"" | WHY,"values":{KEY:VALUE},"missing":{KEY:WHY}}
//
// key                  value
// pcie_width           lanes of the link to the host; pcie_generation: its speed. pcie_width_max, pcie_generation_max: the
//                      most that both ends can have
// replays              packets that the link to the host repeated, since its driver started
// links, links_up      direct links to other cards: how many there are, and work
// firmware             version
// ecc, persistence     true or false
// clock_max_mhz, power_limit_w
// rows_remapped, remap_pending, remap_failed
// memory_health        "ok", or what the card says of its memory
// errors_corrected, errors_uncorrected             of memory, since the driver started; errors_uncorrected_lifetime: ever
// reset_reason         why the card wants to be reset; "": it does not
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace proctor::probe {

// What one device says at one moment, in the form of the monitor's answer: values, and the reasons why others
// are missing. The keys are those of Metric (harness/devices/telemetry/telemetry_sample.h).
class Reading {
 public:
  void set(const char* key, nlohmann::json value) { values_[key] = std::move(value); }
  void miss(const char* key, const std::string& reason) { missing_[key] = reason; }

  nlohmann::json json() const { return {{"values", values_}, {"missing", missing_}}; }

 private:
  nlohmann::json values_ = nlohmann::json::object();
  nlohmann::json missing_ = nlohmann::json::object();
};

nlohmann::json facts_document(const char* source, const std::string& problem, const Reading& reading);

}  // namespace proctor::probe
