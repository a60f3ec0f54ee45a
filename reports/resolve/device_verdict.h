// What a run shows about its devices: the first line of console, page and summary.
//
// A device is unhealthy by the first of these:
//   its health probe failed         HealthFact::kProbeFailed
//   it was lost                     HealthFact::kLost, or a case that had it alone ended as device_lost
//   it was drained otherwise        HealthFact::kDrained: memory did not come back, a process does not end
//   cases fail there beyond chance  --each-device (devices.h)
// Less evidence makes a device suspect: an error of it in the kernel log (HealthFact::kKernelLog), more failures there
// than chance explains (devices.h), a case that failed there and passed on another device, and a case of
// --each-device that failed there alone, but too seldom.
#pragma once

#include <string>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// Call it after resolve_exit_code(). Sets ResolvedRun::device_verdict.
void resolve_device_verdict(ResolvedRun& run);

// Where a case that moved failed, and where it then passed: "cuda-sim:2" and "cuda-sim:3". Empty of other
// cases, and with --each-device, where a case has all devices.
struct Move {
  std::string from{};
  std::string to{};
};
Move move_of(const ResolvedCase& test);

}  // namespace proctor
