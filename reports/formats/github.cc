#include "reports/formats/github.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>

#include "harness/core/count_text.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "harness/core/workflow_commands.h"
#include "reports/model/case_past.h"
#include "reports/model/cause.h"
#include "reports/model/device_shares.h"
#include "reports/model/exit_code.h"
#include "reports/model/failure_summary.h"
#include "reports/model/run_problems.h"
#include "reports/model/truncate.h"

namespace proctor {
namespace {

using Level = AnnotationLevel;

constexpr std::size_t kMostPerLevel = 10;
constexpr std::size_t kMostErrors =
    9;  // the exit code of a red run is an error of its step, or composite action
constexpr std::size_t kMessageBytes = 4000;
constexpr std::size_t kTitleBytes = 200;
constexpr std::size_t kTitleIdBytes = 100;  // so that a long id leaves room for the message
constexpr std::size_t kWholeMessageBytes = 1500;
constexpr std::size_t kMostIds = 20;
constexpr int kRankOfFlaky = 1;

// What may be annotated, before the budget: everything that has one cause.
struct RankedCause {
  int rank = 0;  // smaller: decides more
  bool is_new = false;
  std::size_t cases = 0;
  Annotation annotation{};
};

int rank_of(const RunModel& model, const CaseRecord& record) {
  if (model.verdict(record).outcome == Outcome::kNotrun) return 3;
  switch (blame_in(model, record)) {
    case Blame::kCode:
      return 0;
    case Blame::kMachine:
      return 1;
    case Blame::kSetup:
    case Blame::kNobody:
      return 2;
  }
  return 2;
}

// Where it went wrong, if that lies in the workspace.
void add_location(const RunModel& model, const CaseRecord& record, const std::string& workspace,
                  Annotation& annotation) {
  const Place place = place_of(model, record);
  std::string_view file = place.file;
  const bool below =
      !workspace.empty() && file.starts_with(workspace) && file.substr(workspace.size(), 1) == "/";
  if (below) file.remove_prefix(workspace.size() + 1);
  if (file.empty() || file.front() == '/') return;
  annotation.file = clean_text(file);
  annotation.line = place.line;
}

std::string ids_text(const std::vector<const CaseRecord*>& records) {
  std::string text;
  for (std::size_t i = 0; i < std::min(records.size(), kMostIds); ++i)
    text += "\n" + one_line(clean_text(records[i]->planned.id), kTitleBytes);
  if (records.size() > kMostIds) text += fmt::format("\nand {} more", records.size() - kMostIds);
  return text;
}

Level level_of(const RunModel& model, const CaseRecord& record) {
  return meaning_of(model.verdict(record), record.planned.kind).github;
}

using Groups = std::map<std::string, std::vector<const CaseRecord*>>;

// "flaky: suite/case and 4 more (new): the message"
std::string title_of(const RunModel& model, const CauseGroup& group) {
  const CaseRecord& first = *group.cases.front();
  std::string title = group.is_flaky ? "flaky: " : "";
  title += one_line(clean_text(first.planned.id), kTitleIdBytes);
  if (group.cases.size() > 1) title += fmt::format(" and {} more", group.cases.size() - 1);
  if (group.is_new) title += " (new)";
  return title + ": " + one_line(whole_message(model, first), kTitleBytes);
}

std::string annotation_message(const RunModel& model, const CauseGroup& group) {
  const CaseRecord& first = *group.cases.front();
  std::string text =
      fmt::format("{}\n{}{}", first.planned.id, message_beyond_headline(model, first, kWholeMessageBytes),
                  summarize_failure(model, first));
  if (const std::string age = age_of(model, group); !age.empty())
    text += fmt::format("history:       {}\n", age);
  if (group.cases.size() > 1) text += "all with this cause:" + ids_text(group.cases);
  return text;
}

// A case that was bad on one device only is a problem of the run.
std::vector<RankedCause> case_causes(const RunModel& model, const std::string& workspace) {
  std::vector<RankedCause> causes;
  const FlakyCases flaky = flaky_cases(model);
  for (const CauseGroup& group : cause_groups(model)) {
    const CaseRecord& first = *group.cases.front();
    if (is_good_elsewhere(model, first)) continue;
    RankedCause cause{.rank = rank_of(model, first), .is_new = group.is_new, .cases = group.cases.size()};
    cause.annotation = {.level = level_of(model, first),
                        .title = title_of(model, group),
                        .message = annotation_message(model, group)};
    if (group.is_flaky) {
      cause.rank = kRankOfFlaky;
      cause.annotation.level = flaky.allowed ? Level::kWarning : Level::kError;
      if (!flaky.allowed)
        cause.annotation.message += fmt::format("\n{} allows flaky cases.", option_that_allows(model, flaky));
    }
    add_location(model, first, workspace, cause.annotation);
    causes.push_back(std::move(cause));
  }
  return causes;
}

// The bad cases that were never started, by their verdict.
void add_not_run(const RunModel& model, std::vector<RankedCause>& causes) {
  Groups groups;
  for (const CaseRecord& record : model.cases()) {
    const bool not_run = record.attempts.empty() && model.verdict(record).outcome == Outcome::kNotrun;
    if (not_run && model.is_bad(record)) groups[cause_key(model, record)].push_back(&record);
  }
  for (const auto& [key, records] : groups) {
    const CaseRecord& first = *records.front();
    const std::string who = records.size() == 1 ? first.planned.id : count_text(records.size(), "case");
    std::string message = first.planned.id + "\n" + summarize_failure(model, first);
    if (records.size() > 1) message += "all with this cause:" + ids_text(records);
    causes.push_back({.rank = rank_of(model, first),
                      .cases = records.size(),
                      .annotation = {.level = level_of(model, first),
                                     .title = who + ": " + to_string(model.verdict(first)),
                                     .message = std::move(message)}});
  }
}

// What makes the whole run something else than green.
void add_run_causes(const RunModel& model, std::vector<RankedCause>& causes) {
  std::vector<RunProblem> problems = run_problems(model);
  const RunProblem interrupted = interruption(model);
  const auto is_said = [&](const RunProblem& problem) { return problem.name == interrupted.name; };
  if (run_verdict(model) == "interrupted" && std::none_of(problems.begin(), problems.end(), is_said))
    problems.push_back(interrupted);  // killed after its last case: there its exit code is 0
  for (const RunProblem& problem : problems) {
    if (problem.name == kUnexplained) continue;   // annotations() says it, beside what else there is
    if (problem.name == kFlakyProblem) continue;  // case_causes() has its cases
    causes.push_back(
        {.rank = -1,
         .annotation = {.level = Level::kError, .title = problem.title, .message = problem.message}});
  }
}

void add_warnings(const RunModel& model, std::vector<RankedCause>& causes) {
  std::map<WarningWord, std::vector<const Warning*>> by_code;
  for (const Warning& warning : model.warnings()) by_code[warning.code].push_back(&warning);
  for (const auto& [code, warnings] : by_code) {
    if (is_machine_warning(code)) continue;  // problems of the run
    RankedCause cause{.rank = 0, .cases = warnings.size()};
    cause.annotation.level = Level::kWarning;
    cause.annotation.title =
        warnings.size() == 1 ? code.text() : fmt::format("{} ({} times)", code.text(), warnings.size());
    cause.annotation.message = warnings.front()->text;
    causes.push_back(std::move(cause));
  }
  Groups marked;
  for (const CaseRecord& record : model.cases()) {
    for (const MarkWord& mark : model.marks(record)) {
      if (mark == Mark::kFlaky && is_flaky(model, record)) continue;  // case_causes() has it
      marked[mark.text()].push_back(&record);
    }
  }
  for (const auto& [mark, records] : marked) {
    causes.push_back({.rank = 1,
                      .cases = records.size(),
                      .annotation = {.level = Level::kWarning,
                                     .title = fmt::format("{}: {}", mark, count_text(records.size(), "case")),
                                     .message = "marked " + mark + ":" + ids_text(records)}});
  }
  for (const DeviceHealth& health : model.health()) {
    if (health.what != HealthFact::kDrained) continue;
    causes.push_back(
        {.rank = 2,
         .cases = 1,
         .annotation = {
             .level = Level::kWarning, .title = "Drained: " + health.device, .message = health.evidence}});
  }
}

// What reddens nothing and is no plain pass either: skips, known failures, passes that were not expected.
void add_quiet(const RunModel& model, std::vector<RankedCause>& causes) {
  Groups quiet;
  for (const CaseRecord& record : model.cases()) {
    if (!model.is_bad(record) && level_of(model, record) != Level::kNone)
      quiet[to_string(model.verdict(record))].push_back(&record);
  }
  for (const auto& [verdict, records] : quiet) {
    causes.push_back(
        {.rank = 1,
         .cases = records.size(),
         .annotation = {.level = level_of(model, *records.front()),
                        .title = fmt::format("{}: {}", count_text(records.size(), "case"), verdict),
                        .message = verdict + ":" + ids_text(records)}});
  }
}

void add_device_doubts(const RunModel& model, std::vector<RankedCause>& causes) {
  const std::string command = code_or_device_command(model, "RUN_DIR");
  const std::string next = command.empty() ? "The devices of this run are compared in the job summary."
                                           : "Code or device? " + command;
  for (const DeviceDoubtText& doubt : device_doubts(model)) {
    causes.push_back({.annotation = {.level = Level::kWarning, .title = doubt.sentence, .message = next}});
  }
}

void add_simulation(const RunModel& model, std::vector<RankedCause>& causes) {
  if (model.simulated()) {
    causes.push_back(
        {.annotation = {.level = Level::kNotice,
                        .title = "Simulated",
                        .message = "These results were obtained without hardware and say nothing "
                                   "about any device."}});
  }
}

// The causes of one level within its budget, as many as there are, and then how many there are more.
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
  out.push_back(
      {.level = level,
       .title = fmt::format("{} more causes", causes.size() - shown),
       .message = fmt::format("{} more causes, with {}, are not shown here: a step has {} annotations of a "
                              "kind. See the job summary and report.json.",
                              causes.size() - shown, count_text(cases_left, "case"), kMostPerLevel)});
}

}  // namespace

std::vector<Annotation> annotations(const RunModel& model, const std::string& workspace) {
  std::vector<RankedCause> causes = case_causes(model, workspace);
  add_not_run(model, causes);
  add_run_causes(model, causes);
  add_warnings(model, causes);
  add_quiet(model, causes);
  add_device_doubts(model, causes);
  add_simulation(model, causes);
  std::vector<Annotation> out;
  for (const Level level : {Level::kError, Level::kWarning, Level::kNotice}) spend(causes, level, out);
  const int code = shell_exit_code(model);
  const bool unexplained = code != kExitGreen && (out.empty() || out.front().level != Level::kError);
  if (unexplained) {
    out.insert(out.begin(),
               {.title = fmt::format("Exit code {}", code),
                .message = "No case of its own explains it: see the warnings and the job summary."});
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
