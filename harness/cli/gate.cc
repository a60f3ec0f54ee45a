// `proctor gate`: whether something may be released, by a policy and by the journals of runs (docs/gate.md). What the policy
// names is read here: plans, locks of stacks, known failures; the verdict is a function of it (reports/gate/gate.h).
#include "reports/gate/gate.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/stack.h"
#include "harness/core/clock.h"
#include "harness/core/digest.h"
#include "harness/core/exit_code.h"
#include "harness/core/read_file.h"
#include "harness/core/replace_file.h"
#include "harness/core/toml_reader.h"
#include "harness/core/words.h"
#include "harness/plan/known_failures.h"
#include "harness/run/record/journal_seal.h"
#include "harness/run/record/run_directory.h"
#include "harness/run/record/subject.h"
#include "harness/stack/verify.h"
#include "reports/gate/gate_formats.h"
#include "reports/model/report_place.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

struct GateOptions {
  std::vector<std::string> reports;
  std::string policy;
  std::string check;
  std::vector<std::string> subject;
  std::string at;
  std::string baseline;
  std::string json;
  std::string markdown;
  std::string statement;
};

// Green needs a verdict: whatever else goes wrong is 2.
int refuse(const Error& error) {
  static_cast<void>(fail(error));
  return kExitUsage;
}

// ---- what the policy names ----

// A path in a policy is relative to it.
std::string beside(const GatePolicy& policy, const std::string& path) {
  return (fs::path(policy.file).parent_path() / path).string();
}

Result<GatePolicy> read_policy(const std::string& file) {
  const auto text = read_text_file(file);
  return text ? parse_gate_policy(*text, file) : text.error();
}

Result<void> read_plans(GateInputs& inputs) {
  for (const GateCell& cell : inputs.policy.cells) {
    if (cell.plan.empty() || inputs.plans.contains(cell.plan)) continue;
    const std::string file = beside(inputs.policy, cell.plan);
    const auto text = read_text_file(file);
    auto plan = text ? parse_gate_plan(*text, file) : text.error();
    if (!plan) {
      return Error::usage(
          fmt::format("{} (`plan` in {}:{})", plan.error().what, inputs.policy.file, cell.line),
          plan.error().hint);
    }
    inputs.plans.emplace(cell.plan, *std::move(plan));
  }
  return {};
}

GateDay day_number(Day day) { return std::chrono::sys_days(day).time_since_epoch().count(); }

GateKnownFailure entry_of(const KnownFailure& entry) {
  return {.cases = entry.cases,
          .outcome = entry.outcome,
          .reason = entry.reason_glob,
          .driver = entry.driver,
          .versions = entry.versions,
          .backend = entry.backend,
          .device = entry.device,
          .owner = entry.owner,
          .issue = entry.issue,
          .added = entry.added ? std::optional(day_number(*entry.added)) : std::nullopt,
          .expires = day_number(entry.expires),
          .broad = entry.broad,
          .origin = fs::path(entry.origin).filename().string()};
}

Result<void> read_known_failures(GateInputs& inputs) {
  if (inputs.policy.known_failures.empty()) return {};
  const std::string file = beside(inputs.policy, inputs.policy.known_failures);
  const auto text = read_text_file(file);
  if (!text) return text.error();
  const auto list = parse_known_failures(*text, file);
  if (!list) return list.error();
  GateKnownFailures known{.file = file, .sha256 = sha256_hex(*text), .entries = {}};
  for (const KnownFailure& entry : list->entries()) known.entries.push_back(entry_of(entry));
  inputs.known_failures = std::move(known);
  return {};
}

