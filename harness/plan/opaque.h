// `proctor exec`: one command as a plan of one case, judged by its exit code. Nothing is recognised, listed
// or read from a configuration file. The command is started once, as it was typed.
#pragma once

#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/plan/options.h"
#include "harness/plan/plan.h"

namespace proctor {

struct OpaqueCommand {
  std::vector<std::string> command;
  std::string directory;
  std::string backend;              // --backend, as typed; "" = `likely` when devices are wanted
  Backend likely = Backend::kNone;  // the backend of the simulated devices, or the one that this machine has
  std::optional<int> gpus;          // --gpus
  std::string hierarchy;            // --hierarchy; "" = the caller's
  std::string mem_cap;              // --mem-cap; "" = none
  bool host_pids = false;           // --host-pids
  LimitOptions limits;
};

// Without --timeout there is no time limit; the grace is 10 s; stall is off.
Result<Plan> plan_opaque(const OpaqueCommand& options);

}  // namespace proctor
