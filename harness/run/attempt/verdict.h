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
//   exit N         command   0 | 77 | else                         pass | skip(exit:77) | fail(exit:N)
//   exit N         gtest     no readable result file               error(no_result)
//                            0, completed | skipped                pass | skip(framework)
//                            0, failures                           error(result_mismatch)
//                            not 0, failures | none                fail | fail(exit:N)
//   exit N         gtest,    no `end` event                        error(no_result)
//                  listener  events that are no events             error(protocol)
//                            end fail, exit 0                      error(result_mismatch)
//                            end pass | fail | skip                pass | fail | skip(framework)
//                            end pass | skip, exit not 0 and not
//                            because of a case before it           fail(exit:N)
//   exit N         pytest    no `end` event                        error(no_result)
//                            events that are no events             error(protocol)
//                            end contradicts the exit code         error(result_mismatch)
//                            end pass | fail | skip                pass | fail(R) | skip(R)
//                            end xfail | xpass                     xfail(R) | xpass(R)
//   went on        gtest,    as exit N; there is no exit code
//                  pytest    that end could contradict
//   exit N         proctor   no `end` event                        error(no_result)
//                            events that are no events             error(protocol)
//                            end contradicts events or exit code   error(result_mismatch)
//                            end pass | fail | skip | error        pass | fail(R) | skip(R) | error(R)
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
#include <string>

#include "harness/core/outcome.h"
#include "harness/plan/plan.h"
#include "harness/process/process_spec.h"
#include "harness/run/attempt/child_report.h"
#include "harness/run/attempt/gtest_result.h"

namespace proctor {

// Everything that a verdict depends on.
struct AttemptEvidence {
  SuiteKind kind = SuiteKind::kCommand;
  EndCause cause = EndCause::kExited;
  std::optional<SpawnError> spawn_error = {};
  std::optional<int> exit_code = {};
  std::optional<int> exit_signal = {};
  std::string stop_reason = "interrupted";  // why the runner stopped it: "interrupted" or "budget"
  ChildReport child = {};                   // kinds proctor and pytest, and gtest with our listener
  bool went_on = false;                     // the process began another case
  bool another_was_bad = false;             // a case before it in the same process was bad
  bool listener = false;                    // kind gtest: events tell of its cases, no result file
  bool not_ready = false;                   // exec: no line had said that it was ready
  std::optional<GtestResult> gtest = {};    // kind gtest: none when there is no readable result file
};

Verdict judge(const AttemptEvidence& evidence);

}  // namespace proctor
