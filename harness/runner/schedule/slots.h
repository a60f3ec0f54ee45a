// Which groups run: the next one starts as soon as there are a slot and devices for it. A device is used only while no
// other run can lease it.
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

// When to ask again for devices that other runs hold, and for how long.
class LeaseWait {
 public:
  // `retry` is called from the loop when a lease may have ended.
  LeaseWait(boost::asio::io_context& io, Milliseconds longest, std::function<void()> retry);

  // Leases of other runs end at any moment, also while cases of ours run.
  Result<void> watch(const LeaseDirectory& leases);

  enum class Step { kBegan, kGoesOn, kOver };
  // For use while no case of ours runs: asks again once a second, whatever the watch says, because other
  // machines may use the directory too. kOver means that the wait was long enough.
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

class Slots {
 public:
  // `idle` is called when nothing runs and nothing can start any more.
  Slots(boost::asio::io_context& io, const RunSetup& setup, EventSink& sink, DevicePool& pool,
        PendingCases& pending, CaseEnds& ends, RunningGroups& groups, std::function<void()> idle);

  // Watches the leases of all runs.
  void begin();
  // Starts what has a slot and devices now.
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
  int on_cores_ = 0;      // of groups_, those that hold no device
  bool is_lone_ = false;  // the only one of groups_ that runs is to run without another
  LeaseWait lease_wait_;
  boost::asio::steady_timer next_lease_poll_;
};

}  // namespace proctor
