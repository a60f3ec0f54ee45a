// What changed between two runs, case by case. Only results of one variant of one case are compared, so a simulated one
// never with one of hardware; what only one of the runs has is listed as such.
//
// By the standings of a case before and after (harness/journal/outcome_meaning.h); "-" is not there:
//
//   before \ after   passing       failing         expected    unrun         -
//   passing                        regression      xfail_now   skipped_now   disappeared
//   failing          fixed         still_failing   xfail_now   skipped_now   disappeared
//   expected         fixed         regression                  skipped_now   disappeared
//   unrun            ran_again     new_failing     ran_again                 disappeared
//   -                new_passing   new_failing     appeared    appeared
//
// What the newer run did not come to (`notrun`: it was red, or stopped) is not_run_now in place of skipped_now.
//
// Beside these, of a case that both ran:
//   more_flaky, less_flaky   it has become flaky; it was flaky and now passes at once
//   slower, faster      measures of one name and unit differ by more than 5 % and by more than three times their
//                       standard error together, sqrt(spread² / n of each). Which direction is slower, the unit says: of
//                       times the larger, of what ends in "/s" the smaller. Other units, measures of one sample, and
//                       those of simulated devices, whose speed says nothing, are not judged. Nor is the duration of a
//                       case: it is no measure.
//
// A file of somebody else's runner knows no variants: its cases are of the one that says nothing (is_unknown()), which
// goes with every other. Example:
//
//   std::vector<std::string> regressions(const RunResults& yesterday, const RunResults& today) {
//     std::vector<std::string> ids;
//     for (const CaseChange& change : compare(yesterday, today).changes) {
//       if (change.change == Change::kRegression) ids.push_back(today.cases[change.after].id);
//     }
//     return ids;
//   }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/resolve/run_results.h"

namespace proctor {

// Closed. A case has at most one of the first group; the others may stand beside it.
enum class Change {
  kRegression,
  kFixed,
  kStillFailing,
  kNewFailing,
  kNewPassing,
  kAppeared,
  kDisappeared,
  kSkippedNow,
  kNotRunNow,
  kRanAgain,
  kXfailNow,

  kFlakier,
  kSteadier,
  kSlower,
  kFaster,
};

inline constexpr std::array kAllChanges = {Change::kRegression,  Change::kFixed,      Change::kStillFailing,
                                           Change::kNewFailing,  Change::kNewPassing, Change::kAppeared,
                                           Change::kDisappeared, Change::kSkippedNow, Change::kNotRunNow,
                                           Change::kRanAgain,    Change::kXfailNow,   Change::kFlakier,
                                           Change::kSteadier,    Change::kSlower,     Change::kFaster};

std::string_view to_string(Change change);  // "still_failing"
std::optional<Change> parse_change(std::string_view text);

inline constexpr std::uint32_t kNotThere = UINT32_MAX;

struct MeasureChange {
  std::string name{};
  std::string unit{};
  double before = 0;
  double after = 0;
};

struct CaseChange {
  Change change = Change::kRegression;
  std::uint32_t before = kNotThere;       // index in the cases of the older run
  std::uint32_t after = kNotThere;        // and of the newer one
  std::vector<MeasureChange> measures{};  // slower, faster: those beyond their noise
};

struct ProgramChange {
  std::string suite{};
  std::string backend{};
  std::string before{};  // digests
  std::string after{};
};

struct Comparison {
  std::vector<FactChange> stack{};  // facts that moved; of one that a run does not know nothing is said
  std::vector<ProgramChange> programs{};
  std::vector<CaseChange> changes{};  // by class, within one in the order of the newer plan
  // Variants with no counterpart. Where the other run has their suite in another variant, their cases are not
  // compared; where it does not have the suite at all, they have disappeared or appeared.
  std::vector<Variant> only_before{};
  std::vector<Variant> only_after{};
  std::size_t compared = 0;   // cases that both have in one variant
  std::size_t unchanged = 0;  // of these, those that stand in no class
};

// The variant of cases of which nobody knows where they ran.
bool is_unknown(const Variant& variant);

Comparison compare(const RunResults& before, const RunResults& after);

// How many cases each class has, in the order of kAllChanges.
std::array<std::size_t, kAllChanges.size()> counts_of(const Comparison& comparison);

}  // namespace proctor
