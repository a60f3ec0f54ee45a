#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/page/page_sections.h"
#include "reports/page/page_template.h"
#include "reports/page/page_text.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/device_verdict.h"
#include "reports/resolve/failure_rates.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kMostCauses = 50;
constexpr std::size_t kMostCasesOfCause = 10;
constexpr std::size_t kMostDevicesOfCause = 4;
constexpr std::size_t kMostReasons = 20;
constexpr std::size_t kMostLines = 12;  // lines of a message
constexpr std::size_t kMostMessageBytes = 8000;

// The cases of one cause, new ones first. The page shows the first case for all.
struct CauseCases {
  std::size_t number = 0;
  bool is_new = true;  // all its cases are new
  std::vector<const PageCase*> cases{};

  const ResolvedCase& first() const { return cases.front()->test; }
};

std::vector<CauseCases> sorted_causes(const PageView& view) {
  std::map<std::size_t, CauseCases> found;
  for (const PageCase& shown : view.cases) {
    const std::size_t number = cause_number(view.request, shown);
    if (number == 0) continue;
    CauseCases& cause = found[number];
    cause.number = number;
    cause.is_new = cause.is_new && shown.is_new;
    cause.cases.push_back(&shown);
  }
  std::vector<CauseCases> causes;
  for (auto& [number, cause] : found) {
    std::ranges::stable_partition(cause.cases, &PageCase::is_new);
    causes.push_back(std::move(cause));
  }
  std::ranges::stable_sort(causes, std::less<>(), [](const CauseCases& cause) {
    return std::tuple(!cause.first().bad, !cause.first().moved, !cause.is_new,
                      -static_cast<std::int64_t>(cause.cases.size()));
  });
  return causes;
}

using Counts = std::map<std::string, std::size_t>;
std::vector<std::pair<std::string, std::size_t>> most_first(const Counts& counts) {
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& entry) { return entry.second; });
  return sorted;
}

// Returns the first lines of a message, with their indentation.
std::string first_lines(const std::string& message) {
  std::string text = page_text(truncate(message, kMostMessageBytes));
  std::size_t end = 0;
  for (std::size_t line = 0; line < kMostLines && end != std::string::npos; ++line)
    end = text.find('\n', line == 0 ? 0 : end + 1);
  const bool is_cut = end != std::string::npos && end + 1 < text.size();
  if (end != std::string::npos) text.resize(end);
  return is_cut ? text + "\n..." : text;
}

// Returns the devices on which the cases failed: "xpu-sim:0 (3 cases), xpu-sim:1 (1 case)".
std::string devices_of_cause(const CauseCases& cause) {
  if (cause.first().moved && cause.cases.size() == 1) {
    const Move move = move_of(cause.first());
    if (!move.from.empty()) return move.from + " → " + move.to;
  }
  std::map<std::string, std::size_t> counts;
  for (const PageCase* shown : cause.cases) ++counts[telling_devices(shown->test)];
  counts.erase("");
  const auto sorted = most_first(counts);
  return some_of(sorted, kMostDevicesOfCause, [&sorted](const auto& entry) {
    const auto& [device, count] = entry;
    return sorted.size() == 1 ? device : fmt::format("{} ({})", device, count_text(count, "case"));
  });
}

// Returns the last pass before a new failure: a commit, or a run if no commit is known; "" if it is unknown.
std::string last_pass(const PageRun& run, const PageCase& shown) {
  if (!run.changes) return shown.past == nullptr ? "" : shown.past->passed;
  const RunResults& before = run.changes->before;
  const std::string& commit = before.subject.commit.value.value_or("");
  return commit.empty() ? before.run_id : short_digest(commit);
}

// Returns a badge with the number of new cases.
json new_badge(const PageRun& run, const CauseCases& cause) {
  const auto fresh = std::ranges::count(cause.cases, true, &PageCase::is_new);
  if (fresh == 0) return nullptr;
  const std::string passed = last_pass(run, *cause.cases.front());
  const std::string whole = passed.empty() ? "NEW" : "NEW: passed in " + passed;
  json shown = badge(
      "failed",
      cause.is_new ? whole : fmt::format("{} of {} NEW", thousands(fresh), thousands(cause.cases.size())));
  shown["sign"] = "";
  return json::object({{"badge", std::move(shown)}});
}

