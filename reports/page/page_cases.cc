#include "reports/page/page_cases.h"

#include <algorithm>
#include <array>

#include "reports/resolve/case_past.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

constexpr std::array kStyles = {Style{"failed", "✗"}, Style{"notrun", "?"},  Style{"flaky", "↻"},
                                Style{"known", "~"},  Style{"skipped", "–"}, Style{"passed", "✓"}};

std::string_view style_of(const Verdict& verdict, ResultClass result_class) {
  switch (result_class) {
    case ResultClass::kPassing:
      return "passed";
    case ResultClass::kFailing:
      return "failed";
    case ResultClass::kExpected:
      return "known";
    case ResultClass::kNotrun:
      return verdict.outcome == Outcome::kSkip ? "skipped" : "notrun";
  }
  return "notrun";
}

// Returns whether the columns of the case have all its facts. This holds for nearly every case.
bool is_plain_pass(const ResolvedCase& test) {
  if (test.result_class != ResultClass::kPassing || !test.marks.empty() || test.attempts.size() > 1)
    return false;
  if (test.end && !test.end->note.empty()) return false;
  if (test.attempts.empty() || !test.attempts.front().end) return true;
  const AttemptEnded& end = *test.attempts.front().end;
  return end.marks.empty() && end.ranks.empty() && end.measures.empty() && end.properties.empty() &&
         end.termination.leaked_processes.empty();
}

std::unique_ptr<CasePast> past_of(const PageRun& run, const ResolvedCase& test) {
  if (run.past == nullptr) return test.past == nullptr ? nullptr : std::make_unique<CasePast>(*test.past);
  if (run.past->runs.empty()) return nullptr;
  return std::make_unique<CasePast>(case_past(test.planned.id, test.index, *run.past));
}

bool is_new(const PageRun& run, const PageCase& shown) {
  if (!shown.test.bad) return false;
  if (run.changes) return shown.change == Change::kRegression || shown.change == Change::kNewFailing;
  return shown.past != nullptr && proctor::is_new(*shown.past);
}

void add_changes(const Comparison& comparison, std::span<PageCase> cases) {
  for (const CaseChange& change : comparison.changes) {
    if (change.after == kNotThere) continue;
    PageCase& shown = cases[change.after];
    if (!shown.change) shown.change = change.change;
    shown.odd = true;
  }
}

void add_cases(const PageRun& run, std::uint32_t number, std::vector<PageCase>& cases) {
  const std::size_t first = cases.size();
  for (const ResolvedCase& test : run.resolved.cases)
    cases.push_back({.test = test, .run = number, .odd = !is_plain_pass(test)});
  if (run.changes) add_changes(run.changes->comparison, std::span(cases).subspan(first));
  for (PageCase& shown : std::span(cases).subspan(first)) {
    if (shown.odd) shown.past = past_of(run, shown.test);
    shown.is_new = is_new(run, shown);
  }
}

}  // namespace

std::vector<PageCase> page_cases(const PageRequest& request) {
  std::vector<PageCase> cases;
  for (std::uint32_t number = 0; number < request.runs.size(); ++number)
    add_cases(request.runs[number], number, cases);
  return cases;
}

std::string culprit_of(const ResolvedCase& test) {
  const std::string text = culprit_text(test);
  const std::string device = telling_devices(test);
  const bool is_device = test.culprit && test.culprit->kind == "device" && test.culprit->name != device;
  return is_device && !device.empty() && !text.empty() ? text + ", " + device : text;
}

std::string describe(Change change) {
  std::string words(to_string(change));
  std::ranges::replace(words, '_', ' ');
  return words;
}

const AttemptEnded* newest_end(const ResolvedCase& test) {
  const AttemptEnded* newest = nullptr;
  for (const Attempt& attempt : test.attempts) {
    if (attempt.end) newest = &*attempt.end;
  }
  return newest;
}

const Flakiness* flakiness_of(const PageRun& run, const ResolvedCase& test) {
  if (run.past == nullptr || test.index >= run.past->flakiness.size()) return nullptr;
  const auto& flakiness = run.past->flakiness[test.index];
  return flakiness ? &*flakiness : nullptr;
}

std::size_t variant_number(const PageRequest& request, const PageCase& shown) {
  std::size_t number = shown.test.variant;
  for (std::size_t i = 0; i < shown.run; ++i) number += request.runs[i].resolved.variants.size();
  return number;
}

std::size_t cause_number(const PageRequest& request, const PageCase& shown) {
  if (shown.test.cause == kNoCause) return 0;
  std::size_t number = shown.test.cause + std::size_t{1};
  for (std::size_t i = 0; i < shown.run; ++i) number += request.runs[i].resolved.causes.size();
  return number;
}

std::string suite_name(const std::string& suite, const std::string& backend) {
  return backend.empty() || backend == "none" ? suite : suite + "." + backend;
}

std::string_view style_of(const ResolvedCase& test) { return style_of(test.verdict, test.result_class); }

std::string_view style_of(const Verdict& verdict) {
  return style_of(verdict, meaning_of(verdict).result_class);
}

std::string_view style_of(Outcome outcome) { return style_of(Verdict{outcome, ""}); }

std::string_view style_of(RunVerdict verdict) {
  if (verdict == RunVerdict::kPassed) return "passed";
  return verdict == RunVerdict::kFailed || verdict == RunVerdict::kMachineFailed ? "failed" : "notrun";
}

std::span<const Style> all_styles() { return kStyles; }

std::string_view sign_of(std::string_view style) {
  const auto found = std::ranges::find(kStyles, style, &Style::name);
  return found == kStyles.end() ? "?" : found->sign;
}

std::string_view worst_style(const StyleCounts& counts) {
  for (const std::string_view style : {"failed", "notrun", "flaky", "known", "passed", "skipped"}) {
    if (counts.contains(style)) return style;
  }
  return "notrun";
}

std::string_view label_of_style(std::string_view style) { return style == "notrun" ? "not run" : style; }

}  // namespace proctor
