#include "harness/plan/balance.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "harness/plan/expected_durations.h"

namespace proctor {
namespace {

struct TimedCase {
  double ms;
  Case* test;
};

}  // namespace

Balance balance_shards(Plan& plan, int count, const std::map<std::string, double>& durations) {
  Balance balance;
  const ExpectedDurations expected(plan, durations);
  std::vector<TimedCase> cases;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    balance.unknown += durations.contains(plan.cases[i].id) ? 0 : 1;
    cases.push_back({expected.of(i), &plan.cases[i]});
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
