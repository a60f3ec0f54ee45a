// Makes a plan from the command line, the built-in suites and the configuration. The programs of the suites list their
// cases on this machine. find_plan() and the commands that list cases call it.
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

// The options that determine the cases of a plan.
struct PlanOptions {
  ConfigOptions config{};
  std::optional<ConfigFiles> files{};  // the files of `config`, if they were already read
  SelectionOptions selection{};
  LimitOptions limits{};
  Extent extent{};
  std::string provider{};  // of collectives; "": the default of each check
  // How long a listing waits for devices of other runs, and a function that is called when it waits. The function may
  // be empty.
  Milliseconds lease_wait{600'000};
  std::function<void(const std::string& why)> on_wait{};
  Milliseconds listing_timeout{60'000};  // of each listing command
  // The file of known lists (known_listings.h); "": none. If `keep_listings` is set, the file is written instead of
  // read.
  std::string listings{};
  bool keep_listings = false;
};

// Returns the options of a request. An error names the argument of a suite.
Result<PlanOptions> plan_options(const RunRequest& request);

// Lists and selects the cases.
Result<PlanOutcome> discover_plan(const PlanOptions& options, Machine& machine);

}  // namespace proctor
