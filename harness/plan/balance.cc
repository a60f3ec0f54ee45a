#include "harness/plan/balance.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

namespace proctor {
namespace {

constexpr double kAnyDuration = 1;

std::optional<double> middle_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// What is counted for a case that has no duration, by its suite.
std::vector<double> usual_durations(const Plan& plan, const std::map<std::string, double>& durations) {
  std::vector<double> all;
  std::vector<std::vector<double>> of_suite(plan.suites.size());
  for (const Case& test : plan.cases) {
    const auto known = durations.find(test.id);
    if (known == durations.end()) continue;
    all.push_back(known->second);
    of_suite[test.suite].push_back(known->second);
  }
  const double usual = middle_of(std::move(all)).value_or(kAnyDuration);
  std::vector<double> usual_of_suite;
  for (auto& known : of_suite) usual_of_suite.push_back(middle_of(std::move(known)).value_or(usual));
  return usual_of_suite;
}

struct TimedCase {
  double ms;
  Case* test;
};

}  // namespace

Balance balance_shards(Plan& plan, int count, const std::map<std::string, double>& durations) {
  Balance balance;
  const std::vector<double> usual = usual_durations(plan, durations);
  std::vector<TimedCase> cases;
  for (Case& test : plan.cases) {
    const auto known = durations.find(test.id);
    if (known == durations.end()) ++balance.unknown;
    cases.push_back({known == durations.end() ? usual[test.suite] : known->second, &test});
  }
  std::ranges::sort(cases, [](const TimedCase& a, const TimedCase& b) {
    return std::tie(b.ms, a.test->id) < std::tie(a.ms, b.test->id);
  });

  // A shard with as much as another one has fewer cases: cases that take no time do not all go to the first.
  using Load = std::tuple<double, std::size_t, int>;  // ms, cases, shard
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (int shard = 1; shard <= count; ++shard) least.emplace(0.0, 0, shard);
  balance.shard_ms.resize(static_cast<std::size_t>(count));
  for (const TimedCase& next : cases) {
    auto [ms, taken, shard] = least.top();
    least.pop();
    next.test->shard = shard;
    least.emplace(ms + next.ms, taken + 1, shard);
    balance.shard_ms[static_cast<std::size_t>(shard - 1)] += next.ms;
  }
  plan.shards = count;
  return balance;
}

}  // namespace proctor
