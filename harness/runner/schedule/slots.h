// The slots of a run: the next group starts as soon as a slot and its devices are free. Runner calls it. A device is
// used only while no other run can lease it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/devices/leases/lease.h"
#include "harness/runner/schedule/case_ends.h"
#include "harness/runner/schedule/pending_cases.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/runner/schedule/running_groups.h"

namespace proctor {

// Controls when the run requests devices again that other runs hold, and for how long.
class LeaseWait {
 public:
  // `retry` is called from the loop when a lease may have ended.
  LeaseWait(boost::asio::io_context& io, Milliseconds longest, std::function<void()> retry);

  // Watches the directory of leases. Other runs end leases at any time, also while cases of this run run.
  Result<void> watch(const LeaseDirectory& leases);

  enum class Step { kBegan, kGoesOn, kOver };
  // Call this while no case of this run runs. It schedules the next request within a second, also without a change of
  // the directory, because other machines may use the directory too. kOver means that the longest wait is over.
  Step wait();
  void end() { waiting_ = false; }

 private:
  void await_change();

  Milliseconds longest_;
  std::function<void()> retry_;
  boost::asio::steady_timer next_;
  boost::asio::posix::stream_descriptor watch_;
  Clock::time_point until_;
  bool waiting_ = false;
};

// Starts groups while there are slots, and waits for devices that other runs hold.
class Slots {
 public:
  // `idle` is called when nothing runs and nothing can start.
  Slots(boost::asio::io_context& io, const RunSetup& setup, EventSink& sink, DevicePool& pool,
        PendingCases& pending, CaseEnds& ends, RunningGroups& groups, std::function<void()> idle);

  // Starts to watch the leases of all runs.
  void begin();
  // Starts every group that has a slot and devices now.
  void start_more();

 private:
  bool start_first_that_fits();
  Room room() const;
  void end(bool begun, Takes takes);
  bool has_slot() const;
  void wait_for_leases();
  void give_up_waiting();
  void examine_leases();

  const RunSetup& setup_;
  EventSink& sink_;
  DevicePool& pool_;
  PendingCases& pending_;
  CaseEnds& ends_;
  RunningGroups& groups_;
  std::function<void()> idle_;
  bool starting_ = false;
  int on_cores_ = 0;      // number of running groups without a device
  bool is_lone_ = false;  // the running group must run alone
  LeaseWait lease_wait_;
  boost::asio::steady_timer next_lease_poll_;
};

}  // namespace proctor
