// The cases of a run that an earlier one, or a history, does not have (`--repeat new:50`).
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "reports/history/known_cases.h"

namespace proctor::runner {

// Of a run directory, or of the file of a history.
Result<SeenPrograms> read_seen_programs(const std::string& place);

struct NewCases {
  std::vector<std::string> ids{};
  int not_seen = 0;
  int changed = 0;
  int unknown = 0;  // nobody knows which program they had, or have
};
// `suites`: as they are described in the first record of the run; their programs are read now.
NewCases new_cases(const Plan& plan, const std::vector<PlannedSuite>& suites, const SeenPrograms& seen);

// "3 of 40 cases run at least 50 times: 1 not seen, 2 of a changed program".
std::string to_string(const NewCases& found, std::size_t planned, int times);

}  // namespace proctor::runner
