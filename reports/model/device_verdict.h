// What a run shows about its devices: the first line of console, page and summary.
//
// A device is bad by the first of these:
//   its health probe failed         HealthFact::kL1Fail
//   it was lost                     HealthFact::kLost, or a case that had it alone ended as device_lost
//   it was drained otherwise        HealthFact::kDrained: memory did not come back, a process does not end
//   cases fail there beyond chance  --each-device (device_table.h)
// Less evidence makes a device suspect: an error of it in the kernel log (HealthFact::kKernelLog), more failures there
// than chance explains (device_shares.h), a case that failed there and passed on another device, and a case of
// --each-device that failed there alone, but too seldom.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/model/run_model.h"

namespace proctor {

struct DeviceVerdict {
  // "GPU cuda-sim:2 is bad: its health probe failed after s/a. The code passed on cuda-sim:0, 1, 3."
  std::string sentence{};
  std::vector<std::string> more{};  // one sentence each: evidence, what moved, what was not run
  std::string exit{};               // what the exit code means
  std::string advice{};             // "Drain the node, then test the device:"
  std::string command{};            // "" none
};

// None where no device is bad or suspect, and --each-device has nothing to compare.
std::optional<DeviceVerdict> device_verdict(const RunModel& model, const std::string& run_dir);

// Where a case that is_good_elsewhere() failed, and where it then passed: "cuda-sim:2" and "cuda-sim:3". Empty of other
// cases, and with --each-device, where a case has all devices.
struct Move {
  std::string from{};
  std::string to{};
};
Move move_of(const RunModel& model, const CaseRecord& record);

}  // namespace proctor
