#include "reports/model/whole_plan.h"

namespace proctor {

WholePlan whole_plan_of(const RunModel& model) {
  const RunPlanned& plan = model.plan();
  if (plan.rest) {
    return {.plan = plan.rest->plan,
            .plan_digest = plan.rest->plan_digest,
            .planned = plan.rest->planned,
            .shards = plan.rest->shards};
  }
  if (plan.shard) {
    return {.plan = plan.shard->plan,
            .plan_digest = plan.plan_digest,
            .planned = plan.shard->planned,
            .shards = plan.shard->count};
  }
  return {.plan = {},
          .plan_digest = plan.plan_digest,
          .planned = static_cast<int>(model.cases().size()),
          .shards = 1};
}

bool is_proven(const RunModel& model, const CaseRecord& record) {
  return model.verdict(record).outcome != Outcome::kNotrun;
}

std::vector<std::string> cases_left_by(const RunModel& model) {
  std::vector<std::string> left;
  for (const CaseRecord& record : model.cases()) {
    if (!is_proven(model, record)) left.push_back(record.planned.id);
  }
  return left;
}

}  // namespace proctor
