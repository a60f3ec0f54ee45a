#include "harness/run/runner.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <list>
#include <set>

#include "harness/run/attempt.h"
#include "harness/run/case_progress.h"
#include "harness/run/device_care.h"
#include "harness/run/lease_wait.h"
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
  // A case that has begun; it keeps its slot and its devices until its last attempt has ended.
  struct Running {
    std::size_t index;
    CaseProgress progress;
    std::vector<std::string> devices;
    std::unique_ptr<RunningAttempt> attempt;  // none: its devices are waited for
  };
  using Slot = std::list<Running>::iterator;

  const Case& test(std::size_t index) const { return setup_.plan->cases[index]; }
  const Suite& suite(std::size_t index) const { return setup_.plan->suites[test(index).suite]; }

  void admit_cases();
  std::optional<std::string> unmet_need(std::size_t index) const;
  void start_more();
  bool start_first_that_fits();
  void start_attempt(Slot slot);
  void on_attempt_ended(Slot slot, const AttemptEnded& ended);
  void on_settled(Slot slot, CaseProgress::Next next, const std::vector<DeviceFinding>& findings);
  void go_on(Slot slot, CaseProgress::Next next);
  void end_case(Slot slot, const std::string& note, std::optional<Verdict> instead = {});
  void announce_end(std::size_t index, Verdict verdict, std::vector<std::string> marks,
                    const std::string& note);
  std::optional<KnownVerdict> known_failure(std::size_t index, const Verdict& verdict) const;

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
  StopSignals signals_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer give_up_;
  boost::asio::steady_timer tick_;
  std::deque<std::size_t> pending_;
  std::list<Running> running_;
  std::optional<int> stop_signal_;
  bool stopping_ = false;
  bool starting_ = false;
  LeaseWait lease_wait_;
  std::set<std::string> holders_;     // sentences: what other runs hold, at the last look
  std::unique_ptr<DeviceCare> care_;  // none: nobody can say how the devices are
};

