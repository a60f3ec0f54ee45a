// Implements `proctor gate`: evaluates a release policy on the journals of runs (docs/reference/gate.md). This file
// reads the files that the policy names: plans, stack locks and known failures. The verdict is a function of these
// inputs (reports/gate/gate.h).
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <tuple>

#include "harness/base/digest.h"
#include "harness/base/named_file.h"
#include "harness/base/read_file.h"
#include "harness/base/toml_reader.h"
#include "harness/base/words.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/gate_outputs.h"
#include "harness/cli/load_run.h"
#include "harness/cli/stack.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/plan/known_failures_check.h"
#include "harness/plan/shard.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/record/run_directory.h"
#include "harness/runner/record/subject.h"
#include "harness/stack/verify.h"
#include "reports/gate/gate.h"
#include "reports/gate/gate_formats.h"
#include "reports/history/questions.h"
#include "reports/resolve/report_text.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

struct GateOptions {
  std::vector<std::string> reports;
  std::string policy;
  std::string check;
  std::vector<std::string> subject;
  // A given but empty value comes from an unset variable, so it does not select the default.
  std::optional<std::string> at;
  std::optional<std::string> baseline;
  std::optional<std::string> history;
  GateOutput json{"--json", {}};
  GateOutput markdown{"--markdown", {}};
  GateOutput statement{"--statement", {}};

  std::vector<GateOutput> outputs() const { return {json, markdown, statement}; }
};

static_assert(kMostShardsOfAPlan == kMostShards);  // the limit of `run --shard`

// Prints an error and returns 2. Only a verdict may return another exit code.
int refuse(Error error) {
  error.what = in_one_line(error.what);
  error.hint = in_one_line(error.hint);
  static_cast<void>(fail(error));
  return kExitUsage;
}

// Files that were read and are not inputs of the verdict.
struct GateFiles {
  KnownFailures known_failures{};
  std::optional<std::vector<PastEnd>> remembered{};  // from --history
};

// ---- Files that the policy names ----

// Resolves a path in a policy, which is relative to the policy's file.
std::string relative_to_policy(const GatePolicy& policy, const std::string& path) {
  return (fs::path(policy.file).parent_path() / path).string();
}

Result<GatePolicy> read_policy(const std::string& file) {
  const auto text = read_typed_file(file);
  return text ? parse_gate_policy(*text, file) : text.error();
}

Result<void> read_plans(GateInputs& inputs) {
  for (const GateCell& cell : inputs.policy.cells) {
    if (cell.plan.empty() || inputs.plans.contains(cell.plan)) continue;
    const std::string file = relative_to_policy(inputs.policy, cell.plan);
    const auto text = read_found_file(file, kMostPlanFile);
    auto plan = text ? parse_gate_plan(*text, file) : text.error();
    if (!plan) {
      Error refused = Error::usage_of(plan.error());
      refused.what += fmt::format(" (`plan` in {}:{})", inputs.policy.file, cell.line);
      return refused;
    }
    inputs.plans.emplace(cell.plan, *std::move(plan));
  }
  note_weak_plans(inputs);
  return {};
}

GateKnownFailure gate_entry(const KnownFailure& entry) {
  return {.cases = entry.cases,
          .outcome = entry.outcome,
          .reason = entry.reason_glob,
          .driver = entry.driver,
          .versions = entry.versions,
          .backend = entry.backend,
          .device = entry.device,
          .owner = entry.owner,
          .issue = entry.issue,
          .added = entry.added,
          .expires = entry.expires,
          .predicted = entry.predicted,
          .mistakes = {},
          .origin = fs::path(entry.origin).filename().string()};
}

Result<void> read_known_failures(GateFiles& files, GateInputs& inputs) {
  if (inputs.policy.known_failures.empty()) return {};
  const std::string file = relative_to_policy(inputs.policy, inputs.policy.known_failures);
  const auto text = read_typed_file(file);
  if (!text) return text.error();
  auto list = parse_known_failures(*text, file);
  if (!list) return list.error();
  if (list->entries().empty()) {
    return Error::refused(file + " has no [[known_failure]]",
                          "If there are no known failures, leave `known_failures` out of the policy.");
  }
  GateKnownFailures known{.file = file, .sha256 = sha256_hex(*text), .entries = {}};
  for (const KnownFailure& entry : list->entries()) known.entries.push_back(gate_entry(entry));
  inputs.known_failures = std::move(known);
  files.known_failures = *std::move(list);
  return {};
}

