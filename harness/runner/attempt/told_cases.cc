#include "harness/runner/attempt/told_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.h"
#include "harness/runner/attempt/result_file.h"

namespace proctor {
namespace {

constexpr const char* kNoEnd = "ended without saying that it was at its end";

bool exited(const ProcessEnd& end) { return end.cause == EndCause::kExited && end.exit_code; }

// What its result file says takes the place of what was told.
void correct_by_file(const Kind& kind, const ChildReport& file, AttemptEnded& ended) {
  ended.verdict = kind.judge({.child = file, .went_on = true});
  ended.failures = file.failures();
  ended.measures = file.measures();
  ended.properties = file.properties();
  ended.trials = file.trials();
  if (is_bad(ended.verdict.outcome)) return;
  ended.diagnosis.reset();
  ended.output.stdout_tail.clear();
  ended.output.stderr_tail.clear();
}

}  // namespace

ToldCases::ToldCases(boost::asio::io_context& io, const AttemptPlan& plan, Listener listener)
    : plan_(plan), listener_(std::move(listener)), testimony_(plan.kind().testimony()) {
  for (const Case* test : plan.tests()) asked_.insert(plan.kind().name_for_child(*test));
  auto opened = ResultConnection::open(
      io, {.tells_of_cases = [this](std::string_view line) { return testimony_->tells_of_cases(line); },
           .on_line = [this](std::string_view line) { hear(line); }});
  if (opened) {
    connection_ = std::move(*opened);
    address_ = connection_->address();
  } else {
    doubt_ = fmt::format("could not be listened to: failed to {}", opened.error().what);
  }
}

ToldCases::~ToldCases() {
  if (connection_) connection_->close();
}

void ToldCases::begin(std::function<bool(std::uint64_t)> holds_socket) {
  if (connection_) return connection_->begin(std::move(holds_socket));
  if (listener_.on_doubt) listener_.on_doubt();
}

// ---- while the process runs ----

void ToldCases::doubt(const std::string& why) {
  if (why.empty() || is_doubted()) return;
  doubt_ = why;
  speaks_another_ = true;
  if (listener_.on_doubt) listener_.on_doubt();
}

void ToldCases::hear(std::string_view line) {
  if (is_doubted()) return;
  for (const std::string& event : testimony_->translate(line)) pass_on(event);
  doubt(testimony_->doubt());
  doubt(connection_->mistake());
}

bool ToldCases::is_asked_for(const std::string& event) {
  const auto name = ChildReport::started_case(event);
  if (name && !asked_.contains(*name))
    doubt(fmt::format("told of {}, which it was not asked for", clean_text(*name)));
  return !is_doubted();
}

void ToldCases::pass_on(const std::string& event) {
  if (is_asked_for(event)) listener_.on_event(event);
}

bool ToldCases::keeps(std::size_t which, const AttemptEnded& ended) {
  const bool good = !is_bad(ended.verdict.outcome);
  told_.push_back({.which = which, .good = good, .waits = good ? std::nullopt : std::optional(ended)});
  return !good;
}

// ---- when it has ended ----

void ToldCases::process_ended(const ProcessEnd& end, const CaseTracker& cases,
                              const std::string& result_file) {
  listener_.on_doubt = nullptr;
  if (!connection_) return;
  connection_->read_rest();
  doubt(connection_->mistake());
  const std::vector<std::string> kept =
      connection_->has_speaker() ? std::vector<std::string>() : events_that_are_kept();
  if (exited(end)) read_file(result_file);  // in which words of the stream are looked up
  if (is_doubted()) return;
  if (!connection_->has_speaker()) tell_what_is_kept(kept);
  if (is_doubted() || !cases.none_began() || !testimony_->is_complete()) return;
  only_surroundings_ = true;
  tell_of_file();
}

void ToldCases::read_file(const std::string& path) {
  const ResultText result = read_result_file(path);
  file_events_ = testimony_->translate_file(result.text);
  std::string name;
  for (const std::string& event : file_events_) {
    if (const auto started = ChildReport::started_case(event)) {
      name = *started;
      file_.try_emplace(name, name);
    }
    if (const auto report = file_.find(name); report != file_.end()) report->second.add_line(event);
  }
}

std::vector<std::string> ToldCases::events_that_are_kept() {
  std::vector<std::string> events;
  for (const std::string& line : connection_->kept()) {
    for (std::string& event : testimony_->translate(line)) {
      if (is_asked_for(event)) events.push_back(std::move(event));
    }
  }
  doubt(testimony_->doubt());
  return events;
}

// The process ended before its connection could be looked up. A result file takes the place of what was said. Without
// one, no pass counts, but a failure does.
void ToldCases::tell_what_is_kept(const std::vector<std::string>& events) {
  if (connection_->kept().empty() || (events.empty() && testimony_->is_complete())) return;
  if (!file_.empty()) return tell_of_file();
  speaker_is_unknown_ = true;
  for (const std::string& event : events) pass_on(event);
}

void ToldCases::tell_of_file() {
  if (is_of_file_ || file_.empty()) return;
  is_of_file_ = true;
  for (const std::string& event : file_events_) pass_on(event);
}

std::string ToldCases::name_of(std::size_t which) const {
  return plan_.kind().name_for_child(*plan_.cases[which].test);
}

const ChildReport* ToldCases::in_file(std::size_t which) const {
  const auto report = file_.find(name_of(which));
  return report == file_.end() ? nullptr : &report->second;
}

const ChildReport* ToldCases::last_case(const CaseTracker& cases) const {
  const auto& open = cases.open();
  return !is_doubted() && open && open->reported && testimony_->is_complete() ? in_file(open->which)
                                                                              : nullptr;
}

void ToldCases::settle(const ProcessEnd& end, const CaseTracker& cases, const OnCaseEnded& on_case_ended) {
  if (!is_doubted()) {
    const Doubt at_end = doubt_at_end(end, cases);
    doubt(at_end.why);
    speaks_another_ = at_end.speaks_another;
  }
  const bool has_file = !is_doubted() && testimony_->is_complete();
  const auto count = [&](std::size_t which, bool needs_proof) {
    if (is_doubted() || needs_proof || is_unclear(name_of(which))) unproven_.push_back(which);
  };
  for (Told& told : told_) {
    const ChildReport* report = has_file ? in_file(told.which) : nullptr;
    if (told.waits && report) correct_by_file(plan_.kind(), *report, *told.waits);
    count(told.which, (told.waits && !report) || (told.good && speaker_is_unknown_));
  }
  if (cases.open()) count(cases.open()->which, false);
  release(on_case_ended);
}

bool ToldCases::is_unproven(std::size_t which) const {
  return std::ranges::find(unproven_, which) != unproven_.end();
}

void ToldCases::release(const OnCaseEnded& on_case_ended) {
  for (Told& told : told_) {
    auto ended = std::exchange(told.waits, std::nullopt);
    if (!ended) continue;
    if (is_unproven(told.which)) add_mark(ended->marks, Mark::kUnproven);
    on_case_ended(told.which, *ended);
  }
}

void ToldCases::abandon(const CaseTracker& cases, const OnCaseEnded& on_case_ended) {
  if (is_doubted()) {
    for (const Told& told : told_) unproven_.push_back(told.which);
    if (cases.open()) unproven_.push_back(cases.open()->which);
  }
  release(on_case_ended);
}

// ---- what speaks against it ----

ToldCases::Doubt ToldCases::doubt_at_end(const ProcessEnd& end, const CaseTracker& cases) const {
  if (end.cause == EndCause::kStopped || end.cause == EndCause::kSpawnFailed ||
      end.cause == EndCause::kGuardLost)
    return {};
  if (connection_->kept().empty() && !connection_->has_speaker())
    return {fmt::format("did not tell of its cases over a connection to {}", address_)};
  const bool left = end.cause == EndCause::kExited && !end.termination.strays.empty();
  if (left && !testimony_->is_complete())
    return {"left processes when it ended in the middle of its cases", /*speaks_another=*/true};
  if (exited(end)) return doubt_of_exit(*end.exit_code, cases);
  return {testimony_->is_complete() ? "did not exit after it had said that it was at its end" : ""};
}

ToldCases::Doubt ToldCases::doubt_of_exit(int code, const CaseTracker& cases) const {
  const auto& open = cases.open();
  if (!testimony_->is_complete()) {
    const bool is_in_case = open && !open->reported;
    return {is_in_case ? "" : kNoEnd};
  }
  if (file_.empty()) return {"left no result file that can be read"};
  if (const std::size_t missing = cases.not_begun().size(); missing > 0)
    return {fmt::format("ran {} of the {} cases that it was asked for", plan_.cases.size() - missing,
                        plan_.cases.size())};
  for (const Told& told : told_) {
    if (std::string why = doubt_of_file(told.which, told.good); !why.empty())
      return {std::move(why), /*speaks_another=*/true};
  }
  if (!open) return {};
  const ChildReport& last = cases.child();
  if (std::string why = doubt_of_file(open->which, last.result() == ChildResult::kPass); !why.empty())
    return {std::move(why), /*speaks_another=*/true};
  const auto explains = [this](const auto& report) {
    return report.second.result() == ChildResult::kFail || is_unclear(report.first);
  };
  const Verdict after_failures =
      plan_.kind().judge({.child = last, .exit_code = code, .another_was_bad = true});
  const bool is_explained = std::ranges::any_of(file_, explains) &&
                            (last.result() != ChildResult::kPass || !is_bad(after_failures.outcome));
  if (code != 0 && !is_explained)
    return {fmt::format("exited with {}, which none of its cases explains", code)};
  return {};
}

std::string ToldCases::doubt_of_file(std::size_t which, bool passed) const {
  const std::string name = name_of(which);
  if (is_of_file_ || is_unclear(name)) return {};
  const ChildReport* report = in_file(which);
  const bool same = report && report->violations() == 0 && report->also_ran().empty() && report->result() &&
                    (report->result() == ChildResult::kPass) == passed;
  return same ? "" : fmt::format("wrote another result of {} to its result file", name);
}

bool ToldCases::is_unclear(const std::string& name) const {
  return !only_surroundings_ && testimony_->is_unclear(name);
}

std::vector<Warning> ToldCases::warnings() const {
  std::vector<Warning> warnings;
  const Suite& suite = *plan_.suite;
  if (is_doubted()) {
    std::string text = fmt::format(
        "suite `{}` has a process for each case from now on, because its program {}. What it said of {} "
        "cases counts for nothing: they run again",
        suite.name, doubt_, unproven_.size());
    if (const std::string advice = plan_.kind().how_to_share(suite); !advice.empty()) text += "; " + advice;
    warnings.push_back({WarningCode::kGtestListener, std::move(text)});
  }
  if (connection_ && !connection_->strangers().empty())
    warnings.push_back(
        {WarningCode::kGtestListener,
         fmt::format(
             "suite `{}`: connections to {} were refused, because no process of the case held them: {}",
             suite.name, address_, fmt::join(connection_->strangers(), ", "))});
  return warnings;
}

}  // namespace proctor
