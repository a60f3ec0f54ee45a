#include "reports/resolve/failure_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

// Limits of the text; report.json is complete.
constexpr std::size_t kMostRateCases = 20;
constexpr std::size_t kMostRateParts = 10;

bool is_run(const Attempt& attempt) {
  const Outcome outcome = verdict_of(attempt).outcome;
  return outcome != Outcome::kSkip && outcome != Outcome::kNotrun && counts(attempt);
}

// Finds the case before each attempt in its process. Attempts of one process have one log.
class Predecessors {
 public:
  explicit Predecessors(const ResolvedRun& run) {
    std::map<std::string_view, std::vector<Member>> processes;
    for (const ResolvedCase& test : run.cases) {
      for (const Attempt& attempt : test.attempts) {
        if (!attempt.start.log.empty()) processes[attempt.start.log].push_back({&attempt, &test});
      }
    }
    for (auto& [log, members] : processes) {
      if (members.size() < 2) continue;
      std::ranges::stable_sort(members, {}, [](const Member& member) { return member.attempt->start.at_ms; });
      for (std::size_t i = 0; i < members.size(); ++i)
        before_[members[i].attempt] = i == 0 ? nullptr : members[i - 1].test;
    }
  }

  std::string order_of(const Attempt& attempt) const {
    const auto shared = before_.find(&attempt);
    if (shared == before_.end()) return "alone";
    return shared->second == nullptr ? "first in its process" : "after " + shared->second->planned.id;
  }

 private:
  struct Member {
    const Attempt* attempt;
    const ResolvedCase* test;
  };

  std::map<const Attempt*, const ResolvedCase*> before_;  // null: the attempt was the first in its process
};

void add(const Attempt& attempt, FailureRate& rate) {
  ++rate.runs;
  rate.failures += is_bad(verdict_of(attempt).outcome) || passed_after_retry(attempt) ? 1 : 0;
}

std::vector<RatePart> parts_of(const std::map<std::string, FailureRate>& rates) {
  std::vector<RatePart> parts;
  for (auto [of, rate] : rates) {
    rate.interval = wilson_interval(rate.failures, rate.runs);
    parts.push_back({of, rate});
  }
  return parts;
}

CaseRates stress_rates(const ResolvedCase& test, const Predecessors& predecessors) {
  CaseRates rates;
  std::map<std::string, FailureRate> by_device;
  std::map<std::string, FailureRate> by_order;
  for (const Attempt& attempt : test.attempts) {
    if (!is_run(attempt)) continue;
    add(attempt, rates.all);
    if (!attempt.start.devices.empty()) add(attempt, by_device[joined(attempt.start.devices, "+")]);
    add(attempt, by_order[predecessors.order_of(attempt)]);
  }
  rates.all.interval = wilson_interval(rates.all.failures, rates.all.runs);
  rates.by_device = parts_of(by_device);
  const bool was_alone = by_order.size() == 1 && by_order.begin()->first == "alone";
  if (!was_alone) rates.by_order = parts_of(by_order);
  return rates;
}

CaseRates claim_rates(const ResolvedCase& test, const Exclusion& exclusion) {
  CaseRates rates{.needed = runs_to_exclude(exclusion)};
  for (const Attempt& attempt : test.attempts) {
    if (!is_run(attempt)) continue;
    add(attempt, rates.all);
    if (rates.all.failures > 0) break;
  }
  const auto& [runs, failures, interval] = rates.all;
  rates.all.interval = failures > 0 ? interval_of_first_failure(runs) : wilson_interval(0, runs);
  rates.claim = claim_of(rates.needed, runs, failures);
  return rates;
}

void add_parts(std::string_view heading, const std::vector<RatePart>& parts, std::string& text) {
  for (std::size_t i = 0; i < std::min(parts.size(), kMostRateParts); ++i) {
    text += fmt::format("    {}{}: {}\n", heading, clean_text(parts[i].of), to_string(parts[i].rate));
  }
  if (parts.size() > kMostRateParts)
    text += fmt::format("    and {} more\n", thousands(parts.size() - kMostRateParts));
}

