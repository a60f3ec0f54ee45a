// Makes the environment of each case of a run. It consists of the base environment of its kind, the variables of the
// suite, the visibility of its devices and the simulation, in this order. Thus a variable of a caller or a suite cannot
// move a case to another device. Equal requests return a cached result.
//
// It also lists the variables of the caller and of suites that determine what the processes of a suite run and how they
// judge (harness/base/narrowing_variables.h). The list has only variables that the processes receive and that neither
// Proctor nor a simulation sets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/environment.h"
#include "harness/devices/simulation.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "harness/request/run_request.h"

namespace proctor {

// Returns `devices` as the text of PROCTOR_DEVICES.
std::string devices_json(const std::vector<LeasedDevice>& devices);

// The environment of a process.
struct CaseEnvironment {
  std::vector<std::string> variables;           // all variables, as NAME=VALUE
  std::vector<EnvironmentVariable> visibility;  // the variables that determine which devices are visible
};

// Makes and caches environments. finish_run() and the probes use it.
class CaseEnvironments {
 public:
  // `tmpdir` is TMPDIR of kinds with a strict environment, until an attempt has its own. `extent` is the extent of the
  // run, for kind proctor.
  CaseEnvironments(Environment caller, std::vector<LeasedDevice> devices, SimEnvironments simulations,
                   std::string tmpdir, Extent extent);

  // Returns the environment of a case of `suite` that holds the devices with these ids.
  Result<CaseEnvironment> of(const Suite& suite, const std::vector<std::string>& device_ids);
  // Returns the environment of a program of Proctor that is not a case and uses these devices.
  Result<CaseEnvironment> of_program(Backend backend, const std::vector<std::string>& device_ids);

 private:
  // The facts, besides its devices, that determine the environment of a process.
  struct Process {
    bool ours = true;
    Backend backend = Backend::kNone;
    std::string mask = "uuid";
    std::string hierarchy = {};  // "" = the value of the caller, else composite
    std::uint64_t mem_cap = 0;   // 0: no limit
    std::map<std::string, std::string> env = {};
    std::vector<std::string_view> not_from_caller = {};
  };
  Result<CaseEnvironment> remembered(const std::string& name, const Process& process,
                                     const std::vector<std::string>& device_ids);
  Result<CaseEnvironment> build(const Process& process, const std::vector<std::string>& device_ids) const;
  std::vector<LeasedDevice> leased(const std::vector<std::string>& device_ids) const;
  Result<std::vector<VariableChange>> visibility(const Process& process,
                                                 const std::vector<LeasedDevice>& leased,
                                                 const SimEnvironment* simulation) const;
  void add_our_variables(const Process& process, const std::vector<LeasedDevice>& leased,
                         Environment& environment) const;

  Environment caller_;
  std::vector<LeasedDevice> devices_;
  SimEnvironments simulations_;
  std::string tmpdir_;
  Extent extent_;
  std::map<std::string, CaseEnvironment> built_;
};

// `child` has all variables of a process of `suite`, as NAME=VALUE. `our_python_path` is the prefix that Proctor adds
// to PYTHONPATH of a pytest suite.
std::vector<NarrowingVariable> narrowing_variables(const Suite& suite, const Environment& caller,
                                                   const std::vector<std::string>& child,
                                                   const std::string& our_python_path);

// Returns one line per variable, for the head of the console.
std::vector<std::string> describe_narrowing(const std::vector<NarrowingVariable>& variables);

}  // namespace proctor
