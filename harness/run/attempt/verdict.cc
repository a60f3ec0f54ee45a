#include "harness/run/attempt/verdict.h"

#include "harness/core/system_names.h"

namespace proctor {
namespace {

constexpr int kSkipExitCode =
    77;  // the convention of automake's test driver and of CTest's SKIP_RETURN_CODE users

std::string exit_reason(int code) { return "exit:" + std::to_string(code); }

Verdict judge_command(int code) {
  if (code == 0) return {Outcome::kPass, {}};
  if (code == kSkipExitCode) return {Outcome::kSkip, exit_reason(code)};
  return {Outcome::kFail, exit_reason(code)};
}

Verdict judge_gtest(int code, const std::optional<GtestResult>& result) {
  if (!result || result->ran == 0) return {Outcome::kError, "no_result"};
  const bool failed = !result->failures.empty();
  if (code == 0) {
    if (failed) return {Outcome::kError, "result_mismatch"};
    return result->skipped ? Verdict{Outcome::kSkip, "framework"} : Verdict{Outcome::kPass, {}};
  }
  return failed ? Verdict{Outcome::kFail, {}} : Verdict{Outcome::kFail, exit_reason(code)};
}

Verdict judge_proctor(int code, const ChildReport& child) {
  if (child.violations() > 0) return {Outcome::kError, "protocol"};
  if (!child.result()) return {Outcome::kError, "no_result"};
  const Verdict mismatch{Outcome::kError, "result_mismatch"};
  const bool failed = !child.failures().empty();
  switch (*child.result()) {
    case ChildResult::kPass:
      return code == 0 && !failed ? Verdict{Outcome::kPass, {}} : mismatch;
    case ChildResult::kFail:
      return code != 0 ? Verdict{Outcome::kFail, child.reason()} : mismatch;
    case ChildResult::kSkip:
      if (failed || (code != 0 && code != kSkipExitCode)) return mismatch;
      return child.reason().empty() ? Verdict{Outcome::kError, "skip_without_reason"}
                                    : Verdict{Outcome::kSkip, child.reason()};
    case ChildResult::kXfail:  // what is expected to fail, the known-failure list says
    case ChildResult::kXpass:
      return {Outcome::kError, "protocol"};
    case ChildResult::kError:
      return {Outcome::kError, child.reason().empty() ? "child" : child.reason()};
  }
  return mismatch;
}

// Whether pytest's exit code (its documentation, "Exit codes") agrees with a case that did not fail: 5 is "no
// tests were collected", which a module that skips itself leads to.
bool agrees(const AttemptEvidence& evidence) {
  constexpr int kTestsFailed = 1;
  constexpr int kNoTests = 5;
  if (evidence.went_on || evidence.exit_code == 0) return true;
  if (evidence.exit_code == kTestsFailed) return evidence.another_was_bad;
  return evidence.exit_code == kNoTests && evidence.child.result() == ChildResult::kSkip;
}

Verdict judge_pytest(const AttemptEvidence& evidence) {
  const ChildReport& child = evidence.child;
  if (child.violations() > 0) return {Outcome::kError, "protocol"};
  if (!child.result()) return {Outcome::kError, "no_result"};
  const Verdict mismatch{Outcome::kError, "result_mismatch"};
  switch (*child.result()) {
    case ChildResult::kFail:
      return evidence.went_on || evidence.exit_code != 0 ? Verdict{Outcome::kFail, child.reason()} : mismatch;
    case ChildResult::kError:
      return {Outcome::kError, child.reason().empty() ? "child" : child.reason()};
    case ChildResult::kPass:
      return agrees(evidence) ? Verdict{Outcome::kPass, {}} : mismatch;
    case ChildResult::kSkip:
      return agrees(evidence) ? Verdict{Outcome::kSkip, child.reason()} : mismatch;
    case ChildResult::kXfail:
      return agrees(evidence) ? Verdict{Outcome::kXfail, child.reason()} : mismatch;
    case ChildResult::kXpass:
      return agrees(evidence) ? Verdict{Outcome::kXpass, child.reason()} : mismatch;
  }
  return mismatch;
}

// GoogleTest exits with 1 when anything failed (its main: `return RUN_ALL_TESTS()`).
Verdict judge_listener(const AttemptEvidence& evidence) {
  constexpr int kTestsFailed = 1;
  const ChildReport& child = evidence.child;
  if (child.violations() > 0) return {Outcome::kError, "protocol"};
  if (!child.result()) return {Outcome::kError, "no_result"};
  const int code = evidence.went_on ? 0 : evidence.exit_code.value_or(0);
  if (child.result() == ChildResult::kFail) {
    return evidence.went_on || code != 0 ? Verdict{Outcome::kFail, {}}
                                         : Verdict{Outcome::kError, "result_mismatch"};
  }
  if (code != 0 && !(code == kTestsFailed && evidence.another_was_bad))
    return {Outcome::kFail, exit_reason(code)};
  if (child.result() == ChildResult::kPass) return {Outcome::kPass, {}};
  if (child.result() == ChildResult::kSkip) return {Outcome::kSkip, "framework"};
  return {Outcome::kError, "protocol"};
}

Verdict judge_exit(const AttemptEvidence& evidence) {
  const bool listener = evidence.kind == SuiteKind::kGtest && evidence.listener;
  if (evidence.went_on) return listener ? judge_listener(evidence) : judge_pytest(evidence);
  if (evidence.exit_signal) return {Outcome::kCrash, "signal:" + std::to_string(*evidence.exit_signal)};
  if (!evidence.exit_code) return {Outcome::kError, "no_exit_status"};
  switch (evidence.kind) {
    case SuiteKind::kProctor:
      return judge_proctor(*evidence.exit_code, evidence.child);
    case SuiteKind::kGtest:
      return listener ? judge_listener(evidence) : judge_gtest(*evidence.exit_code, evidence.gtest);
    case SuiteKind::kPytest:
      return judge_pytest(evidence);
    case SuiteKind::kBenchmark:
    case SuiteKind::kCommand:
      return judge_command(*evidence.exit_code);
  }
  return {Outcome::kError, "no_result"};
}

// A server that ends well before it served has not done its work.
Verdict judge_readiness(const AttemptEvidence& evidence, Verdict verdict) {
  if (!evidence.not_ready || verdict.outcome != Outcome::kPass) return verdict;
  return {Outcome::kFail, "not_ready"};
}

}  // namespace

Verdict judge(const AttemptEvidence& evidence) {
  switch (evidence.cause) {
    case EndCause::kSpawnFailed:
      return {Outcome::kError, "spawn:" + (evidence.spawn_error ? errno_name(evidence.spawn_error->err)
                                                                : std::string("unknown"))};
    case EndCause::kGuardLost:
      return {Outcome::kError, "guard_lost"};
    case EndCause::kTimeout:
      return {Outcome::kTimeout, evidence.not_ready ? "not_ready" : ""};
    case EndCause::kStall:
      return {Outcome::kStall, {}};
    case EndCause::kStopped:
      return {Outcome::kNotrun, evidence.stop_reason};
    case EndCause::kExited:
      return judge_readiness(evidence, judge_exit(evidence));
  }
  return {Outcome::kError, "no_result"};
}

}  // namespace proctor