// Returns links to the files of the most informative attempt, if the page can link to them.
json files_of(const PageRun& run, const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
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

// Returns the first failing run of the case that has failed longest, except new cases, and how
// often the first case failed before.
std::string age_of(const CauseCases& cause) {
  const PageCase* oldest = nullptr;
  for (const PageCase* shown : cause.cases) {
    if (!shown->is_new && shown->failing_runs() > std::max(1, oldest == nullptr ? 0 : oldest->failing_runs()))
      oldest = shown;
  }
  const CasePast* past = cause.cases.front()->past.get();
  std::vector<std::string> ages = {oldest == nullptr ? "" : age_text(*oldest->past),
                                   past == nullptr ? "" : flaky_text(*past)};
  std::erase(ages, "");
  return joined(ages, "; ");
}

json badge_of_cause(const ResolvedCase& test) {
  if (test.moved) return badge("flaky", "moved");
  return test.bad ? badge_of(style_of(test), test.verdict) : badge("flaky", "flaky");
}

json view_of_cause(const PageView& view, const CauseCases& cause) {
  const ResolvedCase& test = cause.first();
  const PageRun& run = view.request.runs[cause.cases.front()->run];
  const bool has_owner = test.bad || test.moved;
  const Attempt* telling = test.telling;
  const bool compared = telling != nullptr && telling->end && !telling->end->failures.empty();
  const Failure failure = compared ? telling->end->failures.front() : Failure{};
  Place place = place_of(test);
  const std::string function = std::exchange(place.function, "");
  json fields = ids_of(cause.cases, kMostCasesOfCause,
                       [](const PageCase* shown) { return case_link(shown->test.planned.id); });
  fields.update({{"href", fmt::format("#cause={}", cause.number)},
                 {"count", count_text(cause.cases.size(), "case")},
                 {"badge", badge_of_cause(test)},
                 {"fresh", new_badge(run, cause)},
                 {"at", to_string(place)},
                 {"at_href", source_address(run.resolved.plan, place.file, place.line)},
                 {"function", clean_text(function)},
                 {"on", devices_of_cause(cause)},
                 {"whole", first_lines(whole_message(test))},
                 {"expected", failure.expected},
                 {"got", failure.got},
                 {"owner", has_owner ? to_string(test.problem) : ""},
                 {"culprit", culprit_of(test)},
                 {"cause", cause_text(test.diagnosis)},
                 {"age", age_of(cause)},
                 {"next", next_text(test.diagnosis)},
                 {"command", test.rerun_command()},
                 {"files", files_of(run, test)}});
  return fields;
}

// Returns the reasons of cases with this outcome, the most frequent first; null if there are none.
json reasons_of(const PageView& view, Outcome outcome, std::string_view title) {
  std::map<std::string, std::size_t> reasons;
  for (const PageCase& shown : view.cases) {
    if (shown.test.verdict.outcome == outcome) ++reasons[shown.test.verdict.reason.text()];
  }
  if (reasons.empty()) return nullptr;
  const auto line = [outcome](const auto& entry) {
    const auto& [reason, count] = entry;
    return json{
        {"count", count},
        {"reason", reason.empty() ? "no reason" : readable_reason({outcome, reason_in_words(reason)})},
        {"href", fmt::format("#outcome={}&q={}", to_string(outcome), state_value(reason))}};
  };
  return {{"title", title},
          {"count", count_text(view.tally.summary[outcome], "case")},
          {"list", first_of(most_first(reasons), kMostReasons, line)},
          {"more", beyond(reasons.size(), kMostReasons)}};
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
          {"more_cases", count_text(left, "case")}};
}

std::size_t cause_count(const PageView& view) { return sorted_causes(view).size(); }

json reasons_of_unrun(const PageView& view) {
  return {reasons_of(view, Outcome::kSkip, "Skipped"), reasons_of(view, Outcome::kNotrun, "Not run")};
}

