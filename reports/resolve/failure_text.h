// What people read about one outcome. Every failure states its owner, what happened, how to run
// it again and where to look. The text is for people and may change; programs read the verdict.
//
// What happened to a case and in each of its attempts, in one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/resolve/resolved_case.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// A fact about a case besides its outcome, in words.
struct CaseFact {
  std::string_view name;   // for programs: "by_device"
  std::string_view label;  // for people: "devices"
  std::string text{};
};
// Returns the known facts. JUnit shows each in the text and in the properties of a case.
std::vector<CaseFact> facts_of(const ResolvedCase& test);

// "the stack under test: Level Zero driver 26.31"; "" where nobody is known, and for a test, which its id names.
std::string culprit_text(const ResolvedCase& test);

// "code (the stack under test: Level Zero driver 26.31)"; "none (interrupted)" of a case that was cut short.
std::string problem_text(const ResolvedCase& test);

// "device_lost (xid:79): NVRM: Xid ..." in one line, or "" when it would only repeat the outcome.
std::string cause_text(const Diagnosis* diagnosis);

// What to do next, in one sentence. "" when the failure itself says it.
std::string next_text(const Diagnosis* diagnosis);

// The source line, the log, the rule and its source. If there is none of these, it names what to look at instead.
// Files of the run are named relative to its directory, which `run_dir` may put in front.
std::string evidence_location(const ResolvedCase& test, const std::string& run_dir = {});

// The four answers, one line each, and what to do next. After a timeout or a stall at most ten lines of
// evidence follow. Every line ends with a newline.
std::string summarize_failure(const ResolvedCase& test, const std::string& run_dir = {});

// The same for the console, which shows the message first: without what happened, and in another order.
std::string answers_below_message(const ResolvedCase& test, const std::string& run_dir = {});

// What the case's end says besides, in one line; "" nothing.
std::string note_text(const ResolvedCase& test);

// "fail(exit:3) at attempt 1, pass at the last", "fail in a shared process, pass alone"; "" of a case that is not flaky.
std::string flaky_attempts_text(const ResolvedCase& test);

// Returns the first bad attempt or, if there is none, the first in which the framework ran the case again after a failure.
const Attempt* first_bad_attempt(const ResolvedCase& test);

// "NVIDIA H100 PCIe · 0000:4d:00.0 · 10de:2331 · 9.0", as far as its driver reports it; "" when it reports nothing.
std::string model_text(const PlannedDevice& device);

// Sets the headlines of the case and of its attempts, and the devices of the case in words.
void resolve_headlines(const ResolvedRun& run, ResolvedCase& test);

// What a case left behind when it ended by itself: "process 4711 (sleep 600)", and of a process that several cases
// shared, which of them it may have been. "" when nothing was left.
std::string leak_text(const Termination& termination);

}  // namespace proctor
