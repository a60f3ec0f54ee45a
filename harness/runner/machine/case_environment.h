// The environment of every case of a run: the base environment of its kind, the suite's own variables, the
// visibility of its devices, and the simulation, in this order, so that nothing that a caller or a suite has set
// moves a case to another device than its own. Equal requests are answered from memory.
//
// Which variables of the caller, or of a suite, decide what the suite's processes run and how they judge
// (harness/base/narrowing_variables.h): of those that its processes have indeed, and that neither we nor a simulation set.
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

// `devices` as the text of PROCTOR_DEVICES.
std::string devices_json(const std::vector<LeasedDevice>& devices);

struct CaseEnvironment {
  std::vector<std::string> variables;           // NAME=VALUE, all of them
  std::vector<EnvironmentVariable> visibility;  // those that decide which devices are seen
};

class CaseEnvironments {
 public:
  // `tmpdir`: TMPDIR of kinds with a strict environment, until an attempt has its own. `extent`: the run's,
  // for kind proctor.
  CaseEnvironments(Environment caller, std::vector<LeasedDevice> devices, SimEnvironments simulations,
                   std::string tmpdir, Extent extent);

  // The environment of a case of `suite` that holds the devices with these ids.
  Result<CaseEnvironment> of(const Suite& suite, const std::vector<std::string>& device_ids);
  // The environment of a program of ours that is no case and uses these devices.
  Result<CaseEnvironment> of_program(Backend backend, const std::vector<std::string>& device_ids);

 private:
  // What the environment of a process depends on, besides its devices.
  struct Process {
    bool ours = true;
    Backend backend = Backend::kNone;
    std::string mask = "uuid";
    std::string hierarchy = {};  // "" = the caller's, else composite
    std::uint64_t mem_cap = 0;   // 0: none
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

// `child`: NAME=VALUE, all that a process of `suite` has. `our_python_path`: what stands before the PYTHONPATH of a suite
// of pytest.
std::vector<NarrowingVariable> narrowing_variables(const Suite& suite, const Environment& caller,
                                                   const std::vector<std::string>& child,
                                                   const std::string& our_python_path);

// Lines for the head of the console, one for each variable.
std::vector<std::string> describe_narrowing(const std::vector<NarrowingVariable>& variables);

}  // namespace proctor
