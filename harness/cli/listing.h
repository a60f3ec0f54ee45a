// A listing command, contained and with a deadline: in the environment of the caller, with every device
// hidden, or with devices of its backend, leased for as long as it runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/run_options.h"
#include "harness/devices/leases/lease.h"
#include "harness/devices/simulation.h"
#include "harness/plan/discovery.h"
#include "harness/process/containment.h"

namespace proctor::cli {

// Where the devices of a run are leased from other runs; "": nobody else can see them.
std::string lease_path(const PlanOptions& options, const std::string& state_dir, bool simulated);

class Listing {
 public:
  Listing(Containment& containment, const PlanOptions& options, std::string state_dir,
          const std::optional<Simulation>& simulation)
      : containment_(containment),
        options_(options),
        state_dir_(std::move(state_dir)),
        simulation_(simulation) {}

  // A driver that hangs must not hang discovery: it sees no device.
  Result<ListOutput> without_devices(const std::vector<std::string>& argv,
                                     const std::map<std::string, std::string>& extra_env,
                                     const std::string& directory);
  // With as many devices as its cases get, if so many are free at this moment; else without, and a warning.
  Result<ListOutput> with_devices(const Suite& suite, const std::vector<std::string>& argv);

  const std::vector<Warning>& warnings() const { return warnings_; }

 private:
  struct Process {
    std::vector<std::string> argv;
    std::vector<std::string> env;
    std::string directory;
    std::vector<int> leases = {};
  };
  Result<ListOutput> run(const Process& process);

  Containment& containment_;
  const PlanOptions& options_;
  std::string state_dir_;
  const std::optional<Simulation>& simulation_;
  std::vector<Warning> warnings_;
};

}  // namespace proctor::cli
