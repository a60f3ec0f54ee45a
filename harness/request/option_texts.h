// How a run judges cases that failed and then passed, as `--flaky` and the key `flaky` write it.
#pragma once

#include <string_view>

#include "harness/core/result.h"
#include "harness/plan/plan.h"

namespace proctor {

// "fail", or "pass:2%": at most 2 % of the executed cases, and above 0 % at least one, can be flaky.
Result<void> read_flaky_policy(std::string_view text, RunPolicy& policy);

// The regular expression matches every valid text.
inline constexpr std::string_view kFlakyForm = "^(fail|pass:([0-9]|[1-9][0-9]|100)%)$";

}  // namespace proctor
