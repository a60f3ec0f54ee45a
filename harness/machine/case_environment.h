// The environment of every case of a run: the base environment of its kind, the visibility of its devices,
// the simulation, and the suite's own variables, in this order. Equal requests are answered from memory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/devices/environment.h"
#include "harness/devices/simulation.h"
#include "harness/plan/plan.h"

namespace proctor {

// `devices` as the text of PROCTOR_DEVICES.
std::string devices_json(const std::vector<LeasedDevice>& devices);

class CaseEnvironments {
 public:
  // `tmpdir`: TMPDIR of kinds with a strict environment, until an attempt has its own. `size`: the run's
  // --size, for kind proctor.
  CaseEnvironments(Environment caller, std::vector<LeasedDevice> devices, SimEnvironments simulations,
                   std::string tmpdir, std::string size);

  // The environment of a case of `suite` that holds the devices with these ids, as NAME=VALUE.
  Result<std::vector<std::string>> of(const Suite& suite, const std::vector<std::string>& device_ids);
  // The environment of a program of ours that is no case and uses these devices.
  Result<std::vector<std::string>> of_program(Backend backend, const std::vector<std::string>& device_ids);

 private:
  // What the environment of a process depends on, besides its devices.
  struct Process {
    bool ours = true;
    Backend backend = Backend::kNone;
    std::string mask = "uuid";
    std::map<std::string, std::string> env = {};
  };
  Result<std::vector<std::string>> remembered(const std::string& name, const Process& process,
                                              const std::vector<std::string>& device_ids);
  Result<Environment> build(const Process& process, const std::vector<std::string>& device_ids) const;

  Environment caller_;
  std::vector<LeasedDevice> devices_;
  SimEnvironments simulations_;
  std::string tmpdir_;
  std::string size_;
  std::map<std::string, std::vector<std::string>> built_;
};

}  // namespace proctor
