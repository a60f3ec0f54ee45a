// The arguments of the built-in suites: `--suite-arg NAME=VALUE`, where the last value of a name counts.
//
//   size      how much each check does: smoke, ci, full or stress
//   seed      another choice of the points that a check is tried with
//   point     one point alone: AXIS=VALUE,...
//   provider  the library of the collective checks that test none in particular: gloo, oneccl or nccl
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/plan/options.h"

namespace proctor {

inline constexpr const char* kSuiteArgument = "--suite-arg";

struct SuiteArguments {
  std::vector<std::string> typed{};
  std::vector<std::string> names{};  // those that mean something to the command
};

// All names, in the order above.
std::vector<std::string> suite_argument_names();

void add_suite_arguments(CLI::App& command, SuiteArguments& arguments, std::vector<std::string> names);

// Sets what was typed. An error names the argument.
Result<void> read_suite_arguments(const SuiteArguments& arguments, Extent& extent, std::string& provider);

}  // namespace proctor
