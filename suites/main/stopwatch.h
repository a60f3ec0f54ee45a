// How long something took: by the clock, and for the thread that did it. Example:
//
//   const Stopwatch watch;
//   std::system("sleep 1");
//   if (watch.of_thread() > std::chrono::seconds(2)) std::puts("late");
//
// On a busy machine a thread that could go on waits for a processor. That time says nothing about what it called.
#pragma once

#include <chrono>

namespace proctor::suite {

class Stopwatch {
 public:
  Stopwatch();

  std::chrono::nanoseconds by_clock() const;
  // Without the time in which this thread, which must be the one that made the watch, could run and had no processor.
  // A kernel that does not count it (/proc/thread-self/schedstat) makes no difference between the two.
  std::chrono::nanoseconds of_thread() const;

 private:
  std::chrono::nanoseconds delay_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace proctor::suite
