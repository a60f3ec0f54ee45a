#include "harness/cli/steps/checked.h"

#include <utility>

#include "harness/cli/steps/history_of_run.h"
#include "harness/cli/steps/new_cases.h"
#include "harness/core/digest.h"
#include "harness/core/held_directory.h"
#include "harness/core/named_file.h"
#include "harness/core/read_file.h"
#include "harness/core/toml_reader.h"
#include "harness/doctor/examine_host.h"
#include "harness/machine/installation.h"
#include "harness/plan/scheduler_shard.h"
#include "harness/run/record/dead_runs.h"
#include "harness/run/record/run_directory.h"
#include "harness/run/schedule/open_files.h"
#include "harness/stack/fingerprint.h"

namespace proctor::cli {
namespace {

constexpr const char* kBuiltinKnownFailures = "known_failures_intel.toml";

// A case that repeats until it fails needs another end: `until-fail` alone requires --deadline.
Result<int> most_executions(const Repeats& wanted, bool has_deadline) {
  if (wanted.times) return *wanted.times;
  if (wanted.exclusion) return runs_to_exclude(*wanted.exclusion);
  if (wanted.turns.count() > 0 || (wanted.until_fail && has_deadline)) return kUnlimitedRepeats;
  if (wanted.until_fail && wanted.times_if_new == 0)
    return Error::refused("`--repeat until-fail` needs a bound",
                          "Write `--repeat 100,until-fail`, or add `--deadline DURATION`.");
  return 1;
}

Result<void> settle_repeats(RunOptions& typed) {
  const Repeats& wanted = typed.repeats;
  if (wanted.turns.count() > 0 && typed.setup.stop.fail_fast)
    return Error::refused("`--repeat` with a duration cannot be combined with `--fail-fast`");
  const auto most = most_executions(wanted, typed.setup.stop.deadline.has_value());
  if (!most) return most.error();
  typed.setup.repeats.repeat = *most;
  typed.setup.repeats.until_fail = wanted.until_fail || wanted.exclusion;
  typed.setup.planned.stress_ms = wanted.turns.count();
  typed.setup.planned.exclusion = wanted.exclusion;
  return {};
}

Result<std::optional<SeenPrograms>> read_seen(const std::string& place) {
  if (place.empty()) return std::optional<SeenPrograms>();
  auto seen = read_seen_programs(place);
  if (!seen) return seen.error();
  return std::optional(*std::move(seen));
}

Result<void> check_words(RunOptions& typed, const AfterDashes& after_dashes) {
  if (auto completed = complete(typed.plan, after_dashes); !completed) return completed;
  if (typed.mistake) return *typed.mistake;
  if (auto settled = settle_repeats(typed); !settled) return settled;
  // For one case: nobody knows yet how many there are.
  return check_open_files(1, 0);
}

Result<std::optional<Shard>> read_shard(const RunOptions& typed, const AfterDashes& after_dashes,
                                        const Environment& caller) {
  if (!typed.plan_file.empty() && after_dashes) {
    return Error::refused("`--plan` cannot be combined with a command after `--`");
  }
  if (typed.shard.empty()) return std::optional<Shard>();
  const auto shard = typed.shard == "auto" ? shard_of_environment(caller) : parse_shard(typed.shard);
  if (!shard) return shard.error();
  return std::optional(*shard);
}

Result<void> check_directories(const RunOptions& typed) {
  return typed.dry_run ? Result<void>() : check_run_directory(typed.out, typed.junit);
}

Result<AllKnownFailures> load_all_known_failures(const std::string& file) {
  AllKnownFailures all;
  std::vector<KnownFailure> entries;
  for (const auto& path : {file, shared_file(kBuiltinKnownFailures)}) {
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

std::vector<Warning> sweep_dead() {
  std::vector<Warning> warnings;
  for (const std::string& sentence : sweep_dead_runs()) warnings.push_back({WarningCode::kSwept, sentence});
  for (const Error& error : sweep_held_directories().failed)
    warnings.push_back({WarningCode::kSwept, "left by a killed run: failed to " + error.what});
  return warnings;
}

}  // namespace

Result<Checked> check(RunOptions typed, const AfterDashes& after_dashes, const std::string& run_id,
                      const Manner& manner) {
  if (auto checked = check_words(typed, after_dashes); !checked) return checked.error();
  auto subject = parse_subject(typed.subject);
  if (!subject) return subject.error();
  auto machine = Machine::open(typed.machine, run_id);
  if (!machine) return machine.error();
  if (auto taken = (*machine)->take_faults(); !taken) return taken.error();
  auto shard = read_shard(typed, after_dashes, (*machine)->caller());
  if (!shard) return shard.error();
  if (auto usable = check_directories(typed); !usable) return usable.error();
  auto known = load_all_known_failures(typed.known_failures);
  if (!known) return known.error();
  auto seen = read_seen(typed.repeats.known_from);
  if (!seen) return seen.error();
  auto history = open_history(typed.history);
  if (!history) return history.error();
  if (auto checked = manner.check(typed, after_dashes); !checked) return checked.error();
  return Checked{.typed = std::move(typed),
                 .after_dashes = after_dashes,
                 .run_id = run_id,
                 .subject = *std::move(subject),
                 .machine = *std::move(machine),
                 .shard = *shard,
                 .known_failures = *std::move(known),
                 .seen = *std::move(seen),
                 .history = *std::move(history),
                 .warnings = sweep_dead()};
}

// A simulated machine has no driver stack.
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

}  // namespace proctor::cli
