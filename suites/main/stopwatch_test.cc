// Tests of the stopwatch: the time of the clock, and the time without waits for a CPU.
#include "suites/main/stopwatch.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

namespace proctor::suite {
namespace {

using std::chrono::milliseconds;

// A sleeping thread does not wait for a CPU, but it can wait when it wakes on a busy machine. One quiet sleep of
// several is therefore enough.
TEST(Stopwatch, CountsTimeOfSleepingThread) {
  constexpr int kSleeps = 40;
  for (int i = 0; i < kSleeps; ++i) {
    const Stopwatch watch;
    std::this_thread::sleep_for(milliseconds(50));
    ASSERT_GE(watch.by_clock(), milliseconds(50));
    if (watch.of_thread() >= milliseconds(40)) return;
  }
  FAIL() << "no sleep of " << kSleeps << " counts";
}

// The threads share one CPU, so each waits for it most of the time.
TEST(Stopwatch, ExcludesTimeWaitingForCpu) {
  std::ifstream schedstat("/proc/thread-self/schedstat");
  if (!schedstat) GTEST_SKIP() << "this kernel does not count it";
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int processor = 0;
  while (!CPU_ISSET(processor, &before)) ++processor;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  std::atomic<bool> over = false;
  std::jthread([&] {
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    std::vector<std::jthread> others;
    for (int i = 0; i < 4; ++i)
      others.emplace_back([&over] {
        while (!over) {
        }
      });
    const Stopwatch watch;
    while (watch.by_clock() < milliseconds(500)) {
    }
    const auto thread = watch.of_thread(), clock = watch.by_clock();
    over = true;
    EXPECT_LT(thread, clock * 3 / 4);
  }).join();
}

}  // namespace
}  // namespace proctor::suite
