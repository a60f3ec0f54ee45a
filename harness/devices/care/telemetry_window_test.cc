#include "harness/devices/care/telemetry_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/process/host_usage.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

MetricReading of(double value, const std::string& source = "sysman") {
  MetricReading read;
  read.value = value;
  read.source = source;
  return read;
}

TelemetryFigure figure(const TelemetryWindow& window, Metric metric) {
  return window.figures()[static_cast<std::size_t>(metric)];
}

TelemetryWindow window_of(Metric metric, const std::vector<double>& values, const std::string& source) {
  TelemetryWindow window;
  for (const double value : values) {
    auto sample = missing_sample("not this");
    reading(sample, metric) = of(value, source);
    window.add(sample);
  }
  return window;
}

TEST(TelemetryWindow, GaugesHaveFirstLastMeanAndPeak) {
  const auto memory = figure(window_of(Metric::kMemoryUsed, {1, 7, 4}, "sysman"), Metric::kMemoryUsed);
  EXPECT_EQ(memory.name, "memory_used");
  EXPECT_EQ(memory.unit, "bytes");
  EXPECT_EQ(memory.source, "sysman");
  EXPECT_EQ(memory.samples, 3);
  EXPECT_EQ(memory.first, 1);
  EXPECT_EQ(memory.last, 4);
  EXPECT_EQ(memory.mean, 4);
  EXPECT_EQ(memory.peak, 7);
  EXPECT_FALSE(memory.delta);
  EXPECT_EQ(memory.note, "");
}

TEST(TelemetryWindow, KnowsTheLastValueWhileItIsOpen) {
  const auto window = window_of(Metric::kTemperature, {40, 70, 55}, "sysman");
  EXPECT_EQ(window.last(Metric::kTemperature), 55);
  EXPECT_EQ(window.last(Metric::kUtilisation), std::nullopt);
}

// What Sysman's counters did before the case began is not the case's.
TEST(TelemetryWindow, TheFirstRateOfACounterIsNotCounted) {
  const auto busy = figure(window_of(Metric::kUtilisation, {100, 20, 40}, "sysman"), Metric::kUtilisation);
  EXPECT_EQ(busy.samples, 2);
  EXPECT_EQ(busy.first, 20);
  EXPECT_EQ(busy.peak, 40);
  const auto once = figure(window_of(Metric::kPower, {100}, "sysman"), Metric::kPower);
  EXPECT_FALSE(once.peak);
  EXPECT_EQ(once.note, "a rate needs two samples");
  const auto instant = figure(window_of(Metric::kPower, {100}, "nvml"), Metric::kPower);
  EXPECT_EQ(instant.peak, 100);
}

TEST(TelemetryWindow, ErrorsAreACounterAndOnlyTheirGrowthCounts) {
  const auto errors = figure(window_of(Metric::kEccErrors, {5, 5, 8}, "nvml"), Metric::kEccErrors);
  EXPECT_EQ(errors.delta, 3);
  EXPECT_FALSE(errors.peak);
}

TEST(TelemetryWindow, ThrottleReasonsAreCollected) {
  TelemetryWindow window;
  for (const auto& words : {std::vector<std::string>{"b"}, {}, {"a", "b"}}) {
    auto sample = missing_sample("not this");
    reading(sample, Metric::kThrottle) = of(static_cast<double>(words.size()));
    reading(sample, Metric::kThrottle).words = words;
    window.add(sample);
  }
  const auto throttle = figure(window, Metric::kThrottle);
  EXPECT_THAT(throttle.seen, ElementsAre("a", "b"));
  EXPECT_EQ(throttle.samples, 3);
  EXPECT_FALSE(throttle.peak);
}

TEST(TelemetryWindow, EveryMissingNumberHasItsReason) {
  TelemetryWindow window;
  ASSERT_THAT(window.figures(), Not(IsEmpty()));
  for (const auto& figure : window.figures())
    EXPECT_THAT(figure.note, HasSubstr("before a sample")) << figure.name;
  window.add(missing_sample("zesEngineGetActivity: UNSUPPORTED"));
  for (const auto& figure : window.figures()) {
    EXPECT_EQ(figure.note, "zesEngineGetActivity: UNSUPPORTED") << figure.name;
    EXPECT_EQ(figure.source, "") << figure.name;
    EXPECT_FALSE(figure.first || figure.last || figure.mean || figure.peak || figure.delta) << figure.name;
  }
  window.miss("it hangs");
  EXPECT_EQ(window.figures().front().note, "it hangs");
}

TEST(TelemetryWindow, OneNumberIsKeptWhereAllOthersAreMissing) {
  const auto window = window_of(Metric::kPower, {70, 80}, "xpu-smi");
  EXPECT_EQ(figure(window, Metric::kPower).peak, 80);
  EXPECT_EQ(figure(window, Metric::kClock).note, "not this");
}

TEST(HostFigures, SayWhatARusageLeavesOut) {
  const auto figures = host_figures(with_leader({}, 1'500'000, 2048), false);
  EXPECT_EQ(figures[0].delta, 1.5);
  EXPECT_EQ(figures[0].source, "rusage");
  EXPECT_THAT(figures[0].note, HasSubstr("leader"));
  EXPECT_EQ(figures[1].peak, 2048 * 1024);
  EXPECT_THAT(figures[1].note, HasSubstr("leader"));
}

TEST(HostFigures, ACgroupsFiguresAreOfTheWholeTree) {
  HostUsage usage;
  usage.cpu_s = 2;
  usage.cpu_source = "cgroup";
  const auto figures = host_figures(with_leader(usage, 1'500'000, 2048), false);
  EXPECT_EQ(figures[0].delta, 2);
  EXPECT_EQ(figures[0].source, "cgroup");
  EXPECT_EQ(figures[1].source, "rusage") << "a cgroup without the memory controller";
}

TEST(HostFigures, OfASharedProcessBelongToNoCase) {
  for (const auto& figure : host_figures(with_leader({}, 1, 1), true)) {
    EXPECT_FALSE(figure.delta || figure.peak);
    EXPECT_EQ(figure.note, "its process ran other cases, too");
  }
  for (const auto& figure : host_figures({}, false)) EXPECT_NE(figure.note, "");
}

}  // namespace
}  // namespace proctor
