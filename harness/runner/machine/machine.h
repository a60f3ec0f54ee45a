// The host and the installation that a run uses. A run reopens it at its start. Each part is made when it is first
// requested, because it needs the parts before it:
//
//   simulation    which devices are simulated, if any: read from the options, so that it can be refused
//                 before any program is started
//   containment   contains every process that is started later
//   devices       found by contained probes, narrowed by the caller's mask and by CTest's allocation
//   leases        the directory through which other runs lease the devices
//   scratch       directories that are removed at the end
//   environments  the variables that determine which devices a case sees
//   monitor       watches the state of the devices while cases run
//
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/environment.h"
#include "harness/devices/health/health_check.h"
#include "harness/devices/leases/lease.h"
#include "harness/devices/simulation.h"
#include "harness/devices/telemetry/device_monitor.h"
#include "harness/journal/machine_facts.h"
#include "harness/process/containment.h"
#include "harness/request/run_request.h"
#include "harness/runner/machine/case_environment.h"
#include "harness/runner/machine/found_devices.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/machine/scratch.h"

namespace proctor {

class Machine {
 public:
  explicit Machine(Installation installation = {});
  // Opens a new machine. `name` identifies its user in its cgroup and its leases: the id of a run, or "undrain-PID".
  static Result<std::unique_ptr<Machine>> open(const MachineOptions& options, std::string name);
  // Removes the cgroup, the scratch directories and the other parts, in the reverse order of their creation.
  void close();
  // Releases the parts of an earlier user, and starts no program. Errors are usage errors of the options.
  Result<void> reopen(const MachineOptions& options, std::string name);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const Installation& installation() const { return installation_; }
  const std::string& name() const { return name_; }
  const MachineOptions& options() const { return options_; }
  // Returns the environment of this process, as it was when the machine was opened.
  const Environment& caller() const { return caller_; }

  const std::optional<Simulation>& simulation() const { return simulation_; }
  // Gives the caller's PROCTOR_SIM_FAULTS to the simulated devices. Faults without an effect are refused.
  Result<void> take_faults();

  Result<Containment*> containment();
  // Returns the devices of these backends, or only those of --devices if it is given. A backend is probed only once.
  Result<FoundDevices> devices(const std::vector<Backend>& backends);
  // Returns how many devices of each backend --devices names; empty without this option.
  Result<std::map<Backend, int>> chosen();
  // Returns the backends that probably have devices here, the most probable first: those of --sim, otherwise those with
  // a device node.
  std::vector<Backend> likely_backends() const;
  // Returns those of likely_backends() with a device that is not integrated.
  std::vector<Backend> discrete_backends() const;
  // Returns null if no other run can see any of `devices`, so that no lease is needed.
  Result<LeaseDirectory*> leases(const FoundDevices& devices);
  // Sets the directory of the lease files. Call it before leases(); "" changes nothing.
  void lease_in(const std::string& directory);
  // Returns the directory of the lease files, or "" if the machine is simulated for this run only.
  std::string lease_path() const;
  Result<ScratchRoot*> scratch();
  // Returns the directory of the simulated devices, which all processes of the run share. Returns "" if nothing is
  // simulated, or if each process simulates its own devices.
  Result<std::string> sim_state(const FoundDevices& devices);
  // Returns the environments in which cases see `devices`, with this extent of the built-in suites. `session` has the
  // faults of the simulated devices, and the log of those that fire. If it has no state, the simulated devices are
  // those of the machine.
  Result<CaseEnvironments> environments(const FoundDevices& devices, const Extent& extent,
                                        SimSession session = {});
  // Returns nothing if no device can be monitored.
  Result<std::optional<MonitorSetup>> monitor(const FoundDevices& devices);
  // The facts of the management libraries about the devices, by id. A device about which the library does not respond
  // has a line in `problems`, and is missing in `cards`.
  struct Facts {
    FactsOfCards cards;
    std::vector<std::string> problems;
  };
  Result<Facts> facts(const FoundDevices& devices);
  // Returns how one of `devices` is examined, in the environment of a case. Returns nothing if no program here can
  // examine it. `may_reset` allows the reset of a device that fails.
  Result<std::optional<HealthRequest>> health_request(const FoundDevices& devices, const std::string& device,
                                                      CaseEnvironments& environments, bool may_reset);

 private:
  Result<void> check_suites() const;
  // The start of a probe that sees the devices of `watched`.
  struct ProbeStart {
    std::vector<std::string> argv;
    std::vector<std::string> env;
  };
  Result<ProbeStart> start_of_probe(const FoundDevices& devices, const WatchedDevices& watched,
                                    const std::string& faults);
  // Returns the devices of `backends`. If --devices may name others, it returns the devices of all backends that can be
  // probed.
  Result<FoundDevices> sample(const std::vector<Backend>& backends);
  // Checks that the devices are within those of the Slurm job.
  Result<void> check_allocation(const FoundDevices& wanted);

  Installation installation_;
  MachineOptions options_;
  std::string name_;
  Environment caller_;
  std::optional<Simulation> simulation_;
  std::unique_ptr<Containment> containment_;
  std::map<Backend, FoundDevices> found_;
  std::unique_ptr<LeaseDirectory> leases_;
  std::unique_ptr<ScratchRoot> scratch_;
  std::string sim_state_;
};

}  // namespace proctor
