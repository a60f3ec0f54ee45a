// Implements `proctor history add|show|devices|prune DB`: stores and prints the results of cases, run by run.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/base/number_text.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/history/answer_json.h"
#include "reports/history/questions.h"
#include "reports/resolve/report_text.h"

namespace proctor::cli {
namespace {

struct HistoryOptions {
  std::string db;
  std::string wait = "60s";
  std::vector<std::string> others;  // runs or histories
  std::string keep;
  HistoryQuestion question;
  std::string branch;
  std::string since;
  std::string case_glob;
  bool json = false;
};

void say(const std::string& line) { std::printf("%s\n", shown(line).c_str()); }

// ---- Arguments ----

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Parses a time: 90d and 12h are relative to now; 2026-01-31 and 2026-01-31T12:00:00Z are absolute.
Result<std::string> moment(const std::string& option, const std::string& text) {
  if (const auto when = parse_utc(text)) return utc_text(*when);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (text.ends_with('d')) {
    const auto days = whole_number<int>(std::string_view(text).substr(0, text.size() - 1));
    if (days && *days >= 0 && *days <= 36'500) return utc_text(now - std::chrono::days(*days));
  } else if (const auto ago = parse_duration(text)) {
    return utc_text(now - std::chrono::floor<std::chrono::seconds>(*ago));
  }
  return Error::refused(fmt::format("{} must be an age or a time in UTC (got {})", option, text),
                        "For example 90d, 12h, 2026-01-31 or 2026-01-31T12:00:00Z.");
}

Result<Milliseconds> wait_of(const HistoryOptions& options) {
  auto wait = parse_duration(options.wait);
  if (!wait) return Error::refused("--wait: " + wait.error().what, wait.error().hint);
  return *wait;
}

Result<History> open_to_write(const HistoryOptions& options, History::Check extent = History::Check::kQuick) {
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is then an error like a full disk
  const auto wait = wait_of(options);
  if (!wait) return wait.error();
  return History::open(options.db, *wait, extent);
}

Result<History> open_to_read(const HistoryOptions& options, const std::string& db,
                             History::Check extent = History::Check::kQuick) {
  const auto wait = wait_of(options);
  if (!wait) return wait.error();
  return History::open_to_read(db, *wait, extent);
}

std::string size_text(const std::string& db, const HistorySize& size) {
  std::string text =
      fmt::format("{}: {} run{}, {} cases, {} results, {:.1f} MB", db, size.runs, plural(size.runs),
                  size.cases, size.results, static_cast<double>(size.bytes) / 1e6);
  if (size.runs > 0) text += fmt::format(", {} to {}", size.first, size.last);
  return text;
}

int report_size(History& history) {
  const auto size = history.size();
  if (!size) return fail(size.error());
  say(size_text(history.path(), *size));
  return kExitGreen;
}

// ---- add, prune ----

// Adds a report. A report whose journal is already in the history is not read again.
Result<Added> add_report(History& history, const std::string& report) {
  const auto digest = run_journal_sha256(report);
  if (digest && history.has_journal(*digest)) return Added::kAlreadyThere;
  const auto run = load_run_results(report);
  if (!run) return Error::usage_of(run.error());
  return history.add(*run);
}

// Every SQLite file begins with these bytes, and no file of a run does.
bool is_history(const std::string& place) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(place, error)) return false;
  constexpr std::string_view kBeginning("SQLite format 3\0", 16);
  std::string bytes(kBeginning.size(), ' ');
  std::ifstream(place, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes == kBeginning;
}

Result<std::string> import_one(History& history, const std::string& place,
                               std::map<std::string, History>& others) {
  if (const auto other = others.find(place); other != others.end()) {
    const auto added = history.add_all(other->second);
    if (!added) return added.error();
    return fmt::format("{}: {} run{} added", place, *added, plural(*added));
  }
  const auto added = add_report(history, place);
  if (!added) return added.error();
  return fmt::format("{}: {}", place, to_string(*added));
}

int add(const HistoryOptions& options) {
  std::map<std::string, History> others;
  for (const std::string& place : options.others) {
    if (!is_history(place)) continue;
    auto other = open_to_read(options, place, History::Check::kWhole);
    if (!other) return fail(other.error());
    others.emplace(place, *std::move(other));
  }
  std::error_code error;
  if (others.empty() &&
      !std::filesystem::exists(options.db, error)) {  // no history is created if the input is unreadable
    const auto first = load_run_results(options.others.front());
    if (!first) return fail(Error::usage_of(first.error()));
  }
  auto history = open_to_write(options);
  if (!history) return fail(history.error());
  std::vector<std::string> lines;
  const auto done = history->change([&]() -> Result<void> {
    for (const std::string& place : options.others) {
      auto line = import_one(*history, place, others);
      if (!line) return line.error();
      lines.push_back(*std::move(line));
    }
    return {};
  });
  if (!done) return fail(done.error());
  for (const std::string& line : lines) say(line);
  return report_size(*history);
}

int prune(const HistoryOptions& options) {
  const auto runs = whole_number<std::size_t>(options.keep);
  const auto since = runs ? Result<std::string>("") : moment("--keep", options.keep);
  if (!since) {
    return fail(
        Error::refused(fmt::format("--keep must be a number of runs or an age (got {})", options.keep),
                       "For example 500 or 90d."));
  }
  if (*since > utc_now()) {
    return fail(Error::refused(fmt::format("--keep must not be in the future (got {})", options.keep),
                               "Use --keep 0 to remove all runs."));
  }
  std::error_code error;
  if (!std::filesystem::exists(options.db, error)) {  // no history is created only to prune it
    if (const auto missing = open_to_read(options, options.db); !missing) return fail(missing.error());
  }
  auto history = open_to_write(options, History::Check::kWhole);
  if (!history) return fail(history.error());
  std::int64_t count = 0;
  const auto done = history->change([&]() -> Result<void> {
    count = runs ? history->keep_newest(*runs) : history->keep_since(*since);
    return {};
  });
  if (!done) return fail(done.error());
  say(fmt::format("{} run{} removed", count, plural(count)));
  return report_size(*history);
}

// ---- show ----

// Returns the age of a time in the past: "3 days ago".
std::string age_text(const std::string& since) {
  const std::int64_t hours = (unix_ms(utc_now()) - unix_ms(since)) / 3'600'000;
  if (hours < 0) return "in the future";
  if (hours < 1) return "less than an hour ago";
  if (hours < 48) return fmt::format("{} hour{} ago", hours, plural(hours));
  return fmt::format("{} days ago", hours / 24);
}

std::string run_text(const SeenRun& run) {
  std::string text = fmt::format("{}, run {}", run.started, run.run_id);
  if (!run.commit.empty())
    text += fmt::format(", commit {}{}", run.commit.substr(0, 12), run.dirty ? " with changes" : "");
  return text;
}

std::string outcome_text(const SeenOutcome& outcome) {
  return readable(outcome.verdict) + (outcome.flaky ? ", flaky" : "") +
         (outcome.cause.empty() ? "" : ": " + outcome.cause);
}

// Returns "0123abc with changes", or the run's id if the commit is unknown.
std::string short_name(const SeenRun& run) {
  if (run.commit.empty()) return run.run_id;
  return run.commit.substr(0, 12) + (run.dirty ? " with changes" : "");
}

// Returns the suites with failing cases of several variants. Their cases are printed with the variant.
std::set<std::pair<std::string, std::string>> suites_of_several(const HistoryAnswer& answer) {
  std::map<std::pair<std::string, std::string>, std::set<Variant>> variants;
  for (const FailingCase& failing : answer.failing)
    variants[{failing.variant.suite, failing.variant.backend}].insert(failing.variant);
  std::set<std::pair<std::string, std::string>> several;
  for (const auto& [suite, of] : variants) {
    if (of.size() > 1) several.insert(suite);
  }
  return several;
}

// Example: "ID · first failed in 0123abc, 3 days ago · 2 runs · passed in 4567def".
std::string failing_line(const HistoryAnswer& answer, const FailingCase& failing, bool name_variant) {
  const SeenRun& since = answer.runs[failing.since];
  std::string text = failing.id;
  if (name_variant) text += " · " + to_string(failing.variant);
  text += fmt::format(" · first failed in {}, {} · {}", short_name(since), age_text(since.started),
                      count_text(failing.runs, "run"));
  if (failing.passed) text += " · passed in " + short_name(answer.runs[*failing.passed]);
  if (!since.stack_changes.empty())
    text += " · the driver stack changed then: " + to_string(since.stack_changes);
  if (failing.last.run + 1 != answer.runs.size())
    text += " · last seen in " + short_name(answer.runs[failing.last.run]);
  return text;
}

using FailingGroup = std::vector<const FailingCase*>;

// Groups the cases by cause, in the order of the first case of each.
std::vector<FailingGroup> failing_by_cause(const HistoryAnswer& answer) {
  std::vector<FailingGroup> groups;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> places;
  for (const FailingCase& failing : answer.failing) {
    const std::string outcome = failing.last.cause_number == 0 ? outcome_text(failing.last) : "";
    const auto [place, is_new] = places.try_emplace({failing.last.cause_number, outcome}, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&failing);
  }
  return groups;
}

void show_failing(const HistoryAnswer& answer) {
  if (answer.failing.empty()) return say("no case fails");
  const auto groups = failing_by_cause(answer);
  const auto several = suites_of_several(answer);
  say(fmt::format("{} case{}, with {}:", answer.failing.size(),
                  plural(answer.failing.size(), " fails", "s fail"), count_text(groups.size(), "cause")));
  for (const FailingGroup& group : groups) {
    const std::string count = group.size() > 1 ? fmt::format(" ({} cases)", group.size()) : "";
    say("  " + outcome_text(group.front()->last) + count);
    for (const FailingCase* failing : group) {
      const bool name_variant = several.contains({failing->variant.suite, failing->variant.backend});
      say("    " + failing_line(answer, *failing, name_variant));
    }
  }
}

void show_flaky(const HistoryAnswer& answer) {
  if (answer.flaky.empty()) {
    say(fmt::format("no case of at least {} runs is flaky", kFewestRuns));
    return;
  }
  say(fmt::format("{} case{} flaky:", answer.flaky.size(), plural(answer.flaky.size(), " is", "s are")));
  for (const FlakyCase& flaky : answer.flaky) {
    const Flakiness& of = flaky.flakiness;
    say(fmt::format("  {:4.1f} % of {} runs ({:.1f} % to {:.1f} %)  {}  ({})",
                    100.0 * of.inconsistent_runs / of.runs, of.runs, 100 * of.low, 100 * of.high, flaky.id,
                    to_string(flaky.variant)));
  }
}

void show_outcomes(const HistoryAnswer& answer) {
  if (answer.outcomes.empty()) say("no run of it");
  for (const CaseOutcomes& one : answer.outcomes) {
    say(fmt::format("{}  ({})", one.id, to_string(one.variant)));
    for (const SeenOutcome& outcome : one.outcomes) {
      say(fmt::format("  {}  {}", run_text(answer.runs[outcome.run]), outcome_text(outcome)));
      if (const auto& moved = answer.runs[outcome.run].stack_changes; !moved.empty())
        say("    the driver stack changed in it: " + to_string(moved));
    }
  }
}

void show_text(const HistoryOptions& options, const HistoryAnswer& answer) {
  const std::string branch = !answer.branch           ? "of all branches"
                             : answer.branch->empty() ? "of no known branch"
                                                      : "of branch " + *answer.branch;
  say(fmt::format("{}: {} run{} {}", options.db, answer.runs.size(), plural(answer.runs.size()), branch));
  if (!answer.no_such_case.empty()) return say(answer.no_such_case);
  if (options.question.failing) show_failing(answer);
  if (options.question.flaky) show_flaky(answer);
  if (options.question.outcomes) show_outcomes(answer);
}

int show(HistoryOptions options) {
  HistoryQuestion& question = options.question;
  if (!options.since.empty()) {
    auto since = moment("--since", options.since);
    if (!since) return fail(since.error());
    question.since = *std::move(since);
  }
  if (!options.branch.empty()) question.branch = options.branch;
  question.outcomes = !options.case_glob.empty() && !question.failing && !question.flaky;
  if (!options.case_glob.empty()) question.case_glob = options.case_glob;
  question.failing = question.failing || (!question.flaky && !question.outcomes);
  auto history = open_to_read(options, options.db);
  if (!history) return fail(history.error());
  const auto answer = ask(*history, question);
  if (!answer) return fail(answer.error());
  if (!options.json) {
    show_text(options, *answer);
    return kExitGreen;
  }
  const std::string text = text_of([&](TextOutput& output) { write_answer(question, *answer, output); });
  std::fputs(shown_json(text).c_str(), stdout);
  return kExitGreen;
}

// ---- devices ----

TextRow row_of_device(const DeviceHistory& device) {
  const std::string share =
      device.attempts == 0 ? "-"
                           : fmt::format("{:.1f} %", 100.0 * static_cast<double>(device.failed_attempts) /
                                                         static_cast<double>(device.attempts));
  return {device.device,
          device.host,
          device.model,
          fmt::format("{}", device.attempts),
          fmt::format("{}", device.failed_attempts),
          share,
          fmt::format("{}", device.drains),
          device.last_seen,
          device.driver};
}

void print_device_history(const HistoryOptions& options, const DevicesAnswer& answer) {
  say(fmt::format("{}: {}", options.db, count_text(answer.runs, "run")));
  if (answer.devices.empty()) return say("no run has a device");
  std::vector<TextRow> rows;
  for (const DeviceHistory& device : answer.devices) rows.push_back(row_of_device(device));
  const std::string table =
      text_table({"DEVICE", "HOST", "MODEL", "ATTEMPTS", "FAILED", "SHARE", "DRAINS", "LAST SEEN", "DRIVER"},
                 rows, columns_of_stdout());
  std::fputs(shown(table).c_str(), stdout);
}

int devices(const HistoryOptions& options) {
  const auto since = options.since.empty() ? Result<std::string>("") : moment("--since", options.since);
  if (!since) return fail(since.error());
  auto history = open_to_read(options, options.db);
  if (!history) return fail(history.error());
  const auto answer = devices_in(*history, *since);
  if (!answer) return fail(answer.error());
  if (!options.json) {
    print_device_history(options, *answer);
    return kExitGreen;
  }
  std::fputs(shown_json(text_of([&](TextOutput& output) { write_answer(*answer, output); })).c_str(), stdout);
  return kExitGreen;
}

// ---- The command ----

using Work = int (*)(const HistoryOptions&);

std::shared_ptr<HistoryOptions> add_work(CLI::App& command, Action& action, Work work) {
  auto options = std::make_shared<HistoryOptions>();
  command.add_option("db", options->db, "History file (SQLite)")->type_name("DB")->required();
  command
      .add_option("--wait", options->wait,
                  "Longest wait for another process that writes to the history (default: 60s)")
      ->type_name("DURATION");
  command.callback([options, work, &action] {
    action = [options, work] {
      const int code = work(*options);
      return code == kExitGreen ? said_all(code, "the contents of the history") : code;
    };
  });
  return options;
}

void add_add(CLI::App& history, Action& action) {
  auto* command = history.add_subcommand(
      "add", "Import runs, or those of another history; create the file if it does not exist");
  command->footer(
      "Imports all runs or none, in any order. A run that is given twice is imported once. A merged run "
      "replaces "
      "its shards.");
  const auto options = add_work(*command, action, add);
  command
      ->add_option("runs", options->others,
                   "Run directories, files in them, or histories, which do not change")
      ->type_name("RUN_DIR|DB")
      ->required();
}

void add_show(CLI::App& history, Action& action) {
  auto* command = history.add_subcommand(
      "show", "Show what fails and since when, what is flaky, and the outcomes of a case");
  command->footer("The default is --failing. With --case alone: the last outcomes of the case.");
  const auto options = add_work(*command, action, [](const HistoryOptions& o) { return show(o); });
  command->add_option("--case", options->case_glob, "Show only cases whose id matches (* and ?)")
      ->type_name("GLOB");
  command->add_flag("--failing", options->question.failing,
                    "Show cases that failed last, with the run in which that began");
  command->add_flag("--flaky", options->question.flaky, "Show cases whose results differ on one commit");
  command->add_option("--since", options->since, "Show only runs since then: 90d, 12h or 2026-01-31")
      ->type_name("TIME");
  auto* branch = command
                     ->add_option("--branch", options->branch,
                                  "Use runs of this branch (default: that of the newest run)")
                     ->type_name("BRANCH");
  command->add_flag("--all-branches", options->question.all_branches, "Use runs of all branches")
      ->excludes(branch);
  command->add_flag("--json", options->json, "Print one JSON document");
}

void add_devices(CLI::App& history, Action& action) {
  auto* command = history.add_subcommand("devices", "Show how often attempts failed on each device");
  const auto options = add_work(*command, action, devices);
  command->add_option("--since", options->since, "Use only runs since then: 90d, 12h or 2026-01-31")
      ->type_name("TIME");
  command->add_flag("--json", options->json, "Print one JSON document");
}

}  // namespace

void add_history_command(CLI::App& app, Action& action) {
  auto* history = app.add_subcommand("history", "Show since when and how often cases fail, over many runs");
  history->require_subcommand(1);
  add_add(*history, action);
  add_show(*history, action);
  add_devices(*history, action);
  auto* pruned = history->add_subcommand("prune", "Check the whole file for damage, then remove old runs");
  const auto options = add_work(*pruned, action, prune);
  pruned
      ->add_option("--keep", options->keep,
                   "Number of runs to keep (500), or their greatest age (90d) (required)")
      ->type_name("N|AGE")
      ->required();
}

}  // namespace proctor::cli
