// CPU time and memory of a case. With a cgroup it counts the whole process tree; otherwise the leader and the
// children that the leader waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/base/clock.h"
#include "harness/process/pressure.h"

namespace proctor {

struct HostUsage {
  std::optional<double> cpu_s;
  std::string cpu_source;  // "cgroup" or "rusage"
  // cgroup: peak of the whole tree, with the page cache charged to it. rusage: peak of the largest process.
  std::optional<std::uint64_t> peak_bytes;
  std::string peak_source;
  // In seconds, if long enough to report: how long at least one of its processes waited for a CPU, for
  // memory, for a disk; and how long the case and its runner were frozen.
  std::optional<double> cpu_wait_s{};
  std::optional<double> memory_wait_s{};
  std::optional<double> disk_wait_s{};
  std::optional<double> frozen_s{};
  std::uint64_t oom_kills = 0;  // of its processes, if a cgroup with a memory controller counts them
  std::string wait_source{};    // "cgroup", or "system": memory and disk of the whole machine
};

// cpu.stat and memory.peak of a cgroup v2 directory (Documentation/admin-guide/cgroup-v2.rst; memory.peak
// since 5.19, and only with the memory controller), if they exist. "": none.
HostUsage cgroup_usage(const std::string& directory);

// `usage`, with missing values taken from the leader's rusage.
HostUsage with_leader(HostUsage usage, std::int64_t cpu_us, std::int64_t peak_rss_kib);

// Adds the waits that are long enough to report.
void add_waits(HostUsage& usage, const Pressure& pressure, Clock::duration frozen);

}  // namespace proctor
