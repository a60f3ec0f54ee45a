#include "reports/model/failure_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "harness/core/count_text.h"
#include "harness/core/text.h"
#include "harness/core/words.h"

namespace proctor {
namespace {

// As many as a person reads; report.json has all.
constexpr std::size_t kMostRateCases = 20;
constexpr std::size_t kMostRateParts = 10;

bool is_run(const Attempt& attempt) {
  const Outcome outcome = verdict_of(attempt).outcome;
  return outcome != Outcome::kSkip && outcome != Outcome::kNotrun && counts(attempt);
}

// What was before each attempt in its process. Attempts of one process have one log.
class Predecessors {
 public:
  explicit Predecessors(const RunModel& model) {
    std::map<std::string_view, std::vector<Member>> processes;
    for (const CaseRecord& record : model.cases()) {
      for (const Attempt& attempt : record.attempts) {
        if (!attempt.start.log.empty()) processes[attempt.start.log].push_back({&attempt, &record});
      }
    }
    for (auto& [log, members] : processes) {
      if (members.size() < 2) continue;
      std::ranges::stable_sort(members, {}, [](const Member& member) { return member.attempt->start.at_ms; });
      for (std::size_t i = 0; i < members.size(); ++i)
        before_[members[i].attempt] = i == 0 ? nullptr : members[i - 1].record;
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
    const CaseRecord* record;
  };

  std::map<const Attempt*, const CaseRecord*> before_;  // null: it was the first
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

CaseRates stress_rates(const CaseRecord& record, const Predecessors& predecessors) {
  CaseRates rates{.record = &record};
  std::map<std::string, FailureRate> by_device;
  std::map<std::string, FailureRate> by_order;
  for (const Attempt& attempt : record.attempts) {
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

CaseRates claim_rates(const CaseRecord& record, const Exclusion& exclusion) {
  CaseRates rates{.record = &record, .needed = runs_to_exclude(exclusion)};
  for (const Attempt& attempt : record.attempts) {
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
  if (parts.size() > kMostRateParts) text += fmt::format("    and {} more\n", parts.size() - kMostRateParts);
}

std::string cases_left_out(std::size_t cases) {
  return cases > kMostRateCases
             ? fmt::format("  and {}: see report.json\n", count_text(cases - kMostRateCases, "more case"))
             : "";
}

std::string stress_text(const std::vector<CaseRates>& all) {
  std::string text;
  std::size_t failing = 0;
  std::size_t others = 0;
  int least = 0;
  int most = 0;
  for (const CaseRates& rates : all) {
    if (rates.all.runs == 0) continue;
    if (rates.all.failures == 0) {
      least = others == 0 ? rates.all.runs : std::min(least, rates.all.runs);
      most = std::max(most, rates.all.runs);
      ++others;
      continue;
    }
    if (++failing > kMostRateCases) continue;
    text += fmt::format("  {}: {}\n", clean_text(rates.record->planned.id), to_string(rates.all));
    add_parts("on ", rates.by_device, text);
    add_parts("", rates.by_order, text);
  }
  text += cases_left_out(failing);
  if (others > 0) {
    text += fmt::format("  {} without a failure in {} runs{}\n", count_text(others, "case"),
                        least == most ? std::to_string(least) : fmt::format("{} to {}", least, most),
                        others == 1 ? "" : " each");
  }
  return text.empty() ? "" : "failure rates\n" + text;
}

std::string all_claims_text(const RunModel& model, const std::vector<CaseRates>& all) {
  std::string text = "failure rates\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMostRateCases); ++i)
    text += fmt::format("  {}: {}\n", clean_text(all[i].record->planned.id), claim_text(model, all[i]));
  return text + cases_left_out(all.size());
}

}  // namespace

std::vector<CaseRates> failure_rates(const RunModel& model) {
  const auto& exclusion = model.plan().exclusion;
  std::vector<CaseRates> all;
  if (!exclusion && model.plan().stress_ms == 0) return all;
  const Predecessors predecessors(model);
  for (const CaseRecord& record : model.cases())
    all.push_back(exclusion ? claim_rates(record, *exclusion) : stress_rates(record, predecessors));
  return all;
}

std::string to_string(const FailureRate& rate) {
  if (rate.runs == 0) return "no run passed or failed";
  return fmt::format("{} of {} failed: {} %, 95 % interval {} to {} %", rate.failures,
                     count_text(static_cast<std::size_t>(rate.runs), "run"), percent_text(rate.rate()),
                     percent_text(rate.interval.low), percent_text(rate.interval.high));
}

std::string claim_text(const RunModel& model, const CaseRates& rates) {
  const auto& exclusion = model.plan().exclusion;
  if (!exclusion || !rates.claim) return "";
  const std::string what = fmt::format("a failure rate of {} % or more, with {} % confidence",
                                       percent_text(exclusion->rate), percent_text(exclusion->confidence));
  switch (*rates.claim) {
    case Claim::kExcluded:
      return fmt::format("excluded: {} ({})", what,
                         count_text(static_cast<std::size_t>(rates.all.runs), "run"));
    case Claim::kNotExcluded:
      return fmt::format("not excluded: {}; {}", what, to_string(rates.all));
    case Claim::kOpen:
      return fmt::format("not decided: {}; {} of {} runs, and none failed", what, rates.all.runs,
                         rates.needed);
  }
  return "";
}

std::string failure_rate_text(const RunModel& model) {
  const std::vector<CaseRates> all = failure_rates(model);
  if (all.empty()) return "";
  return model.plan().exclusion ? all_claims_text(model, all) : stress_text(all);
}

}  // namespace proctor
