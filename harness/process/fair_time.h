// Time limits for the runner's own parts. They do not count the time in which a process waited for a CPU, so
// a busy machine does not make a process look stuck. After ten times the limit, it counts as stuck in any
// case.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/process/frozen_time.h"
#include "harness/process/host_usage.h"

namespace proctor {

inline constexpr int kMostPatience = 10;  // times a limit, in real time

// The time of a process tree since construction, without frozen time and without its waits for a CPU.
class FairTime {
 public:
  FairTime(const PressureGauge& gauge, const FrozenTime& frozen);

  // Returns the remaining time of `limit`. Zero: the limit is reached.
  Milliseconds left_of(Milliseconds limit) const;

 private:
  PressureGauge gauge_;
  const FrozenTime& frozen_;
  Clock::time_point begin_;
  Pressure before_;
};

// The time that one process has used while its response is pending.
class Patience {
 public:
  // Checks the process; 0: its pid is not known yet. Call it about once a second. A longer time between two
  // calls counts as one second.
  void sample(pid_t pid);
  // Returns true if the process could run and did nothing for as long as `limit`.
  bool is_over(Milliseconds limit) const { return idle_ >= limit || real_ >= kMostPatience * limit; }

 private:
  pid_t pid_ = 0;
  Clock::time_point last_ = Clock::now();
  Microseconds ran_{0};
  Clock::duration idle_{0};
  Clock::duration real_{0};
};

// A time limit for the end of killed processes. Waits of such a process for a CPU do not count.
class KillWait {
 public:
  explicit KillWait(Milliseconds limit) : limit_(limit), last_(Clock::now()) {}

  // `left`: the processes that have not ended. Call this between two checks.
  bool is_over(const std::vector<pid_t>& left);

 private:
  Milliseconds limit_;
  Clock::time_point last_;
  Clock::duration idle_{0};
  Clock::duration real_{0};
};

// Returns why a process cannot run: "it is stopped", "process 7 traces it"; "" if it can.
std::string held_by(pid_t pid);

}  // namespace proctor
