#include "harness/journal/outcome_meaning.h"

#include <array>

#include "harness/base/words.h"

namespace proctor {
namespace {

struct VerdictRow {
  RunVerdict verdict;
  std::string_view name;
  int exit_code;
};
constexpr std::array kVerdicts = {VerdictRow{RunVerdict::kPassed, "passed", kExitGreen},
                                  VerdictRow{RunVerdict::kIncomplete, "incomplete", kExitIncomplete},
                                  VerdictRow{RunVerdict::kInterrupted, "interrupted", kExitIncomplete},
                                  VerdictRow{RunVerdict::kMachineFailed, "machine_failed", kExitMachine},
                                  VerdictRow{RunVerdict::kFailed, "failed", kExitRed}};
static_assert(std::ranges::is_sorted(kVerdicts, {}, &VerdictRow::verdict));

const VerdictRow& row_of(RunVerdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

using enum Outcome;
using Of = MeaningOf;
using Suspicion = DeviceSuspicion;

constexpr bool kMidway = true;

// clang-format off
constexpr OutcomeMeaning kMeanings[] = {
    {kPass, Of::kAll, ResultClass::kPassing, RunVerdict::kPassed, ExecCode::kCommand, Shade::kGreen, Suspicion::kNone, !kMidway,
     "passed"},
    {kFail, Of::kAll, ResultClass::kFailing, RunVerdict::kFailed, ExecCode::kCommand, Shade::kRed, Suspicion::kUnlessExpected, !kMidway,
     "failed"},
    {kError, Of::kElsewhere, ResultClass::kFailing, RunVerdict::kFailed, ExecCode::kHarness, Shade::kRed, Suspicion::kUnlessNotStarted, kMidway,
     "the harness could not run or read it"},
    {kError, Of::kMachine, ResultClass::kFailing, RunVerdict::kMachineFailed, ExecCode::kHarness, Shade::kRed, Suspicion::kUnlessNotStarted, kMidway,
     "the harness could not run or read it"},
    {kTimeout, Of::kElsewhere, ResultClass::kFailing, RunVerdict::kFailed, ExecCode::kLimit, Shade::kRed, Suspicion::kYes, kMidway,
     "still running after its time limit"},
    {kTimeout, Of::kMachine, ResultClass::kFailing, RunVerdict::kMachineFailed, ExecCode::kLimit, Shade::kRed, Suspicion::kNone, kMidway,
     "the machine gave it too little CPU time for its time limit"},
    {kStall, Of::kElsewhere, ResultClass::kFailing, RunVerdict::kFailed, ExecCode::kLimit, Shade::kRed, Suspicion::kYes, kMidway,
     "no output for as long as its stall limit"},
    {kStall, Of::kMachine, ResultClass::kFailing, RunVerdict::kMachineFailed, ExecCode::kLimit, Shade::kRed, Suspicion::kNone, kMidway,
     "the machine gave it too little CPU time to write anything within its stall limit"},
    {kCrash, Of::kAll, ResultClass::kFailing, RunVerdict::kFailed, ExecCode::kCommand, Shade::kRed, Suspicion::kYes, kMidway,
     "crashed"},
    {kDeviceLost, Of::kAll, ResultClass::kFailing, RunVerdict::kMachineFailed, ExecCode::kMachine, Shade::kRed, Suspicion::kYes, kMidway,
     "the driver reported its device as gone"},
    {kSkip, Of::kAll, ResultClass::kNotrun, RunVerdict::kPassed, ExecCode::kCommand, Shade::kDim, Suspicion::kNone, !kMidway,
     "skipped"},
    {kXfail, Of::kAll, ResultClass::kExpected, RunVerdict::kPassed, ExecCode::kCommand, Shade::kDim, Suspicion::kNone, !kMidway,
     "fails as known"},
    {kXpass, Of::kOurs, ResultClass::kFailing, RunVerdict::kFailed, ExecCode::kCommand, Shade::kYellow, Suspicion::kNone, !kMidway,
     "passed although it is expected to fail; remove its entry in the list, or its xfail marker"},
    {kXpass, Of::kForeign, ResultClass::kExpected, RunVerdict::kPassed, ExecCode::kCommand, Shade::kYellow, Suspicion::kNone, !kMidway,
     "passed although it is expected to fail; remove its entry in the list, or its xfail marker"},
    {kNotrun, Of::kElsewhere, ResultClass::kNotrun, RunVerdict::kIncomplete, ExecCode::kCommand, Shade::kYellow, Suspicion::kNone, !kMidway,
     "not run"},
    {kNotrun, Of::kMachine, ResultClass::kNotrun, RunVerdict::kMachineFailed, ExecCode::kCommand, Shade::kYellow, Suspicion::kNone, !kMidway,
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

std::string_view to_string(ResultClass result_class) {
  return name_in({"passing", "failing", "expected", "notrun"}, result_class);
}

std::string_view to_string(MeaningOf of) {
  return name_in({"", "the machine's", "any other", "of built-in suites", "of others"}, of);
}

std::string_view to_string(RunVerdict verdict) { return row_of(verdict).name; }

std::optional<RunVerdict> parse_run_verdict(std::string_view text) {
  const auto* row = std::ranges::find(kVerdicts, text, &VerdictRow::name);
  return row == kVerdicts.end() ? std::nullopt : std::optional(row->verdict);
}

std::string describe(RunVerdict verdict) {
  std::string words(to_string(verdict));
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string title_of(RunVerdict verdict) {
  std::string title = describe(verdict);
  title.replace(0, 1, upper_case(title.substr(0, 1)));
  return title;
}

std::string headline(RunVerdict verdict) { return upper_case(describe(verdict)); }

int exit_code_of(RunVerdict verdict) { return row_of(verdict).exit_code; }

}  // namespace proctor
