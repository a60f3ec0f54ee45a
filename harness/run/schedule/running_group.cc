#include "harness/run/schedule/running_group.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "harness/run/attempt/ranks_of_case.h"

namespace proctor {
namespace {

AttemptPlan plan_attempt(const RunContext& run, CaseGroup& group, const std::vector<std::string>& devices) {
  AttemptPlan plan{.suite = &run.suite(group.first()),
                   .cases = {},
                   .devices = devices,
                   .leases = run.pool.descriptors(devices),
                   .environment = {},
                   .ranks = {}};
  if (run.attempts.one_by_one.contains(plan.suite)) group.stand_alone();
  for (const auto& turn : group.next_process()) {
    plan.cases.push_back({.test = &run.test(turn.index),
                          .attempt = turn.attempt,
                          .repeat = turn.repeat,
                          .silent = turn.silent});
  }
  return plan;
}

// An error is a lease that no mask can express: nothing is ever started with more than it holds.
Result<void> give_environment(const RunSetup& setup, AttemptPlan& plan) {
  const auto ranks = static_cast<std::size_t>(plan.first().test->ranks);
  auto own = setup.environment(*plan.suite, ranks == 0 ? plan.devices : std::vector<std::string>{});
  if (!own) return own.error();
  plan.environment = std::move(*own);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto environment = setup.environment(*plan.suite, devices_of_rank(plan.devices, rank, ranks));
    if (!environment) return environment.error();
    plan.ranks.push_back(std::move(*environment));
  }
  return {};
}

}  // namespace

// ---- how it starts ----

void RunningGroup::begin(std::function<void()> ended) {
  ended_ = std::move(ended);
  begin_process();
}

void RunningGroup::begin_process() {
  // After one sick device the next one is examined first: was it well before this group had it?
  const bool doubt = !begun_ && group_.has_suspect();
  run_.visits.enter(devices_.ids, run_.test(group_.first()).id, doubt,
                    [this](const DeviceVisits::Entry& entry) { on_entered(entry); });
}

void RunningGroup::on_entered(const DeviceVisits::Entry& entry) {
  const bool new_while_finishing = run_.finishing && !begun_;
  if (entry.open && !run_.stopping && !new_while_finishing && !devices_.lost) return start_attempt();
  run_.pool.return_unused(std::exchange(devices_.ids, {}));
  if (entry.refused && !new_while_finishing) {
    give_up({*entry.refused, entry.note});
  } else {
    leave_sick_devices();
  }
  end();
}

void RunningGroup::start_attempt() {
  begun_ = true;
  AttemptPlan plan = plan_attempt(run_, group_, devices_.ids);
  if (auto environment = give_environment(run_.setup, plan); !environment) {
    give_up({{Outcome::kError, Reason::kEnvironment}, "failed to " + environment.error().what});
    return end();
  }
  process_started_ = Clock::now();
  verifies_ = group_.is_verification();
  if (verifies_) run_.verification.begin_alone(*plan.suite);
  attempt_ = std::make_unique<RunningAttempt>(
      run_.attempts, std::move(plan),
      [this](std::size_t which, const AttemptEnded& ended, bool went_on) {
        on_case_ended(which, ended, went_on);
      },
      [this](ProcessFate fate) { on_process_ended(fate); });
}

// ---- how it goes on ----

void RunningGroup::on_case_ended(std::size_t which, const AttemptEnded& ended, bool went_on) {
  const std::size_t index = group_.case_of(which);
  const std::string& id = run_.test(index).id;
  if (ended.termination.unreapable) {
    devices_.lost = true;
    for (const auto& device : devices_.ids)
      run_.visits.drain(device, "unreapable", "a process of " + id + " does not die", id);
  }
  const auto known = run_.ends.known_failure(index, devices_.ids, ended.verdict);
  const bool expected = known && known->verdict.outcome == Outcome::kXfail;
  doubt_ = doubt_ || casts_doubt(ended, expected);
  poisoned_ = poisoned_ || (!devices_.ids.empty() && poisons_process(ended));
  leaked_ = leaked_ || (!ended.termination.left_by.empty() && run_.test(index).policy.leaks_fail);
  const bool provisional = attempt_->is_provisional() || has_mark(ended.marks, Mark::kUnproven);
  verdicts_.attempt_ended(which, ended, expected, went_on, provisional);
}

Unproven RunningGroup::unproven_ones() const {
  if (!attempt_) return {};
  return {.cases = attempt_->unproven(), .failures_count = attempt_->failures_count()};
}

