// Who looks after the devices of a run: a monitor for each vendor that it has devices of.
#pragma once

#include <optional>
#include <string>

#include "harness/cli/run_devices.h"
#include "harness/devices/telemetry/device_monitor.h"
#include "harness/run/record/scratch.h"

namespace proctor::cli {

// None: there is nothing to look after. `sim_state`: the directory of the simulated machine, if there is one.
std::optional<MonitorSetup> monitor_of(const RunDevices& devices, const std::string& sim_state,
                                       ScratchRoot& scratch);

}  // namespace proctor::cli
