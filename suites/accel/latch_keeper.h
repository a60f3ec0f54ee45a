// Opens a latch that a check leaves closed for too long. A call that is made while the latch is closed may
// wait for it. For example, loading a kernel may wait (NVIDIA CUDA Programming Guide, Lazy Loading, Potential
// Hazards). The host measures the time, because a number of polls by a kernel takes a different time on each
// device. The deadlock then becomes a failure with a clear message instead of a timeout.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <thread>

namespace proctor::accel {

// The limit is longer than kPatience of checks, and shorter than the time limits of a helper and a case.
inline constexpr std::chrono::milliseconds kHeldAtMost{18'000};

class LatchKeeper {
 public:
  // The kernel polls `word` until it is not 0.
  explicit LatchKeeper(std::uint32_t& word, std::chrono::milliseconds limit = kHeldAtMost);
  // Opens the latch, and reports a failure if the limit expired before.
  void open();

 private:
  void wait(const std::stop_token& opened);

  std::uint32_t& word_;
  const std::chrono::milliseconds limit_;
  std::atomic<bool> late_ = false;
  std::jthread thread_;  // declared last, because it uses the other members
};

}  // namespace proctor::accel
