// What a list of known failures must be before anything is released by it. For a run an entry that is wrong does nothing but
// warn; here each one is an error with its line. A pure function of the list, the moment and what is planned and remembered:
// the same answer on any machine and at any hour. Example:
//
//   const KnownFailures list = *load_known_failures("known_failures.toml");
//   for (const auto& finding : check_known_failures(list, {.at = *parse_utc("2026-11-23T12:00:00Z"), .max = 10}))
//     std::printf("%s: %s\n", finding.place.c_str(), finding.text.c_str());
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/known_failures.h"

namespace proctor {

inline constexpr int kLongestKnownDays = 90;  // from `added` to `expires`
inline constexpr std::size_t kMostKnown = 5;  // cases of an entry that is not `broad`
inline constexpr int kDaysWithoutHit = 14;

struct KnownFailureFinding {
  // expired · too_long · no_added · added_later · no_owner · no_issue · whole_suite · unused · too_broad · over_cap ·
  // not_hit · passed
  std::string code{};
  std::string place{};  // "known_failures.toml:12"
  int line = 0;
  std::string text{};  // what is wrong, and with what
};

// A case as a plan has it.
struct PlannedId {
  std::string id{};
  std::string suite{};    // the name in the config
  std::string backend{};  // "cuda", "xpu" or "none"
};

// How a case ended in some run.
struct PastEnd {
  std::string id{};
  std::string backend{};
  std::string where{};                // a text that differs where the case is another one: a cell, the models
  std::vector<std::string> models{};  // of the devices that it may have had; empty: nobody knows
  std::chrono::sys_seconds when{};
  Verdict verdict{};
};

struct KnownFailureCheck {
  std::chrono::sys_seconds at{};
  std::optional<int> max{};  // how many entries the list may have
  std::optional<std::vector<PlannedId>>
      planned{};                // none: no plan is known, and what would need one is not looked at
  std::vector<PastEnd> ends{};  // of the runs that are judged now
  std::optional<std::vector<PastEnd>> remembered{};  // of the runs of a history, in any order
};

// In the order of the list, and for each entry in that of the codes.
std::vector<KnownFailureFinding> check_known_failures(const KnownFailures& list,
                                                      const KnownFailureCheck& check);

// Whether the verdict is the one that the entry expects: before the list was applied to it, or after.
bool is_hit(const KnownFailure& entry, const Verdict& verdict);

// "31 days left", "today is the last day", "expired 3 days ago".
std::string days_left_text(const KnownFailure& entry, Day today);

}  // namespace proctor
