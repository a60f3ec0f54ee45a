#include "harness/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "harness/base/digest.h"
#include "harness/base/text.h"
#include "harness/plan/suite_settings.h"

namespace proctor {

std::vector<std::string> filters_of(const Plan& plan) {
  std::vector<std::string> filters;
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    const bool is_used = std::ranges::any_of(plan.cases, [&](const Case& test) { return test.suite == i; });
    if (!is_used) continue;
    for (const auto& [name, value] : plan.suites[i].filters)
      // the same text as in the journal
      filters.push_back(clean_text(plan.suites[i].name + " " + name + "=" + value));
    for (const SuiteSetting& setting : suite_settings()) {
      const std::string words = setting.in_digest == nullptr ? "" : setting.in_digest(plan.suites[i]);
      if (!words.empty()) filters.push_back(plan.suites[i].name + " " + words);
    }
  }
  return filters;
}

std::string plan_digest(const Plan& plan) {
  std::vector<std::string> ids;
  ids.reserve(plan.cases.size());
  for (const Case& test : plan.cases) ids.push_back(test.id);
  return digest_of_plan(std::move(ids), filters_of(plan));
}

namespace {

constexpr double kHuge = 1e15;  // ms; limits the durations of a damaged history

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
