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
#include "harness/run/care/device_pool.h"

namespace proctor::cli {

// The devices that a probe in this environment (NAME=VALUE, without the simulation) finds, in its order, as
// far as they can be watched.
struct WatchedDevices {
  Backend backend = Backend::kNone;
  std::vector<std::string> ids;
  std::vector<std::string> env;
};

struct RunDevices {
  std::vector<PoolDevice> pool;
  std::vector<LeasedDevice> leasable;           // the same devices, as masks need them
  std::map<std::string, std::string> unusable;  // backend -> reason of the skip
  // The same, of our own suites only: they use the machine's runtime, others may bring their own.
  std::map<std::string, std::string> unusable_by_ours;
  std::map<std::string, std::set<std::string>> lacking;  // backend -> needs that its devices do not meet
  std::map<std::string, std::string>
      absent;                 // backend that the machine does not have, or the caller hides -> why
  std::string no_device_for;  // a backend that cases need and of which there is nothing
  std::vector<std::pair<std::string, std::string>> stack;
  SimEnvironments simulations;
  std::vector<WatchedDevices> watched;
  std::vector<Warning> warnings;
  std::vector<std::string> notes;  // for people, above the cases
};

// Probes only what `plan` needs, in contained children; nothing for a plan without backends.
Result<RunDevices> find_devices(const Plan& plan, const std::optional<Simulation>& simulation,
                                Containment& containment, const Environment& caller);

// Nobody asked for a backend: our own suites run on those that the machine has. Without any they stay, to be
// skipped with the reason.
void leave_out_absent(Plan& plan, RunDevices& devices);

// After cases were taken out of the plan: a backend that nobody needs any more is not missed.
void forget_backends_without_cases(const Plan& plan, RunDevices& devices);

}  // namespace proctor::cli
