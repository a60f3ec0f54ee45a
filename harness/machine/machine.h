// What a run stands on. A machine is opened once; each part is made when it is first asked for, because each
// needs the one before it:
//
//   simulation    which devices are simulated, if any: read from the options, so that it can be refused
//                 before anything is started
//   containment   what holds every process that is started from here on
//   devices       found by contained probes, narrowed by the caller's mask and by CTest's allocation
//   leases        where the devices are leased from other runs
//   scratch       directories that are removed at the end
//   environments  what a case sees of its devices
//   monitor       how the devices are while cases run
//
// Where our own programs lie is known without a machine: installation.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/devices/environment.h"
#include "harness/devices/health/health_check.h"
#include "harness/devices/leases/lease.h"
#include "harness/devices/simulation.h"
#include "harness/devices/telemetry/device_monitor.h"
#include "harness/machine/case_environment.h"
#include "harness/machine/found_devices.h"
#include "harness/machine/options.h"
#include "harness/machine/scratch.h"
#include "harness/process/containment.h"

namespace proctor {

class Machine {
 public:
  // Starts nothing. `name`: whose machine it is, for its cgroup and its leases: a run's id, or "undrain-PID".
  // Errors are usage errors of the options.
  static Result<std::unique_ptr<Machine>> open(const MachineOptions& options, std::string name);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const std::string& name() const { return name_; }
  const MachineOptions& options() const { return options_; }
  // The environment of this process, as it was when the machine was opened.
  const Environment& caller() const { return caller_; }

  const std::optional<Simulation>& simulation() const { return simulation_; }
  // The caller's PROCTOR_SIM_FAULTS are for the simulated devices; refused when they would not take effect.
  Result<void> take_faults();

  Result<Containment*> containment();
  // Those of these backends. A backend is probed once.
  Result<FoundDevices> devices(const std::vector<Backend>& backends);
  // Null: nobody else can see any of `devices`, so there is nothing to lease them from.
  Result<LeaseDirectory*> leases(const FoundDevices& devices);
  // The directory that lease files are in; "": there is none, because the machine is simulated for this run.
  std::string lease_path() const;
  Result<ScratchRoot*> scratch();
  // The directory of the simulated devices, which all processes of the run share; "": nothing is simulated, or
  // each process simulates its own.
  Result<std::string> sim_state(const FoundDevices& devices);
  // What cases see of `devices` at this size of ours. `session`: which faults the simulated ones have, and where
  // those that fire are logged; where it names no state, the simulated devices are the machine's.
  Result<CaseEnvironments> environments(const FoundDevices& devices, const std::string& size,
                                        SimSession session = {});
  // None: there is nothing to look after.
  Result<std::optional<MonitorSetup>> monitor(const FoundDevices& devices);
  // How one of `devices` is examined, as a case would see it; none: nothing here can examine it.
  // `may_reset`: a device that fails may be reset.
  Result<std::optional<HealthRequest>> health_request(const FoundDevices& devices, const std::string& device,
                                                      CaseEnvironments& environments, bool may_reset);

 private:
  Machine(const MachineOptions& options, std::string name);

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
