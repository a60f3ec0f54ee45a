// Which cases that share a process run once more alone, if they pass there (Suite::verify), and for how long.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "harness/base/duration.h"
#include "harness/plan/plan.h"

namespace proctor {

// Indices of the plan. A share of the cases of each suite, chosen by a hash of the run and the case, so that other runs
// verify others; at least one case of a run. VerificationTime has the last word.
std::set<std::size_t> cases_to_verify(const Plan& plan, const std::string& run_id);

// How long cases of batches may run alone to verify their passes: at most a tenth of the time of their suite's batches, but
// one case of each suite in any case. Suites whose cases are all to be verified are not limited.
class VerificationTime {
 public:
  void add_batch(const Suite& suite, Milliseconds duration) { of_[&suite].batches += duration; }
  void begin_alone(const Suite& suite) { ++of_[&suite].running; }
  void end_alone(const Suite& suite, Milliseconds duration);
  // Whether another case of the suite may run alone. It, and those that run, are expected to take as long as those before.
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