// Returns the data for checking the list: every planned case, and the outcomes of cases that an entry names.
KnownFailureCheck check_of(const KnownFailures& list, const GateInputs& inputs) {
  const auto at = parse_utc(inputs.at).value_or(std::chrono::sys_seconds());
  KnownFailureCheck check{
      .at = at, .max = {}, .planned = std::vector<PlannedId>(), .ends = {}, .remembered = {}};
  std::set<std::tuple<std::string, std::string, std::string>> known;
  for (const GateReport& report : inputs.reports) {
    for (const ResolvedCase& test : report.run.cases) {
      const PlannedCase& planned = test.planned;
      if (known.emplace(planned.id, planned.suite, planned.backend).second)
        check.planned->push_back({planned.id, planned.suite, planned.backend});
      const bool named = std::ranges::any_of(
          list.entries(), [&](const KnownFailure& entry) { return entry.names(planned.id); });
      if (!named) continue;
      PastEnd& end = check.ends.emplace_back(PastEnd{.id = planned.id,
                                                     .backend = planned.backend,
                                                     .where = report.name(),
                                                     .models = {},
                                                     .when = parse_utc(report.run.plan.started).value_or(at),
                                                     .verdict = test.verdict});
      for (const Attempt* attempt : telling_attempts(test)) {
        for (const PlannedDevice* device : attempt->devices()) end.models.push_back(device->name);
      }
    }
  }
  return check;
}

// Checks the entries with harness/plan/known_failures_check.h. The number of permitted entries is a rule of the policy.
void judge_entries(const GateFiles& files, GateInputs& inputs) {
  if (!inputs.known_failures) return;
  KnownFailureCheck check = check_of(files.known_failures, inputs);
  check.remembered = files.remembered;
  for (const KnownFailureFinding& finding : check_known_failures(files.known_failures, check)) {
    const auto& entries = files.known_failures.entries();
    const auto entry = std::ranges::find(entries, finding.place, &KnownFailure::origin);
    if (entry == entries.end()) continue;
    inputs.known_failures->entries[static_cast<std::size_t>(entry - entries.begin())].mistakes.push_back(
        finding.text);
  }
}

// Reads the format of sha256sum: the first word of each line.
Result<void> read_signed_digests(GateInputs& inputs) {
  if (inputs.policy.signed_digests.empty()) return {};
  const auto text = read_typed_file(relative_to_policy(inputs.policy, inputs.policy.signed_digests));
  if (!text) return text.error();
  std::set<std::string> digests;
  for (const std::string_view line : lines_of(*text)) {
    const std::string word(split(trimmed(line), ' ').front());
    if (!word.empty()) digests.insert(word.starts_with("sha256:") ? word.substr(7) : word);
  }
  inputs.signed_digests = std::move(digests);
  return {};
}

std::map<std::string, std::string> packages_of(const RunPlanned& plan) {
  std::map<std::string, std::string> packages;
  for (const StackFact& fact : plan.fingerprint) {
    if (!fact.value || !fact.source.ends_with("/dpkg/status")) continue;
    for (const std::string_view package : split(*fact.value, ',')) {
      const auto words = split(trimmed(package), ' ');
      if (words.size() == 2) packages.emplace(words[0], words[1]);
    }
  }
  return packages;
}

// Compares like `stack verify`, with the facts that a journal has. A journal has only packages that are layers of the
// stack, so other packages are not compared. A layer that is missing in the journal is a difference.
std::vector<std::string> stack_differences(const StackLock& lock, const RunPlanned& plan) {
  const auto packages = packages_of(plan);
  const auto is_of_no_layer = [&](const auto& locked) {
    return !packages.contains(locked.name) && !is_package_of_layer(locked.name);
  };
  StackLock known = lock;
  std::erase_if(known.packages, is_of_no_layer);
  std::erase_if(known.files, is_of_no_layer);
  auto differences = compare_with_lock(known, plan.fingerprint, packages).differences;
  std::erase_if(differences, [](const std::string& text) {
    return text.starts_with("lock: ");
  });  // another rule checks the lock
  return differences;
}

