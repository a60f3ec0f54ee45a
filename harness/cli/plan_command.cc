// Implements `proctor plan -o FILE`: writes what `run` with the same options would do, as a file for `run --plan`. With
// --remaining, it writes the cases that runs of such a file left.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/named_file.h"
#include "harness/base/replace_file.h"
#include "harness/base/result.h"
#include "harness/cli/add_options.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/plan/plan_file.h"
#include "harness/plan/shard.h"
#include "harness/request/merge_requests.h"
#include "harness/runner/machine/discover_plan.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/record/run_directory.h"
#include "reports/history/known_cases.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

// The following functions create a plan of the remaining cases of other runs (`proctor plan --remaining`).

// The collected data of the runs.
struct RunsOfPlan {
  WholePlan whole{};
  PlannedRest rest{};
  std::set<std::string> taken{};   // ids of all cases of these runs
  std::set<std::string> proven{};  // ids of cases with an outcome
  std::string plan_file{};         // from the options of the first shard
};

// Returns the value of --plan, relative to the directory of the run.
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
    return Error::refused("None of these runs names the file of the whole plan", "Name it with --plan FILE.");
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

// Returns the plan in `plan_file` with the cases of these runs that have no outcome in any of them. The runs must be
// shards of that plan, or runs of the remaining cases of such shards. `plan_file` "": the file that the runs name. An
// empty plan means that no case remains.
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
  for (Case& test : plan->plan.cases) test.shard = 0;  // shards of the whole plan
  plan->plan.shards = 0;
  runs->rest.plan = runs->whole.plan;
  runs->rest.plan_digest = runs->whole.plan_digest;
  runs->rest.planned = runs->whole.planned;
  runs->rest.shards = runs->whole.shards;
  plan->rest = std::move(runs->rest);
  return plan;
}

struct WriteOptions {
  TypedRequest typed{};
  std::string file;
  int shards = 0;                 // 0: by id, for any number of shards
  std::string balance;            // path of the history; "": all cases have the same weight
  std::vector<std::string> rest;  // run directories
  std::string whole;              // --plan for these runs
};

// Returns an error if a suite could not be listed. A plan is run elsewhere, where the device for listing it may exist.
Result<void> check_listed(const Plan& plan) {
  const auto unlisted = std::ranges::find_if(plan.cases, is_unlisted);
  if (unlisted == plan.cases.end()) return {};
  return Error::refused("Suite `" + unlisted->id + "` cannot be planned: " + unlisted->unlisted,
                        "Plan it on a machine with a device, or simulate one with --sim.");
}

Result<PlanFile> discovered_plan(const WriteOptions& options, const PlanOptions& plan) {
  const auto machine = Machine::open(options.typed.request.machine, new_run_id());
  if (!machine) return machine.error();
  auto outcome = discover_plan(plan, **machine);
  if (!outcome) return outcome.error();
  for (const auto& warning : outcome->warnings) {
    std::fprintf(stderr, "proctor: warning: %s\n", shown(warning.text).c_str());
  }
  if (auto listed = check_listed(outcome->plan); !listed) return listed.error();
  return PlanFile{
      .plan = std::move(outcome->plan), .run = part_in_plan_file(outcome->run), .extent = plan.extent};
}

std::string seconds_text(double ms) { return fmt::format("{:.1f} s", ms / 1000); }

// Balances the shards, and returns a description of them.
Result<std::string> balance(const WriteOptions& options, Plan& plan) {
  std::map<std::string, double> durations;
  if (!options.balance.empty()) {
    auto history = History::open_to_read(options.balance, kHistoryWait);
    if (!history) return history.error();
    auto medians = median_durations(*history);
    if (!medians) return medians.error();
    durations = *std::move(medians);
  }
  const Balance made = balance_shards(plan, options.shards, durations);
  if (made.unknown == plan.cases.size())
    return fmt::format("{} shards with about the same number of cases each", options.shards);
  const auto [least, most] = std::ranges::minmax(made.shard_ms);
  std::string words =
      fmt::format("{} shards of {} to {} of tests", options.shards, seconds_text(least), seconds_text(most));
  if (made.unknown > 0)
    words += fmt::format("; {} of the cases are not in {}, and count as the median of their suite",
                         made.unknown, shown(options.balance));
  return words;
}

