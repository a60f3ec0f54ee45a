// What a run tells of its devices: DeviceHealth events, and as warnings what people must see.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/base/clock.h"
#include "harness/devices/care/device_care.h"
#include "harness/journal/events.h"

namespace proctor {

class DeviceNews {
 public:
  DeviceNews(EventSink& sink, Clock::time_point run_started) : sink_(sink), run_started_(run_started) {}

  void note(const std::string& device, HealthFact what, const std::string& case_id,
            const std::string& evidence, Milliseconds waited = {}, std::uint64_t bytes = 0);
  void warn(const Warning& warning) { sink_.on(warning); }
  // Both. Nothing if there is no warning.
  void tell(const DeviceFinding& finding, const std::string& case_id, const std::optional<Warning>& warning);
  // True once in a run: for what is to be told only then.
  bool is_new(const std::string& device, const std::string& what) {
    return told_.emplace(device, what).second;
  }

 private:
  EventSink& sink_;
  Clock::time_point run_started_;
  std::set<std::pair<std::string, std::string>> told_;  // device, what
};

}  // namespace proctor
