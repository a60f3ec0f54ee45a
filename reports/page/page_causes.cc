#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "harness/core/text.h"
#include "harness/core/words.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/device_verdict.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/truncate.h"
#include "reports/page/page_parts.h"
#include "reports/page/page_sections.h"
#include "reports/page/page_source.h"
#include "reports/page/page_text.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kMostCauses = 50;
constexpr std::size_t kMostCasesOfCause = 10;
constexpr std::size_t kMostDevicesOfCause = 4;
constexpr std::size_t kMostReasons = 20;
constexpr std::size_t kMostLines = 12;  // of a message
constexpr std::size_t kMostMessageBytes = 8000;

struct CauseCases {
  std::size_t number = 0;
  bool bad = false;
  bool moved = false;
  bool is_new = true;                    // all of them are
  std::vector<const PageCase*> cases{};  // new ones first: the first one speaks for all
};

std::vector<CauseCases> sorted_causes(const PageView& view) {
  std::map<std::size_t, CauseCases> found;
  for (const PageCase& test : view.cases) {
    if (!test.odd) continue;
    const CaseResult& result = result_of(view.request, test);
    if ((!test.bad && !test.moved && !result.flaky) || result.cause == kNoCause) continue;
    const std::size_t place = cause_number(view.request, test.run, result.cause);
    CauseCases& cause = found[place];
    cause.number = place;
    cause.bad = cause.bad || test.bad;
    cause.moved = cause.moved || test.moved;
    cause.is_new = cause.is_new && test.is_new;
    cause.cases.push_back(&test);
  }
  std::vector<CauseCases> causes;
  for (auto& [place, cause] : found) causes.push_back(std::move(cause));
  for (CauseCases& cause : causes) {
    std::ranges::stable_sort(cause.cases, std::less<>(),
                             [](const PageCase* test) { return std::pair(!test->bad, !test->is_new); });
  }
  std::ranges::stable_sort(causes, std::less<>(), [](const CauseCases& cause) {
    return std::tuple(!cause.bad, !cause.moved, !cause.is_new,
                      -static_cast<std::int64_t>(cause.cases.size()));
  });
  return causes;
}

// The first lines of the message of a case, with their indents.
std::string first_lines(const std::string& message) {
  std::string text = page_text(truncate(message, kMostMessageBytes));
  std::size_t end = 0;
  for (std::size_t line = 0; line < kMostLines && end != std::string::npos; ++line)
    end = text.find('\n', line == 0 ? 0 : end + 1);
  const bool is_cut = end != std::string::npos && end + 1 < text.size();
  if (end != std::string::npos) text.resize(end);
  return is_cut ? text + "\n..." : text;
}

// On which devices its cases failed: "xpu-sim:0 (3 cases), xpu-sim:1 (1 case)".
std::string devices_of_cause(const PageView& view, const CauseCases& cause) {
  const PageCase& first = *cause.cases.front();
  if (cause.moved && cause.cases.size() == 1) {
    const Move move = move_of(record_of(view.request, first));
    if (!move.from.empty()) return move.from + " → " + move.to;
  }
  std::map<std::string, std::size_t> counts;
  for (const PageCase* test : cause.cases) {
    const std::string& device = result_of(view.request, *test).device;
    if (!device.empty()) ++counts[device];
  }
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& entry) { return entry.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostDevicesOfCause); ++i) {
    text += (i == 0 ? "" : ", ") + sorted[i].first;
    if (sorted.size() > 1) text += fmt::format(" ({})", counted(sorted[i].second, words::cases));
  }
  if (sorted.size() > kMostDevicesOfCause)
    text += " " + counted(sorted.size() - kMostDevicesOfCause, words::and_more);
  return text;
}

// How many of its cases are new.
json new_badge(const PageView& view, const CauseCases& cause) {
  const auto fresh = std::ranges::count(cause.cases, true, &PageCase::is_new);
  if (fresh == 0) return nullptr;
  const std::string good = last_good(view.request, *cause.cases.front());
  const std::string whole = good.empty() ? "NEW" : "NEW: passed in " + good;
  json shown = badge("bad", cause.is_new ? whole : fmt::format("{} of {} NEW", fresh, cause.cases.size()));
  shown["sign"] = "";
  return json::object({{"badge", std::move(shown)}});
}

