#include "harness/runner/schedule/describe_plan.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <set>
#include <thread>

#include "harness/frameworks/kind.h"
#include "harness/runner/schedule/run_setup.h"

namespace proctor {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Jobs effective_jobs(const Plan& plan, const DevicePool& pool, int requested, int cores) {
  bool some_need_a_core = plan.cases.empty();
  std::set<std::string> backends;
  for (const auto& test : plan.cases) {
    const auto backend = std::string(to_string(plan.suites[test.suite].backend));
    if (test.devices == 0 || !pool.width(backend)) {
      some_need_a_core = true;
    } else {
      backends.insert(backend);
    }
  }
  int devices = 0;
  for (const auto& backend : backends) devices += *pool.width(backend);
  if (some_need_a_core) {
    if (requested > 0) return {.all = requested, .on_cores = requested};
    return {.all = cores + devices, .on_cores = cores};
  }
  const int most = std::max(1, devices);
  return {.all = requested > 0 ? std::min(requested, most) : most, .on_cores = 1};
}

std::vector<std::set<std::string>> devices_to_repeat_on(const DevicePool& pool, const Case& test,
                                                        std::string_view backend, bool each_device) {
  std::vector<std::set<std::string>> sets;
  if (!each_device || test.devices < 1) return sets;
  std::vector<std::string> ring;
  for (const auto& entry : pool.devices()) {
    if (entry.device.backend == backend && !entry.shared) ring.push_back(entry.device.id);
  }
  const auto width = static_cast<std::size_t>(test.devices);
  if (ring.size() < width) return sets;
  for (std::size_t first = 0; first < ring.size(); ++first) {
    std::set<std::string> set;
    for (std::size_t i = 0; i < width; ++i) set.insert(ring[(first + i) % ring.size()]);
    if (std::ranges::find(sets, set) == sets.end()) sets.push_back(std::move(set));
  }
  return sets;
}

namespace {

int on_all_devices(int repeats, std::size_t sets) {
  const int count = static_cast<int>(std::max<std::size_t>(sets, 1));
  return repeats > kUnlimitedRepeats / count ? kUnlimitedRepeats : repeats * count;
}

}  // namespace

void describe_plan(const Plan& plan, const DevicePool& pool, const RepeatSetup& repeats,
                   RunPlanned& planned) {
  planned.cases.reserve(plan.cases.size());
  for (const auto& test : plan.cases) {
    const Suite& suite = plan.suites[test.suite];
    const auto sets = devices_to_repeat_on(pool, test, to_string(suite.backend), planned.rules.each_device);
    planned.cases.push_back({.id = test.id,
                             .suite = suite.name,
                             .backend = std::string(to_string(suite.backend)),
                             .kind = std::string(suite.kind->name()),
                             .classname = test.classname,
                             .name = test.name,
                             .devices = test.devices,
                             .repeat = on_all_devices(repeats.of(test.id), sets.size()),
                             .timeout_ms = test.policy.timeout.value_or(Milliseconds(0)).count(),
                             .ranks = test.ranks});
  }
  planned.plan_digest = plan_digest(plan);
  planned.filters = filters_of(plan);
  for (const auto& entry : pool.devices()) planned.devices.push_back(entry.device);
}

namespace {

// Descriptors of the runner: loop, journal, console, monitors and locks. During a spawn, both ends of all descriptors
// of the case are also open, above number 64 (harness/process/spawn.cc).
constexpr int kOwn = 96;
// Descriptors per running case: its guard and the list of its children, its pipes or the connection of its results, its
// log, its cgroup with two of its files, and its leases. The process that gathers evidence needs the same again.
constexpr int kOfACase = 15;
constexpr int kOfARank = 8;  // in the supervisor of the ranks

// Returns the limit RLIMIT_NOFILE of setrlimit(2). Shells call it `ulimit -n`.
int limit_of_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int>::max();
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

}  // namespace

int open_files_needed(int jobs, int ranks) { return kOwn + std::max(kOfACase * jobs, kOfARank * ranks); }

int most_jobs_with_open_files() { return (limit_of_open_files() - kOwn) / kOfACase; }

Result<void> check_open_files(int jobs, int ranks) {
  const int has = limit_of_open_files();
  const int needed = open_files_needed(jobs, ranks);
  if (has >= needed) return {};
  const int fewer = most_jobs_with_open_files();
  const bool fewer_help = fewer > 0 && fewer < jobs && has >= open_files_needed(fewer, ranks);
  return Error::usage(fmt::format("run {} case{} at once: that needs {} open files, and the limit is {}",
                                  jobs, jobs == 1 ? "" : "s", needed, has),
                      fmt::format("Raise it: ulimit -n {}{}.", needed,
                                  fewer_help ? fmt::format("; or run fewer at once: --jobs {}", fewer) : ""));
}

}  // namespace proctor
