// The devices that a run may lease, and how its cases access them. Machine::devices() collects them from one probe per
// backend.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/environment.h"
#include "harness/devices/leases/device_pool.h"
#include "harness/devices/simulation.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "harness/process/containment.h"

namespace proctor {

// The devices that a probe finds in this environment, in its order, as far as they can be monitored. `env` has
// NAME=VALUE, without the variables of the simulation.
struct WatchedDevices {
  Backend backend = Backend::kNone;
  std::vector<std::string> ids;
  std::vector<std::string> env;
};

// The devices of a run, and the facts that the probes reported.
struct FoundDevices {
  std::vector<PoolDevice> pool;
  std::vector<LeasedDevice> leasable;           // the same devices, in the form that masks need
  std::map<std::string, std::string> unusable;  // backend -> reason of the skip
  // The same for the suites of Proctor only. They use the runtime of the machine; other suites may have another
  // runtime.
  std::map<std::string, std::string> unusable_by_ours;
  int cuda_runtime = 0;  // the version of a working CUDA Runtime, e.g. 12; 0: unknown
  std::map<std::string, std::set<std::string>> lacking;  // backend -> needs that its devices do not meet
  std::map<std::string, std::string> absent;  // backend that is missing, or is hidden by the caller -> reason
  std::map<std::string, std::string>
      failing;  // backend whose driver is installed and fails -> text of its warning
  std::map<std::string, std::string> driver_files;  // backend -> Inventory::driver_file
  std::vector<std::pair<std::string, std::string>> stack;
  std::map<std::string, std::string> silent_drivers;  // backend whose driver reports no version -> reason
  int nodes = 1;  // of the Slurm job of this machine; a case uses only this node
  SimEnvironments simulations;
  std::vector<WatchedDevices> watched;
  std::vector<Warning> warnings;
  std::vector<std::string> notes;  // lines for people, above the cases

  // Returns null if no device has this id.
  const PoolDevice* find(const std::string& id) const;
  // Appends the devices of another backend.
  void add(const FoundDevices& other);
  // Returns the ids of the devices that --devices names. An error names the missing device and the existing ones. It is
  // a usage error only if the word cannot name a device on any machine, or if a device is named twice.
  Result<std::vector<std::string>> choose(const std::string& spec) const;
  // Removes all other devices. Cases get the first of `chosen` first.
  void keep(const std::vector<std::string>& chosen);
  // Removes the devices that CTest has assigned to other tests.
  Result<void> keep_what_ctest_allocated(const Environment& caller);
};

// Finds the real or simulated devices of one backend. A contained child process probes them, so a driver that hangs
// costs one deadline.
Result<FoundDevices> find_devices(Backend backend, const std::optional<Simulation>& simulation,
                                  Containment& containment, const Environment& caller);

// Returns the backends of the plan's cases.
std::vector<Backend> backends_of(const Plan& plan);

// An installed driver that fails is a failure of the machine, not a lack of devices (exit code 75). Its warning then
// gets the code for this. This does not apply if the plan can use devices of another vendor: a driver without a card
// may be a leftover.
void attribute_to_drivers(const Plan& plan, FoundDevices& devices);

// Returns one fact for each vendor whose driver reports no version here, or was not probed, with the reason.
std::vector<StackFact> unsaid_drivers(const FoundDevices& devices);

// Removes built-in suites on missing backends from a run that names no backend. If the machine has no device at all,
// the suites stay. They are then skipped with the reason. Returns one line for people about each removed suite.
std::vector<std::string> leave_out_absent(Plan& plan, const FoundDevices& devices);

// Returns a backend that cases need and that has no devices; "" if there is no such backend.
std::string backend_without_devices(const Plan& plan, const FoundDevices& devices);
// Returns the variable of the caller that hides all devices of `backend`, or "".
std::string variable_that_hides(const std::string& backend, const FoundDevices& devices);

}  // namespace proctor
