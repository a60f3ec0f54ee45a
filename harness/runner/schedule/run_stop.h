// Stops a run before its end. runner.h describes the states. Runner creates it and connects it with the other parts.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "harness/runner/attempt/run_events.h"
#include "harness/runner/schedule/case_ends.h"
#include "harness/runner/schedule/pending_cases.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/runner/schedule/run_stage.h"
#include "harness/runner/schedule/running_groups.h"

namespace proctor {

// Receives each event that can stop a run, and changes the RunStage.
class RunStop {
 public:
  // `over` is called when nothing runs and nothing is waited for.
  RunStop(boost::asio::io_context& io, const RunSetup& setup, RunEvents& events, RunStage& stage,
          PendingCases& pending, CaseEnds& ends, RunningGroups& groups, std::function<void()> over);

  // Starts the timers for the time of --repeat and for the deadline of the run, if they are set.
  void begin();
  // Handles a stop by the caller of the run.
  void on_stop(int signal, StopCause cause);
  // Handles the end of a case. Too many machine outcomes in a row finish the run, and the failures that --fail-fast
  // allows.
  void case_ended(std::size_t index, const CaseEnded& ended);
  // Call it a few times a second if the run has a watcher. It finishes the run before the journal becomes too long for
  // its readers.
  void examine_journal();

 private:
  // Stops new cases, with an event about the cause.
  void finish(StopCause cause, const std::string& why);
  bool begin_no_more(const ReasonText& reason, const std::string& why, bool at_once = false);
  void drop_pending(const CaseGroup::NoMore& why) { ends_.announce(pending_.drop(why)); }
  void on_stress_over();
  void on_deadline();
  void report_value(int signal, StopCause cause);
  void stop_groups(int signal, Milliseconds grace, Milliseconds budget);

  const RunSetup& setup_;
  RunEvents& events_;
  RunStage& stage_;
  PendingCases& pending_;
  CaseEnds& ends_;
  RunningGroups& groups_;
  std::function<void()> over_;
  Breaker breaker_;
  int failures_ = 0;  // cases that failed
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer stress_over_;
  boost::asio::steady_timer give_up_;
};

}  // namespace proctor