Result<void> read_locks(GateInputs& inputs) {
  for (const GateCell& cell : inputs.policy.cells) {
    if (cell.stack.empty() || inputs.locks.contains(cell.stack)) continue;
    const auto lock = find_lock(lock_directory(""), cell.stack);
    if (!lock) {
      Error refused = Error::usage_of(lock.error());
      refused.what += fmt::format(" (`stack` in {}:{})", inputs.policy.file, cell.line);
      return refused;
    }
    GateLock read{.sha256 = lock->digest, .differences = {}};
    for (const GateReport& report : inputs.reports) {
      const auto of_image = std::ranges::find(report.run.plan.fingerprint, "image.stack", &StackFact::name);
      if (of_image == report.run.plan.fingerprint.end() || of_image->value != cell.stack) continue;
      if (auto differences = stack_differences(*lock, report.run.plan); !differences.empty())
        read.differences.emplace(report.sha256, std::move(differences));
    }
    inputs.locks.emplace(cell.stack, std::move(read));
  }
  return {};
}

Result<void> read_named_files(GateFiles& files, GateInputs& inputs) {
  if (auto done = read_plans(inputs); !done) return done;
  if (auto done = read_known_failures(files, inputs); !done) return done;
  return read_signed_digests(inputs);
}

// ---- The runs ----

Result<std::string> evidence_directory(const std::string& report) {
  std::error_code error;
  const fs::file_type type = fs::status(report, error).type();
  if (type == fs::file_type::not_found) {
    return Error::refused("Report " + report + " does not exist",
                          "A job that was skipped or cancelled leaves no report.");
  }
  const auto directory = run_directory_of(report);
  if (directory && fs::exists(fs::symlink_status(fs::path(*directory) / "journal.jsonl", error)))
    return directory;
  return Error::refused(fmt::format("Report {} has no journal.jsonl {}", report,
                                    type == fs::file_type::directory ? "in it" : "beside it"),
                        "Give the run directory: a report without its journal is not evidence.");
}

Result<void> read_reports(const std::vector<std::string>& reports, GateInputs& inputs) {
  for (const std::string& place : reports) {
    const auto directory = evidence_directory(place);
    if (!directory) return directory.error();
    auto report = read_gate_report(*directory, place, find_journal_seal(*directory));
    if (!report) return report.error();
    inputs.reports.push_back(*std::move(report));
  }
  return {};
}

bool is_judged_now(const std::string& run_id, const GateInputs& inputs) {
  return std::ranges::any_of(inputs.reports,
                             [&](const GateReport& report) { return report.run.plan.run_id == run_id; });
}

// Returns why a run is not older than the judged runs, or "".
std::string why_no_past(const std::string& run_id, const std::string& started, const GateInputs& inputs) {
  if (is_judged_now(run_id, inputs)) return fmt::format("run {} is one of the judged runs", run_id);
  const bool older = std::ranges::all_of(inputs.reports, [&](const GateReport& report) {
    return unix_ms(started) <= unix_ms(report.run.plan.started);
  });
  return older ? "" : fmt::format("run {} is of {}, which is newer than the judged runs", run_id, started);
}

// Reads which cases of the older run failed.
Result<void> read_baseline(const std::string& place, GateInputs& inputs) {
  const auto older = load_run_results(place);
  if (!older) return older.error();
  GateBaseline baseline{.name = "run " + older->run_id,
                        .failed = {},
                        .no_past = why_no_past(older->run_id, older->started, inputs)};
  for (const CaseResult& result : older->cases) {
    if (result.result_class == ResultClass::kFailing) baseline.failed.insert(result.id);
  }
  inputs.baseline = std::move(baseline);
  return {};
}

