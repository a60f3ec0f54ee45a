#include "harness/runner/schedule/running_groups.h"

#include <signal.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace proctor {

// ---- Start of a group ----

void RunningGroup::begin(Listener listener) {
  listener_ = std::move(listener);
  begin_process();
}

void RunningGroup::begin_process() {
  // After one unhealthy device, the next device is examined before the group uses it. The result shows whether the
  // group damages its devices.
  const bool suspicion = !begun_ && group_.has_suspect();
  devices_.enter(setup_.test(group_.first()).id, suspicion,
                 [this](const DeviceAdmission::Entry& entry) { on_entered(entry); });
}

void RunningGroup::on_entered(const DeviceAdmission::Entry& entry) {
  const bool new_while_finishing = stage_.finishing() && !begun_;
  if (entry.open && !stage_.is_stopping() && !new_while_finishing && !devices_.are_lost())
    return start_attempt();
  devices_.return_unused();
  if (entry.refused && !new_while_finishing) {
    give_up({*entry.refused, entry.note});
  } else {
    leave_unhealthy_devices();
  }
  end();
}

void RunningGroup::start_attempt() {
  begun_ = true;
  auto process = processes_.start(group_, devices_, *this);
  if (!process) {
    give_up({{Outcome::kError, Reason::kProcessSetup}, "failed to " + process.error().what});
    return end();
  }
  process_ = *std::move(process);
}

// ---- Next attempts ----

void RunningGroup::on_case_ended(std::size_t which, const AttemptEnded& ended, bool went_on) {
  const std::size_t index = group_.case_of(which);
  if (ended.termination.unkillable) devices_.drain_unkillable(setup_.test(index).id);
  const auto known = ends_.known_failure(index, devices_.ids(), ended.verdict);
  const bool expected = known && known->verdict.outcome == Outcome::kXfail;
  process_.suspicion = process_.suspicion || raises_suspicion(ended, expected);
  process_.poisoned = process_.poisoned || (!devices_.empty() && poisons_process(ended));
  process_.leaked =
      process_.leaked || (!ended.termination.leaked_by.empty() && setup_.test(index).policy.leaks_fail);
  verdicts_.attempt_ended(which, ended, expected, went_on, has_mark(ended.marks, Mark::kUnconfirmed));
}

Unproven RunningGroup::unproven_ones() const {
  if (!process_.attempt) return {};
  return {.cases = process_.attempt->unproven(), .may_share = process_.attempt->may_share_again()};
}

void RunningGroup::on_process_ended(ProcessFate fate) {
  processes_.ended(group_, process_);
  const Ended ended{fate, process_.attempt->not_begun(), unproven_ones(), process_.attempt->is_unreliable()};
  process_.attempt.reset();
  if (stage_.is_stopping() || devices_.are_lost()) return on_left(ended, {});
  devices_.leave(setup_.test(verdicts_.last_case()).id, process_.suspicion,
                 [this, ended](const DeviceAdmission::Left& left) { on_left(ended, left); });
}

void RunningGroup::on_left(const Ended& ended, const DeviceAdmission::Left& left) {
  verdicts_.settle(left, ended.unproven);
  if (devices_.are_lost() || process_.poisoned) group_.invalidate_passes(CaseGroup::Invalid::kDeviceFailed);
  if (process_.leaked || ended.unreliable) group_.invalidate_passes(CaseGroup::Invalid::kUnreliable);
  go_on(ended.fate, ended.not_begun);
}

void RunningGroup::go_on(ProcessFate fate, const std::vector<std::size_t>& not_begun) {
  if (stage_.is_stopping())
    devices_.retire();  // the run did not wait until their memory is free: the next run must
                        // check them
  verdicts_.process_ended();
  if (stage_.is_stopping()) {
    give_up_stopped();
  } else {
    const bool may_verify = processes_.may_verify(group_);
    ends_.announce(group_.process_ended(devices_.are_lost() ? ProcessFate::kDiedInCase : fate, not_begun,
                                        stage_.finishing(), may_verify));
  }
  if (!group_.empty() && devices_.are_lost()) {
    leave_unhealthy_devices();
  } else if (!group_.empty()) {
    const bool waits = group_.is_turn_over();
    const bool proves = group_.only_proves() && !is_lone_ && setup_.repeats.order.jobs > 1;
    if (!stage_.finishes_at_once() && !waits && !proves && !moves_on()) return begin_process();
    if (proves && devices_.ids().size() == 1)
      group_.pin_to({devices_.ids().front()});  // the proof uses the same
                                                // device
    go_on_elsewhere(waits);
  }
  end();
}

