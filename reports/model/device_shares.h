// Whether one of the devices of a run fails more often than the others, over all cases.
//
// A device stands out if so many of its cases failed there that chance explains it badly: Fisher's exact test, one-sided,
// over pairs of a case and a device, so that the retries of one bad case are not taken for more evidence. The bound, 0.01,
// is shared among the devices. device_table.h asks the same of a single case that ran on several devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/model/run_model.h"

namespace proctor {

struct DeviceShare {
  std::string device{};
  int bad = 0;  // attempts that failed there
  int all = 0;  // attempts there that passed or failed
  int bad_cases = 0;
  bool stands_out = false;
  double p = 1;  // the probability that it is chance
};

// What to run next where device_doubts() has a sentence; "" if the run did so, or is one of `exec`, which has one device.
std::string code_or_device_command(const RunModel& model, const std::string& run_dir);

// By the order of RunPlanned::devices; a device without an attempt is not there. Of attempts that had several devices,
// each counts.
std::vector<DeviceShare> device_shares(const RunModel& model);

// What the devices say of the failures of the run, one sentence each, and what to run next: "6 of 42 attempts failed on
// xpu-sim:0, 1 of 125 elsewhere (p = 0.0006).", "All 3 failures ran only on xpu-sim:0.". Empty: nothing.
struct DeviceDoubtText {
  std::string sentence{};
  std::string device{};
};
std::vector<DeviceDoubtText> device_doubts(const RunModel& model);

}  // namespace proctor
