// Makes a verdict from what a process did. A pure function; each row of the table is one test in
// verdict_test.cc.
//
//   cause          kind      evidence                              verdict
//   spawn refused  any                                             error(spawn:ERRNO)
//   guard lost     any                                             error(guard_lost)
//   time limit     any                                             timeout
//   stall limit    any                                             stall
//   runner's stop  any                                             notrun(WHY)
//   own signal     any                                             crash(signal:N)
//   exit N         any       its kind says (frameworks/kind.h)
//   left processes any       a good one is fail(leaky), where its policy says so
//   went on        any       as exit 0; there is no exit code that could contradict
//
// A server that was ready and ends as it was told is a pass: by the signal that it was sent, or with 0 after it. One
// that another signal ends then has crashed.
//
// "after end": one of several cases had told its end, and the process hung after it: what the case said stands if it
// is bad, else the limit is timeout(shutdown) or stall(shutdown).
//
// "starved": its limit is timeout(starved) or stall(starved), unless it had told a bad end.
//
// "not ready": its time limit is timeout(not_ready), and a pass is fail(not_ready).
//
// "went on": the process began another case. When its last one has ended, its exit
// code speaks for all of them.
//
// A limit wins over whatever exit code the process had while it was being ended: it
// raced with our own signal.
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

// Everything that a verdict depends on.
struct AttemptEvidence {
  KindOfSuite kind = &command_kind();
  EndCause cause = EndCause::kExited;
  std::optional<SpawnError> spawn_error = {};
  std::optional<int> exit_code = {};
  std::optional<int> exit_signal = {};
  Reason stop_reason = Reason::kInterrupted;  // why the runner stopped it
  ChildReport child = {};                     // what it said, in whichever way its kind does
  bool went_on = false;                       // the process began another case
  bool another_was_bad = false;               // a case before it in the same process was bad
  bool after_end = false;                     // one of several cases in its process, it had told its end
  bool starting = false;                      // no case had begun, and its start-up clock ran
  bool starved = false;                       // at its limit: the machine had not let it run
  bool not_ready = false;                     // exec: no line had said that it was ready
  bool forbidden_leak = false;                // it left processes behind, and its policy forbids that
  int reported_to_end = 0;                    // exec: the signal that was sent to a server that was ready
};

Verdict judge(const AttemptEvidence& evidence);

// fail(leaky) in the place of a good verdict where the policy forbids what the case left. What a known failure makes of
// it is decided later.
Verdict judge_leak(const AttemptEvidence& evidence, Verdict verdict);

}  // namespace proctor
