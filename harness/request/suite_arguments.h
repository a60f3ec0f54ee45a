// The arguments of the built-in suites: `--suite-arg NAME=VALUE`, where the last value of a name counts.
//
//   size      how much each check does: smoke, ci, full or stress
//   seed      another choice of the points that a check is tried with
//   point     one point alone: AXIS=VALUE,...
//   provider  the library of the collective checks that test none in particular: gloo, oneccl or nccl
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/request/option.h"
#include "harness/request/run_request.h"

namespace proctor {

inline constexpr const char* kSuiteArgument = "--suite-arg";

// All names, in the order above.
std::vector<std::string> suite_argument_names();

// The gate has a rule about size and seed.
GateEffect effect_of_suite_argument(std::string_view argument);

// Sets what was typed. `names`: those that mean something to the command. An error names the argument.
Result<void> read_suite_arguments(const std::vector<std::string>& typed,
                                  const std::vector<std::string>& names, Extent& extent,
                                  std::string& provider);

}  // namespace proctor
