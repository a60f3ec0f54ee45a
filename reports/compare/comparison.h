// The changes between two runs, case by case. `proctor report diff` and the page of two runs use it. Only results of
// one variant of one case are compared, so a simulated result is never compared with one of hardware. Variants that
// only one run has are listed.
//
// The result classes of a case before and after (harness/journal/outcome_meaning.h) give its
// change; "-" is a missing case:
//
//   before \ after   passing       failing         expected    notrun        -
//   passing                        regression      xfail_now   skipped_now   disappeared
//   failing          fixed         still_failing   xfail_now   skipped_now   disappeared
//   expected         fixed         regression                  skipped_now   disappeared
//   notrun           ran_again     new_failing     ran_again                 disappeared
//   -                new_passing   new_failing     appeared    appeared
//
// A case with the outcome `notrun` in the newer run (the run failed or was stopped before) is
// not_run_now instead of skipped_now.
//
// A case that both runs executed may also have these changes:
//   more_flaky, less_flaky   it is flaky only in the newer run; it is flaky only in the older run
//   slower, faster      measures of one name and unit differ by more than 5 %, and by more than three times their
//                       combined standard error, sqrt(spread² / n of each). The unit determines the direction: a larger
//                       time is slower, and a smaller value of a unit that ends in "/s" is slower. Not compared are
//                       other units, measures of one sample, and measures of simulated devices, whose speed is
//                       meaningless. The duration of a case is not a measure and is not compared either.
//
// A file of another runner has no variants. Its cases have the unknown variant (is_unknown()), which is compared with
// every other variant. Example:
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

// A closed set. A case has at most one change of the first group, and any of the second group.
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

// A measure of a case in both runs.
struct MeasureChange {
  std::string name{};
  std::string unit{};
  double before = 0;
  double after = 0;
};

// One change of one case.
struct CaseChange {
  Change change = Change::kRegression;
  std::uint32_t before = kNotThere;  // index in the cases of the older run
  std::uint32_t after = kNotThere;   // index in the cases of the newer run
  std::vector<MeasureChange>
      measures{};  // for slower and faster: the measures that differ beyond their noise
};

// A suite whose program has another digest in the newer run.
struct ProgramChange {
  std::string suite{};
  std::string backend{};
  std::string before{};  // SHA-256 digests
  std::string after{};
};

// The result of compare().
struct Comparison {
  std::vector<FactChange> stack{};  // facts that changed; a fact that is unknown in one run is omitted
  std::vector<ProgramChange> programs{};
  std::vector<CaseChange> changes{};  // by class; within one class in the order of the newer plan
  // Variants without a counterpart. If the other run has their suite in another variant, their cases are not compared.
  // If the other run does not have the suite, their cases disappeared or appeared.
  std::vector<Variant> only_before{};
  std::vector<Variant> only_after{};
  std::size_t compared = 0;   // cases that both runs have in one variant
  std::size_t unchanged = 0;  // compared cases without any change
};

// Returns whether this is the variant of cases whose device and stack are unknown.
bool is_unknown(const Variant& variant);

Comparison compare(const RunResults& before, const RunResults& after);

// Returns the number of cases of each class, in the order of kAllChanges.
std::array<std::size_t, kAllChanges.size()> counts_of(const Comparison& comparison);

}  // namespace proctor