void RunningGroup::count_time() {
  const Milliseconds duration(ms_between(process_started_, Clock::now()));
  const Suite& suite = run_.suite(group_.case_of(0));
  if (verifies_) {
    run_.verification.end_alone(suite, duration);
  } else if (group_.is_shared()) {
    run_.verification.add_batch(suite, duration);
  }
}

void RunningGroup::on_process_ended(ProcessFate fate) {
  count_time();
  const Ended ended{fate, attempt_->not_begun(), unproven_ones(), attempt_->is_unreliable()};
  attempt_.reset();
  if (run_.stopping || devices_.lost) return on_left(ended, {});
  run_.visits.leave(devices_.ids, run_.test(verdicts_.last_case()).id, std::exchange(doubt_, false),
                    [this, ended](const DeviceVisits::Left& left) { on_left(ended, left); });
}

void RunningGroup::on_left(const Ended& ended, const DeviceVisits::Left& left) {
  devices_.lost = devices_.lost || left.any_sick;
  verdicts_.settle(left, ended.unproven);
  if (devices_.lost || std::exchange(poisoned_, false)) group_.taint();
  if (std::exchange(leaked_, false) || ended.unreliable) group_.repeat_passes();
  go_on(ended.fate, ended.not_begun);
}

void RunningGroup::go_on(ProcessFate fate, const std::vector<std::size_t>& not_begun) {
  if (run_.stopping) run_.pool.retire(devices_.ids);  // nobody waited for them: the next run is told
  verdicts_.process_ended();
  if (run_.stopping) {
    give_up_stopped();
  } else {
    const bool may_verify = run_.verification.allows(run_.suite(group_.case_of(0)));
    run_.ends.announce(group_.process_ended(devices_.lost ? ProcessFate::kDiedInCase : fate, not_begun,
                                            run_.finishing, may_verify));
  }
  if (!group_.empty() && devices_.lost) {
    leave_sick_devices();
  } else if (!group_.empty()) {
    const bool waits = group_.is_turn_over();
    const bool proves = group_.only_proves() && !is_lone_ && run_.setup.repeats.order.jobs > 1;
    if (!run_.journal_is_full && !waits && !proves && !moves_on()) return begin_process();
    if (proves && devices_.ids.size() == 1) group_.pin_to({devices_.ids.front()});  // as before
    go_on_elsewhere(waits);
  }
  end();
}

// ---- how it ends ----

void RunningGroup::lose(const std::string& device) {
  const auto& ids = devices_.ids;
  if (std::find(ids.begin(), ids.end(), device) == ids.end()) return;
  devices_.lost = true;
  run_.pool.retire(ids);  // dirty: nobody waits for the others' memory either
  if (attempt_) attempt_->stop(SIGTERM, kStopGrace, Reason::kDeviceLost);
}

// The third attempt is on another device, if there is one: does it fail there, too?
bool RunningGroup::moves_on() {
  if (devices_.ids.empty() || !group_.wants_other_devices()) return false;
  group_.avoid(devices_.ids);
  return can_have_others({.none_of = group_.avoids()});
}

bool RunningGroup::can_have_others(const DeviceWish& wish) const {
  const std::size_t first = group_.first();
  return run_.pool.can_ever_lease(std::string(to_string(run_.suite(first).backend)), run_.test(first).devices,
                                  wish);
}

// Its devices were taken out. A case that has no others will never have any.
void RunningGroup::leave_sick_devices() {
  if (can_have_others({.only = group_.pinned_to()})) return go_on_elsewhere();
  give_up(run_.pending.why_no_devices(group_));
}

// On other devices, or after others have had their turn, if there is still time for it.
void RunningGroup::go_on_elsewhere(bool after_others) {
  if (run_.stopping) {
    give_up_stopped();
  } else if (run_.finishing) {
    give_up(*run_.finishing);
  } else if (group_.only_proves()) {
    run_.pending.put_lone(std::move(group_));
  } else if (after_others) {
    run_.pending.put_last(std::move(group_));
  } else {
    run_.pending.put_back(std::move(group_));
  }
}

void RunningGroup::give_up_stopped() {
  give_up({{Outcome::kNotrun, run_.why_stopped()}, "not started, because the run was stopped"});
}

void RunningGroup::end() {
  run_.pool.release(devices_.ids);
  const auto ended = std::move(ended_);
  ended();  // may destroy this
}

}  // namespace proctor
