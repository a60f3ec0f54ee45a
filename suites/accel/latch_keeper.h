// Opens a latch that its check left closed for too long. A call behind a closed latch may wait for the latch: loading a
// kernel may do so (NVIDIA CUDA Programming Guide, Lazy Loading, Potential Hazards). The host counts the time, because
// no number of looks of a kernel means the same time on every device. So this deadlock is a failure that says what it
// is, and no timeout.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <thread>

namespace proctor::accel {

// Longer than checks are patient, and less than a helper and a case have.
inline constexpr std::chrono::milliseconds kHeldAtMost{18'000};

class LatchKeeper {
 public:
  // The kernel looks at `word` until it is not 0.
  explicit LatchKeeper(std::uint32_t& word, std::chrono::milliseconds limit = kHeldAtMost);
  // Opens the latch, and reports a failure if the time was over before.
  void open();

 private:
  void wait(const std::stop_token& opened);

  std::uint32_t& word_;
  const std::chrono::milliseconds limit_;
  std::atomic<bool> late_ = false;
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace proctor::accel
