// How long cases of batches may run alone to verify their passes: at most a tenth of the time of their suite's batches, but
// one case of a run in any case. Suites whose cases are all to be verified are not limited. Durations in milliseconds.
#pragma once

#include <map>

#include "harness/core/duration.h"
#include "harness/plan/plan.h"

namespace proctor {

class VerificationTime {
 public:
  void add_batch(const Suite& suite, Milliseconds duration) { of_[&suite].batches += duration; }
  void add_alone(const Suite& suite, Milliseconds duration);
  // Whether another case of the suite may run alone. It is expected to take as long as those before it.
  bool allows(const Suite& suite) const;

 private:
  struct Sum {
    Milliseconds batches{};
    Milliseconds alone{};
    int verified = 0;
  };

  std::map<const Suite*, Sum> of_;
  bool any_ = false;
};

}  // namespace proctor
