// Makes a plan from the command line, the built-in suites and the configuration. The suites' own programs
// list their cases on this machine.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/plan/config.h"
#include "harness/plan/planner.h"
#include "harness/request/run_request.h"
#include "harness/runner/machine/machine.h"

namespace proctor {

// They determine the cases of a plan.
struct PlanOptions {
  ConfigOptions config{};
  std::optional<ConfigFiles> files{};  // of `config`, if they were read
  SelectionOptions selection{};
  LimitOptions limits{};
  Extent extent{};
  std::string provider{};  // of collectives; "" = each check's own
  // How long a listing waits for devices that other runs hold, and who is told that it does. May be empty.
  Milliseconds lease_wait{600'000};
  std::function<void(const std::string& why)> on_wait{};
  Milliseconds listing_timeout{60'000};  // of each command that lists
  // What was listed before (known_listings.h); "" = nothing. It is not read but written if `keep_listings`.
  std::string listings{};
  bool keep_listings = false;
};

// Returns the options of a request. An error names the argument of a suite.
Result<PlanOptions> plan_options(const RunRequest& request);

Result<PlanOutcome> discover_plan(const PlanOptions& options, Machine& machine);

}  // namespace proctor
