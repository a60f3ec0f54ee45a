#include "harness/runner/schedule/verification.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/plan/batch.h"
#include "harness/plan/shard.h"

namespace proctor {
namespace {

constexpr int kShare = 10;  // inverse of the allowed share of the time of the batches

}  // namespace

void VerificationTime::end_alone(const Suite& suite, Milliseconds duration) {
  Sum& sum = of_[&suite];
  sum.alone += duration;
  --sum.running;
  ++sum.verified;
}

bool VerificationTime::allows(const Suite& suite) const {
  if (suite.verify >= kWholeShare) return true;
  const auto found = of_.find(&suite);
  if (found == of_.end()) return true;
  const Sum& sum = found->second;
  if (sum.verified == 0) return sum.running == 0;
  const Milliseconds each = sum.alone / sum.verified;
  return (sum.alone + (sum.running + 1) * each) * kShare <= sum.batches;
}

namespace {

std::uint64_t rank_of(const std::string& run_id, const Case& test) {
  return id_hash(run_id + "\n" + test.id);
}

// Returns the cases of each suite that share a process.
std::vector<std::vector<std::size_t>> sharing_cases(const Plan& plan) {
  std::vector<std::vector<std::size_t>> of_suite(plan.suites.size());
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const Case& test = plan.cases[i];
    if (!test.group.empty() && !test.disabled && !test.config_skip && plan.suites[test.suite].verify > 0)
      of_suite[test.suite].push_back(i);
  }
  return of_suite;
}

// Adds `percent` of the cases to `chosen`, in the order of their ranks.
void choose(const Plan& plan, const std::string& run_id, std::vector<std::size_t> cases, double percent,
            std::set<std::size_t>& chosen) {
  std::ranges::sort(cases, {}, [&](std::size_t i) { return rank_of(run_id, plan.cases[i]); });
  cases.resize(static_cast<std::size_t>(static_cast<double>(cases.size()) * percent / kWholeShare));
  chosen.insert(cases.begin(), cases.end());
}

}  // namespace

std::set<std::size_t> cases_to_verify(const Plan& plan, const std::string& run_id) {
  std::set<std::size_t> chosen;
  std::vector<std::size_t> all;
  const auto of_suite = sharing_cases(plan);
  for (std::size_t suite = 0; suite < of_suite.size(); ++suite) {
    choose(plan, run_id, of_suite[suite], plan.suites[suite].verify, chosen);
    all.insert(all.end(), of_suite[suite].begin(), of_suite[suite].end());
  }
  if (!chosen.empty() || all.size() < 2) return chosen;
  chosen.insert(
      *std::ranges::min_element(all, {}, [&](std::size_t i) { return rank_of(run_id, plan.cases[i]); }));
  return chosen;
}

}  // namespace proctor
