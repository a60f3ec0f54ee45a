#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

#include "harness/base/words.h"
#include "reports/page/page_sections.h"
#include "reports/page/page_template.h"
#include "reports/resolve/failure_rates.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kMostPlain = 500;  // bad cases without a script
constexpr std::size_t kMostPlainBytes = 2'000'000;
constexpr std::size_t kMostCasesOfEntry = 10;
constexpr std::size_t kMostWarnings = 100;
constexpr std::size_t kMostKnown = 200;  // entries of lists of known failures
constexpr std::size_t kMostRateBytes = 100'000;
constexpr int kFewDays = 14;  // that an entry still holds

json plain_case(const ResolvedCase& test) {
  return {{"id", test.planned.id},
          {"badge", badge(look_of(test), to_string(test.verdict))},
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

// An entry of the lists of known failures. The entry that expires first comes first. The built-in known failures of a
// driver come last: only their source is known.
struct KnownKey {
  bool is_built_in = false;
  std::string until{};
  std::string at{};
  std::string source{};
  auto operator<=>(const KnownKey&) const = default;
};
struct Known {
  std::string owner{};
  std::optional<int> days{};  // by the last of the runs
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

// How often each case failed in a run of --repeat 2h, and what a run of --repeat 99%:1% excludes.

void add_rate_parts(const std::string& heading, const std::vector<RatePart>& parts, std::string& text) {
  for (const RatePart& part : parts)
    text += (text.empty() ? "" : "; ") + heading + part.of + ": " + to_string(part.rate);
}

// Those that failed come first.
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
    const std::string_view look = entry.days && *entry.days < kFewDays ? "bad" : "known";
    table.add({entry.days ? badge_cell(look, days_left_words(*entry.days)) : json("unknown"), key.until,
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
