#include "reports/formats/github.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/workflow_commands.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/run_end.h"

namespace proctor {
namespace {

using Level = AnnotationLevel;

constexpr std::size_t kMostPerLevel = 10;
constexpr std::size_t kMostErrors =
    9;  // GitHub adds one error for the exit code of a failed step or composite action
constexpr std::size_t kMessageBytes = 4000;
constexpr std::size_t kTitleBytes = 200;
constexpr std::size_t kTitleIdBytes = 100;  // a long id leaves room for the message
constexpr std::size_t kWholeMessageBytes = 1500;
constexpr std::size_t kMostIds = 20;
constexpr int kRankOfFlaky = 1;

// An annotation of one cause, with the keys by which causes are ranked when they exceed the limit.
struct RankedCause {
  int rank = 0;  // a smaller rank comes first
  bool is_new = false;
  std::size_t cases = 0;
  Annotation annotation{};
};

int rank_of(const ResolvedCase& test) {
  if (test.verdict.outcome == Outcome::kNotrun) return 3;
  switch (test.problem) {
    case FailureOwner::kCode:
      return 0;
    case FailureOwner::kMachine:
      return 1;
    case FailureOwner::kSetup:
    case FailureOwner::kNobody:
      return 2;
  }
  return 2;
}

// Adds file and line of the failure if they are in the workspace.
void add_location(const ResolvedCase& test, const std::string& workspace, Annotation& annotation) {
  const Place place = place_of(test);
  std::string_view file = place.file;
  const bool below =
      !workspace.empty() && file.starts_with(workspace) && file.substr(workspace.size(), 1) == "/";
  if (below) file.remove_prefix(workspace.size() + 1);
  if (file.empty() || file.front() == '/') return;
  annotation.file = clean_text(file);
  annotation.line = place.line;
}

std::string ids_text(const std::vector<const ResolvedCase*>& cases) {
  std::string text;
  for (std::size_t i = 0; i < std::min(cases.size(), kMostIds); ++i)
    text += "\n" + one_line(clean_text(cases[i]->planned.id), kTitleBytes);
  if (cases.size() > kMostIds) text += fmt::format("\nand {} more", thousands(cases.size() - kMostIds));
  return text;
}

using Groups = std::map<std::string, std::vector<const ResolvedCase*>>;

// Returns "flaky: suite/case and 4 more (new): the message".
std::string title_of(const CauseGroup& group) {
  const ResolvedCase& first = *group.cases.front();
  std::string title = group.is_flaky ? "flaky: " : "";
  title += one_line(clean_text(first.planned.id), kTitleIdBytes);
  if (group.cases.size() > 1) title += fmt::format(" and {} more", thousands(group.cases.size() - 1));
  if (group.is_new) title += " (new)";
  return title + ": " + one_line(whole_message(first), kTitleBytes);
}

std::string annotation_message(const CauseGroup& group) {
  const ResolvedCase& first = *group.cases.front();
  std::string text =
      fmt::format("{}\n{}{}", first.planned.id, message_beyond_headline(first, kWholeMessageBytes),
                  summarize_failure(first));
  if (const std::string age = age_of(group); !age.empty()) text += fmt::format("history:       {}\n", age);
  if (group.cases.size() > 1) text += "all with this cause:" + ids_text(group.cases);
  return text;
}

// A case that failed on only one device is a problem of the run, and not in this list.
std::vector<RankedCause> case_causes(const ResolvedRun& run, const std::string& workspace) {
  std::vector<RankedCause> causes;
  const FlakyCases& flaky = run.flaky_cases;
  for (const CauseGroup& group : run.causes) {
    const ResolvedCase& first = *group.cases.front();
    if (first.moved) continue;
    RankedCause cause{.rank = rank_of(first), .is_new = group.is_new, .cases = group.cases.size()};
    cause.annotation = {
        .level = formats_of(first).github, .title = title_of(group), .message = annotation_message(group)};
    if (group.is_flaky) {
      cause.rank = kRankOfFlaky;
      cause.annotation.level = flaky.allowed ? Level::kWarning : Level::kError;
      if (!flaky.allowed) cause.annotation.message += fmt::format("\n{} allows flaky cases.", flaky.option);
    }
    add_location(first, workspace, cause.annotation);
    causes.push_back(std::move(cause));
  }
  return causes;
}

// Adds the bad cases that never started, grouped by their verdict.
void add_not_run(const ResolvedRun& run, std::vector<RankedCause>& causes) {
  Groups groups;
  for (const ResolvedCase& test : run.cases) {
    const bool not_run = test.attempts.empty() && test.verdict.outcome == Outcome::kNotrun;
    if (not_run && test.bad) groups[cause_key(test)].push_back(&test);
  }
  for (const auto& [key, cases] : groups) {
    const ResolvedCase& first = *cases.front();
    const std::string who = cases.size() == 1 ? first.planned.id : count_text(cases.size(), "case");
    std::string message = first.planned.id + "\n" + summarize_failure(first);
    if (cases.size() > 1) message += "all with this cause:" + ids_text(cases);
    causes.push_back({.rank = rank_of(first),
                      .cases = cases.size(),
                      .annotation = {.level = formats_of(first).github,
                                     .title = who + ": " + readable(first.verdict),
                                     .message = std::move(message)}});
  }
}

// Adds the reasons for which the run did not pass although no case failed.
void add_run_causes(const ResolvedRun& run, std::vector<RankedCause>& causes) {
  std::vector<RunProblem> problems = run.problems;
  const RunProblem interrupted = interruption(run);
  const auto is_said = [&](const RunProblem& problem) { return problem.name == interrupted.name; };
  if (run.verdict == RunVerdict::kInterrupted && std::none_of(problems.begin(), problems.end(), is_said))
    problems.push_back(interrupted);  // the run was interrupted after its last case, where its exit code is 0
  for (const RunProblem& problem : problems) {
    if (problem.name == kUnexplained) continue;   // annotations() adds it
    if (problem.name == kFlakyProblem) continue;  // case_causes() has its cases
    causes.push_back(
        {.rank = -1,
         .annotation = {.level = Level::kError, .title = problem.title, .message = problem.message}});
  }
}

void add_warnings(const ResolvedRun& run, std::vector<RankedCause>& causes) {
  std::map<WarningWord, std::vector<const Warning*>> by_code;
  for (const Warning& warning : run.warnings) by_code[warning.code].push_back(&warning);
  for (const auto& [code, warnings] : by_code) {
    if (is_machine_warning(code)) continue;  // these are problems of the run
    RankedCause cause{.rank = 0, .cases = warnings.size()};
    cause.annotation.level = Level::kWarning;
    cause.annotation.title = warnings.size() == 1
                                 ? code.text()
                                 : fmt::format("{} ({} times)", code.text(), thousands(warnings.size()));
    cause.annotation.message = warnings.front()->text;
    causes.push_back(std::move(cause));
  }
  Groups marked;
  for (const ResolvedCase& test : run.cases) {
    for (const MarkWord& mark : test.marks) {
      if (mark == Mark::kFlaky && test.flaky) continue;  // case_causes() has these cases
      marked[mark.text()].push_back(&test);
    }
  }
  for (const auto& [mark, cases] : marked) {
    causes.push_back({.rank = 1,
                      .cases = cases.size(),
                      .annotation = {.level = Level::kWarning,
                                     .title = fmt::format("{}: {}", mark, count_text(cases.size(), "case")),
                                     .message = "marked " + mark + ":" + ids_text(cases)}});
  }
  for (const DeviceHealth& health : run.health) {
    if (health.what != HealthFact::kDrained) continue;
    causes.push_back(
        {.rank = 2,
         .cases = 1,
         .annotation = {
             .level = Level::kWarning, .title = "Drained: " + health.device, .message = health.evidence}});
  }
}

// Adds outcomes that do not fail the run and are not a plain pass: skips, known failures, unexpected passes.
void add_quiet(const ResolvedRun& run, std::vector<RankedCause>& causes) {
  Groups quiet;
  for (const ResolvedCase& test : run.cases) {
    if (!test.bad && formats_of(test).github != Level::kNone) quiet[readable(test.verdict)].push_back(&test);
  }
  for (const auto& [verdict, cases] : quiet) {
    causes.push_back(
        {.rank = 1,
         .cases = cases.size(),
         .annotation = {.level = formats_of(*cases.front()).github,
                        .title = fmt::format("{}: {}", count_text(cases.size(), "case"), verdict),
                        .message = verdict + ":" + ids_text(cases)}});
  }
}

void add_device_suspicions(const ResolvedRun& run, std::vector<RankedCause>& causes) {
  const std::string command = code_or_device_command(run.plan, "RUN_DIR");
  const std::string next = command.empty() ? "The devices of this run are compared in the job summary."
                                           : "Code or device? " + command;
  for (const DeviceSuspicionText& suspicion : run.device_suspicions) {
    causes.push_back(
        {.annotation = {.level = Level::kWarning, .title = suspicion.sentence, .message = next}});
  }
}

void add_simulation(const ResolvedRun& run, std::vector<RankedCause>& causes) {
  if (run.simulated) {
    causes.push_back(
        {.annotation = {.level = Level::kNotice,
                        .title = "Simulated",
                        .message = "These results were obtained without hardware and say nothing "
                                   "about any device."}});
  }
}

// Adds the causes of one level up to its limit, and then the number of omitted ones.
void spend(std::vector<RankedCause> causes, Level level, std::vector<Annotation>& out) {
  std::erase_if(causes, [level](const RankedCause& cause) { return cause.annotation.level != level; });
  std::stable_sort(causes.begin(), causes.end(), [](const RankedCause& a, const RankedCause& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.is_new != b.is_new ? a.is_new : a.cases > b.cases;
  });
  const std::size_t most = level == Level::kError ? kMostErrors : kMostPerLevel;
  const std::size_t shown = causes.size() > most ? most - 1 : causes.size();
  std::size_t cases_left = 0;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (i < shown) {
      out.push_back(std::move(causes[i].annotation));
    } else {
      cases_left += causes[i].cases;
    }
  }
  if (shown == causes.size()) return;
  const std::size_t left = causes.size() - shown;
  const std::string title = count_text(left, "more cause");
  out.push_back({.level = level,
                 .title = title,
                 .message = fmt::format(
                     "{}, with {}, {} not shown here: a step has {} annotations of a kind. See the "
                     "job summary and report.json.",
                     title, count_text(cases_left, "case"), plural(left, "is", "are"), kMostPerLevel)});
}

}  // namespace

