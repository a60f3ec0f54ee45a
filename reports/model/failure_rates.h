// How often each case failed in a run that repeated its cases to find out: `--repeat 2h` and `--repeat 99%:1%`. Console,
// report.json, summary and page say what is computed here.
//
// An attempt that passed or failed is a run of the case, also a retry and one that confirms another. Attempts that were
// skipped or cut short do not count, nor does one whose device was found unhealthy: it says nothing about the case. With
// a rate to exclude, nothing counts after the first failure, which ends the claim.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/failure_rate.h"
#include "reports/model/run_model.h"

namespace proctor {

struct FailureRate {
  int runs = 0;
  int failures = 0;
  RateInterval interval{};  // of 95 %

  double rate() const { return runs > 0 ? static_cast<double>(failures) / runs : 0; }
};

// What its runs have in common: the id of their devices, joined by '+', or a place in their process.
struct RatePart {
  std::string of{};
  FailureRate rate{};
};

struct CaseRates {
  const CaseRecord* record = nullptr;
  FailureRate all{};
  std::optional<Claim> claim{};  // of a rate to exclude
  int needed = 0;                // for the claim: runs without a failure
  // Of turns. By device: where it used any. By order: where it shared a process; "alone", "first in its process", or
  // "after CASE", the case just before it.
  std::vector<RatePart> by_device{};
  std::vector<RatePart> by_order{};
};

// Of a run with turns, or with a rate to exclude, in the planned order; none of any other run.
std::vector<CaseRates> failure_rates(const RunModel& model);

// "3 of 120 runs failed: 2.5 %, 95 % interval 0.85 to 7.1 %".
std::string to_string(const FailureRate& rate);
// "excluded: a failure rate of 1 % or more, with 99 % confidence (459 runs)"; of a rate to exclude only.
std::string claim_text(const RunModel& model, const CaseRates& rates);

// For people, at the end of the run: cases that failed with their parts, and what is known of the others. "" of a run that
// has no rates.
std::string failure_rate_text(const RunModel& model);

}  // namespace proctor
