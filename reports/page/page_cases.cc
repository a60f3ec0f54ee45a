#include "reports/page/page_cases.h"

#include <algorithm>
#include <array>

#include "reports/resolve/case_past.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

constexpr std::array kLooks = {Look{"bad", "✗"},   Look{"unrun", "?"}, Look{"flaky", "↻"},
                               Look{"known", "~"}, Look{"skip", "–"},  Look{"good", "✓"}};

// Nearly every case: what its columns say is all that there is.
bool is_plain_pass(const ResolvedCase& record, const CaseResult& result) {
  if (result.standing != Standing::kPassing || result.flaky || record.attempts.size() > 1) return false;
  if (record.end && (!record.end->marks.empty() || !record.end->note.empty())) return false;
  if (record.attempts.empty() || !record.attempts.front().end) return true;
  const AttemptEnded& end = *record.attempts.front().end;
  return end.marks.empty() && end.ranks.empty() && end.measures.empty() && end.properties.empty() &&
         end.termination.strays.empty();
}

// How many runs in a row it fails, until this one.
void add_age(const PageRun& run, PageCase& test) {
  test.failing_runs = 1;
  if (run.past == nullptr) {
    const CasePast* past = run.resolved.cases[test.index].past;
    if (past != nullptr) test.failing_runs += static_cast<std::uint32_t>(past->failing_runs);
    return;
  }
  if (test.index >= run.past->cases.size()) return;
  const auto& outcomes = run.past->cases[test.index];
  for (auto outcome = outcomes.rbegin(); outcome != outcomes.rend(); ++outcome) {
    if (outcome->standing == Standing::kUnrun) continue;
    if (outcome->standing != Standing::kFailing) break;
    ++test.failing_runs;
    test.since = outcome->run;
  }
}

void add_changes(const PageRun& run, std::vector<PageCase>& cases, std::size_t first) {
  if (!run.changes) return;
  for (const CaseChange& change : run.changes->comparison.changes) {
    if (change.after == kNotThere) continue;
    PageCase& test = cases[first + change.after];
    if (!test.change) test.change = change.change;
  }
}

bool is_new(const PageRun& run, const PageCase& test) {
  if (!test.bad) return false;
  if (run.changes) return test.change == Change::kRegression || test.change == Change::kNewFailing;
  if (run.past != nullptr)
    return !run.past->runs.empty() && proctor::is_new(case_past("", test.index, *run.past));
  const CasePast* past = run.resolved.cases[test.index].past;
  return past != nullptr && proctor::is_new(*past);
}

}  // namespace

std::vector<PageCase> page_cases(const PageRequest& request) {
  std::vector<PageCase> cases;
  for (std::uint32_t number = 0; number < request.runs.size(); ++number) {
    const PageRun& run = request.runs[number];
    const std::size_t first = cases.size();
    const auto& records = run.resolved.cases;
    for (std::uint32_t index = 0; index < records.size(); ++index) {
      const ResolvedCase& record = records[index];
      PageCase test{.run = number, .index = index};
      test.odd = !is_plain_pass(record, run.results.cases[index]);
      if (test.odd) {
        test.bad = record.bad;
        test.moved = record.moved;
        test.blame = record.problem;
        if (test.bad) add_age(run, test);
      }
      cases.push_back(test);
    }
    add_changes(run, cases, first);
    for (std::size_t i = first; i < cases.size(); ++i) cases[i].is_new = is_new(run, cases[i]);
  }
  return cases;
}

std::optional<CasePast> past_of(const PageRequest& request, const PageCase& test) {
  const PageRun& run = request.runs[test.run];
  if (run.past != nullptr) {
    if (run.past->runs.empty()) return std::nullopt;
    return case_past(result_of(request, test).id, test.index, *run.past);
  }
  const CasePast* past = record_of(request, test).past;
  return past == nullptr ? std::nullopt : std::optional(*past);
}

std::string name_of_run(const RunResults& results) {
  constexpr std::size_t kCommitDigits = 12;
  const std::string commit = results.subject.commit.value.value_or("");
  return commit.empty() ? results.run_id : commit.substr(0, kCommitDigits);
}

std::string last_good(const PageRequest& request, const PageCase& test) {
  const PageRun& run = request.runs[test.run];
  if (run.changes) return name_of_run(run.changes->before);
  const auto past = past_of(request, test);
  return past ? past->passed : "";
}

std::string message_of(const PageRequest& request, const PageCase& test) {
  const ResolvedCase& record = record_of(request, test);
  const Attempt* telling = result_of(request, test).flaky ? record.telling : nullptr;
  return telling != nullptr ? telling->headline : record.headline;
}

std::string culprit_of(const PageRequest& request, const PageCase& test) {
  const ResolvedCase& record = record_of(request, test);
  const std::string text = culprit_text(record);
  const auto& culprit = record.culprit;
  const std::string& device = result_of(request, test).device;
  const bool is_device = culprit && culprit->kind == "device" && culprit->name != device && !device.empty();
  return is_device && !text.empty() ? text + ", " + device : text;
}

const ResolvedCase& record_of(const PageRequest& request, const PageCase& test) {
  return request.runs[test.run].resolved.cases[test.index];
}

const CaseResult& result_of(const PageRequest& request, const PageCase& test) {
  return request.runs[test.run].results.cases[test.index];
}

std::size_t variant_number(const PageRequest& request, std::size_t run, std::uint32_t variant) {
  std::size_t before = 0;
  for (std::size_t i = 0; i < run; ++i) before += request.runs[i].results.variants.size();
  return before + variant;
}

std::size_t cause_number(const PageRequest& request, std::size_t run, std::uint32_t cause) {
  std::size_t before = 1;
  for (std::size_t i = 0; i < run; ++i) before += request.runs[i].results.causes.size();
  return before + cause;
}

std::string suite_name(const Variant& variant) {
  const bool alone = variant.backend.empty() || variant.backend == "none";
  return alone ? variant.suite : variant.suite + "." + variant.backend;
}

std::string_view look_of(const Verdict& verdict, Standing standing) {
  switch (standing) {
    case Standing::kPassing:
      return "good";
    case Standing::kFailing:
      return "bad";
    case Standing::kExpected:
      return "known";
    case Standing::kUnrun:
      return verdict.outcome == Outcome::kSkip ? "skip" : "unrun";
  }
  return "unrun";
}

std::string_view look_of(Outcome outcome) {
  const Verdict verdict{outcome, ""};
  return look_of(verdict, meaning_of(verdict).standing);
}

std::span<const Look> all_looks() { return kLooks; }

std::string_view sign_of(std::string_view look) {
  const auto found = std::ranges::find(kLooks, look, &Look::name);
  return found == kLooks.end() ? "?" : found->sign;
}

}  // namespace proctor
