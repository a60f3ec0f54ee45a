// Makes a verdict from the facts of an attempt. A pure function that case_facts.cc calls. Each row of the table is one
// test in verdict_test.cc.
//
//   cause          kind      evidence                              verdict
//   spawn refused  any                                             error(spawn:ERRNO)
//   guard lost     any                                             error(guard_lost)
//   time limit     any                                             timeout
//   stall limit    any                                             stall
//   runner's stop  any                                             notrun(WHY)
//   own signal     any                                             crash(signal:N)
//   exit N         any       the rule of its kind (frameworks/kind.h)
//   left processes any       a good verdict becomes fail(leaky), if the policy forbids leaks
//   went on        any       the same as exit 0; no exit code can contradict
//
// A server that was ready passes if it ends by the signal that it was sent, or with exit code 0 after this signal. If
// another signal ends it then, it has crashed.
//
// "after end": one of several cases had reported its end, and the process hung after it. A bad result of the case
// counts. Otherwise the limit is timeout(shutdown) or stall(shutdown).
//
// "starved": its limit is timeout(starved) or stall(starved), unless it had reported a bad end.
//
// "not ready": its time limit is timeout(not_ready), and a pass is fail(not_ready).
//
// "went on": the process began another case. After its last case, its exit code counts for all of them.
//
// A limit overrides the exit code of the process, because the code may be an effect of the runner's signal.
#pragma once

#include <optional>

#include "harness/journal/child_report.h"
#include "harness/journal/outcome.h"
#include "harness/plan/plan.h"
#include "harness/process/process_spec.h"

namespace proctor {

// The kind of a suite, and Suite::skip_code.
struct KindOfSuite {
  KindOfSuite(const Kind* of, int skips_with = 0) : kind(of), skip_code(skips_with) {}
  const Kind* operator->() const { return kind; }

  const Kind* kind;
  int skip_code;
};

// All facts that a verdict depends on.
struct AttemptEvidence {
  KindOfSuite kind = &command_kind();
  EndCause cause = EndCause::kExited;
  std::optional<SpawnError> spawn_error = {};
  std::optional<int> exit_code = {};
  std::optional<int> exit_signal = {};
  Reason stop_reason = Reason::kInterrupted;  // why the runner stopped it
  ChildReport child = {};                     // the reports of the case
  bool went_on = false;                       // the process began another case
  bool another_was_bad = false;               // a case before it in the same process was bad
  bool after_end = false;       // one of several cases in its process, which had reported its end
  bool starting = false;        // no case had begun, and the start-up clock ran
  bool starved = false;         // at its limit: the machine had not given it CPU time
  bool not_ready = false;       // exec: no line had matched
  bool forbidden_leak = false;  // it left processes behind, and its policy forbids this
  int reported_to_end = 0;      // exec: the signal that was sent to a server that was ready
};

// Returns the verdict of an attempt.
Verdict judge(const AttemptEvidence& evidence);

// Returns fail(leaky) instead of a good verdict if the policy forbids the leaked processes. Known failures are applied
// later.
Verdict judge_leak(const AttemptEvidence& evidence, Verdict verdict);

}  // namespace proctor
