// Simulates whole runs without processes. Cases start through PendingCases and DevicePool, in the same way as in Slots.
// They end on a simulated clock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <queue>
#include <string>
#include <vector>

#include "harness/runner/schedule/describe_plan.h"
#include "harness/runner/schedule/pending_cases.h"

namespace proctor {
namespace {

struct TracedCase {
  int devices = 1;
  double duration_ms = 0;
};

// A typical suite of GPU tests. Most cases take seconds, some minutes, and one half an hour. The long case follows two
// thirds of the others, in alphabetical order. All cases together keep four devices busy for half an hour.
std::vector<TracedCase> half_an_hour() {
  constexpr std::size_t kCases = 239;
  constexpr double kLongest = 1'800'000;
  std::vector<TracedCase> cases(kCases);
  std::uint32_t random = 47;
  double sum = 0;
  for (TracedCase& each : cases) {
    random = random * 1'664'525U + 1'013'904'223U;
    const double fraction = static_cast<double>(random >> 8U) / static_cast<double>(1U << 24U);
    each.duration_ms = 1 / (0.02 + fraction);
    each.devices = random % 1000 < 40 ? 2 : 1;
    sum += each.duration_ms * each.devices;
  }
  for (TracedCase& each : cases) each.duration_ms *= 2.95 * kLongest / sum;
  cases[160] = {.devices = 1, .duration_ms = kLongest};
  return cases;
}

struct Replayed {
  double took_ms = 0;
  double idle = 0;        // share of the total time of all devices
  double last_start = 0;  // start of the last case for several devices
  std::size_t most_on_cores = 0;
};

class TraceTest : public testing::Test {
 protected:
  static constexpr int kDevices = 4;

  // `cores` is the limit of cases without devices.
  Replayed replay(const std::vector<TracedCase>& cases, bool longest_first, bool with_history,
                  int cores = 1) {
    Plan plan;
    Suite suite;
    suite.backend = Backend::kXpu;
    plan.suites = {suite};
    RunSetup setup;
    FoundDevices found;
    setup.plan = &plan;
    setup.devices = &found;
    setup.repeats.order.longest_first = longest_first;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Case test;
      test.id = fmt::format("s/{:06}", i);
      test.devices = cases[i].devices;
      if (with_history) setup.repeats.order.durations[test.id] = cases[i].duration_ms;
      plan.cases.push_back(std::move(test));
    }
    std::vector<PoolDevice> devices(kDevices);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      devices[i].device.id = fmt::format("xpu:{}", i);
      devices[i].device.backend = "xpu";
    }
    DevicePool pool(std::move(devices));
    const Jobs jobs = effective_jobs(plan, pool, 0, cores);
    PendingCases pending(setup, pool);
    pending.admit([](const CaseGroup::Finished& refused) { ADD_FAILURE() << refused.index; },
                  [](std::size_t, std::size_t) {});
    return run(cases, jobs, pending, pool);
  }

 private:
  struct Running {
    double end_ms;
    Takes takes;
    std::vector<std::string> devices;
    bool operator>(const Running& other) const { return end_ms > other.end_ms; }
  };

  static Replayed run(const std::vector<TracedCase>& cases, const Jobs& jobs, PendingCases& pending,
                      DevicePool& pool) {
    Replayed replayed;
    double used_ms = 0;
    int on_cores = 0;
    std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
    while (true) {
      while (static_cast<int>(running.size()) < jobs.all) {
        auto start = pending.take_first_that_fits({.has_core = on_cores < jobs.on_cores});
        if (!start) break;
        const TracedCase& each = cases[start->group.first()];
        used_ms += each.duration_ms * each.devices;
        on_cores += start->takes == Takes::kCore ? 1 : 0;
        if (each.devices > 1) replayed.last_start = replayed.took_ms;
        running.push({replayed.took_ms + each.duration_ms, start->takes, std::move(start->devices)});
      }
      replayed.most_on_cores = std::max(replayed.most_on_cores, static_cast<std::size_t>(on_cores));
      if (running.empty()) break;
      replayed.took_ms = running.top().end_ms;
      on_cores -= running.top().takes == Takes::kCore ? 1 : 0;
      pool.release(running.top().devices);
      running.pop();
    }
    EXPECT_TRUE(pending.empty());
    replayed.idle = 1 - used_ms / (replayed.took_ms * kDevices);
    return replayed;
  }
};

TEST_F(TraceTest, LongestFirstKeepsDevicesBusy) {
  const auto planned = replay(half_an_hour(), false, true);
  const auto longest = replay(half_an_hour(), true, true);
  RecordProperty("idle_planned", fmt::format("{:.3f}", planned.idle));
  RecordProperty("idle_longest", fmt::format("{:.3f}", longest.idle));
  EXPECT_GE(planned.idle, 0.30);
  EXPECT_LE(longest.idle, 0.05);
}

// The durations of the last run differ from those of the next run.
TEST_F(TraceTest, ScaledDurationsGiveSameIdleShare) {
  auto cases = half_an_hour();
  for (TracedCase& each : cases) each.duration_ms /= 100;
  EXPECT_GE(replay(cases, false, true).idle, 0.30);
  EXPECT_LE(replay(cases, true, true).idle, 0.05);
}

TEST_F(TraceTest, MultiDeviceCasesStartFirstWithoutHistory) {
  EXPECT_LT(replay(half_an_hour(), true, false).last_start, replay(half_an_hour(), false, false).last_start);
}

TEST_F(TraceTest, DeviceAndCpuCasesOverlap) {
  const auto on_devices = half_an_hour();
  std::vector<TracedCase> mixed(200, TracedCase{.devices = 0, .duration_ms = 15'000});
  mixed.insert(mixed.end(), on_devices.begin(), on_devices.end());
  const auto alone = replay(on_devices, true, true);
  const auto both = replay(mixed, true, true, 2);
  EXPECT_DOUBLE_EQ(both.took_ms, alone.took_ms);
  EXPECT_EQ(both.most_on_cores, 2U);
}

// The case for all devices follows a case of half an hour and precedes many short cases.
TEST_F(TraceTest, CaseForAllDevicesDoesNotStarve) {
  std::vector<TracedCase> cases(2'000, TracedCase{.devices = 1, .duration_ms = 1'000});
  cases[3].duration_ms = 20'000;
  cases[4] = {.devices = kDevices, .duration_ms = 1'000};
  const auto planned = replay(cases, false, true);
  EXPECT_LT(planned.last_start, 30'000);
  EXPECT_EQ(replay(cases, true, true).last_start, 0);
}

}  // namespace
}  // namespace proctor
