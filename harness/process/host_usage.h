// What a case used of the machine. It counts the whole tree if a cgroup holds it, else the leader and the
// children that the leader waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/core/clock.h"
#include "harness/process/pressure.h"

namespace proctor {

struct HostUsage {
  std::optional<double> cpu_s;
  std::string cpu_source;  // "cgroup" or "rusage"
  // cgroup: the most that the tree had at one time, with the page cache that was charged to it. rusage: the
  // peak of the largest process.
  std::optional<std::uint64_t> peak_bytes;
  std::string peak_source;
  // In seconds, as far as they are long enough to be worth a word: for how long at least one of its processes waited
  // for a processor, for memory, for a disk; and for how long the case and its runner were frozen.
  std::optional<double> cpu_wait_s{};
  std::optional<double> memory_wait_s{};
  std::optional<double> disk_wait_s{};
  std::optional<double> frozen_s{};
  std::uint64_t oom_kills = 0;  // of its processes, where a cgroup with a memory controller counts them
  std::string wait_source{};    // "cgroup", or "system": memory and disk of the whole machine
};

// cpu.stat and memory.peak of a cgroup v2 directory (Documentation/admin-guide/cgroup-v2.rst; memory.peak
// since 5.19, and only with the memory controller), as far as they exist. "" gives none.
HostUsage cgroup_usage(const std::string& directory);

// `usage`, with missing values taken from the leader's rusage.
HostUsage with_leader(HostUsage usage, std::int64_t cpu_us, std::int64_t peak_rss_kib);

// What is long enough.
void add_waits(HostUsage& usage, const Pressure& pressure, Clock::duration frozen);

}  // namespace proctor
