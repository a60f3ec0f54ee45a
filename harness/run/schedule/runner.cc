#include "harness/run/schedule/runner.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <memory>
#include <utility>

#include "harness/devices/leases/device_pool.h"
#include "harness/run/attempt/attempt.h"
#include "harness/run/attempt/case_group.h"
#include "harness/run/care/device_visits.h"
#include "harness/run/care/telemetry.h"
#include "harness/run/schedule/breaker.h"
#include "harness/run/schedule/case_ends.h"
#include "harness/run/schedule/lease_wait.h"
#include "harness/run/schedule/pending_cases.h"
#include "harness/run/schedule/signals.h"

namespace proctor {
namespace {

constexpr auto kTick = std::chrono::milliseconds(200);
constexpr auto kLookAtLeases = std::chrono::seconds(2);

// A stop from outside must leave time for the reports: CI services kill a job seconds after they asked.
constexpr Milliseconds kStopGrace{3'500};
constexpr Milliseconds kStopBudget{4'500};
constexpr Milliseconds kKillBudget{1'000};  // after a second signal
constexpr Milliseconds kDumpLimit{30'000};

class Runner {
 public:
  Runner(const RunSetup& setup, EventSink& sink)
      : setup_(setup),
        sink_(sink),
        names_(*setup.plan),
        context_{.io = io_,
                 .containment = *setup.containment,
                 .sink = sink,
                 .scratch = *setup.scratch,
                 .setup = setup.attempts,
                 .names = names_,
                 .planned = setup.planned,
                 .run_started = Clock::now()},
        pool_(setup.devices->pool, setup.leases ? std::optional(*setup.leases) : std::nullopt,
              setup.planned.run_id),
        pending_(setup, pool_),
        ends_(setup, sink, [this](std::size_t index, const CaseEnded& ended) { on_announced(index, ended); }),
        signals_(io_, [this](int signal, bool parent_died) { on_signal(signal, parent_died); }),
        job_signals_(
            io_, [this] { suspend(JobSignals::Who::kSelf); }, [this] { dump(); }),
        deadline_(io_),
        give_up_(io_),
        tick_(io_),
        next_look_at_leases_(io_),
        lease_wait_(io_, setup.lease_wait, [this] { start_more(); }),
        breaker_(setup.policy.breaker.value_or(Breaker::kDefault)),
        visits_(io_, *setup.containment, setup.care, setup.policy, pool_, sink, context_.run_started),
        telemetry_(io_, *setup.containment, visits_.monitor(),
                   {.rate = setup.policy.telemetry.value_or(TelemetrySetup().rate),
                    .tool = {.env = setup.attempts.evidence_environment},
                    .on_silence = [this](const auto& devices,
                                         const std::string& why) { visits_.suspect(devices, why); }},
                   sink) {
    context_.telemetry = &telemetry_;
    // The terminal told the group of the case alone.
    context_.on_stopped = [this] { suspend(JobSignals::Who::kGroup); };
  }

  RunResult run();

 private:
  // A bad attempt whose devices have not been looked at: a sick one would answer for it.
  struct Unsettled {
    std::size_t which;  // of the cases of its process
    Verdict verdict;
    Marks marks;
    bool expected;  // the known-failure list has it
    int attempt;
    int repeat;
  };
  // A group that has begun; it keeps its slot and its devices until the last attempt
  // of its last case has ended.
  struct Running {
    CaseGroup group;
    std::vector<std::string> devices;
    std::unique_ptr<RunningAttempt> attempt = nullptr;  // none: its devices are waited for
    std::optional<std::size_t> last = {};               // of its cases, that in which the process ended
    std::optional<CaseGroup::Finished> held = {};       // its final word, while the devices are looked at
    std::vector<Unsettled> unsettled = {};
    bool begun = false;  // some process of it was started
    bool lost_devices = false;
    bool doubt = false;  // about its devices, by the way in which an attempt ended
  };
  using Slot = std::list<Running>::iterator;

  Reason why_stopped() const { return stop_signal_ ? Reason::kInterrupted : Reason::kBudget; }
  const Case& test(std::size_t index) const { return setup_.plan->cases[index]; }
  const Suite& suite(std::size_t index) const { return setup_.plan->suites[test(index).suite]; }

  void begin();
  void leave();
  void arm_tick();
  void look_at_leases();

  void start_more();
  bool start_first_that_fits();
  void begin_process(Slot slot);
  void on_entered(Slot slot, const DeviceVisits::Entry& entry);
  void go_on_elsewhere(CaseGroup group);
  void leave_sick_devices(CaseGroup group);
  void start_attempt(Slot slot);
  Result<void> give_environment(AttemptPlan& plan);
  AttemptPlan plan_attempt(Slot slot);
  void wait_for_leases();
  void give_up_waiting();

  void on_case_ended(Slot slot, std::size_t which, const AttemptEnded& ended, bool went_on);
  void take_verdict(Slot slot, std::size_t which, const Unsettled& ended, const std::string& note = {});
  void settle(Slot slot, const DeviceVisits::Left& left);
  void tell_suspect(const Running& entry, const CaseGroup::Finished& finished);
  void on_process_ended(Slot slot, ProcessFate fate);
  void on_left(Slot slot, ProcessFate fate, const std::vector<std::size_t>& not_begun,
               const DeviceVisits::Left& left);
  void hold_last(Slot slot);
  void go_on(Slot slot, ProcessFate fate, const std::vector<std::size_t>& not_begun);
  bool moves_on(Running& entry);
  void end_group(Slot slot);

  void on_announced(std::size_t index, const CaseEnded& ended);
  void finish(StopCause cause, const std::string& why);
  void request_stop(int signal, StopCause cause);
  void on_signal(int signal, bool parent_died);
  void suspend(JobSignals::Who who);
  void dump();
  void on_deadline();
  void stop_running(int signal, Milliseconds grace, Milliseconds budget);
  void abandon_running();
  void drop_pending(const Verdict& verdict, const std::string& note);

  const RunSetup& setup_;
  EventSink& sink_;
  boost::asio::io_context io_{1};
  LogNames names_;
  AttemptContext context_;
  DevicePool pool_;
  PendingCases pending_;
  CaseEnds ends_;
  StopSignals signals_;
  JobSignals job_signals_;
  std::shared_ptr<ContainedProcess> dump_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer give_up_;
  boost::asio::steady_timer tick_;
  boost::asio::steady_timer next_look_at_leases_;
  std::list<Running> running_;
  std::optional<int> stop_signal_;
  bool stopping_ = false;
  bool starting_ = false;
  std::optional<CaseGroup::NoMore> finishing_;  // set: nothing new starts
  LeaseWait lease_wait_;
  Breaker breaker_;
  DeviceVisits visits_;
  Telemetry telemetry_;
};

// ---- the whole run ----

RunResult Runner::run() {
  sink_.on(setup_.planned);
  for (const auto& evidence : setup_.evidence) sink_.on(evidence);
  for (const auto& warning : setup_.warnings) sink_.on(warning);
  setup_.containment->watch_frozen_time();
  if (const std::string why = setup_.containment->why_no_pressure(); !why.empty())
    sink_.on(Warning{WarningCode::kPressure,
                     "a case that gets no CPU time is not told from one that hangs: " + why});
  if (setup_.watch_parent && !signals_.watch_parent()) {
    sink_.on(Warning{WarningCode::kParentWatch, "the death of the parent process cannot be noticed here"});
  }
  pending_.admit([this](const CaseGroup::Finished& refused) { ends_.announce(refused); },
                 [this](std::size_t index, std::size_t parts) { ends_.expect(index, parts); });
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
  for (const auto& warning : context_.start_costs.proposals()) sink_.on(warning);
  if (setup_.at_end) {
    for (const auto& warning : setup_.at_end()) sink_.on(warning);
  }
  const auto elapsed = std::chrono::duration_cast<Milliseconds>(Clock::now() - context_.run_started);
  sink_.on(RunEnded{.finished = utc_now(), .at_ms = elapsed.count()});
  return {stop_signal_};
}

void Runner::begin() {
  if (const auto& leases = pool_.leases()) {
    if (auto watched = lease_wait_.watch(*leases); !watched)
      sink_.on(Warning{WarningCode::kLeaseWatch,
                       "failed to " + watched.error().what + "; leases are looked at once a second"});
  }
  look_at_leases();
  visits_.begin([this] { start_more(); });
}

// A device is used only while no other run can lease it.
void Runner::look_at_leases() {
  for (const auto& lost : pool_.retire_lost()) {
    for (auto& entry : running_) {
      if (std::find(entry.devices.begin(), entry.devices.end(), lost) == entry.devices.end()) continue;
      entry.lost_devices = true;
      pool_.retire(entry.devices);  // dirty: nobody waits for the others' memory either
      if (entry.attempt) entry.attempt->stop(SIGTERM, kStopGrace, Reason::kDeviceLost);
    }
  }
  for (const auto& warning : pool_.take_warnings()) sink_.on(warning);
  next_look_at_leases_.expires_after(kLookAtLeases);
  next_look_at_leases_.async_wait([this](const auto& error) {
    if (!error) look_at_leases();
  });
}

// Ends the loop, once nothing of ours is left on it.
void Runner::leave() {
  if (dump_) dump_->stop(SIGKILL, Milliseconds(0));
  telemetry_.stop([this] { visits_.stop([this] { io_.stop(); }); });
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

// ---- how a group of cases starts ----

void Runner::start_more() {
  if (starting_) return;  // a case that ended without a process is inside this very loop
  starting_ = true;
  while (static_cast<int>(running_.size()) < setup_.planned.jobs && start_first_that_fits()) {
  }
  starting_ = false;
  for (const auto& warning : pool_.take_warnings()) sink_.on(warning);
  if (!running_.empty()) return;
  if (!pending_.empty() && !pending_.holders().empty()) return wait_for_leases();
  // Nothing runs and nothing fits: what is left waits for devices that were taken out.
  drop_pending({Outcome::kNotrun, Reason::kDeviceLost}, "the devices that it needs are lost to this run");
  leave();
}

bool Runner::start_first_that_fits() {
  auto start = pending_.take_first_that_fits();
  if (!start) return false;
  running_.push_back({.group = std::move(start->group), .devices = std::move(start->devices)});
  begin_process(std::prev(running_.end()));
  return true;
}

void Runner::begin_process(Slot slot) {
  const std::string& id = test(slot->group.first()).id;
  // After one sick device the next one is examined first: was it well before this group had it?
  const bool doubt = !slot->begun && slot->group.has_suspect();
  visits_.enter(slot->devices, id, doubt,
                [this, slot](const DeviceVisits::Entry& entry) { on_entered(slot, entry); });
}

void Runner::on_entered(Slot slot, const DeviceVisits::Entry& entry) {
  const bool new_while_finishing = finishing_ && !slot->begun;
  if (entry.open && !stopping_ && !new_while_finishing && !slot->lost_devices) return start_attempt(slot);
  pool_.return_unused(std::exchange(slot->devices, {}));
  if (entry.refused && !new_while_finishing) {
    ends_.announce(slot->group.give_up(*entry.refused, entry.note));
  } else {
    leave_sick_devices(std::move(slot->group));
  }
  end_group(slot);
}

// Its devices were taken out. A case that has no others will never have any.
void Runner::leave_sick_devices(CaseGroup group) {
  const std::size_t first = group.first();
  const std::string backend(to_string(suite(first).backend));
  if (pool_.can_ever_lease(backend, test(first).devices, {.only = group.pinned_to()}))
    return go_on_elsewhere(std::move(group));
  const bool sick = group.has_suspect() || !group.pinned_to().empty();
  ends_.announce(group.give_up({Outcome::kNotrun, sick ? Reason::kDeviceSick : Reason::kDeviceLost},
                               sick ? "its device was found sick, and there is no other for it"
                                    : "the devices that it needs are lost to this run"));
}

// On other devices, if there is still time for it.
void Runner::go_on_elsewhere(CaseGroup group) {
  if (stopping_) {
    ends_.announce(
        group.give_up({Outcome::kNotrun, why_stopped()}, "not started, because the run was stopped"));
  } else if (finishing_) {
    ends_.announce(group.give_up(finishing_->verdict, finishing_->note));
  } else {
    pending_.put_back(std::move(group));
  }
}

void Runner::start_attempt(Slot slot) {
  lease_wait_.end();
  slot->begun = true;
  AttemptPlan plan = plan_attempt(slot);
  if (auto environment = give_environment(plan); !environment) {
    ends_.announce(slot->group.give_up({Outcome::kError, Reason::kEnvironment},
                                       "failed to " + environment.error().what));
    return end_group(slot);
  }
  slot->attempt = std::make_unique<RunningAttempt>(
      context_, std::move(plan),
      [this, slot](std::size_t which, const AttemptEnded& ended, bool went_on) {
        on_case_ended(slot, which, ended, went_on);
      },
      [this, slot](ProcessFate fate) { on_process_ended(slot, fate); });
}

// An error is a lease that no mask can express: nothing is ever started with more than it holds.
Result<void> Runner::give_environment(AttemptPlan& plan) {
  const int ranks = plan.cases.front().test->ranks;
  auto own = setup_.environment(*plan.suite, ranks == 0 ? plan.devices : std::vector<std::string>{});
  if (!own) return own.error();
  plan.environment = std::move(*own);
  const auto each = ranks == 0 ? 0 : static_cast<std::ptrdiff_t>(plan.devices.size()) / ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto first = plan.devices.begin() + rank * each;
    auto environment = setup_.environment(*plan.suite, {first, first + each});
    if (!environment) return environment.error();
    plan.ranks.push_back(std::move(*environment));
  }
  return {};
}

AttemptPlan Runner::plan_attempt(Slot slot) {
  AttemptPlan plan{.suite = &suite(slot->group.first()),
                   .cases = {},
                   .devices = slot->devices,
                   .leases = pool_.descriptors(slot->devices),
                   .environment = {},
                   .ranks = {}};
  for (const auto& turn : slot->group.next_process())
    plan.cases.push_back({.test = &test(turn.index), .attempt = turn.attempt, .repeat = turn.repeat});
  return plan;
}

void Runner::wait_for_leases() {
  const auto step = lease_wait_.wait();
  if (step == LeaseWait::Step::kOver) give_up_waiting();
  if (step != LeaseWait::Step::kBegan) return;
  for (const auto& holder : pending_.holders())
    sink_.on(Warning{WarningCode::kLeaseWait, holder + "; waiting"});
}

void Runner::give_up_waiting() {
  std::string who;
  for (const auto& holder : pending_.holders()) who += (who.empty() ? "" : "; ") + holder;
  drop_pending({Outcome::kError, Reason::kLeaseTimeout},
               "waited " + format_duration(setup_.lease_wait) + " for devices: " + who);
  leave();
}

// ---- how it goes on and ends ----

void Runner::on_case_ended(Slot slot, std::size_t which, const AttemptEnded& ended, bool went_on) {
  const std::size_t index = slot->group.case_of(which);
  if (ended.termination.unreapable) {
    slot->lost_devices = true;
    for (const auto& device : slot->devices)
      visits_.drain(device, "unreapable", "a process of " + test(index).id + " does not die", test(index).id);
  }
  const auto known = ends_.known_failure(index, slot->devices, ended.verdict);
  const bool expected = known && known->verdict.outcome == Outcome::kXfail;
  slot->doubt = slot->doubt || casts_doubt(ended, expected);
  if (!went_on) slot->last = which;
  const Unsettled unsettled{which, ended.verdict, ended.marks, expected, ended.attempt, ended.repeat};
  const bool ran = is_bad(ended.verdict.outcome) && ended.verdict.outcome != Outcome::kNotrun;
  if (ran && !slot->devices.empty() && !stopping_ && !slot->lost_devices) {
    slot->unsettled.push_back(unsettled);
  } else {
    take_verdict(slot, which, unsettled);
  }
}

// The verdict of an attempt counts for its case.
void Runner::take_verdict(Slot slot, std::size_t which, const Unsettled& ended, const std::string& note) {
  auto finished = slot->group.attempt_ended(which, ended.verdict, ended.marks, ended.expected,
                                            /*last=*/stopping_ || slot->lost_devices, slot->devices);
  if (!finished) return;
  if (!note.empty()) finished->note = note;
  tell_suspect(*slot, *finished);
  if (slot->last == which) {
    slot->held = std::move(finished);
  } else {
    ends_.announce(*finished);
  }
}

// Its devices have been looked at. What was bad on a sick one is tried again on another, and costs no retry.
void Runner::settle(Slot slot, const DeviceVisits::Left& left) {
  for (Unsettled& ended : std::exchange(slot->unsettled, {})) {
    std::string note;
    if (!left.sick.empty()) {
      sink_.on(AttemptSuspected{.case_id = test(slot->group.case_of(ended.which)).id,
                                .attempt = ended.attempt,
                                .repeat = ended.repeat,
                                .device = left.sick,
                                .evidence = left.words});
      // `exec` starts its command once.
      if (!slot->group.has_suspect(ended.which) && !setup_.planned.exec) {
        slot->group.discount(ended.which);
        slot->group.avoid(slot->devices);
        continue;
      }
      if (!setup_.planned.exec)
        note = "it left " + left.sick + " sick, which was well before it, and is not tried on a third device";
    } else if (!left.lost.empty() && slot->lost_devices && slot->last == ended.which) {
      ended.verdict = {Outcome::kDeviceLost, {Reason::kDevice, left.lost}};
      note = "its device is lost: what it says is no verdict on the code";
    }
    take_verdict(slot, ended.which, ended, note);
  }
}

void Runner::tell_suspect(const Running& entry, const CaseGroup::Finished& finished) {
  if (!has_mark(finished.marks, Mark::kDeviceSuspect) || is_bad(finished.verdict.outcome)) return;
  const auto& had = entry.group.avoids();
  sink_.on(Warning{WarningCode::kDeviceSuspect,
                   fmt::format("{} failed on {} and passed on {}", test(finished.index).id,
                               fmt::join(had, "+"), fmt::join(entry.devices, "+"))});
}

void Runner::on_process_ended(Slot slot, ProcessFate fate) {
  const auto not_begun = slot->attempt->not_begun();
  slot->attempt.reset();
  if (stopping_ || slot->lost_devices) return on_left(slot, fate, not_begun, {});
  visits_.leave(slot->devices, test(slot->group.case_of(slot->last.value_or(0))).id,
                std::exchange(slot->doubt, false),
                [this, slot, fate, not_begun](const DeviceVisits::Left& left) {
                  on_left(slot, fate, not_begun, left);
                });
}

void Runner::on_left(Slot slot, ProcessFate fate, const std::vector<std::size_t>& not_begun,
                     const DeviceVisits::Left& left) {
  slot->lost_devices = slot->lost_devices || left.any_sick;
  settle(slot, left);
  go_on(slot, fate, not_begun);
}

// The last case of the process is not tried again.
void Runner::hold_last(Slot slot) {
  if (slot->last && !slot->held) slot->held = slot->group.end_now(*slot->last);
}

void Runner::go_on(Slot slot, ProcessFate fate, const std::vector<std::size_t>& not_begun) {
  if (stopping_) {
    pool_.retire(slot->devices);  // nobody waited for them: the next run is told
    hold_last(slot);
  }
  slot->last.reset();
  if (auto held = std::exchange(slot->held, std::nullopt)) ends_.announce(*held);
  if (stopping_) {
    ends_.announce(
        slot->group.give_up({Outcome::kNotrun, why_stopped()}, "not started, because the run was stopped"));
  } else {
    ends_.announce(slot->group.process_ended(slot->lost_devices ? ProcessFate::kDiedInCase : fate, not_begun,
                                             finishing_));
  }
  if (!slot->group.empty() && slot->lost_devices) {
    leave_sick_devices(std::move(slot->group));
  } else if (!slot->group.empty()) {
    if (!moves_on(*slot)) return begin_process(slot);
    go_on_elsewhere(std::move(slot->group));
  }
  end_group(slot);
}

// The third attempt is on another device, if there is one: does it fail there, too?
bool Runner::moves_on(Running& entry) {
  if (entry.devices.empty() || !entry.group.wants_other_devices()) return false;
  entry.group.avoid(entry.devices);
  const Suite& own = suite(entry.group.first());
  return pool_.can_ever_lease(std::string(to_string(own.backend)), test(entry.group.first()).devices,
                              {.none_of = entry.group.avoids()});
}

void Runner::end_group(Slot slot) {
  pool_.release(slot->devices);
  running_.erase(slot);
  start_more();
}

// ---- how the run is stopped before its end ----

void Runner::on_announced(std::size_t index, const CaseEnded& ended) {
  const auto outcome = ended.verdict.outcome;
  if (breaker_.add(ended.verdict)) {
    finish(StopCause::kBreaker,
           "the machine had failed " + std::to_string(breaker_.limit()) + " cases in a row");
  } else if (setup_.fail_fast && outcome != Outcome::kNotrun && is_bad(outcome, suite(index).kind->name())) {
    finish(StopCause::kFailFast, ended.case_id + " had failed");
  }
}

void Runner::finish(StopCause cause, const std::string& why) {
  const bool rest = std::any_of(running_.begin(), running_.end(),
                                [](const Running& entry) { return !entry.begun || entry.group.is_shared(); });
  if (finishing_ || (pending_.empty() && !rest)) return;
  finishing_ = CaseGroup::NoMore{{Outcome::kNotrun, reason_of_rest(cause)}, "not started, because " + why};
  request_stop(0, cause);
  for (auto& entry : running_) {
    if (entry.attempt) entry.attempt->begin_no_more();
  }
  drop_pending(finishing_->verdict, finishing_->note);
}

void Runner::request_stop(int signal, StopCause cause) {
  const auto elapsed = std::chrono::duration_cast<Milliseconds>(Clock::now() - context_.run_started);
  sink_.on(StopRequested{.signal = signal, .reason = cause, .at_ms = elapsed.count()});
}

void Runner::on_signal(int signal, bool parent_died) {
  if (parent_died && stop_signal_)
    return;  // the signal that stopped us took the parent too: not a second wish
  request_stop(signal, parent_died ? StopCause::kParentDied : StopCause::kSignal);
  if (stop_signal_) return stop_running(SIGKILL, Milliseconds(0), kKillBudget);
  stop_signal_ = signal;
  stopping_ = true;
  drop_pending({Outcome::kNotrun, Reason::kInterrupted}, "not started, because the run was stopped");
  stop_running(signal, kStopGrace, kStopBudget);
}

// Ctrl-Z. No limit counts the time until `fg` (process/frozen_time.h).
void Runner::suspend(JobSignals::Who who) {
  for (auto& entry : running_) {
    if (entry.attempt) entry.attempt->freeze();
  }
  JobSignals::stop_here(who);
  for (auto& entry : running_) {
    if (entry.attempt) entry.attempt->thaw();
  }
}

// What its cases are doing, as another process sees them; on stderr, where it ends no line of a report.
void Runner::dump() {
  if (dump_ || setup_.attempts.own_program.empty()) return;
  ProcessSpec spec;
  spec.argv = {setup_.attempts.own_program, "dump", setup_.attempts.run_dir};
  spec.env = setup_.attempts.evidence_environment;
  spec.reach = Reach::kMachine;
  spec.keep_stdout = true;
  spec.limits.timeout = kDumpLimit;
  spec.limits.grace = Milliseconds(0);
  dump_ = ContainedProcess::start(io_, *setup_.containment, std::move(spec), [this](const ProcessEnd& end) {
    dump_.reset();
    std::fputs((end.kept_stdout + end.output.stderr_tail).c_str(), stderr);
  });
}

void Runner::on_deadline() {
  if (stopping_) return;
  stopping_ = true;
  request_stop(0, StopCause::kDeadline);
  drop_pending({Outcome::kNotrun, Reason::kBudget}, "not started, because the run's time was used up");
  stop_running(SIGTERM, kStopGrace, kStopBudget);
}

void Runner::stop_running(int signal, Milliseconds grace, Milliseconds budget) {
  visits_.give_up();
  for (auto& entry : running_) entry.attempt->stop(signal, grace, why_stopped());
  if (running_.empty()) return leave();
  give_up_.expires_after(budget);
  give_up_.async_wait([this](const auto& error) {
    if (!error) abandon_running();
  });
}

void Runner::abandon_running() {
  for (auto& entry : running_) entry.attempt->abandon();
  for (auto slot = running_.begin(); slot != running_.end(); ++slot) settle(slot, {});
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

}  // namespace

RunResult run_plan(const RunSetup& setup, EventSink& sink) { return Runner(setup, sink).run(); }

}  // namespace proctor
