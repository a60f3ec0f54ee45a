#include "harness/cli/plan_rest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/named_file.h"
#include "harness/cli/load_run.h"
#include "harness/runner/machine/installation.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

// The runs, without what was only needed of each.
struct RunsOfPlan {
  WholePlan whole{};
  PlannedRest rest{};
  std::set<std::string> taken{};   // ids of the cases of all of them
  std::set<std::string> proven{};  // those with an outcome
  std::string plan_file{};         // as the first shard was told
};

// What --plan names, from where the run was.
std::string plan_file_of(const RunPlanned& plan) {
  const std::string file = option_value(plan.command_line, "--plan");
  return file.empty() ? "" : (std::filesystem::path(plan.directory) / file).string();
}

Result<void> add(const std::string& run_dir, const ResolvedRun& run, RunsOfPlan& runs) {
  const WholePlan whole = run.whole_plan;
  if (whole.plan.empty())
    return Error::refused("The run in " + run_dir + " was not started with --plan",
                          "Use `proctor run --resume " + run_dir + "`.");
  if (runs.rest.runs.empty()) runs.whole = whole;
  if (whole != runs.whole)
    return Error::refused(
        fmt::format("The run in {} is of another plan, {} of {} shards; the first is of {} of {}", run_dir,
                    whole.plan, whole.shards, runs.whole.plan, runs.whole.shards));
  runs.rest.runs.push_back(run.plan.run_id);
  if (!run.plan.rest && runs.plan_file.empty()) runs.plan_file = plan_file_of(run.plan);
  for (const ResolvedCase& test : run.cases) {
    runs.taken.insert(test.planned.id);
    if (is_proven(test)) runs.proven.insert(test.planned.id);
  }
  return {};
}

Result<RunsOfPlan> read_runs(const std::vector<std::string>& run_dirs) {
  RunsOfPlan runs;
  for (const std::string& run_dir : run_dirs) {
    const auto directory = run_directory_of(run_dir);
    const auto run = directory ? load_run(*directory) : directory.error();
    if (!run) return Error::usage_of(run.error());
    if (auto added = add(run_dir, *run, runs); !added) return added.error();
  }
  return runs;
}

Result<PlanFile> read_whole(const RunsOfPlan& runs, const std::string& file,
                            const PlanDirectories& directories) {
  if (file.empty())
    return Error::refused("None of these runs says where the whole plan is", "Name it with --plan FILE.");
  const auto text = read_typed_file(file, kMostPlanFile);
  if (!text)
    return Error::refused("--plan " + file + ": " + text.error().message(), "Name it with --plan FILE.");
  auto whole = parse_plan_file(*text, file, directories);
  if (!whole) return whole;
  const auto digest = plan_file_digest(*whole, directories);
  if (!digest) return digest.error();
  if (*digest != runs.whole.plan)
    return Error::refused(
        fmt::format("{} is not the plan of these runs: its digest is {}, theirs is {}", file, *digest,
                    runs.whole.plan),
        "Name the right one with --plan FILE. A run with other options than --plan and --shard "
        "is resumed with `proctor run --resume RUN_DIR`.");
  return whole;
}

}  // namespace

Result<PlanFile> plan_of_rest(const std::vector<std::string>& run_dirs, const std::string& plan_file,
                              const std::string& directory) {
  auto runs = read_runs(run_dirs);
  if (!runs) return runs.error();
  auto plan = read_whole(*runs, plan_file.empty() ? runs->plan_file : plan_file,
                         Installation().plan_directories(directory));
  if (!plan) return plan;
  std::erase_if(plan->plan.cases, [&](const Case& test) {
    return !runs->taken.contains(test.id) || runs->proven.contains(test.id);
  });
  for (Case& test : plan->plan.cases) test.shard = 0;  // of the whole
  plan->plan.shards = 0;
  runs->rest.plan = runs->whole.plan;
  runs->rest.plan_digest = runs->whole.plan_digest;
  runs->rest.planned = runs->whole.planned;
  runs->rest.shards = runs->whole.shards;
  plan->rest = std::move(runs->rest);
  return plan;
}

}  // namespace proctor::cli