std::vector<PastEnd> ends_in(const HistoryAnswer& answer) {
  std::vector<PastEnd> ends;
  for (const CaseOutcomes& one : answer.outcomes) {
    for (const SeenOutcome& outcome : one.outcomes) {
      const auto when = parse_utc(answer.runs[outcome.run].started);
      if (!when) continue;
      ends.push_back({.id = one.id,
                      .backend = one.variant.backend,
                      .where = to_string(one.variant),
                      .models = {one.variant.device_model},
                      .when = *when,
                      .verdict = outcome.verdict});
    }
  }
  return ends;
}

// Reads from the history which cases failed already in an older run that is not judged now.
Result<void> read_history(const std::string& place, GateFiles& files, GateInputs& inputs) {
  auto history = History::open_to_read(place, kHistoryWait);
  if (!history) return history.error();
  HistoryQuestion question;
  question.failing = true;
  question.outcomes = inputs.known_failures.has_value();
  question.all_branches = true;
  const auto answer = ask(*history, question);
  if (!answer) return answer.error();
  GateBaseline baseline{.name = "the history", .failed = {}, .no_past = "the history holds no older run"};
  for (const SeenRun& run : answer->runs) {
    if (why_no_past(run.run_id, run.started, inputs).empty()) baseline.no_past.clear();
  }
  for (const FailingCase& failing : answer->failing) {
    if (!is_judged_now(answer->runs[failing.since].run_id, inputs)) baseline.failed.insert(failing.id);
  }
  inputs.baseline = std::move(baseline);
  if (question.outcomes) files.remembered = ends_in(*answer);
  return {};
}

// ---- The command ----

Result<GateInputs> read_inputs(const GateOptions& options) {
  GateInputs inputs;
  inputs.proctor_version = PROCTOR_VERSION;
  auto policy = read_policy(options.policy);
  if (!policy) return policy.error();
  inputs.policy = *std::move(policy);
  const auto at = moment_of("--as-of", options.at);
  if (!at) return at.error();
  inputs.at = utc_text(*at);
  auto subject = parse_subject(options.subject);
  if (!subject) return subject.error();
  if (subject->contains("dirty"))
    return Error::refused("--subject dirty is not allowed", "Set `clean` in the policy.");
  inputs.subject = *std::move(subject);
  GateFiles files;
  if (auto read = read_named_files(files, inputs); !read) return read.error();
  if (auto read = read_reports(options.reports, inputs); !read) return read.error();
  if (auto read = read_locks(inputs); !read) return read.error();
  if (options.baseline) {
    if (auto read = read_baseline(*options.baseline, inputs); !read) return read.error();
  } else if (options.history) {
    if (auto read = read_history(*options.history, files, inputs); !read) return read.error();
  }
  judge_entries(files, inputs);
  return inputs;
}

void print_relaxations(const GatePolicy& policy) {
  for (const GateRelaxation& relaxation : policy.relaxations) {
    std::printf("%s\n", shown(in_one_line(fmt::format("weaker {}:{}: {} = {} (else: {})", policy.file,
                                                      relaxation.line, relaxation.key, relaxation.value,
                                                      relaxation.strict)))
                            .c_str());
  }
}

// Returns all files that were inputs of the verdict.
std::vector<std::string> input_files(const GateOptions& options, const GateInputs& inputs) {
  std::vector<std::string> files = {options.policy};
  for (const GateReport& report : inputs.reports) {
    const auto directory = evidence_directory(report.place);
    files.push_back(directory ? *directory : report.place);
  }
  const GatePolicy& policy = inputs.policy;
  for (const GateCell& cell : policy.cells) {
    if (!cell.plan.empty()) files.push_back(relative_to_policy(policy, cell.plan));
  }
  for (const std::string& name : {policy.known_failures, policy.signed_digests}) {
    if (!name.empty()) files.push_back(relative_to_policy(policy, name));
  }
  for (const auto& older : {options.baseline, options.history}) {
    if (older) files.push_back(*older);
  }
  return files;
}

void print_verdict(const GateInputs& inputs, const GateVerdict& verdict) {
  print_relaxations(inputs.policy);
  std::printf("%s", shown(gate_text(verdict)).c_str());
  for (const GateReport& report : inputs.reports) {
    if (!verdict.passed())
      std::printf("%s\n",
                  shown(in_one_line(fmt::format("{} is in {}", report.name(), report.place))).c_str());
  }
}