namespace {

constexpr std::size_t kMostPlain = 500;  // failed cases that are shown without a script
constexpr std::size_t kMostPlainBytes = 2'000'000;
constexpr std::size_t kMostCasesOfEntry = 10;
constexpr std::size_t kMostWarnings = 100;
constexpr std::size_t kMostKnown = 200;  // entries of lists of known failures
constexpr std::size_t kMostRateBytes = 100'000;
constexpr int kFewDays = 14;  // an entry that expires within this number of days is marked

json plain_case(const ResolvedCase& test) {
  return {{"id", test.planned.id},
          {"badge", badge_of(style_of(test), test.verdict)},
          {"message", message_line(test)},
          {"command", test.rerun_command()}};
}

std::string left_out_text(const PageData& data) {
  std::vector<std::string> said;
  const auto say = [&said](std::size_t count, std::string_view noun, std::string_view one,
                           std::string_view several) {
    if (count > 0) said.push_back(fmt::format("{} {}", count_text(count, noun), plural(count, one, several)));
  };
  say(data.cases_left_out, "case", "is not in the list", "are not in the list");
  say(data.details_left_out, "case", "is without its attempts", "are without their attempts");
  say(data.logs_left_out, "log", "is linked only", "are linked only");
  return joined(said, "; ");
}

// The sort key of a known failure. The entry that expires first comes first. Built-in known failures of a driver come
// last, because only their source is known.
struct KnownKey {
  bool is_built_in = false;
  std::string until{};
  std::string at{};
  std::string source{};
  auto operator<=>(const KnownKey&) const = default;
};
// The owner of a known failure, its remaining days and its cases.
struct Known {
  std::string owner{};
  std::optional<int> days{};  // counted from the last of the runs
  std::vector<std::string> cases{};
};

std::map<KnownKey, Known> known_entries(const PageView& view) {
  std::map<KnownKey, Known> known;
  const auto key_of = [](const KnownFailureEntry& entry) {
    return KnownKey{false, entry.expires, entry.at,
                    entry.issue.empty() ? entry.source : entry.source + ", " + entry.issue};
  };
  for (const PageRun& run : view.request.runs) {
    for (const KnownFailureUse& use : run.resolved.known_failures) {
      Known& here = known[key_of(*use.entry)];
      here.owner = use.entry->owner;
      if (const auto& days = use.days_left) here.days = std::min(here.days.value_or(*days), *days);
    }
  }
  for (const PageCase& shown : view.cases) {
    const ResolvedCase& test = shown.test;
    const bool is_known = test.verdict.outcome == Outcome::kXfail && test.end;
    if (!is_known || test.end->known_failure.empty()) continue;
    const KnownFailureEntry* entry = test.known_failure;
    known[entry != nullptr ? key_of(*entry) : KnownKey{true, "", "", test.end->known_failure}]
        .cases.push_back(test.planned.id);
  }
  return known;
}

// The failure rates of a run with --repeat 2h, and the claims of a run with --repeat 99%:1%.

void add_rate_parts(const std::string& heading, const std::vector<RatePart>& parts, std::string& text) {
  for (const RatePart& part : parts)
    text += (text.empty() ? "" : "; ") + heading + part.of + ": " + to_string(part.rate);
}

// Cases that failed come first.
json rates_table(const ResolvedRun& run) {
  std::vector<const ResolvedCase*> cases;
  for (const ResolvedCase& test : run.cases) {
    if (test.rates) cases.push_back(&test);
  }
  std::ranges::stable_sort(cases, std::less<>(),
                           [](const ResolvedCase* test) { return test->rates->all.failures == 0; });
  PageTable table({"Case", "#Runs", "#Failed", "Failure rate", "By device and order"}, kMostRateBytes);
  for (const ResolvedCase* test : cases) {
    const CaseRates& rates = *test->rates;
    std::string parts;
    if (rates.all.failures > 0) {
      add_rate_parts("on ", rates.by_device, parts);
      add_rate_parts("", rates.by_order, parts);
    }
    table.add({case_cell(test->planned.id), rates.all.runs, rates.all.failures, rates.text, parts});
  }
  return table.view();
}

}  // namespace

json cases_section(const PageView& view) {
  json plain = json::array();
  std::size_t bad = 0;
  std::size_t bytes = view.written;
  for (const PageCase& shown : view.cases) {
    if (!shown.test.bad) continue;
    ++bad;
    if (plain.size() == kMostPlain || bytes > kMostPlainBytes) continue;
    plain.push_back(plain_case(shown.test));
    bytes += html_bytes(plain.back());
  }
  return {{"none", bad == 0},
          {"more", beyond(bad, plain.size())},
          {"plain", std::move(plain)},
          {"left_out", left_out_text(view.data)},
          {"megabytes", std::to_string(view.request.budget / 1'000'000)}};
}

json known_section(const PageView& view) {
  const auto all = known_entries(view);
  if (all.empty()) return nullptr;
  PageTable table({"Days left", "Until", "Entry", "Known from", "Owner", "#Cases", "Which"});
  std::size_t shown = 0;
  for (const auto& [key, entry] : all) {
    if (++shown > kMostKnown) break;
    const std::string_view style = entry.days && *entry.days < kFewDays ? "failed" : "known";
    table.add({entry.days ? badge_cell(style, days_left_words(*entry.days)) : json("unknown"), key.until,
               key.at, key.source, entry.owner, entry.cases.size(),
               entry.cases.empty()
                   ? json("no case failed so")
                   : json::object({{"which", ids_of(entry.cases, kMostCasesOfEntry, case_link)}})});
  }
  return {{"table", table.view()}, {"more", beyond(all.size(), kMostKnown)}};
}

json rates_section(const PageView& view) {
  return of_each_run(view, [](const PageRun& run, std::size_t) {
    const json table = rates_table(run.resolved);
    return table.is_null() ? json() : json::object({{"table", table}});
  });
}

json warnings_section(const PageView& view) {
  json list = json::array();
  std::size_t all = 0;
  for (const PageRun& run : view.request.runs) {
    all += run.resolved.warnings.size();
    for (const Warning& warning : run.resolved.warnings) {
      if (list.size() == kMostWarnings) break;
      list.push_back({{"code", warning.code.text()}, {"lines", warning.text}});
    }
  }
  if (all == 0) return nullptr;
  return {{"list", std::move(list)}, {"more", beyond(all, kMostWarnings)}};
}

}  // namespace proctor
