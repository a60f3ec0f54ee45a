// The environment of every case of a run: what its kind starts from, the visibility of its devices, the
// simulation, and the suite's own variables, in this order. Equal requests are answered from memory.
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

 private:
  Result<Environment> build(const Suite& suite, const std::vector<std::string>& device_ids) const;

  Environment caller_;
  std::vector<LeasedDevice> devices_;
  SimEnvironments simulations_;
  std::string tmpdir_;
  std::string size_;
  std::map<std::string, std::vector<std::string>> built_;
};

}  // namespace proctor
