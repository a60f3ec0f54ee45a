// What a run will do, before anything is started: the suites of the configuration and the cases that were
// discovered.
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

struct Plan {
  std::vector<Suite> suites;
  std::vector<Case> cases;
  // CasePolicy::concurrency_group -> number of processes with its cases that may run at once
  std::map<std::string, int> concurrency_groups{};
  int shards =
      0;  // into how many the plan is balanced: each case has its shard; 0: the ids of the cases decide
};

// Suite::filters of the suites that have cases, one line each, for RunPlanned::filters.
std::vector<std::string> filters_of(const Plan& plan);
// digest_of_plan() of the cases and filters.
std::string plan_digest(const Plan& plan);

// How long each case of a plan takes, by earlier runs. A case without a duration counts as the median of its suite, or of
// the plan where no case of the suite has one.
class ExpectedDurations {
 public:
  // `known`: in ms, by the id of the case. Without any of the plan's cases, all are equal.
  ExpectedDurations(const Plan& plan, const std::map<std::string, double>& known);

  double of(std::size_t index) const { return durations_[index]; }

 private:
  std::vector<double> durations_;
};

}  // namespace proctor
