// The rules that a list of known failures must pass before a release. In a run a wrong entry only causes a
// warning. Here it is an error with its line. The check is a pure function of the list, a point in time, the
// plan and the history. It returns the same result on every machine and at any time. Example:
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

inline constexpr int kLongestKnownDays = 90;  // days from `added` to `expires`
inline constexpr std::size_t kMostKnown = 5;  // limit of cases for an entry that is not `broad`
inline constexpr int kDaysWithoutHit = 14;

// One violation of a rule.
struct KnownFailureFinding {
  // expired · too_long · no_added · added_later · no_owner · no_issue · whole_suite · unused · too_broad · over_cap ·
  // not_hit · passed
  std::string code{};
  std::string place{};  // "known_failures.toml:12"
  int line = 0;
  std::string text{};  // the problem, with its values
};

// A case of a plan.
struct PlannedId {
  std::string id{};
  std::string suite{};    // suite name in the configuration
  std::string backend{};  // "cuda", "xpu" or "none"
};

// The result of a case in a run.
struct PastEnd {
  std::string id{};
  std::string backend{};
  std::string where{};                // distinguishes cells of a matrix or device models
  std::vector<std::string> models{};  // models of the devices that it may have had; empty: unknown
  std::chrono::sys_seconds when{};
  Verdict verdict{};
};

// The input of a check besides the list.
struct KnownFailureCheck {
  std::chrono::sys_seconds at{};
  std::optional<int> max{};                          // the maximum number of entries
  std::optional<std::vector<PlannedId>> planned{};   // none: no plan; checks that need one are skipped
  std::vector<PastEnd> ends{};                       // of the runs to judge
  std::optional<std::vector<PastEnd>> remembered{};  // of the runs of a history, in any order
};

// Returns the findings in the order of the list, and for each entry in the order of the codes.
std::vector<KnownFailureFinding> check_known_failures(const KnownFailures& list,
                                                      const KnownFailureCheck& check);

// Returns whether the entry expects the verdict. The verdict may be from before or after the list was
// applied.
bool is_hit(const KnownFailure& entry, const Verdict& verdict);

// Returns "31 days left", "today is the last day" or "expired 3 days ago".
std::string days_left_text(const KnownFailure& entry, Day today);

}  // namespace proctor
