// Waits with a limit, which the runtime has not: its waits end with the work. So a wait that is patient
// enough is the runtime's own, which the runner's deadline ends, and a shorter one asks again and again.
#pragma once

#include <chrono>
#include <thread>

#include "suites/accel/accel.h"

namespace proctor::accel {

inline bool is_unbounded(Nanoseconds timeout) { return timeout >= kSynchronizeTimeout; }

// The answer of `query`, which has become something else than "not ready" or still is it after `timeout`.
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
