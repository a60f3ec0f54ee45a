#include "harness/runner/attempt/batch_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.h"
#include "harness/journal/child_protocol.h"
#include "harness/runner/attempt/result_file.h"

namespace proctor {
namespace {

bool is_bad_result(const ChildReport& report) {
  return report.result() != ChildResult::kPass && report.result() != ChildResult::kSkip;
}

}  // namespace

BatchResults::BatchResults(const AttemptPlan& plan, Listener listener)
    : plan_(plan),
      listener_(std::move(listener)),
      reader_(plan.kind().progress_reader()),
      lines_(child::kMaxEventBytes) {
  for (std::size_t which = 0; which < plan_.cases.size(); ++which) asked_.emplace(name_of(which), which);
}

std::string BatchResults::name_of(std::size_t which) const {
  return plan_.kind().name_for_child(*plan_.cases[which].test);
}

// ---- During the process ----

void BatchResults::add_output(std::string_view stdout_bytes) {
  lines_.feed(stdout_bytes, [this](std::string_view line) { read_line(line); });
}

void BatchResults::read_line(std::string_view line) {
  using What = ProgressStep::What;
  ProgressStep step = reader_->read(line);
  switch (step.what) {
    case What::kNothing:
      return;
    case What::kBegin:
      return begin(step.name);
    case What::kFailed:
      failed_.insert(step.name);
      [[fallthrough]];
    case What::kEnd:
      if (running_.empty() || step.name != running_) return;
      running_.clear();
      return listener_.on_end();
    case What::kAllEnded:
      if (!running_.empty()) return;  // another program, which this case started, printed this line
      if (std::exchange(all_ended_, true)) refuse("printed twice that it had run all cases");
  }
}

// Begins a case. Ignores names that the runner did not request: cases of other programs may be printed too.
void BatchResults::begin(const std::string& name) {
  const auto asked = asked_.find(name);
  if (asked == asked_.end()) return;
  if (all_ended_)
    return refuse(fmt::format("printed the begin of {} after the end of all cases", clean_text(name)));
  if (!begun_.insert(name).second) return refuse(fmt::format("printed two begins of {}", clean_text(name)));
  running_ = name;
  listener_.on_begin(asked->second);
}

void BatchResults::refuse(std::string why) {
  if (refusal_.empty()) refusal_ = std::move(why);
}

// ---- After the end of the process ----

void BatchResults::process_ended(const ProcessEnd& end, const CaseTracker& cases,
                                 const std::string& result_file) {
  lines_.finish([this](std::string_view line) { read_line(line); });
  if (end.cause == EndCause::kStopped || end.cause == EndCause::kSpawnFailed ||
      end.cause == EndCause::kGuardLost)
    return;
  const bool exited = end.cause == EndCause::kExited && end.exit_code;
  if (begun_.empty() && !all_ended_) return refuse("printed no line that shows which case runs");
  if (all_ended_ && !exited) return refuse("did not exit after its last case");
  if (!exited) return;
  const std::string unreadable = read_file(result_file);
  if (!all_ended_) {
    if (!file_.empty()) refuse("wrote results before it printed that it had run all cases");
    if (!end.termination.leaked_processes.empty())
      refuse("left processes when it ended in the middle of its cases");
    return;
  }
  refuse(unreadable.empty() ? disagreement(*end.exit_code, cases) : unreadable);
  count_ = !is_refused();
  none_could_begin_ = count_ && begun_.empty();
  for (std::size_t which = 0; none_could_begin_ && which < plan_.cases.size(); ++which)
    listener_.on_begin(which);
}

// Reads the result file. Returns why it contains no results, or "".
std::string BatchResults::read_file(const std::string& path) {
  const ResultText result = read_result_file(path);
  std::string name;
  for (const std::string& event : reader_->translate(result.text)) {
    if (const auto started = ChildReport::started_case(event)) {
      name = *started;
      file_.try_emplace(name, name);
    }
    if (const auto report = file_.find(name); report != file_.end()) report->second.add_line(event);
  }
  return file_.empty() ? "left no result file that can be read" : "";
}

std::string BatchResults::disagreement(int code, const CaseTracker& cases) const {
  for (const auto& [name, report] : file_) {
    if (!asked_.contains(name)) return fmt::format("ran {}, which was not requested", clean_text(name));
    if (std::string why = disagreement_on(name); !why.empty()) return why;
  }
  if (file_.size() < asked_.size())
    return fmt::format("ran {} of the {} requested cases", file_.size(), asked_.size());
  return unexplained(code, cases);
}

std::string BatchResults::disagreement_on(const std::string& name) const {
  const ChildReport& report = file_.at(name);
  if (!report.result() || report.violations() > 0 || !report.also_ran().empty())
    return fmt::format("wrote no single result of {}", clean_text(name));
  const bool began = begun_.contains(name);
  if (!began && (!begun_.empty() || report.result() == ChildResult::kPass))
    return fmt::format("wrote a result of {}, but printed no line for its begin", clean_text(name));
  if (report.result() == ChildResult::kPass && failed_.contains(name))
    return fmt::format("printed that {} failed, and wrote that it passed", clean_text(name));
  return {};
}

// Returns a text if neither a result nor a failure outside of all cases explains the exit code.
std::string BatchResults::unexplained(int code, const CaseTracker& cases) const {
  const std::size_t last = cases.open() ? cases.open()->which : plan_.cases.size() - 1;
  const ChildReport& report = file_.at(name_of(last));
  const bool any_bad =
      std::ranges::any_of(file_, [](const auto& entry) { return is_bad_result(entry.second); });
  const Verdict verdict = plan_.kind().judge(
      {.child = report, .exit_code = code, .another_was_bad = any_bad || reader_->failed_outside()});
  const bool is_explained = is_bad_result(report) || !is_bad(verdict.outcome);
  return is_explained ? "" : fmt::format("exited with {}, which none of its cases explains", code);
}

ChildReport BatchResults::report_of(std::size_t which) const {
  const std::string name = name_of(which);
  const auto report = count_ ? file_.find(name) : file_.end();
  return report == file_.end() ? ChildReport(name) : report->second;
}

bool BatchResults::is_unproven(std::size_t which) const {
  if (!count_) return true;
  return !none_could_begin_ && reader_->failed_outside() && !is_bad_result(report_of(which));
}

std::set<std::size_t> BatchResults::unproven(const std::vector<Ran>& before, const CaseTracker& cases) const {
  std::set<std::size_t> unproven;
  for (const Ran& ran : before) {
    if (is_unproven(ran.open.which)) unproven.insert(ran.open.which);
  }
  const auto& open = cases.open();
  if (!open) return unproven;
  const bool has_ended_process = !count_ && !is_refused() && !open->reported;
  if (!has_ended_process && is_unproven(open->which)) unproven.insert(open->which);
  return unproven;
}

Warning BatchResults::warning() const {
  std::string text = fmt::format(
      "suite `{}` has a process for each case from now on, because its program {}. No result of its {} cases "
      "in one "
      "process counts: they run again",
      plan_.suite->name, refusal_, plan_.cases.size());
  if (const std::string advice = plan_.kind().how_to_share(*plan_.suite); !advice.empty())
    text += "; " + advice;
  return {WarningCode::kGtestListener, std::move(text)};
}

}  // namespace proctor
