// What a program sees that does not say so itself. Our own checks compare what they see with their lease
// (suites/main/lease_check.h); for a suite of any other kind a probe is started once, in exactly the environment
// that its cases get.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "harness/process/containment.h"
#include "harness/runner/machine/case_environment.h"
#include "harness/runner/machine/found_devices.h"

namespace proctor {

struct SeenDevices {
  std::vector<std::string> notes;  // one line for people about each suite
  std::vector<Warning> warnings;   // WarningCode::kMaskMismatch, and probes that could not say anything
};

// One probe for each suite of `plan` that is not ours and has a case with devices of which there are enough here.
SeenDevices see_devices(const Plan& plan, const FoundDevices& devices, CaseEnvironments& environments,
                        Containment& containment);

}  // namespace proctor
