#include "harness/runner/schedule/describe_plan.h"

#include <sched.h>

#include <algorithm>
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

}  // namespace proctor
