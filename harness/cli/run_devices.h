// Which devices a run may lease, and how its cases reach them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/result.h"
#include "harness/devices/environment.h"
#include "harness/devices/simulation.h"
#include "harness/plan/plan.h"
#include "harness/process/containment.h"
#include "harness/run/device_pool.h"

namespace proctor::cli {

struct RunDevices {
  std::vector<PoolDevice> pool;
  std::vector<LeasedDevice> leasable;                    // the same devices, as masks need them
  std::map<std::string, std::string> unusable;           // backend -> reason of the skip
  std::map<std::string, std::set<std::string>> lacking;  // backend -> needs that its devices do not meet
  std::string no_device_for;  // a backend that cases need and of which there is nothing
  std::vector<std::pair<std::string, std::string>> stack;
  std::optional<SimEnvironment> simulation;
  // The devices that a probe in this environment (NAME=VALUE, without the simulation) finds, in its order, as
  // far as they can be watched.
  std::vector<std::string> probed;
  std::vector<std::string> probe_env;
  std::vector<Warning> warnings;
};

// Probes only what `plan` needs, in a contained child; nothing for a plan without backends.
Result<RunDevices> find_devices(const Plan& plan, const std::optional<Simulation>& simulation,
                                Containment& containment, const Environment& caller);

}  // namespace proctor::cli
