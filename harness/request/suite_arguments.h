// The arguments of the built-in suites, typed as `--suite-arg NAME=VALUE`. The last value of a name applies.
//
//   size      how much each check does: smoke, ci, full or stress
//   seed      selects other points of a check
//   point     the only point to check: AXIS=VALUE,...
//   provider  the library for collective checks that do not test one library: gloo, oneccl or nccl
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/request/option.h"
#include "harness/request/run_request.h"

namespace proctor {

inline constexpr const char* kSuiteArgument = "--suite-arg";

// Returns all names, in the order above.
std::vector<std::string> suite_argument_names();

// Returns the effect for the gate, which has a rule about size and seed.
GateEffect effect_of_suite_argument(std::string_view argument);

// Stores the typed arguments in `extent` and `provider`. `names` are the arguments that the command accepts. An error
// names the invalid argument.
Result<void> read_suite_arguments(const std::vector<std::string>& typed,
                                  const std::vector<std::string>& names, Extent& extent,
                                  std::string& provider);

}  // namespace proctor
