// From the command line to a plan: built-in suites, configuration, contained discovery. Shared by run and
// list.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/run_options.h"
#include "harness/devices/environment.h"
#include "harness/plan/discovery.h"
#include "harness/plan/plan_file.h"
#include "harness/plan/planner.h"

namespace proctor::cli {

// The directory of the running executable, where the built-in suites' programs are.
std::string program_directory();
// This executable; "" where /proc cannot be read, and then nothing can be started.
std::string own_program();

std::vector<BuiltinSuite> builtin_suites();

// A file of ours below share/proctor, beside the executable (build tree) or where the installed one has it
// from there; "" if there is none.
std::string shared_file(const std::string& name);

// What a plan puts names for (plan/plan_file.h); `start`: where proctor was started.
PlanDirectories plan_places(const std::string& start);

// The caller's environment, as of now.
Environment caller_environment();
// Its PATH, or where programs are looked for without one.
std::string search_path();

// Reads the configuration and asks the suites for their cases (listing.h). `state_dir`: as typed.
Result<PlanOutcome> discover_plan(const PlanOptions& options, const std::string& state_dir,
                                  const std::optional<Simulation>& simulation, Containment& containment);

}  // namespace proctor::cli