std::vector<Annotation> annotations(const ResolvedRun& run, const std::string& workspace) {
  std::vector<RankedCause> causes = case_causes(run, workspace);
  add_not_run(run, causes);
  add_run_causes(run, causes);
  add_warnings(run, causes);
  add_quiet(run, causes);
  add_device_suspicions(run, causes);
  add_simulation(run, causes);
  std::vector<Annotation> out;
  for (const Level level : {Level::kError, Level::kWarning, Level::kNotice}) spend(causes, level, out);
  const int code = run.shell_exit_code;
  const bool unexplained = code != kExitGreen && (out.empty() || out.front().level != Level::kError);
  if (unexplained) {
    out.insert(out.begin(), {.title = fmt::format("Exit code {}", code),
                             .message = "No single case explains it: see the warnings and the job summary."});
  }
  return out;
}

std::string workflow_command(const Annotation& annotation) {
  std::string properties =
      " title=" + escape_command_property(one_line(clean_text(annotation.title), kTitleBytes));
  if (!annotation.file.empty()) {
    properties += ",file=" + escape_command_property(annotation.file);
    if (annotation.line > 0) properties += fmt::format(",line={}", annotation.line);
  }
  return fmt::format("::{}{}::{}", to_string(annotation.level), properties,
                     escape_command_data(truncate(clean_text(annotation.message), kMessageBytes)));
}

}  // namespace proctor
