#include "harness/runner/checked.h"

#include <filesystem>
#include <utility>

#include "harness/base/digest.h"
#include "harness/base/held_directory.h"
#include "harness/base/named_file.h"
#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/doctor/examine_host.h"
#include "harness/plan/shard.h"
#include "harness/request/merge_requests.h"
#include "harness/runner/history_of_run.h"
#include "harness/runner/new_cases.h"
#include "harness/runner/record/dead_runs.h"
#include "harness/runner/record/run_directory.h"
#include "harness/runner/schedule/describe_plan.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/stack/fingerprint.h"

namespace proctor::runner {
namespace {

bool is_of_whole_plan(const RunRequest& typed) {
  return !leaves_cases_out(typed.selection) && typed.selection.command.empty() && typed.plan.shard.empty() &&
         typed.plan.remaining_of.empty();
}

}  // namespace

bool leaves_cases_out(const SelectionOptions& chosen) {
  return !chosen.suites.empty() || chosen.backend || !chosen.filters.empty() || !chosen.cases.empty() ||
         !chosen.excludes.empty() || !chosen.labels.empty() || !chosen.tags.empty();
}

Result<AskedRun> ask(const RunRequest& typed) {
  AskedRun asked{.typed = typed};
  if (asked.typed.config.directory.empty()) {
    std::error_code error;
    asked.typed.config.directory = std::filesystem::current_path(error).string();
    if (error) return Error::system("find the current directory", error.value());
  }
  auto files = read_config_files(asked.typed.config);
  if (!files) return files.error();
  asked.files = *std::move(files);
  const auto keys = load_run_keys(asked.files);
  if (!keys) return keys.error();
  asked.keys = keys_for(*keys, typed.command);
  if (!is_of_whole_plan(asked.typed)) asked.keys.rules.min_executed.reset();
  if (!asked.typed.plan.file.empty())
    asked.keys.selection.excludes.clear();  // the plan file already has its cases
  asked.request = merge(asked.typed, asked.keys);
  return asked;
}

namespace {

constexpr const char* kBuiltinKnownFailures = "known_failures_intel.toml";

// A case that repeats until it fails needs a second bound. `until-fail` alone requires --deadline.
Result<int> most_executions(const Repeats& wanted, bool has_deadline) {
  if (wanted.times) return *wanted.times;
  if (wanted.exclusion) return runs_to_exclude(*wanted.exclusion);
  if (wanted.turns.count() > 0 || (wanted.until_fail && has_deadline)) return kUnlimitedRepeats;
  if (wanted.until_fail && wanted.times_if_new == 0)
    return Error::refused("`--repeat until-fail` needs a bound",
                          "Write `--repeat 100,until-fail`, or add `--deadline DURATION`.");
  return 1;
}

Result<void> settle_repeats(Checked& checked) {
  const ScheduleRequest& wanted = checked.request().schedule;
  if (wanted.repeat) {
    auto repeats = parse_repeats(*wanted.repeat);
    if (!repeats) return repeats.error();
    checked.repeats = *std::move(repeats);
  }
  Repeats& repeats = checked.repeats;
  if (repeats.times_if_new > 0 && repeats.known_from.empty()) repeats.known_from = kLatestRun;
  if (repeats.turns.count() > 0 && wanted.fail_fast.value_or(0) > 0)
    return Error::refused("`--repeat` with a duration cannot be combined with `--fail-fast`");
  const auto most = most_executions(repeats, wanted.deadline.has_value());
  if (!most) return most.error();
  checked.executions = *most;
  return {};
}

Result<void> read_debugger(Checked& checked) {
  const auto& text = checked.request().terminal.debugger;
  if (!text) return {};
  auto words = shell_words(*text);
  if (!words) return words.error();
  checked.debugger = *std::move(words);
  return {};
}

Result<std::optional<SeenPrograms>> read_seen(const std::string& place) {
  if (place.empty()) return std::optional<SeenPrograms>();
  auto seen = read_seen_programs(place);
  if (!seen) return seen.error();
  return std::optional(*std::move(seen));
}

Result<void> check_words(Checked& checked) {
  if (auto settled = settle_repeats(checked); !settled) return settled;
  if (auto read = read_debugger(checked); !read) return read;
  // The number of cases is not known yet. This call checks that one case has enough descriptors.
  return check_open_files(1, 0);
}

Result<std::optional<Shard>> read_shard(const RunRequest& asked, const Environment& caller) {
  if (!asked.plan.file.empty() && !asked.selection.command.empty()) {
    return Error::refused("`--plan` cannot be combined with a command after `--`");
  }
  const std::string& text = asked.plan.shard;
  if (text.empty()) return std::optional<Shard>();
  const auto shard = text == "auto" ? shard_of_environment(caller) : parse_shard(text);
  if (!shard) return shard.error();
  return std::optional(*shard);
}

Result<void> check_directories(const RunRequest& request) {
  if (request.plan.dry_run) return {};
  return check_run_directory(request.reports.out, request.reports.junit);
}

Result<AllKnownFailures> load_all_known_failures(const std::string& file, const std::string& built_in) {
  AllKnownFailures all;
  std::vector<KnownFailure> entries;
  for (const auto& path : {file, built_in}) {
    if (path.empty()) continue;
    const auto text = read_typed_file(path);
    if (!text) return text.error();
    const auto list = parse_known_failures(*text, path);
    if (!list) return list.error();
    if (path == file) {
      all.file = KnownFailuresFile{.file = file, .sha256 = sha256_hex(*text)};
      for (const KnownFailure& entry : list->entries()) all.file->entries.push_back(to_event(entry));
    }
    entries.insert(entries.end(), list->entries().begin(), list->entries().end());
  }
  all.list = KnownFailures(std::move(entries));
  return all;
}

}  // namespace

Result<Checked> check(AskedRun asked, const std::string& run_id, Machine& machine) {
  Checked checked{.asked = std::move(asked), .run_id = run_id, .machine = &machine};
  const RunRequest& request = checked.request();
  if (auto words = check_words(checked); !words) return words.error();
  auto subject = parse_subject(request.reports.subject);
  if (!subject) return subject.error();
  checked.subject = *std::move(subject);
  if (auto opened = machine.reopen(request.machine, run_id); !opened) return opened.error();
  if (auto taken = machine.take_faults(); !taken) return taken.error();
  const auto shard = read_shard(request, machine.caller());
  if (!shard) return shard.error();
  checked.shard = *shard;
  if (auto usable = check_directories(request); !usable) return usable.error();
  auto known = load_all_known_failures(request.verdicts.known_failures,
                                       machine.installation().shared_file(kBuiltinKnownFailures));
  if (!known) return known.error();
  checked.known_failures = *std::move(known);
  auto seen = read_seen(checked.repeats.known_from);
  if (!seen) return seen.error();
  checked.seen = *std::move(seen);
  auto history = open_history(request.reports.history);
  if (!history) return history.error();
  checked.history = *std::move(history);
  return checked;
}

void sweep_dead(Checked& checked) {
  std::vector<Warning>& warnings = checked.warnings;
  for (const std::string& sentence : sweep_dead_runs())
    warnings.push_back({WarningCode::kKilledRunCleanup, sentence});
  for (const Error& error : sweep_held_directories().failed)
    warnings.push_back({WarningCode::kKilledRunCleanup, "left by a killed run: failed to " + error.what});
  if (checked.request().caller.is_parent_unwatched)
    warnings.push_back(
        {WarningCode::kParentWatchFailed, "the exit of the parent process cannot be detected here"});
}

// A simulated machine has no driver stack that the doctor could examine.
std::string about_machine(const Machine& machine) {
  if (machine.simulation()) return "the machine is simulated: --sim " + machine.options().sim;
  const auto path = machine.caller().find("LD_LIBRARY_PATH");
  const auto host =
      read_host("/", path == machine.caller().end() ? "" : path->second, image_digest_of_caller());
  if (!host) return "failed to " + host.error().what;
  const auto findings = examine_host(*host, embedded_host_minima(), known_bad_rules(), today_text());
  return "the doctor: " + telling_finding(findings);
}

Error with_finding(Error error, const Machine& machine) {
  if (error.kind == ErrorKind::kSystem && error.what.starts_with("use --devices "))
    error.what += "; " + about_machine(machine);
  return error;
}

}  // namespace proctor::runner
