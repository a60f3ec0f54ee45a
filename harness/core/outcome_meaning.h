// What an outcome means to everybody who reads results: one table, which each writer of a format, the exit codes, the
// console and the care of devices read in place of a `switch` of their own. A new outcome is a new row, and a new
// format a new column; docs/reference/outcomes.md shows the table, and a test holds the page to it.
//
// Nothing shows `notrun` or `xpass` as good: neither is a pass in any column.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/core/outcome.h"

namespace proctor {

// Which verdicts of its outcome a row is for.
enum class MeaningOf {
  kAll,
  kMachine,    // is_machine_outcome()
  kElsewhere,  // not so: another machine would say the same
  kOurs,       // of a case of our own suites
  kForeign,    // of a case of other suites
};

enum class JunitElement { kNone, kFailure, kError, kSkipped };
enum class CtrfStatus { kPassed, kFailed, kSkipped, kOther };
enum class AnnotationLevel { kNone, kNotice, kWarning, kError };
// What a gate makes of it: yellow needs an entry of the policy that allows it, grey is a machine's trouble and counts as
// not there.
enum class GateColour { kGreen, kYellow, kRed, kGrey };
// As which of these a comparison of two runs takes it; its classes are pairs of them (regression: passing, failing).
enum class Standing { kPassing, kFailing, kExpected, kUnrun };
enum class SpanStatus { kOk, kError, kUnset };
// Whose exit code it is. Nobody's: the run stays green.
enum class RunCode { kGreen, kRed, kMachine, kIncomplete };
// Whose code `exec` ends with: its command's own, that of a limit, the machine's, or that of a failure of ours.
enum class ExecCode { kCommand, kLimit, kMachine, kHarness };
enum class Shade { kGreen, kDim, kYellow, kRed };
// Whether the devices of the case are looked at before others get them.
enum class DeviceDoubt {
  kNone,
  kYes,
  kUnlessExpected,    // not where a list expects it
  kUnlessNotStarted,  // not where nothing was started
};

struct OutcomeMeaning {
  Outcome outcome;
  MeaningOf of;
  JunitElement junit;
  CtrfStatus ctrf;
  AnnotationLevel github;
  GateColour gate;
  Standing standing;
  SpanStatus span;
  RunCode run;
  ExecCode exec;
  Shade shade;
  DeviceDoubt doubt;
  bool midway;             // it ended in the middle of something: its last step is worth a word
  std::string_view words;  // what happened, for people, where nothing more is known
};

// In the order of the outcomes.
std::span<const OutcomeMeaning> outcome_meanings();

// `kind`: of the case's suite, as in the configuration. Only an unexpected pass depends on it.
const OutcomeMeaning& meaning_of(const Verdict& verdict, std::string_view kind = {});

// "failure", "error", "skipped"; "" for none.
std::string_view to_string(JunitElement element);
std::string_view to_string(CtrfStatus status);
std::string_view to_string(AnnotationLevel level);  // "error"; "" for none
std::string_view to_string(GateColour colour);
std::string_view to_string(Standing standing);
std::string_view to_string(SpanStatus status);
std::string_view to_string(MeaningOf of);  // "the machine's"; "" for all

// "proctor.crash": the `type` of a JUnit element, and what the message of `skipped` begins with.
std::string junit_type(Outcome outcome);

// The attribute test.case.result.status: `pass` and `fail` are OpenTelemetry's own words, the others are ours.
std::string_view span_result(const Verdict& verdict, std::string_view kind = {});

// The code of `proctor run` (harness/core/exit_code.h).
int exit_code_of(RunCode code);

}  // namespace proctor
