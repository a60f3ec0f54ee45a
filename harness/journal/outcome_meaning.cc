#include "harness/journal/outcome_meaning.h"

namespace proctor {
namespace {

using enum Outcome;
using Of = MeaningOf;
using Doubt = DeviceDoubt;

constexpr bool kMidway = true;

// clang-format off
constexpr OutcomeMeaning kMeanings[] = {
    {kPass, Of::kAll, Standing::kPassing, RunCode::kGreen, ExecCode::kCommand, Shade::kGreen, Doubt::kNone, !kMidway,
     "passed"},
    {kFail, Of::kAll, Standing::kFailing, RunCode::kRed, ExecCode::kCommand, Shade::kRed, Doubt::kUnlessExpected, !kMidway,
     "failed"},
    {kError, Of::kElsewhere, Standing::kFailing, RunCode::kRed, ExecCode::kHarness, Shade::kRed, Doubt::kUnlessNotStarted, kMidway,
     "the harness could not run or read it"},
    {kError, Of::kMachine, Standing::kFailing, RunCode::kMachine, ExecCode::kHarness, Shade::kRed, Doubt::kUnlessNotStarted, kMidway,
     "the harness could not run or read it"},
    {kTimeout, Of::kElsewhere, Standing::kFailing, RunCode::kRed, ExecCode::kLimit, Shade::kRed, Doubt::kYes, kMidway,
     "still running after its time limit"},
    {kTimeout, Of::kMachine, Standing::kFailing, RunCode::kMachine, ExecCode::kLimit, Shade::kRed, Doubt::kNone, kMidway,
     "the machine gave it too little CPU time for its time limit"},
    {kStall, Of::kElsewhere, Standing::kFailing, RunCode::kRed, ExecCode::kLimit, Shade::kRed, Doubt::kYes, kMidway,
     "no output for as long as its stall limit"},
    {kStall, Of::kMachine, Standing::kFailing, RunCode::kMachine, ExecCode::kLimit, Shade::kRed, Doubt::kNone, kMidway,
     "the machine gave it too little CPU time to write anything within its stall limit"},
    {kCrash, Of::kAll, Standing::kFailing, RunCode::kRed, ExecCode::kCommand, Shade::kRed, Doubt::kYes, kMidway,
     "crashed"},
    {kDeviceLost, Of::kAll, Standing::kFailing, RunCode::kMachine, ExecCode::kMachine, Shade::kRed, Doubt::kYes, kMidway,
     "the driver reported its device as gone"},
    {kSkip, Of::kAll, Standing::kUnrun, RunCode::kGreen, ExecCode::kCommand, Shade::kDim, Doubt::kNone, !kMidway,
     "skipped"},
    {kXfail, Of::kAll, Standing::kExpected, RunCode::kGreen, ExecCode::kCommand, Shade::kDim, Doubt::kNone, !kMidway,
     "fails as known"},
    {kXpass, Of::kOurs, Standing::kFailing, RunCode::kRed, ExecCode::kCommand, Shade::kYellow, Doubt::kNone, !kMidway,
     "passed although it is expected to fail; remove its entry in the list, or its xfail marker"},
    {kXpass, Of::kForeign, Standing::kExpected, RunCode::kGreen, ExecCode::kCommand, Shade::kYellow, Doubt::kNone, !kMidway,
     "passed although it is expected to fail; remove its entry in the list, or its xfail marker"},
    {kNotrun, Of::kElsewhere, Standing::kUnrun, RunCode::kIncomplete, ExecCode::kCommand, Shade::kYellow, Doubt::kNone, !kMidway,
     "not run"},
    {kNotrun, Of::kMachine, Standing::kUnrun, RunCode::kMachine, ExecCode::kCommand, Shade::kYellow, Doubt::kNone, !kMidway,
     "not run"},
};
// clang-format on

static_assert(cover_every_verdict(kMeanings));

}  // namespace

bool is_row_for(MeaningOf of, const Verdict& verdict, std::string_view kind) {
  switch (of) {
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

std::span<const OutcomeMeaning> outcome_meanings() { return kMeanings; }

const OutcomeMeaning& meaning_of(const Verdict& verdict, std::string_view kind) {
  return row_for(kMeanings, verdict, kind);
}

std::string_view to_string(Standing standing) {
  return name_in({"passing", "failing", "expected", "unrun"}, standing);
}

std::string_view to_string(MeaningOf of) {
  return name_in({"", "the machine's", "any other", "of our suites", "of others"}, of);
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
