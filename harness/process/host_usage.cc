#include "harness/process/host_usage.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

#include "harness/base/read_file.h"
#include "harness/process/frozen_time.h"
#include "harness/process/guard/tree.h"
#include "harness/process/proc_reader.h"

namespace proctor {
namespace {

// Returns the number after the first `key`, or 0.
std::int64_t number_after(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(at + key.size());
  std::int64_t value = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return value;
}

// The file has "some avg10=0.06 avg60=6.85 avg300=33.40 total=7766143227", then "full ...".
Microseconds some_total(const std::string& path) {
  return Microseconds(number_after(read_file_or_empty(path), "total="));
}

Microseconds cpu_time_of(pid_t pid) {
  const auto stat = read_stat(pid);
  return Microseconds((stat ? stat->cpu_ticks : 0) * 1'000'000 / sysconf(_SC_CLK_TCK));
}

// Adds the second number of the schedstat of each thread: its wait for a CPU, in nanoseconds.
void add_waits_of(pid_t pid, std::map<pid_t, Microseconds>& waits) {
  guard::PidList threads;
  guard::append_threads(pid, threads);
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task/";
  for (const pid_t thread : threads)
    waits[thread] = Microseconds(
        number_after(read_file_or_empty(tasks + std::to_string(thread) + "/schedstat"), " ") / 1000);
}

// Returns the largest increase of one thread; zero without threads.
Microseconds longest_wait(const std::map<pid_t, Microseconds>& later,
                          const std::map<pid_t, Microseconds>& earlier) {
  Microseconds longest{0};
  for (const auto& [thread, waited] : later) {
    const auto before = earlier.find(thread);
    longest = std::max(longest, waited - (before == earlier.end() ? Microseconds(0) : before->second));
  }
  return longest;
}

}  // namespace

Pressure operator-(const Pressure& later, const Pressure& earlier) {
  const auto since = [](Microseconds to, Microseconds from) { return std::max(to - from, Microseconds(0)); };
  return {.cpu = std::max(since(later.cpu, earlier.cpu), longest_wait(later.threads, earlier.threads)),
          .used = since(later.used, earlier.used),
          .memory = since(later.memory, earlier.memory),
          .disk = since(later.disk, earlier.disk)};
}

PressureGauge::PressureGauge(std::string leaf, pid_t guard) : leaf_(std::move(leaf)), guard_(guard) {}

Pressure PressureGauge::now() const {
  if (!leaf_.empty())
    return {.cpu = some_total(leaf_ + "/cpu.pressure"),
            .used = Microseconds(number_after(read_file_or_empty(leaf_ + "/cpu.stat"), "usage_usec ")),
            .memory = some_total(leaf_ + "/memory.pressure"),
            .disk = some_total(leaf_ + "/io.pressure")};
  Pressure found = without_tree();
  found.used = cpu_time_of(guard_);
  for (const pid_t pid : guard::descendants(guard_)) {
    found.used += cpu_time_of(pid);
    add_waits_of(pid, found.threads);
  }
  return found;
}

Pressure PressureGauge::without_tree() const {
  if (!leaf_.empty()) return {};
  return {.memory = some_total("/proc/pressure/memory"), .disk = some_total("/proc/pressure/io")};
}

bool report_pressure(const std::string& leaf) {
  if (!leaf.empty()) return !read_file_or_empty(leaf + "/cpu.pressure").empty();
  return !read_file_or_empty("/proc/self/schedstat").empty();
}

Quota::Quota(std::string cgroup, const std::string& mount) {
  while (cgroup.size() >= mount.size() && cgroup.starts_with(mount)) {
    const std::string limit = read_file_or_empty(cgroup + "/cpu.max");
    if (!limit.empty() && !limit.starts_with("max")) {
      directory_ = cgroup;
      return;
    }
    cgroup.resize(cgroup.rfind('/'));
  }
}

Microseconds Quota::throttled() const {
  if (directory_.empty()) return Microseconds(0);
  return Microseconds(number_after(read_file_or_empty(directory_ + "/cpu.stat"), "throttled_usec "));
}

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
