// Selects cases that share a process and must pass once more in a separate process (Suite::verify), and limits the time
// for this. PendingCases and GroupProcesses use it.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "harness/base/duration.h"
#include "harness/plan/plan.h"

namespace proctor {

// Returns indices of the plan: a share of the cases of each suite, and at least one case of the run. A hash of the run
// and the case selects them, so other runs verify other cases. VerificationTime can still exclude them.
std::set<std::size_t> cases_to_verify(const Plan& plan, const std::string& run_id);

// Limits the time in which cases of batches run alone to verify their passes. The limit is a tenth of the time of the
// batches of their suite, but one case of each suite is always allowed. Suites that verify all cases have no limit.
class VerificationTime {
 public:
  void add_batch(const Suite& suite, Milliseconds duration) { of_[&suite].batches += duration; }
  void begin_alone(const Suite& suite) { ++of_[&suite].running; }
  void end_alone(const Suite& suite, Milliseconds duration);
  // Returns whether another case of the suite may run alone. The estimate for this case and for the running ones is the
  // mean of the earlier ones.
  bool allows(const Suite& suite) const;

 private:
  struct Sum {
    Milliseconds batches{};
    Milliseconds alone{};
    int running = 0;
    int verified = 0;
  };

  std::map<const Suite*, Sum> of_;
};

}  // namespace proctor
