// A plan: the suites of the configuration and the discovered cases of a run. It exists before any case is
// started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/frameworks/suite.h"

namespace proctor {

// The suites and cases of a run.
struct Plan {
  std::vector<Suite> suites;
  std::vector<Case> cases;
  // CasePolicy::concurrency_group -> number of processes with its cases that may run at once
  std::map<std::string, int> concurrency_groups{};
  // number of shards of a balanced plan, whose cases have their shard; 0: the case ids determine the shards
  int shards = 0;
};

// Returns Suite::filters of the suites that have cases, one line for each filter, for RunPlanned::filters.
std::vector<std::string> filters_of(const Plan& plan);
// Returns digest_of_plan() of the cases and filters.
std::string plan_digest(const Plan& plan);

// The expected duration of each case of a plan, from earlier runs. A case without a duration has the median
// of its suite, or of the plan if no case of the suite has one.
class ExpectedDurations {
 public:
  // `known` maps case ids to durations in ms. If it contains no case of the plan, all durations are equal.
  ExpectedDurations(const Plan& plan, const std::map<std::string, double>& known);

  double of(std::size_t index) const { return durations_[index]; }

 private:
  std::vector<double> durations_;
};

}  // namespace proctor
