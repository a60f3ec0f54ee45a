// How often attempts failed on each device, over all runs of a history.
#pragma once

#include <string>
#include <vector>

#include "reports/history/history.h"

namespace proctor {

struct DeviceHistory {
  std::string host{};
  std::string device{};
  std::string model{};  // in its newest run, as the two below
  std::string last_seen{};
  std::string driver{};  // "" unknown
  std::int64_t runs = 0;
  std::int64_t attempts = 0;  // that passed or failed on it
  std::int64_t failed_attempts = 0;
  std::int64_t drains = 0;  // runs in which it was drained
};

struct DevicesAnswer {
  std::int64_t runs = 0;                 // of the history, in that time
  std::vector<DeviceHistory> devices{};  // by host and device
};

// Of all branches, in the runs that began at `since` (UTC, "" all) or later. Runs that a version of Proctor imported which
// did not keep devices are counted only in DevicesAnswer::runs.
Result<DevicesAnswer> devices_in(History& history, const std::string& since);

}  // namespace proctor
