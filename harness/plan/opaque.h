// `proctor exec`: one command as a plan of one case, judged by its exit code. Nothing is recognised, listed
// or read from a configuration file. The command is started once, as it was typed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/plan.h"
#include "harness/request/run_request.h"

namespace proctor {

struct OpaqueCommand {
  std::string directory{};
  SelectionOptions selection{};  // the command, and its devices
  bool is_server = false;        // it may be silent for as long as it is idle
  LimitOptions limits{};
};

// Determines the devices of the command, if neither --backend nor --gpus does.
using ChooseDevices = std::function<Result<void>(Suite& suite)>;

// The limits that nobody typed are those of `[defaults.command]` of defaults.toml.
Result<Plan> plan_opaque(const OpaqueCommand& options, const ChooseDevices& choose_devices);

}  // namespace proctor
