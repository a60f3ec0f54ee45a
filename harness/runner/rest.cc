#include "harness/runner/rest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "harness/runner/record/journal.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_resolver.h"

namespace proctor::runner {
namespace {

std::string in_words(const WholePlan& whole, const std::optional<PlannedShard>& shard) {
  const std::string part = shard ? fmt::format("shard {}/{} of ", shard->index, shard->count) : "";
  return fmt::format("{}{} cases, {}", part, whole.planned,
                     whole.plan.empty() ? whole.plan_digest : whole.plan);
}

bool is_same_shard(const std::optional<PlannedShard>& one, const std::optional<PlannedShard>& other) {
  if (!one || !other) return !one && !other;
  return one->index == other->index && one->count == other->count;
}

}  // namespace

Result<PlannedRest> keep_rest(const std::vector<std::string>& directories, const WholePlan& whole,
                              const std::optional<PlannedShard>& shard, Plan& plan) {
  PlannedRest rest{.runs = {},
                   .plan_digest = whole.plan_digest,
                   .plan = whole.plan,
                   .planned = whole.planned,
                   .shards = whole.shards};
  std::set<std::string> proven;
  for (const std::string& directory : directories) {
    const auto run = load_journal(directory + "/journal.jsonl", find_journal_seal(directory));
    if (!run) return Error::usage_of(run.error());
    if (const WholePlan its = run->whole_plan; its != whole || !is_same_shard(run->plan.shard, shard)) {
      return Error::refused(fmt::format("The run in {} had another plan: {} there, {} here", directory,
                                        in_words(its, run->plan.shard), in_words(whole, shard)),
                            "Run the whole plan again.");
    }
    for (const ResolvedCase& test : run->cases) {
      if (is_proven(test)) proven.insert(test.planned.id);
    }
    rest.runs.push_back(run->plan.run_id);
  }
  std::erase_if(plan.cases, [&](const Case& test) { return proven.contains(test.id); });
  return rest;
}

}  // namespace proctor::runner
