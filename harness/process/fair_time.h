// How long the runner waits for its own parts: their limits count the time in which they could run. What waits for a
// processor on a busy machine is late and not stuck. It counts as stuck after ten times its limit all the same.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/core/clock.h"
#include "harness/core/duration.h"
#include "harness/process/frozen_time.h"
#include "harness/process/pressure.h"

namespace proctor {

inline constexpr int kMostPatience = 10;  // times a limit, in real time

// Of a process tree, since this was made: without what was frozen, and without its waits for a processor.
class FairTime {
 public:
  FairTime(const PressureGauge& gauge, const FrozenTime& frozen);

  // Zero: it is over.
  Milliseconds left_of(Milliseconds limit) const;

 private:
  PressureGauge gauge_;
  const FrozenTime& frozen_;
  Clock::time_point begin_;
  Pressure before_;
};

// Of one process that was told something and has not answered yet.
class Patience {
 public:
  // Looks at it; 0: nobody knows its pid yet. Call it about once a second: a longer time between two looks counts as one
  // second, whatever has kept the caller.
  void look(pid_t pid);
  // In which it could run and did nothing, of the looks so far.
  bool is_over(Milliseconds limit) const { return idle_ >= limit || real_ >= kMostPatience * limit; }

 private:
  pid_t pid_ = 0;
  Clock::time_point last_ = Clock::now();
  Microseconds ran_{0};
  Clock::duration idle_{0};
  Clock::duration real_{0};
};

// How long somebody waits for what was killed: what wants a processor is on its way to its end.
class KillWait {
 public:
  explicit KillWait(Milliseconds limit) : limit_(limit), last_(Clock::now()) {}

  // `left`: what is still there. Call it between two looks.
  bool is_over(const std::vector<pid_t>& left);

 private:
  Milliseconds limit_;
  Clock::time_point last_;
  Clock::duration idle_{0};
  Clock::duration real_{0};
};

// Who keeps a process from running, as a fact: "it is stopped", "process 7 traces it"; "" where nobody does.
std::string held_by(pid_t pid);

}  // namespace proctor
