// Measures time in two ways: by the clock, and without the thread's waits for a CPU. Example:
//
//   const Stopwatch watch;
//   std::system("sleep 1");
//   if (watch.of_thread() > std::chrono::seconds(2)) std::puts("late");
//
// On a busy machine a thread waits for a CPU. That time does not belong to the function that the thread called.
#pragma once

#include <chrono>

namespace proctor::suite {

class Stopwatch {
 public:
  Stopwatch();

  std::chrono::nanoseconds by_clock() const;
  // The measured time without the waits of this thread for a CPU. Call it from the thread that made the watch. If
  // the kernel does not count the waits (/proc/thread-self/schedstat), the result equals by_clock().
  std::chrono::nanoseconds of_thread() const;

 private:
  std::chrono::nanoseconds delay_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace proctor::suite