RunResult Runner::run() {
  sink_.on(setup_.planned);
  for (const auto& warning : setup_.warnings) sink_.on(warning);
  if (setup_.watch_parent && !signals_.watch_parent()) {
    sink_.on(Warning{"parent_watch", "the death of the parent process cannot be noticed here"});
  }
  admit_cases();
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

// Decides what can be decided without starting anything.
void Runner::admit_cases() {
  for (std::size_t i = 0; i < setup_.plan->cases.size(); ++i) {
    const auto backend = std::string(to_string(suite(i).backend));
    const int devices = test(i).devices;
    if (test(i).disabled) {
      announce_end(i, {Outcome::kSkip, "disabled"}, {}, "disabled in its own source");
    } else if (const auto why = setup_.unusable.find(backend); why != setup_.unusable.end()) {
      announce_end(i, {Outcome::kSkip, why->second}, {}, "");
    } else if (const auto need = unmet_need(i)) {
      announce_end(i, {Outcome::kSkip, "needs:" + *need}, {}, "");
    } else if (devices > 0 && !pool_.can_ever_lease(backend, devices)) {
      const bool none = pool_.width(backend) == 0;
      announce_end(i, {Outcome::kSkip, none ? "no_device" : "needs:devices>=" + std::to_string(devices)}, {},
                   "");
    } else {
      pending_.push_back(i);
    }
  }
}

std::optional<std::string> Runner::unmet_need(std::size_t index) const {
  const auto lacking = setup_.lacking.find(std::string(to_string(suite(index).backend)));
  if (lacking == setup_.lacking.end()) return std::nullopt;
  for (const auto& need : test(index).needs) {
    if (lacking->second.contains(need)) return need;
  }
  return std::nullopt;
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
  if (!pending_.empty() && !holders_.empty()) return wait_for_leases();
  // Nothing runs and nothing fits: what is left waits for devices that were taken out.
  drop_pending({Outcome::kNotrun, "device_lost"}, "the devices that it needs are lost to this run");
  leave();
}

bool Runner::start_first_that_fits() {
  holders_.clear();
  std::map<std::string, int> refused;  // backend -> least number of devices that could not be had
  for (auto it = pending_.begin(); it != pending_.end(); ++it) {
    const std::size_t index = *it;
    std::vector<std::string> devices;
    if (test(index).devices > 0) {
      const std::string backend(to_string(suite(index).backend));
      // Asking again for as many costs a look at every lease file, and gets the same answer.
      if (const auto least = refused.find(backend);
          least != refused.end() && test(index).devices >= least->second)
        continue;
      auto leased = pool_.lease(backend, test(index).devices, test(index).id);
      if (!leased) {
        refused[backend] = test(index).devices;
        for (const auto& holder : pool_.held_elsewhere()) holders_.insert(holder);
        continue;
      }
      devices = std::move(*leased);
    }
    pending_.erase(it);
    running_.push_back({.index = index,
                        .progress = CaseProgress({.retries = test(index).policy.retries,
                                                  .repeat = setup_.repeat,
                                                  .until_fail = setup_.until_fail}),
                        .devices = std::move(devices),
                        .attempt = nullptr});
    start_attempt(std::prev(running_.end()));
    return true;
  }
  return false;
}

void Runner::start_attempt(Slot slot) {
  auto environment = setup_.environment(suite(slot->index), slot->devices);
  if (!environment) {  // a lease that no mask can express; never started with more than it holds
    slot->progress.add({Outcome::kError, "environment"}, {}, /*expected=*/true);
    return end_case(slot, "failed to " + environment.error().what);
  }
  AttemptPlan plan{.suite = &suite(slot->index),
                   .test = &test(slot->index),
                   .attempt = slot->progress.attempt(),
                   .repeat = slot->progress.repeat(),
                   .devices = slot->devices,
                   .leases = pool_.descriptors(slot->devices),
                   .environment = std::move(*environment)};
  slot->attempt = std::make_unique<RunningAttempt>(
      context_, std::move(plan), [this, slot](const AttemptEnded& ended) { on_attempt_ended(slot, ended); });
}

void Runner::on_attempt_ended(Slot slot, const AttemptEnded& ended) {
  const bool expected = [&] {
    const auto known = known_failure(slot->index, ended.verdict);
    return known && known->verdict.outcome == Outcome::kXfail;
  }();
  const auto next = slot->progress.add(ended.verdict, ended.marks, expected);
  slot->attempt.reset();
  if (ended.termination.unreapable) {
    for (const auto& device : slot->devices)
      pool_.drain(device, "unreapable", "a process of " + test(slot->index).id + " does not die");
    return end_case(slot, "");
  }
  if (!care_ || slot->devices.empty() || stopping_) return go_on(slot, next);
  care_->settle(slot->devices, [this, slot, next](const std::vector<DeviceFinding>& findings) {
    on_settled(slot, next, findings);
  });
}

void Runner::on_settled(Slot slot, CaseProgress::Next next, const std::vector<DeviceFinding>& findings) {
  const std::string& id = test(slot->index).id;
  bool sick = false;
  std::string lost;
  for (const auto& finding : findings) {
    const auto warning = warning_of(finding, id);
    if (warning) sink_.on(*warning);
    if (!is_sick(finding.settled)) continue;
    sick = true;
    if (finding.settled == Settled::kLost) lost = finding.device;
    pool_.drain(finding.device, std::string(to_string(finding.settled)), warning ? warning->text : "");
  }
  if (!sick) return go_on(slot, next);
  if (lost.empty() || !is_bad(slot->progress.verdict().outcome)) return end_case(slot, "");
  end_case(slot, "its device is lost: what it says is no verdict on the code",
           Verdict{Outcome::kDeviceLost, "device:" + lost});
}

void Runner::go_on(Slot slot, CaseProgress::Next next) {
  if (stopping_) pool_.retire(slot->devices);  // nobody waited for them: the next run is told
  if (next == CaseProgress::Next::kDone || stopping_) return end_case(slot, "");
  start_attempt(slot);
}

void Runner::end_case(Slot slot, const std::string& note, std::optional<Verdict> instead) {
  const std::size_t index = slot->index;
  const CaseProgress progress = std::move(slot->progress);
  pool_.release(slot->devices);
  running_.erase(slot);
  announce_end(index, instead ? *std::move(instead) : progress.verdict(), progress.marks(), note);
  start_more();
}

void Runner::wait_for_leases() {
  const auto step = lease_wait_.wait();
  if (step == LeaseWait::Step::kOver) give_up_waiting();
  if (step != LeaseWait::Step::kBegan) return;
  for (const auto& holder : holders_) sink_.on(Warning{"lease_wait", holder + "; waiting"});
}

void Runner::give_up_waiting() {
  std::string who;
  for (const auto& holder : holders_) who += (who.empty() ? "" : "; ") + holder;
  drop_pending({Outcome::kError, "lease_timeout"},
               "waited " + format_duration(setup_.lease_wait) + " for devices: " + who);
  leave();
}

std::optional<KnownVerdict> Runner::known_failure(std::size_t index, const Verdict& verdict) const {
  if (!setup_.known_failure) return std::nullopt;
  return setup_.known_failure(suite(index), test(index), verdict);
}

void Runner::announce_end(std::size_t index, Verdict verdict, std::vector<std::string> marks,
                          const std::string& note) {
  CaseEnded ended{.case_id = test(index).id,
                  .verdict = std::move(verdict),
                  .marks = std::move(marks),
                  .known_failure = {},
                  .note = note};
  if (auto known = known_failure(index, ended.verdict)) {
    ended.verdict = std::move(known->verdict);
    ended.known_failure = std::move(known->source);
    if (!known->note.empty()) ended.note = std::move(known->note);
  }
  sink_.on(ended);
  const auto outcome = ended.verdict.outcome;
  if (setup_.fail_fast && is_bad(outcome) && outcome != Outcome::kNotrun && !pending_.empty()) {
    request_stop(0, "fail_fast");
    drop_pending({Outcome::kNotrun, "fail_fast"}, "not started, because " + ended.case_id + " had failed");
  }
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
  const char* reason = stop_signal_ ? "interrupted" : "budget";
  if (care_) care_->give_up();
  for (auto& entry : running_) entry.attempt->stop(signal, grace, reason);
  if (running_.empty()) return leave();
  give_up_.expires_after(budget);
  give_up_.async_wait([this](const auto& error) {
    if (!error) abandon_running();
  });
}

void Runner::abandon_running() {
  for (auto& entry : running_) entry.attempt->abandon();
  for (auto& entry : running_) {
    announce_end(entry.index, {Outcome::kNotrun, stop_signal_ ? "interrupted" : "budget"}, {},
                 "its processes did not die in time and may still run");
  }
  running_.clear();
  leave();
}

void Runner::drop_pending(const Verdict& verdict, const std::string& note) {
  const auto dropped = std::exchange(pending_, {});
  for (const auto index : dropped) announce_end(index, verdict, {}, note);
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
