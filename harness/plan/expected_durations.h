// How long each case of a plan takes, by earlier runs. A case without a duration counts as the median of its suite, or of
// the plan where no case of the suite has one.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/plan/plan.h"

namespace proctor {

class ExpectedDurations {
 public:
  // `known`: in ms, by the id of the case. Without any of the plan's cases, all are equal.
  ExpectedDurations(const Plan& plan, const std::map<std::string, double>& known);

  double of(std::size_t index) const { return durations_[index]; }

 private:
  std::vector<double> durations_;
};

}  // namespace proctor
