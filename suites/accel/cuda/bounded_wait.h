// Waits with a limit. The runtime has none: its waits end only with the work. So a wait with a long limit is
// the runtime's own wait, which the runner's deadline ends, and a wait with a shorter limit asks repeatedly.
#pragma once

#include <chrono>
#include <thread>

#include "suites/accel/accel.h"

namespace proctor::accel {

inline bool is_unbounded(Nanoseconds timeout) { return timeout >= kSynchronizeTimeout; }

// Waits until the answer of `query` is no longer "not ready", at most for `timeout`, and returns the last
// answer.
template <typename Query>
Status poll(const Query& query, Nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const Status status = query();
    if (!status.not_ready() || std::chrono::steady_clock::now() >= deadline) return status;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace proctor::accel
