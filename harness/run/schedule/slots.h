// Which groups run: the next one starts as soon as there are a slot and devices for it. A device is used only while no
// other run can lease it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>

#include "harness/run/schedule/lease_wait.h"
#include "harness/run/schedule/run_context.h"
#include "harness/run/schedule/running_group.h"

namespace proctor {

class Slots {
 public:
  // `idle` is called when nothing runs and nothing can start any more.
  Slots(RunContext& run, RunningGroups& groups, std::function<void()> idle);

  void begin();

 private:
  void start_more();
  bool start_first_that_fits();
  Room room() const;
  void end(RunningGroups::iterator slot, Takes takes);
  bool has_slot() const;
  void wait_for_leases();
  void give_up_waiting();
  void look_at_leases();

  RunContext& run_;
  RunningGroups& groups_;
  std::function<void()> idle_;
  bool starting_ = false;
  int on_cores_ = 0;      // of groups_, those that hold no device
  bool is_lone_ = false;  // the only one of groups_ that runs is to run without another
  LeaseWait lease_wait_;
  boost::asio::steady_timer next_look_at_leases_;
};

}  // namespace proctor
