// How long cases of batches may run alone to verify their passes: at most a tenth of the time of their suite's batches, but
// one case of each suite in any case. Suites whose cases are all to be verified are not limited.
#pragma once

#include <map>

#include "harness/base/duration.h"
#include "harness/plan/plan.h"

namespace proctor {

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
