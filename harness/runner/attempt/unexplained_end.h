// Checks whether one of the cases of a shared process explains the end of the process. A pure function that
// RunningAttempt calls. Each row is one test in unexplained_end_test.cc.
//
//   the process                                                             its reports on cases
//   exited with a code that a case explains                                 all count
//   exited, or ended by a signal, in the middle of a case                   all count; that case caused the end
//   the same, and left processes behind                                     only failures count
//   exited after the end of a case with a code that no case explains        only failures count
//   ended by a signal after the end of a case                               only failures count
//   did not exit after its last case, up to a limit                         only failures count
//   could not be started, was stopped, lost its guard                       all count
//
// Any of the cases may have caused a memory leak that is reported at exit, for example. Leaked processes may also have
// written reports: a test can fork a child that continues to run the framework.
//
// If only failures count, each of the other cases runs again alone.
#pragma once

#include <string>

#include "harness/journal/events.h"
#include "harness/process/contained_process.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/case_tracker.h"

namespace proctor {

// Returns why only failures count, as a text that follows "a process". Returns "" if all reports count. The case in
// which the process ended must still be open.
std::string unexplained_end(const ProcessEnd& end, const AttemptPlan& plan, const CaseTracker& cases);

// The warning about a process that CaseTracker::why_unreliable() describes.
Warning unreliable_process(const AttemptPlan& plan, const CaseTracker& cases);

}  // namespace proctor
