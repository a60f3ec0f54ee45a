#include "harness/plan/expected_durations.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace proctor {
namespace {

constexpr double kHuge = 1e15;  // what a damaged history says is a duration, too

std::optional<double> median_of_known(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

ExpectedDurations::ExpectedDurations(const Plan& plan, const std::map<std::string, double>& known)
    : durations_(plan.cases.size(), 0) {
  if (known.empty()) return;
  std::vector<std::size_t> unknown;
  std::vector<double> all;
  std::map<std::size_t, std::vector<double>> by_suite;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const auto found = known.find(plan.cases[i].id);
    if (found == known.end() || !std::isfinite(found->second)) {
      unknown.push_back(i);
      continue;
    }
    durations_[i] = std::clamp(found->second, 0.0, kHuge);
    all.push_back(durations_[i]);
    by_suite[plan.cases[i].suite].push_back(durations_[i]);
  }
  if (unknown.empty()) return;
  const double of_plan = median_of_known(std::move(all)).value_or(0);
  std::map<std::size_t, double> of_suite;
  for (auto& [suite, values] : by_suite) of_suite[suite] = *median_of_known(std::move(values));
  for (const std::size_t i : unknown) {
    const auto found = of_suite.find(plan.cases[i].suite);
    durations_[i] = found == of_suite.end() ? of_plan : found->second;
  }
}

}  // namespace proctor
