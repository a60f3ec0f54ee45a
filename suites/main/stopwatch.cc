#include "suites/main/stopwatch.h"

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace proctor::suite {
namespace {

// Total time that this thread has waited for a CPU.
std::chrono::nanoseconds processor_delay() {
  std::int64_t ran = 0, waited = 0;
  std::ifstream("/proc/thread-self/schedstat") >> ran >> waited;
  return std::chrono::nanoseconds(waited);
}

}  // namespace

Stopwatch::Stopwatch() : delay_(processor_delay()), began_(std::chrono::steady_clock::now()) {}

std::chrono::nanoseconds Stopwatch::by_clock() const { return std::chrono::steady_clock::now() - began_; }

std::chrono::nanoseconds Stopwatch::of_thread() const {
  const auto clock = by_clock();
  return std::max(clock - (processor_delay() - delay_), std::chrono::nanoseconds::zero());
}

}  // namespace proctor::suite
