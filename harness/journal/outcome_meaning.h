// The meaning of each outcome for the exit codes, the console, the history and the checks of devices, in one
// table. The report formats have their own table in reports/formats/formats.h. A new outcome is a new row in
// both. docs/reference/outcomes.md shows them, and a test compares this page with them.
//
// No column shows `notrun` or `xpass` as passed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/journal/outcome.h"

namespace proctor {

// ---- Exit codes ----
// Exit codes of `proctor run` (docs/reference/outcomes.md). They are public: a number never gets another
// meaning.

inline constexpr int kExitGreen = 0;
inline constexpr int kExitRed = 1;         // the code failed
inline constexpr int kExitUsage = 2;       // usage or plan refused; nothing was started
inline constexpr int kExitIncomplete = 3;  // something planned was not run
inline constexpr int kExitMachine = 75;    // the machine failed: retry elsewhere

// `exec` returns the exit code of its command, except for these.
inline constexpr int kExecTimeout = 124;
inline constexpr int kExecInternal = 125;
inline constexpr int kExecNotExecutable = 126;
inline constexpr int kExecNotFound = 127;

// ---- Verdict ----
// Of a run, a gate, a cell of a gate, the acceptance of a device, a node. Every output takes its words from here
// (docs/internals/words.md). Of several runs, the greatest is that of all.

enum class RunVerdict { kPassed, kIncomplete, kInterrupted, kMachineFailed, kFailed };

std::string_view to_string(RunVerdict verdict);  // "machine_failed": in every machine-readable output
std::optional<RunVerdict> parse_run_verdict(std::string_view text);
std::string describe(RunVerdict verdict);  // "machine failed"
std::string title_of(RunVerdict verdict);  // "Machine failed"
std::string headline(RunVerdict verdict);  // "MACHINE FAILED": of console and summary
int exit_code_of(RunVerdict verdict);
constexpr RunVerdict passed_or_failed(bool passed) {
  return passed ? RunVerdict::kPassed : RunVerdict::kFailed;
}

// Which verdicts of its outcome a row is for.
enum class MeaningOf {
  kAll,
  kMachine,    // is_machine_outcome()
  kElsewhere,  // the others: another machine would give the same
  kOurs,       // of a case of our own suites
  kForeign,    // of a case of other suites
};

// The class of an outcome in a comparison of two runs. A pair of them is a class of the comparison (passing,
// failing: regression).
enum class ResultClass { kPassing, kFailing, kExpected, kNotrun };
// Whose code `exec` ends with: its command's own, that of a limit, the machine's, or that of a failure of ours.
enum class ExecCode { kCommand, kLimit, kMachine, kHarness };
// The colour of an outcome on the console.
enum class Shade { kGreen, kDim, kYellow, kRed };
// The condition under which the devices of the case are examined before other cases get them.
enum class DeviceSuspicion {
  kNone,
  kYes,
  kUnlessExpected,    // not if a list expects the outcome
  kUnlessNotStarted,  // not if no process was started
};

// A row of the table: the meaning of one outcome, for the cases that `of` selects.
struct OutcomeMeaning {
  Outcome outcome;
  MeaningOf of;
  ResultClass result_class;
  RunVerdict run;  // of a run with such a case alone
  ExecCode exec;
  Shade shade;
  DeviceSuspicion suspicion;
  bool midway;             // it ended in the middle of some work, so its last step is worth showing
  std::string_view words;  // what happened, for people, if no details are known
};

// Returns true if a row of that kind applies to the verdict. `kind`: of the suite of the case, as in the
// configuration. Only an unexpected pass depends on it.
bool is_row_for(MeaningOf of, const Verdict& verdict, std::string_view kind);

// Returns true if the rows cover every verdict: each outcome has one row for all cases, or two that cover all of them
// together.
template <typename Rows>
constexpr bool cover_every_verdict(const Rows& rows) {
  return std::ranges::all_of(kAllOutcomes, [&](Outcome outcome) {
    const auto has = [&](MeaningOf of) {
      return std::ranges::any_of(rows,
                                 [=](const auto& row) { return row.outcome == outcome && row.of == of; });
    };
    return has(MeaningOf::kAll) || (has(MeaningOf::kMachine) && has(MeaningOf::kElsewhere)) ||
           (has(MeaningOf::kOurs) && has(MeaningOf::kForeign));
  });
}

template <typename Rows>
const auto& row_for(const Rows& rows, const Verdict& verdict, std::string_view kind) {
  return *std::ranges::find_if(rows, [&](const auto& row) {
    return row.outcome == verdict.outcome && is_row_for(row.of, verdict, kind);
  });
}

// Returns the name of a value of an enumeration that begins with 0.
template <std::size_t N, typename Enum>
std::string_view name_in(const std::string_view (&names)[N], Enum value) {
  return names[static_cast<std::size_t>(value)];
}

// The rows in the order of the outcomes.
std::span<const OutcomeMeaning> outcome_meanings();

const OutcomeMeaning& meaning_of(const Verdict& verdict, std::string_view kind = {});

std::string_view to_string(ResultClass result_class);
std::string_view to_string(MeaningOf of);  // "the machine's"; "" for all

}  // namespace proctor
