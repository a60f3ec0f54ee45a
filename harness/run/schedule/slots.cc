#include "harness/run/schedule/slots.h"

#include <utility>

namespace proctor {
namespace {

constexpr auto kLookAtLeases = std::chrono::seconds(2);

}  // namespace

Slots::Slots(RunContext& run, RunningGroups& groups, std::function<void()> idle)
    : run_(run),
      groups_(groups),
      idle_(std::move(idle)),
      lease_wait_(run.attempts.io, run.setup.lease_wait, [this] { start_more(); }),
      next_look_at_leases_(run.attempts.io) {}

void Slots::begin() {
  if (const auto& leases = run_.pool.leases()) {
    if (auto watched = lease_wait_.watch(*leases); !watched)
      run_.sink.on(Warning{WarningCode::kLeaseWatch,
                           "failed to " + watched.error().what + "; leases are polled once a second"});
  }
  look_at_leases();
  run_.visits.begin([this] { start_more(); });
}

void Slots::start_more() {
  if (starting_) return;  // a case that ended without a process is inside this very loop
  starting_ = true;
  while (has_slot() && start_first_that_fits()) {
  }
  starting_ = false;
  for (const auto& warning : run_.pool.take_warnings()) run_.sink.on(warning);
  if (!groups_.empty()) return;
  if (!run_.pending.empty() && !run_.pending.holders().empty()) return wait_for_leases();
  // Nothing runs and nothing fits: what is left waits for devices that were taken out.
  run_.ends.announce(run_.pending.drop_without_devices());
  idle_();
}

bool Slots::has_slot() const {
  return !is_lone_ && static_cast<int>(groups_.size()) < run_.setup.repeats.order.jobs;
}

Room Slots::room() const {
  const int on_devices = static_cast<int>(groups_.size()) - on_cores_;
  const int most_on_cores = run_.setup.repeats.order.most_on_cores;
  Room room{.has_core = most_on_cores == 0 || on_cores_ < most_on_cores, .is_empty = groups_.empty()};
  if (on_cores_ != on_devices) room.first = on_cores_ < on_devices ? Takes::kCore : Takes::kDevices;
  return room;
}

bool Slots::start_first_that_fits() {
  auto start = run_.pending.take_first_that_fits(room());
  if (!start) return false;
  const Takes takes = start->takes;
  const std::string concurrency_group = start->concurrency_group;
  on_cores_ += takes == Takes::kCore ? 1 : 0;
  is_lone_ = start->is_lone;
  groups_.emplace_back(run_, std::move(start->group), std::move(start->devices), start->is_lone);
  const auto slot = std::prev(groups_.end());
  slot->begin([this, slot, takes, concurrency_group] {
    run_.pending.ended(concurrency_group);
    end(slot, takes);
  });
  return true;
}

void Slots::end(RunningGroups::iterator slot, Takes takes) {
  on_cores_ -= takes == Takes::kCore ? 1 : 0;
  is_lone_ = false;
  if (slot->begun()) lease_wait_.end();  // the next wait has all its time again
  groups_.erase(slot);
  start_more();
}

void Slots::wait_for_leases() {
  const auto step = lease_wait_.wait();
  if (step == LeaseWait::Step::kOver) give_up_waiting();
  if (step != LeaseWait::Step::kBegan) return;
  for (const auto& holder : run_.pending.holders())
    run_.sink.on(Warning{WarningCode::kLeaseWait, holder + "; waiting"});
}

void Slots::give_up_waiting() {
  std::string who;
  for (const auto& holder : run_.pending.holders()) who += (who.empty() ? "" : "; ") + holder;
  run_.drop_pending({{Outcome::kError, Reason::kLeaseTimeout},
                     "waited " + format_duration(run_.setup.lease_wait) + " for devices: " + who});
  idle_();
}

void Slots::look_at_leases() {
  for (const auto& lost : run_.pool.retire_lost()) {
    for (auto& group : groups_) group.lose(lost);
  }
  for (const auto& warning : run_.pool.take_warnings()) run_.sink.on(warning);
  next_look_at_leases_.expires_after(kLookAtLeases);
  next_look_at_leases_.async_wait([this](const auto& error) {
    if (!error) look_at_leases();
  });
}

}  // namespace proctor
