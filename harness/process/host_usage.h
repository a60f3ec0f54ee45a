// What a case used of the machine. It counts the whole tree if a cgroup holds it, else the leader and the
// children that the leader waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace proctor {

struct HostUsage {
  std::optional<double> cpu_s;
  std::string cpu_source;  // "cgroup" or "rusage"
  // cgroup: the most that the tree had at one time, with the page cache that was charged to it. rusage: the
  // peak of the largest process.
  std::optional<std::uint64_t> peak_bytes;
  std::string peak_source;
};

// cpu.stat and memory.peak of a cgroup v2 directory (Documentation/admin-guide/cgroup-v2.rst; memory.peak
// since 5.19, and only with the memory controller), as far as they exist. "" gives none.
HostUsage cgroup_usage(const std::string& directory);

// `usage`, with missing values taken from the leader's rusage.
HostUsage with_leader(HostUsage usage, std::int64_t cpu_us, std::int64_t peak_rss_kib);

}  // namespace proctor
