#include "harness/process/host_usage.h"

#include <fstream>

#include "harness/process/frozen_time.h"

namespace proctor {
namespace {

constexpr Milliseconds kNotableWait{100};

}  // namespace

HostUsage cgroup_usage(const std::string& directory) {
  HostUsage usage;
  if (directory.empty()) return usage;
  std::ifstream stat(directory + "/cpu.stat");
  std::string key;
  std::uint64_t value = 0;
  while (stat >> key >> value) {
    if (key != "usage_usec") continue;
    usage.cpu_s = static_cast<double>(value) / 1e6;
    usage.cpu_source = "cgroup";
    break;
  }
  if (std::ifstream(directory + "/memory.peak") >> value) {
    usage.peak_bytes = value;
    usage.peak_source = "cgroup";
  }
  std::ifstream events(directory + "/memory.events");
  while (events >> key >> value) {
    if (key == "oom_kill") usage.oom_kills = value;
  }
  return usage;
}

HostUsage with_leader(HostUsage usage, std::int64_t cpu_us, std::int64_t peak_rss_kib) {
  if (!usage.cpu_s) {
    usage.cpu_s = static_cast<double>(cpu_us) / 1e6;
    usage.cpu_source = "rusage";
  }
  if (!usage.peak_bytes) {
    usage.peak_bytes = static_cast<std::uint64_t>(peak_rss_kib) * 1024;
    usage.peak_source = "rusage";
  }
  return usage;
}

void add_waits(HostUsage& usage, const Pressure& pressure, Clock::duration frozen) {
  const auto notable = [](Clock::duration waited, Milliseconds least) {
    const double seconds = std::chrono::duration<double>(waited).count();
    return waited >= least ? std::optional(seconds) : std::nullopt;
  };
  usage.cpu_wait_s = notable(pressure.cpu, kNotableWait);
  usage.memory_wait_s = notable(pressure.memory, kNotableWait);
  usage.disk_wait_s = notable(pressure.disk, kNotableWait);
  usage.frozen_s = notable(frozen, FrozenTime::kNotable);
}

}  // namespace proctor
