// What the processes of a case waited for, and what they got: the kernel's pressure stall information
// (Documentation/accounting/psi.rst) of the cgroup that holds them. Where no cgroup does, the waits of each task for a
// processor (Documentation/scheduler/sched-stats.rst) are added up: those of tasks that have ended are missing, so that
// too little is found and never too much. Memory and disk are then those of the whole machine.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "harness/core/clock.h"
#include "harness/core/duration.h"

namespace proctor {

using Microseconds = std::chrono::microseconds;

struct Pressure {
  Microseconds cpu{0};     // in which at least one task waited for a processor
  Microseconds used{0};    // CPU time of all tasks
  Microseconds memory{0};  // in which at least one waited for memory,
  Microseconds disk{0};    // and for a disk
};

// Each figure, and never less than nothing.
Pressure operator-(const Pressure& later, const Pressure& earlier);

class PressureGauge {
 public:
  PressureGauge() = default;
  // `leaf`: the case's cgroup, "" where there is none. `guard`: its tree is the case's.
  PressureGauge(std::string leaf, pid_t guard);

  // All that the cgroup or the tree has had, and of memory and disk what the machine has had where no cgroup tells.
  Pressure now() const;
  // The same of a tree that is new, or gone: nothing but what the machine had.
  Pressure without_tree() const;

 private:
  std::string leaf_;
  pid_t guard_ = 0;
};

// Whether this machine can tell that a process waits for a processor: neither the pressure of `leaf` nor schedstat may
// be there.
bool tells_pressure(const std::string& leaf);

// What one limit saw.
struct Starvation {
  Microseconds window{0};  // the limit
  Pressure during{};
  bool throttled = false;  // by a quota (cpu.max)

  // The machine kept the case from its work: for at least half of the time it waited for a processor, and it got less
  // than half of one.
  bool is_starved() const {
    return window.count() > 0 && 2 * during.cpu >= window && 2 * during.used < window;
  }
};

// Tells whether a quota throttled this process's cgroup, or one above it (cgroup-v2.rst, cpu.max and cpu.stat).
class Quota {
 public:
  Quota() = default;
  // The nearest directory from `cgroup` up to `mount` that has a quota.
  Quota(std::string cgroup, const std::string& mount);
  // So far.
  Microseconds throttled() const;

 private:
  std::string directory_;
};

}  // namespace proctor
