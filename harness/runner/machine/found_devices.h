// Which devices a run may lease, and how its cases reach them.
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

// The devices that a probe in this environment (NAME=VALUE, without the simulation) finds, in its order, as
// far as they can be watched.
struct WatchedDevices {
  Backend backend = Backend::kNone;
  std::vector<std::string> ids;
  std::vector<std::string> env;
};

struct FoundDevices {
  std::vector<PoolDevice> pool;
  std::vector<LeasedDevice> leasable;           // the same devices, as masks need them
  std::map<std::string, std::string> unusable;  // backend -> reason of the skip
  // The same, for our own suites only. They use the machine's runtime; other suites may bring their own.
  std::map<std::string, std::string> unusable_by_ours;
  int cuda_runtime = 0;  // the number of the CUDA Runtime that works here, e.g. 12; 0: not known
  std::map<std::string, std::set<std::string>> lacking;  // backend -> needs that its devices do not meet
  std::map<std::string, std::string> absent;   // backend that is not here, or is hidden by the caller -> why
  std::map<std::string, std::string> failing;  // backend whose driver is here and fails -> its warning's text
  std::map<std::string, std::string> driver_files;  // backend -> Inventory::driver_file
  std::vector<std::pair<std::string, std::string>> stack;
  std::map<std::string, std::string> silent_drivers;  // backend whose driver does not say what it is -> why
  int nodes = 1;  // of the Slurm job of which this machine is one; a case uses only this one
  SimEnvironments simulations;
  std::vector<WatchedDevices> watched;
  std::vector<Warning> warnings;
  std::vector<std::string> notes;  // for people, above the cases

  // Null if there is no such device.
  const PoolDevice* find(const std::string& id) const;
  // Appends the devices that were found for another backend.
  void add(const FoundDevices& other);
  // The ids of what --devices names. An error names what is not here, and what is: of usage only where the word can name
  // no device on any machine, or names one twice.
  Result<std::vector<std::string>> choose(const std::string& spec) const;
  // Removes all others. Cases get the first of `chosen` first.
  void keep(const std::vector<std::string>& chosen);
  // Removes the devices that CTest has not given to this test but to others beside it.
  Result<void> keep_what_ctest_allocated(const Environment& caller);
};

// Finds the devices of one backend: the machine's own, or the simulated ones. They are probed in a contained
// child; a driver that hangs costs one deadline.
Result<FoundDevices> find_devices(Backend backend, const std::optional<Simulation>& simulation,
                                  Containment& containment, const Environment& caller);

// The backends of the plan's cases.
std::vector<Backend> backends_of(const Plan& plan);

// A driver that is here and fails is a failure of the machine, and no lack of devices (exit 75): its warning gets the code
// for that. Not where the plan can use devices of another vendor: a driver without a card may be left over.
void attribute_to_drivers(const Plan& plan, FoundDevices& devices);

// Of each vendor whose driver does not say here what it is, or was not asked, that and why.
std::vector<StackFact> unsaid_drivers(const FoundDevices& devices);

// For a run that names no backend: leaves our own suites out on backends that the machine does not have. If
// it has no device at all, the suites stay, so that they are skipped with the reason. Returns a line for
// people about each suite that was left out.
std::vector<std::string> leave_out_absent(Plan& plan, const FoundDevices& devices);

// A backend that cases need and that has no devices; "" if there is no such backend.
std::string backend_without_devices(const Plan& plan, const FoundDevices& devices);
// The variable of the caller that leaves no device of `backend`; "" if none does.
std::string variable_that_hides(const std::string& backend, const FoundDevices& devices);

}  // namespace proctor