// ---- End of a group ----

void RunningGroup::lose(const std::string& device) {
  if (devices_.lose(device) && process_.attempt)
    process_.attempt->stop(SIGTERM, kStopGrace, Reason::kDeviceLost);
}

// The third attempt uses another device, if there is one. It shows whether the case fails there too.
bool RunningGroup::moves_on() {
  if (devices_.empty() || !group_.needs_other_devices()) return false;
  group_.avoid(devices_.ids());
  return have_other_devices({.none_of = group_.avoids()});
}

bool RunningGroup::have_other_devices(const LeaseRequest& lease_request) const {
  const std::size_t first = group_.first();
  return devices_.have_others(setup_.suite(first), setup_.test(first), lease_request);
}

// The devices were taken out of the run. If no others can ever be leased, the cases end.
void RunningGroup::leave_unhealthy_devices() {
  if (have_other_devices({.only = group_.pinned_to()})) return go_on_elsewhere();
  give_up(pending_.why_no_devices(group_));
}

// Puts the group back to the pending ones, for other devices or for its next turn. If the run finishes or stops, its
// cases end instead.
void RunningGroup::go_on_elsewhere(bool after_others) {
  if (stage_.is_stopping()) {
    give_up_stopped();
  } else if (stage_.finishing()) {
    give_up(*stage_.finishing());
  } else if (group_.only_proves()) {
    pending_.put_lone(std::move(group_));
  } else if (after_others) {
    pending_.put_last(std::move(group_));
  } else {
    pending_.put_back(std::move(group_));
  }
}

void RunningGroup::give_up_stopped() {
  give_up({{Outcome::kNotrun, stage_.why_stopped()}, "not started, because the run was stopped"});
}

void RunningGroup::end() {
  devices_.release();
  const auto ended = std::move(listener_.ended);
  ended();  // may destroy this object
}

void RunningGroups::start(PendingCases::Start start, OnEnded ended) {
  groups_.emplace_back(setup_, stage_, processes_, pending_, ends_,
                       GroupDevices(pool_, admission_, std::move(start.devices)), std::move(start.group),
                       start.is_lone);
  const auto group = std::prev(groups_.end());
  const auto end = [this, group, ended = std::move(ended)] {
    const bool begun = group->begun();
    groups_.erase(group);
    ended(begun);
  };
  group->begin({.ended = end, .stopped = on_stopped_});
}

bool RunningGroups::may_begin_more() const {
  return std::ranges::any_of(groups_, [](const RunningGroup& group) { return group.may_begin_more(); });
}

void RunningGroups::begin_no_more() {
  for (auto& group : groups_) {
    if (auto* attempt = group.attempt()) attempt->begin_no_more();
  }
}

void RunningGroups::freeze() {
  for (auto& group : groups_) {
    if (auto* attempt = group.attempt()) attempt->freeze();
  }
}

void RunningGroups::thaw() {
  for (auto& group : groups_) {
    if (auto* attempt = group.attempt()) attempt->thaw();
  }
}

void RunningGroups::lose(const std::string& device) {
  for (auto& group : groups_) group.lose(device);
}

void RunningGroups::stop(int signal, Milliseconds grace) {
  admission_.give_up();  // ends the groups without an attempt
  for (auto& group : groups_) group.attempt()->stop(signal, grace, stage_.why_stopped());
}

void RunningGroups::abandon() {
  for (auto& group : groups_) group.attempt()->abandon();
  for (auto& group : groups_) group.settle({});
  for (auto& group : groups_)
    group.give_up(
        {{Outcome::kNotrun, stage_.why_stopped()}, "its processes did not exit in time and may still run"});
  groups_.clear();
}

}  // namespace proctor