// A verdict that cannot be written does not count as a pass.
int exit_code_when_reported(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return refuse(Error::system("write the verdict to stdout", errno));
}

int gate(const GateOptions& options) {
  const auto outputs = options.outputs();
  if (auto usable = check_outputs(outputs, options.reports); !usable) return refuse(usable.error());
  const auto inputs = read_inputs(options);
  if (!inputs) return refuse(inputs.error());
  if (auto usable = check_outputs(outputs, input_files(options, *inputs)); !usable)
    return refuse(usable.error());
  const auto verdict = judge(*inputs);
  if (!verdict) return refuse(verdict.error());
  print_verdict(*inputs, *verdict);
  const int code = exit_code_when_reported(verdict->passed() ? kExitGreen : kExitRed);
  if (code == kExitUsage) return code;
  const std::vector<std::string> texts = {gate_json(*inputs, *verdict), gate_markdown(*inputs, *verdict),
                                          gate_statement(*inputs, *verdict)};
  if (auto written = write_outputs(outputs, texts); !written) return refuse(written.error());
  return code;
}

// Checks the policy and the files that it names.
int check_policy(const std::string& file) {
  auto policy = read_policy(file);
  if (!policy) return refuse(policy.error());
  GateInputs inputs;
  inputs.policy = *std::move(policy);
  GateFiles files;
  if (auto read = read_named_files(files, inputs); !read) return refuse(read.error());
  if (auto read = read_locks(inputs); !read) return refuse(read.error());
  print_relaxations(inputs.policy);
  for (const GateCell& cell : inputs.policy.cells)
    std::printf(
        "%s\n",
        shown(in_one_line(fmt::format("cell   {}{}", cell.name, cell.hardware ? "" : ", not on hardware")))
            .c_str());
  return exit_code_when_reported(kExitGreen);
}

int gate_or_check(const GateOptions& options) {
  if (!options.check.empty()) return check_policy(options.check);
  if (options.policy.empty())
    return refuse(Error::refused("`proctor gate` needs `--policy FILE`", "See `proctor gate --help`."));
  if (options.reports.empty())
    return refuse(Error::refused("`proctor gate` needs a report", "Give one or more run directories."));
  return gate(options);
}

}  // namespace

void add_gate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("gate", "Check by a policy whether a build can be released");
  const auto options = std::make_shared<GateOptions>();
  command->add_option("reports", options->reports, "Run directories, or a file in each")
      ->type_name("RUN_DIR");
  command->add_option("--policy", options->policy, "Release policy to apply (docs/reference/gate.md)")
      ->type_name("FILE");
  auto* check = command
                    ->add_option("--check", options->check,
                                 "Check this policy and the files that it names, without reports")
                    ->type_name("FILE");
  command
      ->add_option("--subject", options->subject,
                   "Required subject of the runs, for example commit=SHA; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--as-of", options->at,
                   "Time of the verdict in UTC, for example 2026-11-23T12:00:00Z (default: now)")
      ->type_name("TIME");
  auto* baseline = command
                       ->add_option("--baseline", options->baseline,
                                    "Older run, to distinguish new failures from old ones")
                       ->type_name("RUN_DIR");
  command
      ->add_option("--history", options->history,
                   "History file, for the same purpose (see `proctor history`)")
      ->type_name("FILE")
      ->excludes(baseline);
  command->add_option("--json", options->json.file, "Write the verdict as JSON to this file")
      ->type_name("FILE");
  command->add_option("--markdown", options->markdown.file, "Write the verdict as Markdown to this file")
      ->type_name("FILE");
  command
      ->add_option("--statement", options->statement.file,
                   "Write the verdict as an in-toto statement to this file, to be signed")
      ->type_name("FILE");
  for (CLI::Option* other : command->get_options([=](const CLI::Option* it) { return it != check; })) {
    if (other != command->get_help_ptr() && other != command->get_help_all_ptr()) check->excludes(other);
  }
  command->callback([command, options, &action] {
    if (command->get_subcommands().empty()) action = [options] { return gate_or_check(*options); };
  });
  add_known_failures_command(*command, action);
}

}  // namespace proctor::cli