// As sha256sum writes them: the first word of each line.
Result<void> read_signed_digests(GateInputs& inputs) {
  if (inputs.policy.signed_digests.empty()) return {};
  const auto text = read_text_file(beside(inputs.policy, inputs.policy.signed_digests));
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

// `stack verify`, as far as a journal can answer: it knows the packages that are layers of the stack, and no others.
std::vector<std::string> stack_differences(const StackLock& lock, const RunPlanned& plan) {
  const auto packages = packages_of(plan);
  StackLock known = lock;
  std::erase_if(known.packages,
                [&](const LockedPackage& package) { return !packages.contains(package.name); });
  std::erase_if(known.files, [&](const LockedFile& file) { return !packages.contains(file.name); });
  auto differences = compare_with_lock(known, plan.fingerprint, packages).differences;
  std::erase_if(differences,
                [](const std::string& text) { return text.starts_with("lock: "); });  // a rule of its own
  return differences;
}

Result<void> read_locks(GateInputs& inputs) {
  for (const GateCell& cell : inputs.policy.cells) {
    if (cell.stack.empty() || inputs.locks.contains(cell.stack)) continue;
    const auto lock = find_lock(lock_directory(""), cell.stack);
    if (!lock) {
      return Error::usage(
          fmt::format("{} (`stack` in {}:{})", lock.error().what, inputs.policy.file, cell.line),
          lock.error().hint);
    }
    GateLock read{.sha256 = lock->digest, .differences = {}};
    for (const GateReport& report : inputs.reports) {
      const auto of_image = std::ranges::find(report.plan.fingerprint, "image.stack", &StackFact::name);
      if (of_image == report.plan.fingerprint.end() || of_image->value != cell.stack) continue;
      if (auto differences = stack_differences(*lock, report.plan); !differences.empty())
        read.differences.emplace(report.sha256, std::move(differences));
    }
    inputs.locks.emplace(cell.stack, std::move(read));
  }
  return {};
}

Result<void> read_named_files(GateInputs& inputs) {
  using Step = Result<void> (*)(GateInputs&);
  for (const Step step :
       {Step(read_plans), Step(read_known_failures), Step(read_signed_digests), Step(read_locks)}) {
    if (auto done = step(inputs); !done) return done;
  }
  return {};
}

// ---- the runs ----

// Of a report: a run directory, or a file in one.
Result<std::string> run_directory_of(const std::string& report) {
  std::error_code error;
  const fs::file_type type = fs::status(report, error).type();
  if (type == fs::file_type::not_found) {
    return Error::usage("read the report " + report + ": there is no such file or directory",
                        "A job that was skipped or cancelled leaves none.");
  }
  const fs::path parent = fs::path(report).parent_path();
  const std::string directory = type == fs::file_type::directory ? report
                                : parent.empty()                 ? "."
                                                                 : parent.string();
  if (fs::exists(fs::symlink_status(fs::path(directory) / "journal.jsonl", error))) return directory;
  return Error::usage(fmt::format("read the report {}: there is no journal.jsonl {}", report,
                                  type == fs::file_type::directory ? "in it" : "beside it"),
                      "A report without its journal is no evidence: give the run directory.");
}

Result<void> read_reports(const std::vector<std::string>& reports, GateInputs& inputs) {
  for (const std::string& place : reports) {
    const auto directory = run_directory_of(place);
    if (!directory) return directory.error();
    auto report = read_gate_report(*directory, place, find_journal_seal(*directory));
    if (!report) return report.error();
    inputs.reports.push_back(*std::move(report));
  }
  return {};
}

// Which of its cases were red.
Result<void> read_baseline(const std::string& place, GateInputs& inputs) {
  if (place.empty()) return {};
  const auto older = load_run_results(place);
  if (!older) return older.error();
  GateBaseline baseline{.name = "run " + older->run_id, .failed = {}};
  for (const CaseResult& result : older->cases) {
    if (result.standing == Standing::kFailing) baseline.failed.insert(result.id);
  }
  inputs.baseline = std::move(baseline);
  return {};
}

// ---- the command ----

// A date that the calendar has.
bool is_moment(const std::string& utc) {
  if (!is_utc_stamp(utc)) return false;
  const time_t seconds = unix_ms(utc) / 1000;
  tm parts{};
  char text[32];
  ::gmtime_r(&seconds, &parts);
  return ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) != 0 && utc == text;
}

Result<GateInputs> read_inputs(const GateOptions& options) {
  GateInputs inputs;
  auto policy = read_policy(options.policy);
  if (!policy) return policy.error();
  inputs.policy = *std::move(policy);
  inputs.at = options.at.empty() ? utc_now() : options.at;
  if (!is_moment(inputs.at))
    return Error::usage("read --at " + options.at + ": it is no moment", "Write it as 2026-01-31T12:00:00Z.");
  auto subject = parse_subject(options.subject);
  if (!subject) return subject.error();
  if (subject->contains("dirty"))
    return Error::usage("read --subject dirty: whether changes are allowed is said by `clean` in the policy");
  inputs.subject = *std::move(subject);
  if (auto read = read_named_files(inputs); !read) return read.error();
  if (auto read = read_reports(options.reports, inputs); !read) return read.error();
  if (auto read = read_locks(inputs); !read) return read.error();
  if (auto read = read_baseline(options.baseline, inputs); !read) return read.error();
  return inputs;
}

