// The event loop behind run_plan(). runner.cc: how groups of cases start, go on and end; run_stop.cc: how the
// run is stopped before its end.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/run/attempt/attempt.h"
#include "harness/run/attempt/case_ends.h"
#include "harness/run/attempt/case_group.h"
#include "harness/run/care/device_gate.h"
#include "harness/run/care/telemetry.h"
#include "harness/run/schedule/lease_wait.h"
#include "harness/run/schedule/pending_cases.h"
#include "harness/run/schedule/runner.h"
#include "harness/run/schedule/signals.h"

namespace proctor {

class Runner {
 public:
  Runner(const RunSetup& setup, EventSink& sink)
      : setup_(setup),
        sink_(sink),
        context_{.io = io_,
                 .containment = *setup.containment,
                 .sink = sink,
                 .scratch = *setup.scratch,
                 .run_started = Clock::now(),
                 .run_dir = setup.run_dir,
                 .run_id = setup.planned.run_id,
                 .inherit_stdio = setup.inherit_stdio,
                 .pass_through = setup.pass_through,
                 .break_commands = setup.break_commands,
                 .evidence_program = setup.evidence_program,
                 .evidence_environment = setup.evidence_environment,
                 .rank_supervisor = setup.rank_supervisor,
                 .debugger = setup.debugger,
                 .ready = setup.ready},
        pool_(setup.devices, setup.leases, setup.planned.run_id),
        pending_(setup, pool_),
        ends_(setup, sink, [this](const CaseEnded& ended) { on_announced(ended); }),
        signals_(io_, [this](int signal, bool parent_died) { on_signal(signal, parent_died); }),
        deadline_(io_),
        give_up_(io_),
        tick_(io_),
        lease_wait_(io_, setup.lease_wait, [this] { start_more(); }),
        breaker_(setup.breaker),
        gate_(io_, setup, pool_, sink, context_.run_started),
        telemetry_(io_, *setup.containment, gate_.monitor(), setup.telemetry, sink) {
    context_.telemetry = &telemetry_;
  }

  RunResult run();

 private:
  // A group that has begun; it keeps its slot and its devices until the last attempt
  // of its last case has ended.
  struct Running {
    CaseGroup group;
    std::vector<std::string> devices;
    std::unique_ptr<RunningAttempt> attempt = nullptr;  // none: its devices are waited for
    std::optional<std::size_t> last = {};               // of its cases, that in which the process ended
    std::optional<CaseGroup::Finished> held = {};       // its final word, while the devices are looked at
    bool begun = false;                                 // some process of it was started
    bool lost_devices = false;
    bool doubt = false;  // about its devices, by the way in which an attempt ended
  };
  using Slot = std::list<Running>::iterator;

  std::string why_stopped() const { return stop_signal_ ? "interrupted" : "budget"; }
  const Case& test(std::size_t index) const { return setup_.plan->cases[index]; }
  const Suite& suite(std::size_t index) const { return setup_.plan->suites[test(index).suite]; }

  void start_more();
  bool start_first_that_fits();
  void begin_process(Slot slot);
  void on_entered(Slot slot, const DeviceGate::Entry& entry);
  void start_attempt(Slot slot);
  Result<void> give_environment(AttemptPlan& plan);
  AttemptPlan plan_attempt(Slot slot);
  void on_case_ended(Slot slot, std::size_t which, const AttemptEnded& ended, bool went_on);
  void tell_suspect(const Running& entry, const CaseGroup::Finished& finished);
  void on_process_ended(Slot slot, ProcessFate fate);
  void on_left(Slot slot, ProcessFate fate, const std::vector<std::size_t>& not_begun,
               const DeviceGate::Left& left);
  void hold_last(Slot slot);
  void go_on(Slot slot, ProcessFate fate, const std::vector<std::size_t>& not_begun);
  bool moves_on(Running& entry);
  void end_group(Slot slot);
  void on_announced(const CaseEnded& ended);
  void finish(const std::string& reason, const std::string& why);
  void go_on_elsewhere(CaseGroup group);

  void request_stop(int signal, const std::string& reason);
  void on_signal(int signal, bool parent_died);
  void on_deadline();
  void stop_running(int signal, Milliseconds grace, Milliseconds budget);
  void abandon_running();
  void begin();
  void leave();
  void wait_for_leases();
  void give_up_waiting();
  void drop_pending(const Verdict& verdict, const std::string& note);
  void arm_tick();

  const RunSetup& setup_;
  EventSink& sink_;
  boost::asio::io_context io_{1};
  AttemptContext context_;
  DevicePool pool_;
  PendingCases pending_;
  CaseEnds ends_;
  StopSignals signals_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer give_up_;
  boost::asio::steady_timer tick_;
  std::list<Running> running_;
  std::optional<int> stop_signal_;
  bool stopping_ = false;
  bool starting_ = false;
  std::optional<CaseGroup::NoMore> finishing_;  // set: nothing new starts
  LeaseWait lease_wait_;
  Breaker breaker_;
  DeviceGate gate_;
  Telemetry telemetry_;
};

}  // namespace proctor
