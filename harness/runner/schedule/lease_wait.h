// When to ask again for devices that other runs hold, and for how long.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/devices/leases/lease.h"

namespace proctor {

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

}  // namespace proctor
