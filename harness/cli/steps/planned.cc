#include "harness/cli/steps/planned.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "harness/cli/console/messages.h"
#include "harness/cli/steps/rest.h"
#include "harness/core/digest.h"
#include "harness/core/named_file.h"
#include "harness/machine/discovery.h"
#include "harness/machine/installation.h"
#include "harness/machine/known_listings.h"
#include "harness/plan/load_config.h"
#include "harness/plan/plan_file.h"
#include "harness/plan/select.h"
#include "harness/run/schedule/planned.h"

namespace proctor::cli {
namespace {

Result<FoundPlan> read_plan(const Checked& checked) {
  const RunOptions& typed = checked.typed;
  auto config = load_run_config(typed.plan.config);
  if (!config) return config.error();
  checked.machine->lease_in(config->keys.local.state_dir);
  const auto text = read_typed_file(typed.plan_file, kMostPlanFile);
  if (!text)
    return Error::refused("--plan " + typed.plan_file + ": " + text.error().message(),
                          "Make it with `proctor plan -o FILE`.");
  auto file = parse_plan_file(*text, typed.plan_file, plan_directories(typed.plan.config.directory));
  if (!file) return file.error();
  auto cases = select_cases(std::move(file->plan.cases), typed.plan.selection);
  if (!cases) return cases.error();
  file->plan.cases = *std::move(cases);
  return FoundPlan{.outcome = {.plan = std::move(file->plan),
                               .warnings = std::move(config->warnings),
                               .run = {file->run, config->keys.local},
                               .files = std::move(config->files)},
                   .extent = file->extent,
                   .source = std::move(file->source),
                   .plan_file = InputFile{.file = typed.plan_file, .sha256 = sha256_hex(*text)},
                   .rest = std::move(file->rest)};
}

// The digests are from the first reading, because a pipe can be read only once.
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

bool leaves_cases_out(const SelectionOptions& chosen) {
  return !chosen.suites.empty() || !chosen.backend.empty() || !chosen.filters.empty() ||
         !chosen.cases.empty() || !chosen.excludes.empty() || !chosen.labels.empty() || !chosen.tags.empty();
}

// Warnings about the user's own entries only: the built-in list covers cases that a selection leaves out. An entry
// without a planned case is no mistake then: it may match a case that was left out.
std::vector<Warning> known_failure_warnings(const Checked& checked, const Plan& plan) {
  const AllKnownFailures& all = checked.known_failures;
  if (!all.file) return {};
  const auto first = all.list.entries().begin();
  const auto count = static_cast<std::ptrdiff_t>(all.file->entries.size());
  const KnownFailures own(std::vector<KnownFailure>(first, first + count));
  std::vector<std::string> ids;
  for (const auto& test : plan.cases) ids.push_back(test.id);
  std::vector<Warning> warnings = own.warnings(ids, today_utc());
  if (leaves_cases_out(checked.typed.plan.selection)) {
    std::erase_if(warnings,
                  [](const Warning& warning) { return warning.code == WarningCode::kKnownFailureUnused; });
  }
  return warnings;
}

// In CI, the job may end before a case that hangs and prints, and then there is no report. A server is ended by others.
std::vector<Warning> limit_warnings(const RunOptions& typed, const Plan& plan) {
  if (!in_ci() || typed.setup.stop.deadline || typed.ready_regex) return {};
  const auto unlimited =
      std::ranges::find_if(plan.cases, [](const Case& test) { return !test.policy.timeout; });
  if (unlimited == plan.cases.end()) return {};
  return {{WarningCode::kNoTimeLimit,
           fmt::format("{} has no time limit, and the run has no deadline. Add --timeout or --deadline",
                       unlimited->id)}};
}

Result<void> check_stack_root(const LocalKeys& local) {
  std::error_code error;
  if (std::filesystem::is_directory(local.stack_root, error)) return {};
  return Error::refused("`stack_root` " + local.stack_root + " does not exist or is not a directory");
}

// A suite that sees the pids of the host may be held by less than is required.
Result<void> check_containment(const Checked& checked, const Plan& plan) {
  const auto containment = checked.machine->containment();
  if (!containment) return containment.error();
  const auto layers = read_layers(checked.typed.machine);
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

// There is one terminal to give away.
Result<void> check_terminal(const AttemptSetup& attempts, const Plan& plan) {
  if (!attempts.inherit_stdio) return {};
  if (plan.cases.size() != 1) {
    return Error::refused("`--no-capture` and `--debugger` need exactly one test case; " +
                              std::to_string(plan.cases.size()) + " are selected",
                          "Select one test with --case ID.");
  }
  const Case& test = plan.cases.front();
  if (attempts.debugger.empty() || test.ranks == 0) return {};
  return Error::refused("`--no-capture` and `--debugger` need a case of one process; " + test.id + " has " +
                            std::to_string(test.ranks) + " ranks",
                        "Run it with --timeout 1h --stall off, and attach to a rank (`gdb -p PID`). RANK in "
                        "/proc/PID/environ is its number.");
}

// Leaves the cases of the shard in `planned`.
Result<PlannedShard> take_shard(const Checked& checked, const Shard& shard, Planned& planned) {
  const auto digest = plan_file_digest({.plan = planned.plan,
                                        .run = planned.policy,
                                        .extent = planned.extent,
                                        .rest = planned.rest,
                                        .source = planned.source},
                                       plan_directories(checked.typed.plan.config.directory));
  if (!digest) return digest.error();
  PlannedShard taken{.index = shard.index,
                     .count = shard.count,
                     .planned = static_cast<int>(planned.plan.cases.size()),
                     .plan = *digest};
  if (auto kept = keep_shard(shard, planned.plan); !kept) return kept.error();
  return taken;
}

}  // namespace

Result<FoundPlan> find_plan(const Checked& checked) {
  const RunOptions& typed = checked.typed;
  if (!typed.plan_file.empty()) return read_plan(checked);
  PlanOptions options = typed.plan;
  options.lease_wait =
      std::min(typed.setup.lease_wait, typed.setup.stop.deadline.value_or(Milliseconds::max()));
  options.on_wait = tell_wait;
  options.selection.joined = !typed.join.empty();
  if (options.selection.joined) options.listings = listings_beside(options.config.config_file);
  options.selection.keep_unlisted = !typed.dry_run;  // there is a report that says so
  auto outcome = discover_plan(options, *checked.machine);
  if (!outcome) return outcome.error();
  return FoundPlan{.outcome = *std::move(outcome), .extent = options.extent};
}

Result<Planned> plan_run(const Checked& checked, const Manner& manner) {
  auto found = manner.find_plan(checked);
  if (!found) return with_finding(found.error(), *checked.machine);
  PlanOutcome& outcome = found->outcome;
  auto inputs = inputs_of(checked, *found);
  if (!inputs) return inputs.error();
  Planned planned{.plan = std::move(outcome.plan),
                  .config_files = names_of(outcome.files),
                  .inputs = *std::move(inputs),
                  .policy = outcome.run.policy.under(checked.typed.policy),
                  .local = outcome.run.local,
                  .extent = found->extent,
                  .source = std::move(found->source),
                  .rest = std::move(found->rest),
                  .warnings = checked.warnings};
  const auto known = known_failure_warnings(checked, planned.plan);
  planned.warnings.insert(planned.warnings.end(), outcome.warnings.begin(), outcome.warnings.end());
  planned.warnings.insert(planned.warnings.end(), known.begin(), known.end());
  std::ranges::move(limit_warnings(checked.typed, planned.plan), std::back_inserter(planned.warnings));
  if (auto root = check_stack_root(planned.local); !root) return root.error();
  if (auto held = check_containment(checked, planned.plan); !held) return held.error();
  if (auto one = check_terminal(checked.typed.setup.attempts, planned.plan); !one) return one.error();
  return planned;
}

Result<std::optional<Part>> take_part(const Checked& checked, Planned& planned) {
  const bool is_shard = checked.shard || !checked.typed.plan_file.empty();
  if (!is_shard && checked.typed.rest_of.empty()) return std::optional<Part>();
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
  if (checked.typed.rest_of.empty()) return std::optional(std::move(part));
  auto rest = keep_rest(checked.typed.rest_of, whole, part.shard, planned.plan);
  if (!rest) return rest.error();
  part.rest = *std::move(rest);
  return std::optional(std::move(part));
}

}  // namespace proctor::cli