std::string cases_left_out(std::size_t cases) {
  return cases > kMostRateCases
             ? fmt::format("  and {}: see report.json\n", count_text(cases - kMostRateCases, "more case"))
             : "";
}

std::string stress_text(const ResolvedRun& run) {
  std::string text;
  std::size_t failing = 0;
  std::size_t others = 0;
  int least = 0;
  int most = 0;
  for (const ResolvedCase& test : run.cases) {
    if (!test.rates || test.rates->all.runs == 0) continue;
    const CaseRates& rates = *test.rates;
    if (rates.all.failures == 0) {
      least = others == 0 ? rates.all.runs : std::min(least, rates.all.runs);
      most = std::max(most, rates.all.runs);
      ++others;
      continue;
    }
    if (++failing > kMostRateCases) continue;
    text += fmt::format("  {}: {}\n", clean_text(test.planned.id), to_string(rates.all));
    add_parts("on ", rates.by_device, text);
    add_parts("", rates.by_order, text);
  }
  text += cases_left_out(failing);
  if (others > 0) {
    text += fmt::format("  {} without a failure in {} runs{}\n", count_text(others, "case"),
                        (least == most ? "" : thousands(least) + " to ") + thousands(most),
                        others == 1 ? "" : " each");
  }
  return text.empty() ? "" : "failure rates\n" + text;
}

std::string all_claims_text(const ResolvedRun& run) {
  std::string text = "failure rates\n";
  for (std::size_t i = 0; i < std::min(run.cases.size(), kMostRateCases); ++i)
    text += fmt::format("  {}: {}\n", clean_text(run.cases[i].planned.id), run.cases[i].rates->text);
  return text + cases_left_out(run.cases.size());
}

// Returns "excluded: a failure rate of 1 % or more, with 99 % confidence (459 runs)".
std::string claim_text(const Exclusion& exclusion, const CaseRates& rates) {
  const std::string what = fmt::format("a failure rate of {} % or more, with {} % confidence",
                                       percent_text(exclusion.rate), percent_text(exclusion.confidence));
  switch (*rates.claim) {
    case Claim::kExcluded:
      return fmt::format("excluded: {} ({})", what,
                         count_text(static_cast<std::size_t>(rates.all.runs), "run"));
    case Claim::kNotExcluded:
      return fmt::format("not excluded: {}; {}", what, to_string(rates.all));
    case Claim::kOpen:
      return fmt::format("undecided: {}; {} of {} runs, and none failed", what, thousands(rates.all.runs),
                         thousands(rates.needed));
  }
  return "";
}

}  // namespace

void resolve_failure_rates(ResolvedRun& run) {
  const auto& exclusion = run.plan.exclusion;
  if (!exclusion && run.plan.stress_ms == 0) return;
  const Predecessors predecessors(run);
  for (ResolvedCase& test : run.cases) {
    CaseRates rates = exclusion ? claim_rates(test, *exclusion) : stress_rates(test, predecessors);
    rates.text = exclusion ? claim_text(*exclusion, rates) : to_string(rates.all);
    test.rates = std::make_unique<CaseRates>(std::move(rates));
  }
}

std::string to_string(const FailureRate& rate) {
  if (rate.runs == 0) return "no run passed or failed";
  return fmt::format("{} of {} failed: {} %, 95 % interval {} to {} %", thousands(rate.failures),
                     count_text(static_cast<std::size_t>(rate.runs), "run"), percent_text(rate.rate()),
                     percent_text(rate.interval.low), percent_text(rate.interval.high));
}

std::string failure_rate_text(const ResolvedRun& run) {
  if (run.cases.empty() || !run.cases.front().rates) return "";
  return run.plan.exclusion ? all_claims_text(run) : stress_text(run);
}

}  // namespace proctor
