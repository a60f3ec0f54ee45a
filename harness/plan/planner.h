// The whole way from options to a plan: config -> suites -> kinds -> discovery -> selection -> limits.
#pragma once

#include <string>
#include <vector>

#include "harness/core/events.h"
#include "harness/plan/config.h"
#include "harness/plan/discovery.h"
#include "harness/plan/options.h"
#include "harness/plan/plan.h"

namespace proctor {

struct PlanOutcome {
  Plan plan;
  std::vector<Warning> warnings;
  RunPolicy run{};  // as configured; empty for `exec`
};

// Where programs and Python modules are looked for.
struct SearchPaths {
  std::string path;           // the caller's PATH
  std::string python_path;    // the caller's PYTHONPATH; "" = none
  std::string pytest_plugin;  // the directory of proctor_pytest.py; "" = it is not installed
};

// `run` and `run_with_devices` start the listing commands, contained and with a deadline.
Result<PlanOutcome> make_plan(const Config& config, const SelectionOptions& options, const SearchPaths& paths,
                              const ListRunner& run, const DeviceListRunner& run_with_devices = {});

}  // namespace proctor
