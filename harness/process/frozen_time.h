// Measures frozen time, in which the runner did not run although it did not wait for a CPU. Its container was
// frozen, it was stopped, or its virtual machine was paused. The cases were frozen too, or the runner could
// not read their output. No limit counts this time.
//
// A thread sleeps for short intervals and measures how late it wakes up. Its waits for a CPU (the second
// number of /proc/PID/schedstat) are caused by a busy machine, and do not count as frozen time.
#pragma once

#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/base/unique_fd.h"

namespace proctor {

class FrozenTime {
 public:
  FrozenTime() = default;  // measures nothing until watch()
  ~FrozenTime();
  FrozenTime(const FrozenTime&) = delete;
  FrozenTime& operator=(const FrozenTime&) = delete;

  // Starts the thread. Only a process that runs cases needs it: a process with two threads ends more slowly,
  // and a tool that inspects a case ends with it.
  void watch();

  // A shorter time is normal on a busy machine, and is not reported.
  static constexpr Milliseconds kNotable{1'000};
  // The time after which to call now() again if it returned nullopt.
  static constexpr Milliseconds kAskAgain{10};

  // The monotonic clock without the frozen time, even if that clock jumps. nullopt: unknown for now, because
  // the thread has not woken up for several intervals.
  std::optional<Clock::time_point> now() const;
  // Like now(), but the last known time. It is for the beginning of a limit.
  Clock::time_point known_now() const;
  // All frozen time since the beginning. It includes the time of a suspended machine, which the monotonic
  // clock does not count.
  Clock::duration total() const;
  // The part of total() that no earlier call returned, so that it is reported once. 0: the part is less than
  // kNotable.
  Milliseconds take_notable();

 private:
  void run(std::promise<void>& ready);

  UniqueFd beat_;  // a timerfd
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  bool blind_ = true;  // the thread does not measure
  Clock::time_point last_beat_;
  Clock::duration skipped_{0};    // of the monotonic clock
  Clock::duration suspended_{0};  // time that the monotonic clock does not count
  Clock::duration taken_{0};      // part of total() that was returned
  std::thread thread_;
};

}  // namespace proctor
