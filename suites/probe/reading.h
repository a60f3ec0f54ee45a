// What one device says at one moment, in the form of the monitor's answer: values, and the reasons why others
// are missing. The keys are those of Metric (harness/devices/telemetry/telemetry_sample.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace proctor::probe {

class Reading {
 public:
  void set(const char* key, nlohmann::json value) { values_[key] = std::move(value); }
  void miss(const char* key, const std::string& reason) { missing_[key] = reason; }

  nlohmann::json json() const { return {{"values", values_}, {"missing", missing_}}; }

 private:
  nlohmann::json values_ = nlohmann::json::object();
  nlohmann::json missing_ = nlohmann::json::object();
};

}  // namespace proctor::probe
