#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "reports/model/failure_summary.h"
#include "reports/page/page_parts.h"
#include "reports/page/page_sections.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kMostCauses = 50;
constexpr std::size_t kMostCasesOfCause = 10;
constexpr std::size_t kMostReasons = 20;

struct CauseCases {
  std::size_t number = 0;
  bool bad = false;
  std::vector<const PageCase*> cases{};
};

std::vector<CauseCases> sorted_causes(const PageView& view) {
  std::map<std::size_t, CauseCases> found;
  for (const PageCase& test : view.cases) {
    if (!test.odd) continue;
    const CaseResult& result = result_of(view.request, test);
    if ((!test.bad && !result.flaky) || result.cause == kNoCause) continue;
    const std::size_t place = cause_number(view.request, test.run, result.cause);
    CauseCases& cause = found[place];
    cause.number = place;
    cause.bad = cause.bad || test.bad;
    cause.cases.push_back(&test);
  }
  std::vector<CauseCases> causes;
  for (auto& [place, cause] : found) causes.push_back(std::move(cause));
  std::ranges::stable_sort(causes, [](const CauseCases& a, const CauseCases& b) {
    return a.bad != b.bad ? a.bad : a.cases.size() > b.cases.size();
  });
  return causes;
}

json view_of_cause(const PageView& view, const CauseCases& cause) {
  const PageCase& first = *cause.cases.front();
  const RunModel& model = view.request.runs[first.run].model;
  const CaseRecord& record = record_of(view.request, first);
  const CaseResult& result = result_of(view.request, first);
  const Diagnosis* diagnosis = diagnosis_of(model, record);
  const std::string_view look = cause.bad ? look_of(result.verdict, result.standing) : "known";
  const std::string what = cause.bad ? to_string(result.verdict) : std::string(words::flaky.one);
  return {{"href", fmt::format("#cause={}", cause.number)},
          {"count", counted(cause.cases.size(), words::cases)},
          {"badge", badge(look == "good" ? "bad" : look, what)},
          {"headline", message_of(view.request, first)},
          {"problem", cause.bad ? to_string(blame_in(model, record)) : ""},
          {"culprit", culprit_text(model, record)},
          {"cause", cause_text(diagnosis)},
          {"next", next_text(diagnosis)},
          {"ids", first_of(cause.cases, kMostCasesOfCause,
                           [&](const PageCase* test) {
                             return case_link(record_of(view.request, *test).planned.id);
                           })},
          {"more", beyond(cause.cases.size(), kMostCasesOfCause)}};
}

// Of the cases that ended so, by their reasons, the most frequent first; null for none.
json reasons_of(const PageRequest& request, Outcome outcome, std::string_view title) {
  std::map<std::string, std::size_t> reasons;
  std::size_t all = 0;
  for (const PageRun& run : request.runs) {
    for (const CaseResult& result : run.results.cases) {
      if (result.verdict.outcome != outcome) continue;
      ++reasons[result.verdict.reason.text()];
      ++all;
    }
  }
  if (reasons.empty()) return nullptr;
  std::vector<std::pair<std::string, std::size_t>> sorted(reasons.begin(), reasons.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto view = [outcome](const auto& entry) {
    const auto& [reason, count] = entry;
    return json{{"count", count},
                {"reason", reason.empty() ? "no reason" : reason},
                {"href", fmt::format("#outcome={}&q={}", to_string(outcome), state_value(reason))}};
  };
  return {{"title", title},
          {"count", counted(all, words::cases)},
          {"list", first_of(sorted, kMostReasons, view)},
          {"more", beyond(sorted.size(), kMostReasons)}};
}

}  // namespace

json causes_section(const PageView& view) {
  const std::vector<CauseCases> causes = sorted_causes(view);
  std::size_t left = 0;
  for (std::size_t i = kMostCauses; i < causes.size(); ++i) left += causes[i].cases.size();
  return {{"any", !causes.empty()},
          {"list", first_of(causes, kMostCauses,
                            [&](const CauseCases& cause) { return view_of_cause(view, cause); })},
          {"more", beyond(causes.size(), kMostCauses)},
          {"more_cases", counted(left, words::cases)},
          {"reasons",
           {reasons_of(view.request, Outcome::kSkip, "Skipped"),
            reasons_of(view.request, Outcome::kNotrun, "Not run")}}};
}

}  // namespace proctor
