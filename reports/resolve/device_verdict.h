// Summarises the health of the devices in a run: the first line of console, page and summary.
//
// A device is unhealthy for the first of these reasons:
//   its health probe failed         HealthFact::kProbeFailed
//   it was lost                     HealthFact::kLost, or a case that used only this device ended as device_lost
//   it was drained otherwise        HealthFact::kDrained: memory did not come back, a process does not end
//   cases fail there beyond chance  --each-device (devices.h)
// Weaker evidence makes a device suspect:
//   * an error about it in the kernel log (HealthFact::kKernelLog)
//   * more failures there than chance explains (devices.h)
//   * a case that failed there and passed on another device
//   * a case of --each-device that failed only there, but too rarely
#pragma once

#include <string>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// Sets ResolvedRun::device_verdict. It must be called after resolve_exit_code().
void resolve_device_verdict(ResolvedRun& run);

// The device on which a moved case failed, and the device on which it then passed: "cuda-sim:2" and "cuda-sim:3". Both
// are empty for other cases and with --each-device, where a case runs on all devices.
struct Move {
  std::string from{};
  std::string to{};
};
Move move_of(const ResolvedCase& test);

}  // namespace proctor
