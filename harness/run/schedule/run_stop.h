// What stops a run before its end, and how: the states are in runner.h.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "harness/run/schedule/breaker.h"
#include "harness/run/schedule/run_context.h"
#include "harness/run/schedule/running_group.h"
#include "harness/run/schedule/signals.h"

namespace proctor {

class RunStop {
 public:
  // `over` is called when nothing runs any more, or is waited for.
  RunStop(RunContext& run, RunningGroups& groups, std::function<void()> over);

  // Watches the parent, the time of --repeat and the deadline of the run, if it has them.
  void begin();
  // The final word on a case: too many of the machine, or the first bad one, finish the run.
  void case_ended(std::size_t index, const CaseEnded& ended);
  // Call it a few times a second: before the journal is too long for its readers, the run finishes.
  void look_at_journal();

 private:
  void finish(StopCause cause, const std::string& why);
  void on_signal(int signal, bool parent_died);
  void begin_no_more(const ReasonText& reason, const std::string& why);
  void on_stress_over();
  void on_deadline();
  void tell(int signal, StopCause cause);
  void stop_groups(int signal, Milliseconds grace, Milliseconds budget);
  void abandon_groups();

  RunContext& run_;
  RunningGroups& groups_;
  std::function<void()> over_;
  Breaker breaker_;
  int failures_ = 0;  // cases that failed
  StopSignals signals_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer stress_over_;
  boost::asio::steady_timer give_up_;
};

}  // namespace proctor
