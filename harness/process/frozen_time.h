// Time in which the runner did not run although nothing kept it from a processor: its container was frozen, it was
// stopped, its virtual machine stood still. Its cases were frozen with it, or it could not hear them: no limit counts
// this time.
//
// A thread sleeps in short beats and looks how late it wakes up. What it waited for a processor meanwhile
// (proc_pid_schedstat: the second number) is the doing of a busy machine, and no frozen time.
#pragma once

#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "harness/core/clock.h"
#include "harness/core/duration.h"
#include "harness/core/unique_fd.h"

namespace proctor {

class FrozenTime {
 public:
  FrozenTime() = default;  // knows of no frozen time
  ~FrozenTime();
  FrozenTime(const FrozenTime&) = delete;
  FrozenTime& operator=(const FrozenTime&) = delete;

  // Starts to look. Only for a process that runs cases: the kernel takes one with two threads apart more slowly, and a
  // tool that looks at a case ends with it.
  void watch();

  // Less is the noise of a busy machine, and nobody is told.
  static constexpr Milliseconds kNotable{1'000};
  // For who got nullopt from now(): when to ask again.
  static constexpr Milliseconds kAskAgain{10};

  // The monotonic clock without the frozen time, also where that clock jumps. nullopt: the thread has not been awake
  // for some beats, so that nobody knows yet.
  std::optional<Clock::time_point> now() const;
  // As now(), as far as it is known: for the beginning of a limit.
  Clock::time_point known_now() const;
  // All of it since the beginning. A suspended machine is in it, although the monotonic clock stands still meanwhile.
  Clock::duration total() const;

 private:
  void run(std::promise<void>& ready);

  UniqueFd beat_;  // a timerfd
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  bool blind_ = true;  // nobody looks
  Clock::time_point last_beat_;
  Clock::duration skipped_{0};    // of the monotonic clock
  Clock::duration suspended_{0};  // which that clock leaves out
  std::thread thread_;
};

}  // namespace proctor