Result<void> write_outputs(const GateOptions& options, const GateInputs& inputs, const GateVerdict& verdict) {
  const std::pair<const std::string*, std::string (*)(const GateInputs&, const GateVerdict&)> outputs[] = {
      {&options.json, gate_json}, {&options.markdown, gate_markdown}, {&options.statement, gate_statement}};
  for (const auto& [file, write] : outputs) {
    if (file->empty()) continue;
    if (auto written = replace_file(*file, write(inputs, verdict)); !written) return written;
  }
  return {};
}

void print_weakenings(const GatePolicy& policy) {
  for (const GateWeakening& weakening : policy.weakenings) {
    std::printf("%s\n", shown(fmt::format("weaker {}:{}: {} = {} (else: {})", policy.file, weakening.line,
                                          weakening.key, weakening.value, weakening.strict))
                            .c_str());
  }
}

int gate(const GateOptions& options) {
  for (const auto& [option, file] : {std::pair{"--json", options.json},
                                     {"--markdown", options.markdown},
                                     {"--statement", options.statement}}) {
    if (file.empty()) continue;
    if (auto usable = check_output_file(option, file); !usable) return refuse(usable.error());
  }
  const auto inputs = read_inputs(options);
  if (!inputs) return refuse(inputs.error());
  const auto verdict = judge(*inputs);
  if (!verdict) return refuse(verdict.error());
  if (auto written = write_outputs(options, *inputs, *verdict); !written) return refuse(written.error());
  print_weakenings(inputs->policy);
  std::printf("%s", shown(gate_text(*verdict)).c_str());
  for (const GateReport& report : inputs->reports) {
    if (!verdict->green())
      std::printf("%s\n", shown(fmt::format("{} is in {}", report.name(), report.place)).c_str());
  }
  return verdict->green() ? kExitGreen : kExitRed;
}

// The policy, and the files that it names.
int check(const std::string& file) {
  auto policy = read_policy(file);
  if (!policy) return refuse(policy.error());
  GateInputs inputs;
  inputs.policy = *std::move(policy);
  if (auto read = read_named_files(inputs); !read) return refuse(read.error());
  if (auto read = read_locks(inputs); !read) return refuse(read.error());
  print_weakenings(inputs.policy);
  for (const GateCell& cell : inputs.policy.cells)
    std::printf(
        "%s\n",
        shown(fmt::format("cell   {}{}", cell.name, cell.hardware ? "" : ", not on hardware")).c_str());
  return kExitGreen;
}

int gate_or_check(const GateOptions& options) {
  if (!options.check.empty()) return check(options.check);
  if (options.policy.empty())
    return refuse(Error::usage("read the command line of proctor gate: no policy is given",
                               "Name it with --policy gate.toml."));
  if (options.reports.empty())
    return refuse(
        Error::usage("read the command line of proctor gate: no report is given", "Name run directories."));
  return gate(options);
}

}  // namespace

void add_gate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("gate", "Say whether runs are good enough for a release, by a policy");
  command->footer(
      "Exit 0: green. 1: red, and the rule, the cell and the case say why. 2: the policy or a report cannot "
      "be read.");
  const auto options = std::make_shared<GateOptions>();
  command->add_option("reports", options->reports, "Run directories, or a file in each");
  auto* policy = command->add_option("--policy", options->policy, "What must be there (docs/gate.md)");
  command->add_option("--check", options->check, "Read this policy and what it names, and no report")
      ->excludes(policy);
  command->add_option("--subject", options->subject, "NAME=VALUE, what the runs must be of: commit=SHA")
      ->allow_extra_args(false);
  command->add_option("--at", options->at, "UTC, the moment of the verdict; default: now");
  command->add_option("--baseline", options->baseline,
                      "An older run: tells what failed newly from what failed before");
  command->add_option("--json", options->json, "Write the verdict to this file");
  command->add_option("--markdown", options->markdown, "The same for people");
  command->add_option("--statement", options->statement, "The same as an in-toto statement, to be signed");
  command->callback([options, &action] { action = [options] { return gate_or_check(*options); }; });
}

}  // namespace proctor::cli
