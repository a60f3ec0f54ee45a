// Everything below a run: this host, and an installation of Proctor on it. It is opened for each run. Each part is made when it
// is first requested, because it needs the parts before it:
//
//   simulation    which devices are simulated, if any: read from the options, so that it can be refused
//                 before anything is started
//   containment   holds every process that is started from then on
//   devices       found by contained probes, narrowed by the caller's mask and by CTest's allocation
//   leases        where the devices are leased from other runs
//   scratch       directories that are removed at the end
//   environments  what a case sees of its devices
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
  // Opens a new machine. `name` says who uses it, for its cgroup and its leases: a run's id, or "undrain-PID".
  static Result<std::unique_ptr<Machine>> open(const MachineOptions& options, std::string name);
  // Removes the cgroup, the scratch directories and the other parts, in the reverse order of their making.
  void close();
  // Starts nothing, and gives up the parts that an earlier user had. Errors are usage errors of the options.
  Result<void> reopen(const MachineOptions& options, std::string name);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const Installation& installation() const { return installation_; }
  const std::string& name() const { return name_; }
  const MachineOptions& options() const { return options_; }
  // The environment of this process, as it was when the machine was opened.
  const Environment& caller() const { return caller_; }

  const std::optional<Simulation>& simulation() const { return simulation_; }
  // Gives the caller's PROCTOR_SIM_FAULTS to the simulated devices. They are refused if they would have no
  // effect.
  Result<void> take_faults();

  Result<Containment*> containment();
  // The devices of these backends, of --devices alone if that is given. A backend is probed only once.
  Result<FoundDevices> devices(const std::vector<Backend>& backends);
  // How many devices of each backend --devices names; empty without that option.
  Result<std::map<Backend, int>> chosen();
  // Of which devices are likely to be here, the likeliest first: those of --sim, else those that have a device node.
  std::vector<Backend> likely_backends() const;
  // Those of them with a device that is not integrated.
  std::vector<Backend> discrete_backends() const;
  // Null if nobody else can see any of `devices`, so that no lease is needed.
  Result<LeaseDirectory*> leases(const FoundDevices& devices);
  // Sets the directory of the lease files before leases() is called; "" changes nothing.
  void lease_in(const std::string& directory);
  // The directory of the lease files; "" if there is none, because the machine is simulated for this run.
  std::string lease_path() const;
  Result<ScratchRoot*> scratch();
  // The directory of the simulated devices, which all processes of the run share; "" if nothing is simulated,
  // or if each process simulates devices of its own.
  Result<std::string> sim_state(const FoundDevices& devices);
  // The environments in which cases see `devices`, with this extent of our suites. `session` names the
  // faults of the simulated devices and the log of those that fire. If it names no state, the simulated
  // devices are those of the machine.
  Result<CaseEnvironments> environments(const FoundDevices& devices, const Extent& extent,
                                        SimSession session = {});
  // None if there is nothing to watch.
  Result<std::optional<MonitorSetup>> monitor(const FoundDevices& devices);
  // What the management libraries say of the devices, by their ids. One about which the library does not answer has a line in
  // `problems`, and is not there.
  struct Facts {
    FactsOfCards cards;
    std::vector<std::string> problems;
  };
  Result<Facts> facts(const FoundDevices& devices);
  // How one of `devices` is examined, in the environment that a case would have; none if nothing here can
  // examine it. With `may_reset`, a device that fails may be reset.
  Result<std::optional<HealthRequest>> health_request(const FoundDevices& devices, const std::string& device,
                                                      CaseEnvironments& environments, bool may_reset);

 private:
  Result<void> check_suites() const;
  // How a probe is started that sees the devices of `watched`.
  struct ProbeStart {
    std::vector<std::string> argv;
    std::vector<std::string> env;
  };
  Result<ProbeStart> start_of_probe(const FoundDevices& devices, const WatchedDevices& watched,
                                    const std::string& faults);
  // The devices of `backends` and, where --devices may name others, of all that can be looked at.
  Result<FoundDevices> sample(const std::vector<Backend>& backends);
  // That they are within those of the Slurm job.
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
