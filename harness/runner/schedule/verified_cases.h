// Which cases that share a process run once more alone, if they pass there (Suite::verify).
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "harness/plan/plan.h"

namespace proctor {

// Indices of the plan. A share of the cases of each suite, chosen by a hash of the run and the case, so that other runs
// verify others; at least one case of a run. VerificationTime has the last word.
std::set<std::size_t> cases_to_verify(const Plan& plan, const std::string& run_id);

}  // namespace proctor
