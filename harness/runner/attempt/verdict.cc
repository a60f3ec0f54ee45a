#include "harness/runner/attempt/verdict.h"

#include <csignal>

#include "harness/base/result.h"
#include "harness/frameworks/kind.h"

namespace proctor {
namespace {

Verdict judge_exit(const AttemptEvidence& evidence) {
  if (!evidence.went_on && evidence.exit_signal)
    return {Outcome::kCrash, {Reason::kSignal, *evidence.exit_signal}};
  if (!evidence.went_on && !evidence.exit_code) return {Outcome::kError, Reason::kNoExitStatus};
  return evidence.kind->judge({.child = evidence.child,
                               .exit_code = evidence.went_on ? 0 : *evidence.exit_code,
                               .went_on = evidence.went_on,
                               .another_was_bad = evidence.another_was_bad,
                               .skip_code = evidence.kind.skip_code});
}

Verdict judge_limit(const AttemptEvidence& evidence, Outcome outcome) {
  ReasonText reason;
  if (evidence.starved) reason = Reason::kStarved;
  if (reason.empty() && evidence.starting && outcome == Outcome::kTimeout) reason = Reason::kStartup;
  if (reason.empty() && evidence.not_ready && outcome == Outcome::kTimeout) reason = Reason::kNotReady;
  if (!evidence.after_end) return {outcome, reason};
  const Verdict own = evidence.kind->judge({.child = evidence.child,
                                            .exit_code = 0,
                                            .went_on = true,
                                            .another_was_bad = evidence.another_was_bad});
  if (is_bad(own.outcome)) return own;
  return {outcome, reason.empty() ? Reason::kShutdown : reason};
}

// A server that exits with success before it was ready has failed.
Verdict judge_readiness(const AttemptEvidence& evidence, Verdict verdict) {
  if (!evidence.not_ready || verdict.outcome != Outcome::kPass) return verdict;
  return {Outcome::kFail, Reason::kNotReady};
}

// A server ends regularly because another process stops it.
Verdict judge_stopped(const AttemptEvidence& evidence) {
  const bool as_reported = evidence.exit_signal == evidence.reported_to_end || evidence.exit_code == 0;
  if (evidence.reported_to_end != 0 && as_reported) return {Outcome::kPass, {}};
  const bool killed = evidence.exit_signal == SIGKILL;  // the grace period was over
  if (evidence.reported_to_end != 0 && evidence.exit_signal && !killed) return judge_exit(evidence);
  return {Outcome::kNotrun, evidence.stop_reason};
}

}  // namespace

Verdict judge_leak(const AttemptEvidence& evidence, Verdict verdict) {
  if (!evidence.forbidden_leak || is_bad(verdict.outcome)) return verdict;
  return {Outcome::kFail, Reason::kLeaky};
}

Verdict judge(const AttemptEvidence& evidence) {
  switch (evidence.cause) {
    case EndCause::kSpawnFailed:
      return {Outcome::kError,
              {Reason::kSpawn, evidence.spawn_error ? errno_name(evidence.spawn_error->err) : "unknown"}};
    case EndCause::kGuardLost:
      return {Outcome::kError, Reason::kGuardLost};
    case EndCause::kTimeout:
      return judge_limit(evidence, Outcome::kTimeout);
    case EndCause::kStall:
      return judge_limit(evidence, Outcome::kStall);
    case EndCause::kStopped:
      return judge_stopped(evidence);
    case EndCause::kExited:
      return judge_leak(evidence, judge_readiness(evidence, judge_exit(evidence)));
  }
  return {Outcome::kError, Reason::kNoResult};
}

}  // namespace proctor
