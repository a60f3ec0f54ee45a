// `proctor plan -o FILE`: what `run` with the same options would do, as a file for `run --plan`. With --rest: what runs
// of such a file left.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "harness/base/replace_file.h"
#include "harness/cli/add_options.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/plan_rest.h"
#include "harness/journal/exit_code.h"
#include "harness/plan/balance.h"
#include "harness/plan/plan_file.h"
#include "harness/plan/shard.h"
#include "harness/request/merge_requests.h"
#include "harness/runner/machine/discover_plan.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/record/run_directory.h"
#include "reports/history/durations.h"

namespace proctor::cli {
namespace {

struct WriteOptions {
  TypedRequest typed{};
  std::string file;
  int shards = 0;                 // 0: by id, whatever their number
  std::string balance;            // the history; "" = all cases count the same
  std::vector<std::string> rest;  // run directories
  std::string whole;              // --plan, of these runs
};

// A plan is run by others, who may have the device that its list needs.
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

// In words what the shards of the plan are now.
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
    return fmt::format("{} shards with about as many cases each", options.shards);
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
    std::printf("nothing is left: every case of these runs has an outcome\n");
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

// What fixes the cases is in the plan of the runs.
Result<void> check_beside_rest(const CLI::App& command, const AfterDashes& after_dashes) {
  static const std::set<std::string> kAllowed = {"--rest", "--plan", "--output", "--shards", "--balance"};
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || kAllowed.contains(option->get_name())) continue;
    return Error::refused("`--rest` cannot be combined with " + option->get_name(),
                          "The cases, commands and limits are those of the plan of these runs.");
  }
  if (after_dashes) return Error::refused("`--rest` cannot be combined with a command after `--`");
  return {};
}

void add_shards_options(CLI::App& command, WriteOptions& options) {
  auto* shards = command
                     .add_option("--shards", options.shards,
                                 "Give each case one of N shards, so that all shards take about as long")
                     ->type_name("N")
                     ->check(from_to(1, kMostShards));
  command.add_option("--balance", options.balance, "History that tells how long each case takes")
      ->type_name("DB")
      ->needs(shards);
  auto* rest =
      command
          .add_option("--rest", options.rest, "Plan the cases of these runs of a plan that have no outcome")
          ->type_name("RUN_DIR")
          ->expected(1, kMostShards);
  command
      .add_option("--plan", options.whole, "With --rest: the plan of these runs (default: as they name it)")
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
