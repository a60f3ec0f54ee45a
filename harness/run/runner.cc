#include "harness/run/runner.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <set>

#include "harness/run/attempt.h"
#include "harness/run/case_ends.h"
#include "harness/run/case_group.h"
#include "harness/run/device_care.h"
#include "harness/run/lease_wait.h"
#include "harness/run/pending_cases.h"
#include "harness/run/signals.h"

namespace proctor {
namespace {

constexpr auto kTick = std::chrono::milliseconds(200);
// A stop from outside must leave time for the reports: CI services kill a job seconds after they asked.
constexpr Milliseconds kStopGrace{3'500};
constexpr Milliseconds kStopBudget{4'500};
constexpr Milliseconds kKillBudget{1'000};  // after a second signal

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
                 .inherit_stdio = setup.inherit_stdio,
                 .pass_through = setup.pass_through,
                 .evidence_program = setup.evidence_program,
                 .evidence_environment = setup.evidence_environment,
                 .debugger = setup.debugger},
        pool_(setup.devices, setup.leases, setup.planned.run_id),
        pending_(setup, pool_),
        ends_(setup, sink, [this](const CaseEnded& ended) { on_announced(ended); }),
        signals_(io_, [this](int signal, bool parent_died) { on_signal(signal, parent_died); }),
        deadline_(io_),
        give_up_(io_),
        tick_(io_),
        lease_wait_(io_, setup.lease_wait, [this] { start_more(); }) {
    if (!setup.monitor) return;
    care_ = std::make_unique<DeviceCare>(
        io_, std::make_unique<DeviceMonitor>(io_, *setup.containment, *setup.monitor), setup.settle);
  }

  RunResult run();

 private:
  // A group that has begun; it keeps its slot and its devices until the last attempt of its last case has
  // ended.
  struct Running {
    CaseGroup group;
    std::vector<std::string> devices;
    std::unique_ptr<RunningAttempt> attempt = nullptr;  // none: its devices are waited for
    std::optional<std::size_t> last = {};               // of its cases, that in which the process ended
    std::optional<CaseGroup::Finished> held = {};       // its final word, while the devices are looked at
    bool lost_devices = false;
  };
  using Slot = std::list<Running>::iterator;

  std::string why_stopped() const { return stop_signal_ ? "interrupted" : "budget"; }
  const Case& test(std::size_t index) const { return setup_.plan->cases[index]; }
  const Suite& suite(std::size_t index) const { return setup_.plan->suites[test(index).suite]; }

  void start_more();
  bool start_first_that_fits();
  void start_attempt(Slot slot);
  AttemptPlan plan_attempt(Slot slot);
  void on_case_ended(Slot slot, std::size_t which, const AttemptEnded& ended, bool went_on);
  void on_process_ended(Slot slot, ProcessFate fate);
  void on_settled(Slot slot, ProcessFate fate, const std::vector<std::size_t>& not_begun,
                  const std::vector<DeviceFinding>& findings);
  void hold_last(Slot slot);
  void go_on(Slot slot, ProcessFate fate, const std::vector<std::size_t>& not_begun);
  void end_group(Slot slot);
  void on_announced(const CaseEnded& ended);
  void fail_fast(const std::string& case_id);

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
  bool failing_fast_ = false;
  LeaseWait lease_wait_;
  std::unique_ptr<DeviceCare> care_;  // none: nobody can say how the devices are
};

RunResult Runner::run() {
  sink_.on(setup_.planned);
  for (const auto& warning : setup_.warnings) sink_.on(warning);
  if (setup_.watch_parent && !signals_.watch_parent()) {
    sink_.on(Warning{"parent_watch", "the death of the parent process cannot be noticed here"});
  }
  pending_.admit([this](const CaseGroup::Finished& refused) { ends_.announce(refused); });
  if (setup_.deadline) {
    deadline_.expires_at(context_.run_started + *setup_.deadline);
    deadline_.async_wait([this](const auto& error) {
      if (!error) on_deadline();
    });
  }
  arm_tick();
  if (!pending_.empty()) {
    begin();
    io_.run();
  }
  hold_stop_signals();
  const auto elapsed = std::chrono::duration_cast<Milliseconds>(Clock::now() - context_.run_started);
  sink_.on(RunEnded{.finished = utc_now(), .at_ms = elapsed.count()});
  return {stop_signal_};
}

void Runner::begin() {
  if (const auto& leases = pool_.leases()) {
    if (auto watched = lease_wait_.watch(*leases); !watched)
      sink_.on(Warning{"lease_watch",
                       "failed to " + watched.error().what + "; leases are looked at once a second"});
  }
  if (!care_) return start_more();
  care_->begin([this](const std::string& problem) {
    if (!problem.empty()) sink_.on(Warning{"device_unknown", "failed to " + problem});
    start_more();
  });
}

// Ends the loop, once nothing of ours is left on it.
void Runner::leave() {
  if (!care_) return io_.stop();
  care_->stop([this] { io_.stop(); });
}

void Runner::start_more() {
  if (starting_) return;  // a case that ended without a process is inside this very loop
  starting_ = true;
  while (static_cast<int>(running_.size()) < setup_.planned.jobs && start_first_that_fits()) {
  }
  starting_ = false;
  for (const auto& warning : pool_.take_warnings()) sink_.on(warning);
  if (!running_.empty()) {
    lease_wait_.end();
    return;
  }
  if (!pending_.empty() && !pending_.holders().empty()) return wait_for_leases();
  // Nothing runs and nothing fits: what is left waits for devices that were taken out.
  drop_pending({Outcome::kNotrun, "device_lost"}, "the devices that it needs are lost to this run");
  leave();
}

bool Runner::start_first_that_fits() {
  auto start = pending_.take_first_that_fits();
  if (!start) return false;
  running_.push_back({.group = std::move(start->group), .devices = std::move(start->devices)});
  start_attempt(std::prev(running_.end()));
  return true;
}

void Runner::start_attempt(Slot slot) {
  AttemptPlan plan = plan_attempt(slot);
  auto environment = setup_.environment(*plan.suite, slot->devices);
  if (!environment) {  // a lease that no mask can express; never started with more than it holds
    ends_.announce(
        slot->group.give_up({Outcome::kError, "environment"}, "failed to " + environment.error().what));
    return end_group(slot);
  }
  plan.environment = std::move(*environment);
  slot->attempt = std::make_unique<RunningAttempt>(
      context_, std::move(plan),
      [this, slot](std::size_t which, const AttemptEnded& ended, bool went_on) {
        on_case_ended(slot, which, ended, went_on);
      },
      [this, slot](ProcessFate fate) { on_process_ended(slot, fate); });
}

AttemptPlan Runner::plan_attempt(Slot slot) {
  AttemptPlan plan{.suite = &suite(slot->group.first()),
                   .cases = {},
                   .devices = slot->devices,
                   .leases = pool_.descriptors(slot->devices),
                   .environment = {}};
  for (const auto& turn : slot->group.next_process())
    plan.cases.push_back({.test = &test(turn.index), .attempt = turn.attempt, .repeat = turn.repeat});
  return plan;
}

void Runner::on_case_ended(Slot slot, std::size_t which, const AttemptEnded& ended, bool went_on) {
  const std::size_t index = slot->group.case_of(which);
  if (ended.termination.unreapable) {
    slot->lost_devices = true;
    for (const auto& device : slot->devices)
      pool_.drain(device, "unreapable", "a process of " + test(index).id + " does not die");
  }
  const auto known = ends_.known_failure(index, ended.verdict);
  const bool expected = known && known->verdict.outcome == Outcome::kXfail;
  auto finished = slot->group.attempt_ended(which, ended.verdict, ended.marks, expected,
                                            /*last=*/stopping_ || slot->lost_devices);
  if (!went_on) {
    slot->last = which;
    slot->held = std::move(finished);
  } else if (finished) {
    ends_.announce(*finished);
  }
}

void Runner::on_process_ended(Slot slot, ProcessFate fate) {
  const auto not_begun = slot->attempt->not_begun();
  slot->attempt.reset();
  if (!care_ || slot->devices.empty() || stopping_ || slot->lost_devices) return go_on(slot, fate, not_begun);
  care_->settle(slot->devices, [this, slot, fate, not_begun](const std::vector<DeviceFinding>& findings) {
    on_settled(slot, fate, not_begun, findings);
  });
}

void Runner::on_settled(Slot slot, ProcessFate fate, const std::vector<std::size_t>& not_begun,
                        const std::vector<DeviceFinding>& findings) {
  const std::string& id = test(slot->group.case_of(slot->last.value_or(0))).id;
  std::string lost;
  for (const auto& finding : findings) {
    const auto warning = warning_of(finding, id);
    if (warning) sink_.on(*warning);
    if (!is_sick(finding.settled)) continue;
    slot->lost_devices = true;
    if (finding.settled == Settled::kLost) lost = finding.device;
    pool_.drain(finding.device, std::string(to_string(finding.settled)), warning ? warning->text : "");
  }
  if (!slot->lost_devices || !slot->last) return go_on(slot, fate, not_begun);
  hold_last(slot);
  if (!lost.empty() && is_bad(slot->held->verdict.outcome)) {
    slot->held->verdict = {Outcome::kDeviceLost, "device:" + lost};
    slot->held->note = "its device is lost: what it says is no verdict on the code";
  }
  go_on(slot, fate, not_begun);
}

// The last case of the process is not tried again.
void Runner::hold_last(Slot slot) {
  if (slot->last && !slot->held) slot->held = slot->group.end_now(*slot->last);
}

void Runner::go_on(Slot slot, ProcessFate fate, const std::vector<std::size_t>& not_begun) {
  if (stopping_) pool_.retire(slot->devices);  // nobody waited for them: the next run is told
  if (stopping_ || slot->lost_devices) hold_last(slot);
  slot->last.reset();
  if (auto held = std::exchange(slot->held, std::nullopt)) ends_.announce(*held);
  if (stopping_) {
    ends_.announce(
        slot->group.give_up({Outcome::kNotrun, why_stopped()}, "not started, because the run was stopped"));
  } else {
    ends_.announce(slot->group.process_ended(slot->lost_devices ? ProcessFate::kDiedInCase : fate, not_begun,
                                             failing_fast_));
  }
  if (!slot->group.empty() && !slot->lost_devices) return start_attempt(slot);
  if (!slot->group.empty()) pending_.put_back(std::move(slot->group));
  end_group(slot);
}

void Runner::end_group(Slot slot) {
  pool_.release(slot->devices);
  running_.erase(slot);
  start_more();
}

void Runner::wait_for_leases() {
  const auto step = lease_wait_.wait();
  if (step == LeaseWait::Step::kOver) give_up_waiting();
  if (step != LeaseWait::Step::kBegan) return;
  for (const auto& holder : pending_.holders()) sink_.on(Warning{"lease_wait", holder + "; waiting"});
}

void Runner::give_up_waiting() {
  std::string who;
  for (const auto& holder : pending_.holders()) who += (who.empty() ? "" : "; ") + holder;
  drop_pending({Outcome::kError, "lease_timeout"},
               "waited " + format_duration(setup_.lease_wait) + " for devices: " + who);
  leave();
}

void Runner::on_announced(const CaseEnded& ended) {
  const auto outcome = ended.verdict.outcome;
  if (setup_.fail_fast && is_bad(outcome) && outcome != Outcome::kNotrun) fail_fast(ended.case_id);
}

void Runner::fail_fast(const std::string& case_id) {
  const bool rest = std::any_of(running_.begin(), running_.end(),
                                [](const Running& entry) { return entry.group.is_shared(); });
  if (failing_fast_ || (pending_.empty() && !rest)) return;
  failing_fast_ = true;
  request_stop(0, "fail_fast");
  for (auto& entry : running_) {
    if (entry.attempt) entry.attempt->begin_no_more();
  }
  drop_pending({Outcome::kNotrun, "fail_fast"}, "not started, because " + case_id + " had failed");
}

void Runner::request_stop(int signal, const std::string& reason) {
  const auto elapsed = std::chrono::duration_cast<Milliseconds>(Clock::now() - context_.run_started);
  sink_.on(StopRequested{.signal = signal, .reason = reason, .at_ms = elapsed.count()});
}

void Runner::on_signal(int signal, bool parent_died) {
  if (parent_died && stop_signal_)
    return;  // the signal that stopped us took the parent too: not a second wish
  request_stop(signal, parent_died ? "parent_died" : "signal");
  if (stop_signal_) return stop_running(SIGKILL, Milliseconds(0), kKillBudget);
  stop_signal_ = signal;
  stopping_ = true;
  drop_pending({Outcome::kNotrun, "interrupted"}, "not started, because the run was stopped");
  stop_running(signal, kStopGrace, kStopBudget);
}

void Runner::on_deadline() {
  if (stopping_) return;
  stopping_ = true;
  request_stop(0, "deadline");
  drop_pending({Outcome::kNotrun, "budget"}, "not started, because the run's time was used up");
  stop_running(SIGTERM, kStopGrace, kStopBudget);
}

void Runner::stop_running(int signal, Milliseconds grace, Milliseconds budget) {
  if (care_) care_->give_up();
  for (auto& entry : running_) entry.attempt->stop(signal, grace, why_stopped());
  if (running_.empty()) return leave();
  give_up_.expires_after(budget);
  give_up_.async_wait([this](const auto& error) {
    if (!error) abandon_running();
  });
}

void Runner::abandon_running() {
  for (auto& entry : running_) entry.attempt->abandon();
  for (auto& entry : running_) {
    ends_.announce(entry.group.give_up({Outcome::kNotrun, why_stopped()},
                                       "its processes did not die in time and may still run"));
  }
  running_.clear();
  leave();
}

void Runner::drop_pending(const Verdict& verdict, const std::string& note) {
  ends_.announce(pending_.drop(verdict, note));
}

void Runner::arm_tick() {
  if (!setup_.on_tick) return;
  tick_.expires_after(kTick);
  tick_.async_wait([this](const auto& error) {
    if (error) return;
    setup_.on_tick();
    arm_tick();
  });
}

}  // namespace

RunResult run_plan(const RunSetup& setup, EventSink& sink) { return Runner(setup, sink).run(); }

}  // namespace proctor
