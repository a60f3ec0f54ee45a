#include "harness/runner/order_of_run.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "harness/runner/record/run_directory.h"
#include "reports/history/known_cases.h"
#include "reports/resolve/run_results.h"

namespace proctor::runner {
namespace {

using Durations = std::map<std::string, double>;

constexpr std::size_t kNewestResults = 5;  // of each case: enough for an order, and read in half the time
constexpr int kMostRuns = 5;

std::size_t known_cases(const Plan& plan, const Durations& durations) {
  return static_cast<std::size_t>(
      std::ranges::count_if(plan.cases, [&](const Case& test) { return durations.contains(test.id); }));
}

Durations durations_of_history(const Checked& checked, Placed& placed) {
  if (!checked.history) return {};
  auto durations = median_durations(*checked.history, kNewestResults);
  if (durations) return *std::move(durations);
  placed.planned.warnings.push_back(
      {WarningCode::kHistory, "no case starts first for its duration: " + durations.error().message()});
  return {};
}

// Of several runs, as the last one may have had a few cases only: until half of the cases are known.
Durations durations_of_last_runs(const Plan& plan) {
  Durations durations;
  ReadingLimit limit;
  int runs = 0;
  for (const std::string& directory : kept_runs()) {
    if (++runs > kMostRuns || known_cases(plan, durations) * 2 >= plan.cases.size()) break;
    durations.merge(journal_durations(directory + "/journal.jsonl", limit));
  }
  return durations;
}

}  // namespace

OrderSetup order_of_run(const Checked& checked, Placed& placed) {
  const Plan& plan = placed.planned.plan;
  OrderSetup order;
  order.longest_first = placed.planned.request.schedule.order != "planned";
  order.jobs = placed.jobs.all;
  order.most_on_cores = placed.jobs.on_cores;
  // One at a time takes as long in any order.
  if (placed.jobs.all == 1 || plan.cases.size() == 1) order.longest_first = false;
  if (!order.longest_first) return order;
  order.durations = durations_of_history(checked, placed);
  if (known_cases(plan, order.durations) == 0) order.durations = durations_of_last_runs(plan);
  return order;
}

}  // namespace proctor::runner
