#include "harness/runner/schedule/slots.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace proctor {
namespace {

constexpr auto kPollLeases = std::chrono::seconds(2);

}  // namespace

Slots::Slots(boost::asio::io_context& io, const RunSetup& setup, EventSink& sink, DevicePool& pool,
             PendingCases& pending, CaseEnds& ends, RunningGroups& groups, std::function<void()> idle)
    : setup_(setup),
      sink_(sink),
      pool_(pool),
      pending_(pending),
      ends_(ends),
      groups_(groups),
      idle_(std::move(idle)),
      lease_wait_(io, setup.lease_wait, [this] { start_more(); }),
      next_lease_poll_(io) {}

void Slots::begin() {
  if (const auto& leases = pool_.leases()) {
    if (auto watched = lease_wait_.watch(*leases); !watched)
      sink_.on(Warning{WarningCode::kLeaseWatchFailed,
                       "failed to " + watched.error().what + "; leases are polled once a second"});
  }
  examine_leases();
}

void Slots::start_more() {
  if (starting_) return;  // a case that ended without a process calls this inside the loop below
  starting_ = true;
  while (has_slot() && start_first_that_fits()) {
  }
  starting_ = false;
  for (const auto& warning : pool_.take_warnings()) sink_.on(warning);
  if (!groups_.empty()) return;
  if (!pending_.empty() && !pending_.holders().empty()) return wait_for_leases();
  // Nothing runs and nothing fits: the remaining cases wait for devices that were taken out of the run.
  ends_.announce(pending_.drop_without_devices());
  idle_();
}

bool Slots::has_slot() const { return !is_lone_ && groups_.size() < setup_.repeats.order.jobs; }

Room Slots::room() const {
  const int on_devices = groups_.size() - on_cores_;
  const int most_on_cores = setup_.repeats.order.most_on_cores;
  Room room{.has_core = most_on_cores == 0 || on_cores_ < most_on_cores, .is_empty = groups_.empty()};
  if (on_cores_ != on_devices) room.first = on_cores_ < on_devices ? Takes::kCore : Takes::kDevices;
  return room;
}

bool Slots::start_first_that_fits() {
  auto start = pending_.take_first_that_fits(room());
  if (!start) return false;
  const Takes takes = start->takes;
  const std::string concurrency_group = start->concurrency_group;
  on_cores_ += takes == Takes::kCore ? 1 : 0;
  is_lone_ = start->is_lone;
  groups_.start(*std::move(start), [this, takes, concurrency_group](bool begun) {
    pending_.ended(concurrency_group);
    end(begun, takes);
  });
  return true;
}

void Slots::end(bool begun, Takes takes) {
  on_cores_ -= takes == Takes::kCore ? 1 : 0;
  is_lone_ = false;
  if (begun) lease_wait_.end();  // the next wait has the full time again
  start_more();
}

void Slots::wait_for_leases() {
  const auto step = lease_wait_.wait();
  if (step == LeaseWait::Step::kOver) give_up_waiting();
  if (step != LeaseWait::Step::kBegan) return;
  for (const auto& holder : pending_.holders())
    sink_.on(Warning{WarningCode::kLeaseWait, holder + "; waiting"});
}

void Slots::give_up_waiting() {
  std::string who;
  for (const auto& holder : pending_.holders()) who += (who.empty() ? "" : "; ") + holder;
  ends_.announce(pending_.drop({{Outcome::kError, Reason::kLeaseTimeout},
                                "waited " + format_duration(setup_.lease_wait) + " for devices: " + who}));
  idle_();
}

void Slots::examine_leases() {
  for (const auto& lost : pool_.retire_lost()) {
    groups_.lose(lost);
  }
  for (const auto& warning : pool_.take_warnings()) sink_.on(warning);
  next_lease_poll_.expires_after(kPollLeases);
  next_lease_poll_.async_wait([this](const auto& error) {
    if (!error) examine_leases();
  });
}

namespace {

constexpr Milliseconds kRetryEvery{1'000};

}  // namespace

LeaseWait::LeaseWait(boost::asio::io_context& io, Milliseconds longest, std::function<void()> retry)
    : longest_(longest), retry_(std::move(retry)), next_(io), watch_(io) {}

Result<void> LeaseWait::watch(const LeaseDirectory& leases) {
  auto watch = leases.watch();
  if (!watch) return watch.error();
  watch_.assign(watch->release());
  await_change();
  return {};
}

void LeaseWait::await_change() {
  watch_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](const auto& error) {
    if (error) return;
    char events[4096];
    while (read(watch_.native_handle(), events, sizeof events) > 0) {
    }
    retry_();
    await_change();
  });
}

LeaseWait::Step LeaseWait::wait() {
  const auto now = Clock::now();
  const bool began = !std::exchange(waiting_, true);
  if (began) until_ = now + longest_;
  if (now >= until_) return Step::kOver;
  next_.expires_at(std::min(until_, now + kRetryEvery));
  next_.async_wait([this](const auto& error) {
    if (!error) retry_();
  });
  return began ? Step::kBegan : Step::kGoesOn;
}

}  // namespace proctor
