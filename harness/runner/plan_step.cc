#include "harness/runner/plan_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/digest.h"
#include "harness/base/named_file.h"
#include "harness/base/result.h"
#include "harness/base/surroundings.h"
#include "harness/journal/events.h"
#include "harness/plan/config.h"
#include "harness/plan/plan.h"
#include "harness/plan/plan_file.h"
#include "harness/plan/select.h"
#include "harness/plan/written_off.h"
#include "harness/request/merge_requests.h"
#include "harness/request/option.h"
#include "harness/runner/machine/discover_plan.h"
#include "harness/runner/machine/known_listings.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/schedule/describe_plan.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_resolver.h"

namespace proctor::runner {
namespace {

// ---- A run that continues lost runs of the same plan (`run --resume`) ----

std::string in_words(const WholePlan& whole, const std::optional<PlannedShard>& shard) {
  const std::string part = shard ? fmt::format("shard {}/{} of ", shard->index, shard->count) : "";
  return fmt::format("{}{} cases, {}", part, whole.planned,
                     whole.plan.empty() ? whole.plan_digest : whole.plan);
}

bool is_same_shard(const std::optional<PlannedShard>& one, const std::optional<PlannedShard>& other) {
  if (!one || !other) return !one && !other;
  return one->index == other->index && one->count == other->count;
}

// Removes from `plan` all cases with an outcome in one of the runs. The runs must be of the same shard of the same
// plan. The directories are run directories, absolute or relative to the current one.
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

Result<FoundPlan> read_plan(const Checked& checked) {
  const RunRequest& typed = checked.asked.typed;
  const std::string& name = typed.plan.file;
  const auto text = read_typed_file(name, kMostPlanFile);
  if (!text)
    return Error::refused("--plan " + name + ": " + text.error().message(),
                          "Make it with `proctor plan -o FILE`.");
  auto file =
      parse_plan_file(*text, name, checked.machine->installation().plan_directories(typed.config.directory));
  if (!file) return file.error();
  auto cases = select_cases(std::move(file->plan.cases), typed.selection);
  if (!cases) return cases.error();
  file->plan.cases = *std::move(cases);
  std::vector<Warning> warnings = checked.asked.files.warnings;
  std::ranges::move(take_back_expired(today_utc(), file->plan.cases), std::back_inserter(warnings));
  return FoundPlan{.outcome = {.plan = std::move(file->plan),
                               .warnings = std::move(warnings),
                               .files = checked.asked.files.files},
                   .extent = file->extent,
                   .source = std::move(file->source),
                   .plan_file = InputFile{.file = name, .sha256 = sha256_hex(*text)},
                   .rest = std::move(file->rest),
                   .of_plan = std::move(file->run)};
}

// The digests come from the first reading, because a pipe can be read only once.
Result<std::vector<InputFile>> inputs_of(const Checked& checked, const FoundPlan& found) {
  std::vector<InputFile> inputs = found.outcome.files;
  if (found.plan_file) inputs.push_back(*found.plan_file);
  const auto& simulation = checked.machine->simulation();
  if (!simulation || !simulation->topology.described()) return inputs;
  const std::string& file = simulation->topology.name;
  const auto text = read_found_file(file);
  if (!text) return text.error();
  inputs.push_back({.file = file, .sha256 = sha256_hex(*text)});
  return inputs;
}

std::vector<std::string> names_of(const std::vector<InputFile>& files) {
  std::vector<std::string> names;
  for (const InputFile& one : files) names.push_back(one.file);
  return names;
}

// Warns about entries of the user's file only, because the built-in list covers cases that a selection excludes. An
// entry without a planned case causes no warning if the selection excludes cases: it may match an excluded case.
std::vector<Warning> known_failure_warnings(const Checked& checked, const Plan& plan) {
  const AllKnownFailures& all = checked.known_failures;
  if (!all.file) return {};
  const auto first = all.list.entries().begin();
  const auto count = static_cast<std::ptrdiff_t>(all.file->entries.size());
  const KnownFailures own(std::vector<KnownFailure>(first, first + count));
  std::vector<std::string> ids;
  for (const auto& test : plan.cases) ids.push_back(test.id);
  std::vector<Warning> warnings = own.warnings(ids, today_utc());
  if (leaves_cases_out(checked.asked.typed.selection)) {
    std::erase_if(warnings,
                  [](const Warning& warning) { return warning.code == WarningCode::kKnownFailureUnused; });
  }
  return warnings;
}

// In CI, a case without a time limit can outlast the job, and then no report is written. Servers are excluded: another
// process ends them.
std::vector<Warning> limit_warnings(const RunRequest& request, const Plan& plan) {
  if (!in_ci() || request.schedule.deadline || request.server.ready_regex) return {};
  const auto unlimited =
      std::ranges::find_if(plan.cases, [](const Case& test) { return !test.policy.timeout; });
  if (unlimited == plan.cases.end()) return {};
  return {{WarningCode::kNoTimeLimit,
           fmt::format("{} has no time limit, and the run has no deadline. Add --timeout or --deadline",
                       unlimited->id)}};
}

Result<void> check_stack_root(const std::string& root) {
  std::error_code error;
  if (std::filesystem::is_directory(root, error)) return {};
  return Error::refused("`stack_root` " + root + " does not exist or is not a directory");
}

// Refuses a suite with `host_pids` if its weaker containment does not meet the required layer.
Result<void> check_containment(const Checked& checked, const Plan& plan) {
  const auto containment = checked.machine->containment();
  if (!containment) return containment.error();
  const auto layers = parse_layers(checked.request().machine.containment);
  if (!layers || !layers->required) return {};
  const Layer weaker = without_pid_namespace((*containment)->layer());
  for (const Suite& suite : plan.suites) {
    if (!suite.host_pids || weaker <= *layers->required) continue;
    return Error::refused(
        fmt::format("--containment '>={}' cannot be met: suite `{}` has `host_pids` and runs in {}",
                    to_string(*layers->required), suite.name, to_string(weaker)),
        "Run this suite separately, without that option.");
  }
  return {};
}

// Only one case can inherit the terminal.
Result<void> check_terminal(const Checked& checked, const Plan& plan) {
  if (!checked.gives_terminal()) return {};
  if (plan.cases.size() != 1) {
    return Error::refused("`--no-capture` and `--debugger` need exactly one test case; " +
                              std::to_string(plan.cases.size()) + " are selected",
                          "Select one test with --case ID.");
  }
  const Case& test = plan.cases.front();
  if (checked.debugger.empty() || test.ranks == 0) return {};
  return Error::refused("`--no-capture` and `--debugger` need a case of one process; " + test.id + " has " +
                            std::to_string(test.ranks) + " ranks",
                        "Run it with --timeout 1h --stall off, and attach to a rank (`gdb -p PID`). RANK in "
                        "/proc/PID/environ is its number.");
}

// Removes the cases of other shards from `planned`.
Result<PlannedShard> take_shard(const Checked& checked, const Shard& shard, PlannedRun& planned) {
  const auto digest =
      plan_file_digest({.plan = planned.plan,
                        .run = part_in_plan_file(planned.request),
                        .extent = planned.extent,
                        .rest = planned.rest,
                        .source = planned.source},
                       checked.machine->installation().plan_directories(checked.request().config.directory));
  if (!digest) return digest.error();
  PlannedShard taken{.index = shard.index,
                     .count = shard.count,
                     .planned = static_cast<int>(planned.plan.cases.size()),
                     .plan = *digest};
  if (auto kept = keep_shard(shard, planned.plan); !kept) return kept.error();
  return taken;
}

}  // namespace

Result<FoundPlan> find_plan(const Checked& checked, RunDisplay& display) {
  const RunRequest& request = checked.request();
  if (!request.plan.file.empty()) return read_plan(checked);
  auto options = plan_options(request);
  if (!options) return options.error();
  options->files = checked.asked.files;
  options->selection.excludes =
      checked.asked.typed.selection.excludes;  // the planner reads those of the files
  options->lease_wait =
      std::min(options->lease_wait, request.schedule.deadline.value_or(Milliseconds::max()));
  options->on_wait = [&display](const std::string& why) { display.waits(why); };
  options->selection.joined = !request.reports.join.empty();
  if (options->selection.joined) options->listings = sibling_listings(options->config.config_file);
  options->selection.keep_unlisted =
      !request.plan.dry_run;  // only a run has a report that shows such a suite
  auto outcome = discover_plan(*options, *checked.machine);
  if (!outcome) return outcome.error();
  return FoundPlan{.outcome = *std::move(outcome), .extent = options->extent};
}

Result<PlannedRun> plan_run(const Checked& checked, FoundPlan found) {
  PlanOutcome& outcome = found.outcome;
  auto inputs = inputs_of(checked, found);
  if (!inputs) return inputs.error();
  PlannedRun planned{.plan = std::move(outcome.plan),
                     .config_files = names_of(outcome.files),
                     .inputs = *std::move(inputs),
                     .request = merge(merge(checked.asked.typed, found.of_plan), checked.asked.keys),
                     .extent = found.extent,
                     .source = std::move(found.source),
                     .rest = std::move(found.rest),
                     .warnings = checked.warnings};
  const auto known = known_failure_warnings(checked, planned.plan);
  planned.warnings.insert(planned.warnings.end(), outcome.warnings.begin(), outcome.warnings.end());
  planned.warnings.insert(planned.warnings.end(), known.begin(), known.end());
  std::ranges::move(limit_warnings(planned.request, planned.plan), std::back_inserter(planned.warnings));
  if (auto root = check_stack_root(planned.request.reports.stack_root); !root) return root.error();
  if (auto held = check_containment(checked, planned.plan); !held) return held.error();
  if (auto one = check_terminal(checked, planned.plan); !one) return one.error();
  return planned;
}

Result<std::optional<Part>> take_part(const Checked& checked, PlannedRun& planned) {
  const bool is_shard = checked.shard || !checked.request().plan.file.empty();
  if (!is_shard && checked.request().plan.remaining_of.empty()) return std::optional<Part>();
  Part part{.shard = {},
            .rest = planned.rest,
            .digest = plan_digest(planned.plan),
            .filters = filters_of(planned.plan)};
  WholePlan whole{.plan_digest = part.digest, .planned = static_cast<int>(planned.plan.cases.size())};
  if (is_shard) {
    const Shard shard = checked.shard.value_or(Shard{});
    auto taken = take_shard(checked, shard, planned);
    if (!taken) return taken.error();
    part.shard = *std::move(taken);
    whole.plan = part.shard->plan;
    whole.shards = part.shard->count;
  }
  if (part.rest) whole = {part.rest->plan, part.rest->plan_digest, part.rest->planned, part.rest->shards};
  if (checked.request().plan.remaining_of.empty()) return std::optional(std::move(part));
  auto rest = keep_rest(checked.request().plan.remaining_of, whole, part.shard, planned.plan);
  if (!rest) return rest.error();
  part.rest = *std::move(rest);
  return std::optional(std::move(part));
}

}  // namespace proctor::runner
