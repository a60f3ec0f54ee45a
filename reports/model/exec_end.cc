#include "reports/model/exec_end.h"

#include "harness/core/exit_code.h"
#include "harness/core/outcome_meaning.h"

namespace proctor {
namespace {

// The last attempt, if its end is known.
const AttemptEnded* end_of(const RunModel& model) {
  if (model.cases().empty() || model.cases().front().attempts.empty()) return nullptr;
  const Attempt& attempt = model.cases().front().attempts.back();
  return attempt.end ? &*attempt.end : nullptr;
}

// What the command itself did, when nothing of ours decided.
ExecEnd own_end(const RunModel& model, const AttemptEnded& end) {
  if (end.exit_code) {
    if (*end.exit_code != 0) return {.code = *end.exit_code, .signal = 0};
    if (model.warned_of(WarningCode::kOutputNotPassed)) return {.code = kExecInternal, .signal = 0};
    return {.code = model.warned_of_machine() ? kExitMachine : 0, .signal = 0};
  }
  if (model.stop_signal() != 0 && (end.termination.forced || !end.exit_signal))
    return {.code = 0, .signal = model.stop_signal()};
  if (end.exit_signal) return {.code = 0, .signal = *end.exit_signal};
  return {.code = kExecInternal, .signal = 0};
}

// A server that was told to end, and did: by that signal, or with 0.
ExecEnd told_end(const RunModel& model, AttemptEnded end) {
  end.exit_code = 0;
  return own_end(model, end);
}

}  // namespace

ExecEnd exec_end(const RunModel& model) {
  const AttemptEnded* end = end_of(model);
  if (!end) {  // never started, or the runner was killed
    if (model.stop_signal() != 0) return {.code = 0, .signal = model.stop_signal()};
    const bool started = !model.cases().empty() && !model.cases().front().attempts.empty();
    return {.code = started ? kExecInternal : kExitMachine, .signal = 0};
  }
  if (end->termination.unreapable) return {.code = kExitMachine, .signal = 0};
  const ReasonMeaning* why = meaning_of_reason(end->verdict);
  if (why != nullptr && why->exec != 0) return {.code = why->exec, .signal = 0};
  switch (meaning_of(end->verdict).exec) {
    case ExecCode::kMachine:
      return {.code = kExitMachine, .signal = 0};
    case ExecCode::kLimit:
      return {.code = kExecTimeout, .signal = 0};
    case ExecCode::kHarness:
      return {.code = kExecInternal, .signal = 0};
    case ExecCode::kCommand:
      break;
  }
  const bool told = end->verdict.outcome == Outcome::kPass && model.stop_signal() != 0;
  return told ? told_end(model, *end) : own_end(model, *end);
}

bool ended_by_itself(const RunModel& model) {
  const AttemptEnded* end = end_of(model);
  if (!end || end->termination.unreapable || end->verdict.reason == Reason::kNotReady) return false;
  const Outcome outcome = end->verdict.outcome;
  return outcome == Outcome::kPass || outcome == Outcome::kFail || outcome == Outcome::kSkip;
}

}  // namespace proctor
