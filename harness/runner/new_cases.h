// Finds the cases of a plan that are not in an earlier run or in a history (`--repeat new:50`), or whose program
// changed.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "reports/history/known_cases.h"

namespace proctor::runner {

// Reads the cases and programs from `place`, a run directory or the file of a history.
Result<SeenPrograms> read_seen_programs(const std::string& place);

// The cases that are repeated, and how many there are per reason.
struct NewCases {
  std::vector<std::string> ids{};
  int not_seen = 0;
  int changed = 0;
  int unknown = 0;  // the digest of their program is not available, now or then
};
// `suites` are the suites in the first record of the run. The function reads their programs.
NewCases new_cases(const Plan& plan, const std::vector<PlannedSuite>& suites, const SeenPrograms& seen);

// Example: "3 of 40 cases run at least 50 times: 1 not seen, 2 of a changed program".
std::string to_string(const NewCases& found, std::size_t planned, int times);

}  // namespace proctor::runner
