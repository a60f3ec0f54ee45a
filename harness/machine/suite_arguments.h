// The arguments of the built-in suites: `--suite-arg NAME=VALUE`, where the last value of a name counts.
//
//   size      how much each check does: smoke, ci, full or stress
//   seed      another choice of the points that a check is tried with
//   point     one point alone: AXIS=VALUE,...
//   provider  the library of the collective checks that test none in particular: gloo, oneccl or nccl
#pragma once

#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/machine/options.h"

namespace proctor {

inline constexpr const char* kSuiteArgument = "--suite-arg";

// All of them, in the order above.
std::vector<std::string> suite_argument_names();

// `names`: those that mean something to the command.
void add_suite_arguments(CLI::App& command, SuiteArguments& arguments, std::vector<std::string> names);

// Sets what options.suite_arguments has. An error names the argument.
Result<void> read_suite_arguments(PlanOptions& options);

}  // namespace proctor
