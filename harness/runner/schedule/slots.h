// Which groups run: the next one starts as soon as there are a slot and devices for it. A device is used only while no
// other run can lease it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>

#include "harness/runner/schedule/case_ends.h"
#include "harness/runner/schedule/lease_wait.h"
#include "harness/runner/schedule/pending_cases.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/runner/schedule/running_groups.h"

namespace proctor {

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
  void look_at_leases();

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
  boost::asio::steady_timer next_look_at_leases_;
};

}  // namespace proctor