// The files of the attempt that says most, as far as the page can lead there.
json files_of(const PageView& view, const PageCase& test) {
  const PageRun& run = view.request.runs[test.run];
  const Attempt* attempt = record_of(view.request, test).telling;
  json files = json::array();
  const auto add = [&](std::string_view name, const std::string& file) {
    const std::string address = file_address(file);
    if (run.link && !address.empty()) files.push_back({{"file", name}, {"href", *run.link + address}});
  };
  if (attempt == nullptr) return files;
  add("log", attempt->start.log);
  if (attempt->end) add("evidence", attempt->end->evidence.file);
  return files;
}

// Of the oldest of the cases that are not new.
std::string first_failed(const PageView& view, const CauseCases& cause) {
  std::optional<CasePast> oldest;
  for (const PageCase* test : cause.cases) {
    const auto past = test->bad && !test->is_new ? past_of(view.request, *test) : std::nullopt;
    if (past && past->failing_runs > 0 && (!oldest || past->failing_runs > oldest->failing_runs))
      oldest = past;
  }
  return oldest ? age_text(*oldest) : "";
}

// Where it happened, and since when.
json place_fields(const PageView& view, const CauseCases& cause) {
  const PageCase& test = *cause.cases.front();
  const PageRun& run = view.request.runs[test.run];
  const Place place = place_of(record_of(view.request, test));
  const auto past = past_of(view.request, test);
  std::vector<std::string> ages = {first_failed(view, cause)};
  if (past) ages.push_back(flaky_text(*past));
  std::erase(ages, "");
  Place line = place;
  line.function.clear();
  return {{"at", to_string(line)},
          {"at_href", source_address(run.resolved.plan, place.file, place.line)},
          {"function", clean_text(place.function)},
          {"age", joined(ages, "; ")}};
}

// What the first failed expectation of the attempt compared.
json compared_fields(const ResolvedCase& record) {
  const Attempt* attempt = record.telling;
  if (attempt == nullptr || !attempt->end || attempt->end->failures.empty()) return json::object();
  const Failure& failure = attempt->end->failures.front();
  return {{"expected", failure.expected}, {"got", failure.got}};
}

json view_of_cause(const PageView& view, const CauseCases& cause) {
  const PageCase& first = *cause.cases.front();
  const ResolvedCase& record = record_of(view.request, first);
  const CaseResult& result = result_of(view.request, first);
  const Diagnosis* diagnosis = record.diagnosis;
  const std::string_view look = cause.bad ? look_of(result.verdict, result.standing) : "flaky";
  const Attempt* telling = record.telling;
  const Verdict& shown = look == "good" && telling != nullptr ? verdict_of(*telling) : result.verdict;
  const std::string what = cause.bad     ? to_string(shown)
                           : cause.moved ? "moved"
                                         : std::string(words::flaky.one);
  json said = {{"href", fmt::format("#cause={}", cause.number)},
               {"count", counted(cause.cases.size(), words::cases)},
               {"badge", badge(look == "good" ? "bad" : look, what)},
               {"fresh", new_badge(view, cause)},
               {"on", devices_of_cause(view, cause)},
               {"whole", first_lines(whole_message(record))},
               {"problem", cause.bad || cause.moved ? to_string(record.problem) : ""},
               {"culprit", culprit_of(view.request, first)},
               {"cause", cause_text(diagnosis)},
               {"next", next_text(diagnosis)},
               {"command", record.rerun_command()},
               {"files", files_of(view, first)},
               {"ids", first_of(cause.cases, kMostCasesOfCause,
                                [&](const PageCase* test) {
                                  return case_link(record_of(view.request, *test).planned.id);
                                })},
               {"more", beyond(cause.cases.size(), kMostCasesOfCause)}};
  said.update(place_fields(view, cause));
  said.update(compared_fields(record));
  return said;
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
  if (causes.empty()) return nullptr;
  std::size_t left = 0;
  for (std::size_t i = kMostCauses; i < causes.size(); ++i) left += causes[i].cases.size();
  return {{"list", first_of(causes, kMostCauses,
                            [&](const CauseCases& cause) { return view_of_cause(view, cause); })},
          {"more", beyond(causes.size(), kMostCauses)},
          {"more_cases", counted(left, words::cases)}};
}

std::size_t cause_count(const PageView& view) { return sorted_causes(view).size(); }

json reasons_of_unrun(const PageView& view) {
  return {reasons_of(view.request, Outcome::kSkip, "Skipped"),
          reasons_of(view.request, Outcome::kNotrun, "Not run")};
}

}  // namespace proctor
