// CPU time, memory and waits of a case. If the case has a cgroup, CPU time and memory are those of the whole
// process tree. Otherwise they are those of the leader and of the children that the leader waited for.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "harness/base/clock.h"
#include "harness/base/duration.h"

namespace proctor {

// ---- Waits and CPU time ----
// The source is the kernel's pressure stall information (Documentation/accounting/psi.rst) of the case's
// cgroup. If it has no cgroup, the source is the wait of the one thread that waited longest
// (Documentation/scheduler/sched-stats.rst). The waits of threads overlap, so their sum has no meaning. Ended
// threads are missing, so the value can be too small but not too large. Memory and disk are then the values
// of the whole machine.

using Microseconds = std::chrono::microseconds;

// Totals of waits and CPU time at one moment.
struct Pressure {
  Microseconds cpu{0};                      // time in which at least one task waited for a CPU
  Microseconds used{0};                     // CPU time of all tasks
  Microseconds memory{0};                   // time in which at least one task waited for memory
  Microseconds disk{0};                     // time in which at least one task waited for a disk
  std::map<pid_t, Microseconds> threads{};  // without a cgroup: the wait of each thread for a CPU
};

// Returns the difference of each value, at least 0. `cpu` then includes the longest wait of one thread.
Pressure operator-(const Pressure& later, const Pressure& earlier);

// Reads the pressure of one case. LimitClock and FairTime compare two readings.
class PressureGauge {
 public:
  PressureGauge() = default;
  // `leaf`: the case's cgroup; "": none. `guard`: the root of the case's process tree.
  PressureGauge(std::string leaf, pid_t guard);

  // Totals of the cgroup or the tree. If no cgroup exists, memory and disk are those of the machine.
  Pressure now() const;
  // The same for a tree that has not started or has ended: only the values of the machine.
  Pressure without_tree() const;

 private:
  std::string leaf_;
  pid_t guard_ = 0;
};

// Returns true if waits for a CPU can be measured here: by the pressure of `leaf`, or by schedstat.
bool report_pressure(const std::string& leaf);

// The waits of the case during one limit.
struct Starvation {
  Microseconds window{0};  // the limit
  Pressure during{};
  bool throttled = false;  // a quota (cpu.max) throttled the case

  // Returns true if the machine gave the case too little CPU time. The case then waited for a CPU for at
  // least half of the time, and got less than half of one CPU.
  bool is_starved() const {
    return window.count() > 0 && 2 * during.cpu >= window && 2 * during.used < window;
  }
};

// The time for which a quota throttled this process's cgroup or a parent of it (cgroup-v2.rst, cpu.max and
// cpu.stat).
class Quota {
 public:
  Quota() = default;
  // Uses the nearest directory from `cgroup` up to `mount` that has a quota.
  Quota(std::string cgroup, const std::string& mount);
  // Total until now.
  Microseconds throttled() const;

 private:
  std::string directory_;
};

// CPU time, memory and waits of a case, as the attempt reports them.
struct HostUsage {
  std::optional<double> cpu_s;
  std::string cpu_source;  // "cgroup" or "rusage"
  // cgroup: peak of the whole tree, with the page cache charged to it. rusage: peak of the largest process.
  std::optional<std::uint64_t> peak_bytes;
  std::string peak_source;
  // In seconds, and set only if long enough to report. cpu_wait_s, memory_wait_s and disk_wait_s: the time in
  // which at least one process of the case waited for it. frozen_s: the time for which the case and its
  // runner were frozen.
  std::optional<double> cpu_wait_s{};
  std::optional<double> memory_wait_s{};
  std::optional<double> disk_wait_s{};
  std::optional<double> frozen_s{};
  std::uint64_t oom_kills = 0;  // of its processes, if a cgroup with a memory controller counts them
  std::string wait_source{};    // "cgroup", or "system": memory and disk of the whole machine
};

// Returns cpu.stat and memory.peak of a cgroup v2 directory (Documentation/admin-guide/cgroup-v2.rst), if they
// exist. memory.peak exists since 5.19, and only with the memory controller. A `directory` of "" has no values.
HostUsage cgroup_usage(const std::string& directory);

// Returns `usage`, with missing values from the leader's rusage.
HostUsage with_leader(HostUsage usage, std::int64_t cpu_us, std::int64_t peak_rss_kib);

// Adds the waits that are long enough to report.
void add_waits(HostUsage& usage, const Pressure& pressure, Clock::duration frozen);

}  // namespace proctor
