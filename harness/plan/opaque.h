// Plans `proctor exec`: one command becomes a plan of one case, judged by its exit code. The command is not
// recognised or listed, and no configuration file is read. It is started once, exactly as typed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/plan.h"
#include "harness/request/run_request.h"

namespace proctor {

// The options of `proctor exec`.
struct OpaqueCommand {
  std::string directory{};
  SelectionOptions selection{};  // the command and its devices
  bool is_server = false;        // a server, which may be silent while it is idle
  LimitOptions limits{};
};

// Chooses the devices of the command, if neither --backend nor --gpus is given.
using ChooseDevices = std::function<Result<void>(Suite& suite)>;

// Makes the plan. Limits without an option are those of `[defaults.command]` in defaults.toml.
Result<Plan> plan_opaque(const OpaqueCommand& options, const ChooseDevices& choose_devices);

}  // namespace proctor
