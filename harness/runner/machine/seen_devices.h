// Determines which devices the programs of other frameworks see. The checks of Proctor compare their devices with their
// lease themselves (suites/main/lease_check.h). For each suite of another kind a probe is started once, in exactly the
// environment of its cases. prepare() calls it.
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

// The results of the probes.
struct SeenDevices {
  std::vector<std::string> notes;  // one line for people about each suite
  std::vector<Warning> warnings;   // WarningCode::kMaskMismatch, and probes without a result
};

// Starts one probe for each suite of another kind with a case that uses devices, if enough devices exist here.
SeenDevices see_devices(const Plan& plan, const FoundDevices& devices, CaseEnvironments& environments,
                        Containment& containment);

}  // namespace proctor
