// What people read about one outcome. Every red answers first whose problem it is, what happened, how to run
// it again and where to look. The text is for people and may change; programs read the verdict.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/model/run_model.h"

namespace proctor {

// The diagnosis of the attempt that shows the verdict of the case, or null when there is none.
const Diagnosis* diagnosis_of(const RunModel& model, const CaseRecord& record);

// Whether it was bad on one device, and good on another one: the case is good, and its first device is not.
bool is_good_elsewhere(const RunModel& model, const CaseRecord& record);

// Whether it was bad first and then good, and no device is to blame.
bool is_flaky(const RunModel& model, const CaseRecord& record);

// The attempt that says most about it: the one that decides, or the bad one of a case that was good elsewhere, or
// later. Null when nothing was started.
const Attempt* telling_attempt(const RunModel& model, const CaseRecord& record);

// "NVIDIA H100 PCIe · 0000:4d:00.0 · 10de:2331 · 9.0", as far as its driver says it; "" when it says nothing.
std::string model_text(const PlannedDevice& device);

// Whose problem it is. The diagnosis says so or, if there is none, the outcome.
Blame blame_in(const RunModel& model, const CaseRecord& record);

// Who made it, as far as anybody knows; none where it is nobody's problem.
std::optional<Culprit> culprit_in(const RunModel& model, const CaseRecord& record);

// "the stack under test: Level Zero driver 26.31"; "" where nobody is known, and for a test, which its id names.
std::string culprit_text(const RunModel& model, const CaseRecord& record);

// "code (the stack under test: Level Zero driver 26.31)"; "nobody (interrupted)" of a case that was cut short.
std::string problem_text(const RunModel& model, const CaseRecord& record);

// What a case left behind when it ended by itself: "process 4711 (sleep 600)", and of a process that several cases
// shared, which of them it may have been. "" when nothing was left.
std::string leak_text(const Termination& termination);

// "device_lost (xid:79): NVRM: Xid ..." in one line, or "" when it would only repeat the outcome.
std::string cause_text(const Diagnosis* diagnosis);

// What to do next, in one sentence. "" when the failure itself says it.
std::string next_text(const Diagnosis* diagnosis);

// One line of at most 200 bytes, for example the first failed expectation, or "killed by signal 11 (SIGSEGV);
// last step ...".
std::string headline(const RunModel& model, const CaseRecord& record);
// The same for one attempt of it.
std::string headline(const RunModel& model, const CaseRecord& record, const Attempt& attempt);

// The source line, the log, the rule and its source. If there is none of these, it says what to look at instead.
// Files of the run are named relative to its directory, which `run_dir` may put in front.
std::string where_to_look(const RunModel& model, const CaseRecord& record, const std::string& run_dir = {});

// The four answers, one line each, and what to do next. After a timeout or a stall at most ten lines of
// evidence follow. Every line ends with a newline.
std::string summarize_failure(const RunModel& model, const CaseRecord& record,
                              const std::string& run_dir = {});

// The same for the console, which shows the message first: without what happened, and in another order.
std::string answers_below_message(const RunModel& model, const CaseRecord& record,
                                  const std::string& run_dir = {});

// What the case's end says besides, in one line; "" nothing.
std::string note_text(const CaseRecord& record);

// "fail(exit:3) at attempt 1, pass at the last", "fail in a shared process, pass alone"; "" of a case that is not flaky.
std::string flaky_attempts_text(const RunModel& model, const CaseRecord& record);

}  // namespace proctor
