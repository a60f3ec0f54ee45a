// Describes one outcome to people. Every failure states its owner, the failure, the command to rerun it, and where to
// look. The text may change; programs read the verdict. No function here changes the run except resolve_headlines().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/resolve/resolved_case.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// A fact about a case in addition to its outcome, as text.
struct CaseFact {
  std::string_view name;   // for programs: "by_device"
  std::string_view label;  // for people: "devices"
  std::string text{};
};
// Returns the known facts. JUnit shows each in the text and in the properties of a case.
std::vector<CaseFact> facts_of(const ResolvedCase& test);

// Returns "the stack under test: Level Zero driver 26.31". Returns "" if the culprit is unknown, or if it is a test,
// because the case id names the test.
std::string culprit_text(const ResolvedCase& test);

// Returns "code (the stack under test: Level Zero driver 26.31)"; "none (interrupted)" for an interrupted case.
std::string problem_text(const ResolvedCase& test);

// Returns "device_lost (xid:79): NVRM: Xid ..." in one line; "" if it would only repeat the outcome.
std::string cause_text(const Diagnosis* diagnosis);

// Returns the next step in one sentence; "" if the failure itself shows it.
std::string next_text(const Diagnosis* diagnosis);

// Returns the source line, the log, the rule and its source. If there are none, it returns what to check instead. Files
// are named relative to the run directory; `run_dir` may be put before them.
std::string evidence_location(const ResolvedCase& test, const std::string& run_dir = {});

// Returns owner, failure, rerun command and locations, one line each, and the next step. After a timeout or a stall, at
// most ten lines of evidence follow. Every line ends with a newline.
std::string summarize_failure(const ResolvedCase& test, const std::string& run_dir = {});

// The same for the console, which shows the message first: without the failure, and in another order.
std::string answers_below_message(const ResolvedCase& test, const std::string& run_dir = {});

// Returns the note of the case's end record in one line; "" if it has none.
std::string note_text(const ResolvedCase& test);

// Returns "fail(exit:3) at attempt 1, pass at the last" or "fail in a shared process, pass alone"; "" for a case that
// is not flaky.
std::string flaky_attempts_text(const ResolvedCase& test);

// Returns the first bad attempt. If there is none, it returns the first attempt in which the framework repeated the
// case after a failure.
const Attempt* first_bad_attempt(const ResolvedCase& test);

// Returns "NVIDIA H100 PCIe · 0000:4d:00.0 · 10de:2331 · 9.0", as far as its driver
// reports these; "" if it reports none.
std::string model_text(const PlannedDevice& device);

// Sets the headlines of the case and of its attempts, and ResolvedCase::devices_text.
void resolve_headlines(const ResolvedRun& run, ResolvedCase& test);

// Returns the processes that outlived a case: "process 4711 (sleep 600)". If several cases shared a process, it also
// returns the cases that may have started it. Returns "" if there is no such process.
std::string leak_text(const Termination& termination);

}  // namespace proctor
