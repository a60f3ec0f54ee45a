#include "harness/core/outcome_meaning.h"

#include <algorithm>
#include <array>

#include "harness/core/exit_code.h"

namespace proctor {
namespace {

using enum Outcome;
using Of = MeaningOf;
using Junit = JunitElement;
using Ctrf = CtrfStatus;
using Level = AnnotationLevel;
using Gate = GateColour;
using Span = SpanStatus;
using Doubt = DeviceDoubt;

constexpr bool kMidway = true;

// clang-format off
constexpr std::array kMeanings = {
    OutcomeMeaning{kPass, Of::kAll, Junit::kNone, Ctrf::kPassed, Level::kNone, Gate::kGreen, Standing::kPassing,
                   Span::kOk, RunCode::kGreen, ExecCode::kCommand, Shade::kGreen, Doubt::kNone, !kMidway,
                   "passed"},
    OutcomeMeaning{kFail, Of::kAll, Junit::kFailure, Ctrf::kFailed, Level::kError, Gate::kRed, Standing::kFailing,
                   Span::kError, RunCode::kRed, ExecCode::kCommand, Shade::kRed, Doubt::kUnlessExpected, !kMidway,
                   "failed"},
    OutcomeMeaning{kError, Of::kElsewhere, Junit::kError, Ctrf::kFailed, Level::kError, Gate::kRed, Standing::kFailing,
                   Span::kError, RunCode::kRed, ExecCode::kHarness, Shade::kRed, Doubt::kUnlessNotStarted, kMidway,
                   "the harness could not run or read it"},
    OutcomeMeaning{kError, Of::kMachine, Junit::kError, Ctrf::kFailed, Level::kError, Gate::kGrey, Standing::kFailing,
                   Span::kError, RunCode::kMachine, ExecCode::kHarness, Shade::kRed, Doubt::kUnlessNotStarted, kMidway,
                   "the harness could not run or read it"},
    OutcomeMeaning{kTimeout, Of::kElsewhere, Junit::kError, Ctrf::kFailed, Level::kError, Gate::kRed, Standing::kFailing,
                   Span::kError, RunCode::kRed, ExecCode::kLimit, Shade::kRed, Doubt::kYes, kMidway,
                   "still running after its time limit"},
    OutcomeMeaning{kTimeout, Of::kMachine, Junit::kError, Ctrf::kFailed, Level::kError, Gate::kGrey, Standing::kFailing,
                   Span::kError, RunCode::kMachine, ExecCode::kLimit, Shade::kRed, Doubt::kNone, kMidway,
                   "the machine gave it too little CPU time for its time limit"},
    OutcomeMeaning{kStall, Of::kElsewhere, Junit::kError, Ctrf::kFailed, Level::kError, Gate::kRed, Standing::kFailing,
                   Span::kError, RunCode::kRed, ExecCode::kLimit, Shade::kRed, Doubt::kYes, kMidway,
                   "no output for as long as its stall limit"},
    OutcomeMeaning{kStall, Of::kMachine, Junit::kError, Ctrf::kFailed, Level::kError, Gate::kGrey, Standing::kFailing,
                   Span::kError, RunCode::kMachine, ExecCode::kLimit, Shade::kRed, Doubt::kNone, kMidway,
                   "the machine gave it too little CPU time to write anything within its stall limit"},
    OutcomeMeaning{kCrash, Of::kAll, Junit::kError, Ctrf::kFailed, Level::kError, Gate::kRed, Standing::kFailing,
                   Span::kError, RunCode::kRed, ExecCode::kCommand, Shade::kRed, Doubt::kYes, kMidway,
                   "crashed"},
    OutcomeMeaning{kDeviceLost, Of::kAll, Junit::kError, Ctrf::kFailed, Level::kError, Gate::kGrey, Standing::kFailing,
                   Span::kError, RunCode::kMachine, ExecCode::kMachine, Shade::kRed, Doubt::kYes, kMidway,
                   "the driver reported its device as gone"},
    OutcomeMeaning{kSkip, Of::kAll, Junit::kSkipped, Ctrf::kSkipped, Level::kNotice, Gate::kYellow, Standing::kUnrun,
                   Span::kUnset, RunCode::kGreen, ExecCode::kCommand, Shade::kDim, Doubt::kNone, !kMidway,
                   "skipped"},
    OutcomeMeaning{kXfail, Of::kAll, Junit::kSkipped, Ctrf::kSkipped, Level::kNotice, Gate::kYellow, Standing::kExpected,
                   Span::kUnset, RunCode::kGreen, ExecCode::kCommand, Shade::kDim, Doubt::kNone, !kMidway,
                   "fails as known"},
    OutcomeMeaning{kXpass, Of::kOurs, Junit::kFailure, Ctrf::kFailed, Level::kError, Gate::kRed, Standing::kFailing,
                   Span::kError, RunCode::kRed, ExecCode::kCommand, Shade::kYellow, Doubt::kNone, !kMidway,
                   "passed although it is expected to fail; remove its entry in the list, or its xfail marker"},
    OutcomeMeaning{kXpass, Of::kForeign, Junit::kSkipped, Ctrf::kOther, Level::kWarning, Gate::kYellow,
                   Standing::kExpected, Span::kUnset, RunCode::kGreen, ExecCode::kCommand, Shade::kYellow, Doubt::kNone,
                   !kMidway,
                   "passed although it is expected to fail; remove its entry in the list, or its xfail marker"},
    OutcomeMeaning{kNotrun, Of::kElsewhere, Junit::kError, Ctrf::kOther, Level::kWarning, Gate::kRed, Standing::kUnrun,
                   Span::kError, RunCode::kIncomplete, ExecCode::kCommand, Shade::kYellow, Doubt::kNone, !kMidway,
                   "not run"},
    OutcomeMeaning{kNotrun, Of::kMachine, Junit::kError, Ctrf::kOther, Level::kError, Gate::kGrey, Standing::kUnrun,
                   Span::kError, RunCode::kMachine, ExecCode::kCommand, Shade::kYellow, Doubt::kNone, !kMidway,
                   "not run"},
};
// clang-format on

// A row for all, or one for each of two that are all.
constexpr bool covers_every_verdict(Outcome outcome) {
  const auto has = [outcome](Of of) {
    return std::ranges::any_of(
        kMeanings, [=](const OutcomeMeaning& row) { return row.outcome == outcome && row.of == of; });
  };
  return has(Of::kAll) || (has(Of::kMachine) && has(Of::kElsewhere)) || (has(Of::kOurs) && has(Of::kForeign));
}
static_assert(std::ranges::all_of(kAllOutcomes, covers_every_verdict));

bool is_for(const OutcomeMeaning& row, const Verdict& verdict, std::string_view kind) {
  if (row.outcome != verdict.outcome) return false;
  switch (row.of) {
    case Of::kAll:
      return true;
    case Of::kMachine:
      return is_machine_outcome(verdict);
    case Of::kElsewhere:
      return !is_machine_outcome(verdict);
    case Of::kOurs:
      return is_bad(verdict.outcome, kind);
    case Of::kForeign:
      return !is_bad(verdict.outcome, kind);
  }
  return false;
}

// The names of an enumeration, in its order.
template <std::size_t N, typename Enum>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

}  // namespace

std::span<const OutcomeMeaning> outcome_meanings() { return kMeanings; }

const OutcomeMeaning& meaning_of(const Verdict& verdict, std::string_view kind) {
  return *std::ranges::find_if(kMeanings,
                               [&](const OutcomeMeaning& row) { return is_for(row, verdict, kind); });
}

std::string_view to_string(JunitElement element) {
  return name_in(std::to_array<std::string_view>({"", "failure", "error", "skipped"}), element);
}

std::string_view to_string(CtrfStatus status) {
  return name_in(std::to_array<std::string_view>({"passed", "failed", "skipped", "other"}), status);
}

std::string_view to_string(AnnotationLevel level) {
  return name_in(std::to_array<std::string_view>({"", "notice", "warning", "error"}), level);
}

std::string_view to_string(GateColour colour) {
  return name_in(std::to_array<std::string_view>({"green", "yellow", "red", "grey"}), colour);
}

std::string_view to_string(Standing standing) {
  return name_in(std::to_array<std::string_view>({"passing", "failing", "expected", "unrun"}), standing);
}

std::string_view to_string(SpanStatus status) {
  return name_in(std::to_array<std::string_view>({"OK", "ERROR", "UNSET"}), status);
}

std::string_view to_string(MeaningOf of) {
  return name_in(
      std::to_array<std::string_view>({"", "the machine's", "any other", "of our suites", "of others"}), of);
}

std::string junit_type(Outcome outcome) { return "proctor." + std::string(to_string(outcome)); }

std::string_view span_result(const Verdict& verdict, std::string_view kind) {
  switch (meaning_of(verdict, kind).span) {
    case SpanStatus::kOk:
      return "pass";
    case SpanStatus::kError:
      return "fail";
    case SpanStatus::kUnset:
      return to_string(verdict.outcome);
  }
  return {};
}

int exit_code_of(RunCode code) {
  switch (code) {
    case RunCode::kGreen:
      return kExitGreen;
    case RunCode::kRed:
      return kExitRed;
    case RunCode::kMachine:
      return kExitMachine;
    case RunCode::kIncomplete:
      return kExitIncomplete;
  }
  return kExitMachine;
}

}  // namespace proctor