Result<std::string> write_file(const PlanFile& file, const WriteOptions& options) {
  const PlanDirectories directories = Installation().plan_directories(options.typed.request.config.directory);
  const auto text = plan_file_text(file, directories);
  if (!text) return text.error();
  const auto digest = plan_file_digest(file, directories);
  if (!digest) return digest.error();
  if (auto written = replace_file(options.file, *text); !written) return written.error();
  return *digest;
}

int write_plan(WriteOptions options, const AfterDashes& after_dashes) {
  if (auto usable = check_output_file("-o", options.file); !usable) return fail(usable.error());
  const auto plan = plan_options(options.typed, after_dashes);
  if (!plan) return fail(plan.error());
  const bool is_rest = !options.rest.empty();
  auto file = is_rest ? plan_of_rest(options.rest, options.whole, plan->config.directory)
                      : discovered_plan(options, *plan);
  if (!file) return fail(file.error());
  const std::size_t cases = file->plan.cases.size();
  if (is_rest && cases == 0) {
    std::printf("nothing remains to be run: every case of these runs has an outcome\n");
    return kExitGreen;
  }
  std::string shards;
  if (options.shards > 0) {
    auto made = balance(options, file->plan);
    if (!made) return fail(made.error());
    shards = *std::move(made);
  }
  const auto digest = write_file(*file, options);
  if (!digest) return fail(digest.error());
  const std::size_t suites = file->plan.suites.size();
  std::printf("%zu %s of %zu %s in %s, digest %s\n", cases, cases == 1 ? "case" : "cases", suites,
              suites == 1 ? "suite" : "suites", shown(options.file).c_str(), digest->c_str());
  if (!shards.empty()) std::printf("%s\n", shards.c_str());
  return kExitGreen;
}

// Options that determine the cases are refused, because they are in the plan of the runs.
Result<void> check_beside_rest(const CLI::App& command, const AfterDashes& after_dashes) {
  static const std::set<std::string> kAllowed = {"--remaining", "--plan", "--output", "--shards",
                                                 "--balance"};
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || kAllowed.contains(option->get_name())) continue;
    return Error::refused("`--remaining` cannot be combined with " + option->get_name(),
                          "The cases, commands and limits are those of the plan of these runs.");
  }
  if (after_dashes) return Error::refused("`--remaining` cannot be combined with a command after `--`");
  return {};
}

void add_shards_options(CLI::App& command, WriteOptions& options) {
  auto* shards =
      command
          .add_option("--shards", options.shards, "Give each case one of N shards of about equal duration")
          ->type_name("N")
          ->check(from_to(1, kMostShards));
  command.add_option("--balance", options.balance, "History with the duration of each case")
      ->type_name("DB")
      ->needs(shards);
  auto* rest = command
                   .add_option("--remaining", options.rest,
                               "Plan the cases of these runs of a plan that have no outcome")
                   ->type_name("RUN_DIR")
                   ->expected(1, kMostShards);
  command
      .add_option("--plan", options.whole,
                  "With --remaining: the plan of these runs (default: as they name it)")
      ->type_name("FILE")
      ->needs(rest);
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action, const AfterDashes& after_dashes) {
  auto* command =
      app.add_subcommand("plan", "Write a plan to a file, for `run --plan` on one or more machines");
  auto options = std::make_shared<WriteOptions>();
  add_options(*command, kForPlan, options->typed);
  command->add_option("--output,-o", options->file, "File of the plan (required)")
      ->type_name("FILE")
      ->required();
  add_shards_options(*command, *options);
  command->callback([options, command, &action, &after_dashes] {
    action = [options, command, &after_dashes] {
      if (options->rest.empty()) return write_plan(*options, after_dashes);
      const auto allowed = check_beside_rest(*command, after_dashes);
      return allowed ? write_plan(*options, after_dashes) : fail(allowed.error());
    };
  });
}

}  // namespace proctor::cli
