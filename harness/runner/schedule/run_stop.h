// What stops a run before its end, and how: the states are in runner.h.
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

class RunStop {
 public:
  // `over` is called when nothing runs any more, or is waited for.
  RunStop(boost::asio::io_context& io, const RunSetup& setup, RunEvents& events, RunStage& stage,
          PendingCases& pending, CaseEnds& ends, RunningGroups& groups, std::function<void()> over);

  // Watches the time of --repeat and the deadline of the run, if it has them.
  void begin();
  // The caller of the run stops it.
  void on_stop(int signal, StopCause cause);
  // The final word on a case: too many of the machine, or the first bad one, finish the run.
  void case_ended(std::size_t index, const CaseEnded& ended);
  // Call it a few times a second, where the run has a watcher: before the journal is too long for its readers, the run finishes.
  void examine_journal();

 private:
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
