#include "harness/plan/plan.h"

#include <algorithm>

#include "harness/core/digest.h"

namespace proctor {

std::string_view to_string(ForeignPolicy policy) {
  switch (policy) {
    case ForeignPolicy::kWait:
      return "wait";
    case ForeignPolicy::kFail:
      return "fail";
    case ForeignPolicy::kOther:
      return "other";
  }
  return "wait";
}

std::optional<ForeignPolicy> parse_foreign_policy(std::string_view text) {
  for (ForeignPolicy policy : {ForeignPolicy::kWait, ForeignPolicy::kFail, ForeignPolicy::kOther}) {
    if (to_string(policy) == text) return policy;
  }
  return std::nullopt;
}

RunPolicy RunPolicy::under(const RunPolicy& stronger) const {
  RunPolicy both = *this;
  const auto take = [&](auto RunPolicy::*key) {
    if (stronger.*key) both.*key = stronger.*key;
  };
  take(&RunPolicy::breaker);
  take(&RunPolicy::foreign);
  take(&RunPolicy::reset_sick);
  take(&RunPolicy::telemetry);
  take(&RunPolicy::flaky_passes);
  take(&RunPolicy::flaky_budget);
  return both;
}

std::string plan_digest(const Plan& plan) {
  std::vector<std::string> ids;
  ids.reserve(plan.cases.size());
  for (const Case& test : plan.cases) ids.push_back(test.id);
  std::sort(ids.begin(), ids.end());
  std::string text;
  for (const std::string& id : ids) text += id + "\n";
  for (const Suite& suite : plan.suites) {
    for (const auto& [name, value] : suite.filters)
      text += "filter " + suite.name + " " + name + "=" + value + "\n";
  }
  return sha256_hex(text);
}

}  // namespace proctor
