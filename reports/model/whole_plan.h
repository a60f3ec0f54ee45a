// The plan of which a run has a part: a shard (`run --shard`), or what other runs of it left (`run --resume`,
// `plan --rest`).
#pragma once

#include <string>
#include <vector>

#include "harness/core/events.h"
#include "reports/model/run_model.h"

namespace proctor {

struct WholePlan {
  std::string plan{};         // the digest of its file (PlannedShard::plan); "" of a plan that is no file
  std::string plan_digest{};  // digest_of_plan() of its cases
  int planned = 0;            // its cases
  int shards = 1;

  friend bool operator==(const WholePlan&, const WholePlan&) = default;
};

WholePlan whole_plan_of(const RunModel& model);

// Whether the run has an outcome of the case. What is notrun is left for others.
bool is_proven(const RunModel& model, const CaseRecord& record);

// The ids of the cases that the run left, in the planned order.
std::vector<std::string> cases_left_by(const RunModel& model);

}  // namespace proctor
