// Runs the real probe, as the runner starts it, above a simulated NVML.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "harness/base/temp_dir.h"
#include "harness/devices/telemetry/device_monitor.h"
#include "harness/devices/telemetry/telemetry_sample.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kFirst = "cuda:GPU-11111111-2222-3333-4444-555555555555";
constexpr const char* kOld = "cuda:GPU-old";

class Nvml : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "nvml-test-" + std::to_string(getpid()));
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
  }

  // Takes one snapshot of the devices.
  ProbeMonitor::Snapshot snapshot(std::vector<std::string> env) {
    boost::asio::io_context io;
    ProbeMonitor monitor(io, *containment_, setup(std::move(env), Milliseconds(60'000)));
    ProbeMonitor::Snapshot seen = Error::internal("nothing answered");
    monitor.take_snapshot([&](const ProbeMonitor::Snapshot& one) {
      seen = one;
      monitor.stop([&] { io.stop(); });
    });
    io.run();
    return seen;
  }

  ProbeMonitorSetup setup(std::vector<std::string> env, Milliseconds deadline) {
    env.push_back("PATH=/usr/bin:/bin");
    return {.argv = {PROCTOR_BIN_DIR "/proctor-probe-cuda"},
            .env = std::move(env),
            .fifo = directory_ / "fifo",
            .ids = {kFirst, kOld},
            .deadline = deadline,
            .sample_deadline = deadline};
  }

  // Takes one sample, without any other library.
  Result<Sample> sample(std::vector<std::string> env, Milliseconds deadline = Milliseconds(60'000)) {
    boost::asio::io_context io;
    ProbeMonitor monitor(io, *containment_, setup(std::move(env), deadline));
    Result<Sample> seen = Error::internal("nothing answered");
    monitor.sample({kFirst, kOld}, [&](const Result<Sample>& one) {
      seen = one;
      monitor.stop([&] { io.stop(); });
    });
    io.run();
    return seen;
  }

  const std::string library_ = "LD_LIBRARY_PATH=" PROCTOR_NVML_STAND_IN;
  const TempDir directory_;
  std::unique_ptr<Containment> containment_;
};

TEST_F(Nvml, SamplesEveryMetricOfDevice) {
  const auto seen = sample({library_});
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->missing, "");
  ASSERT_EQ(seen->devices.size(), 2u);
  const auto& device = seen->devices.at(kFirst);
  for (const auto& one : device) EXPECT_EQ(one.source, "nvml");
  EXPECT_EQ(reading(device, Metric::kMemoryUsed).value, 7);
  EXPECT_EQ(reading(device, Metric::kUtilisation).value, 61);
  EXPECT_EQ(reading(device, Metric::kTemperature).value, 55);
  EXPECT_EQ(reading(device, Metric::kPower).value, 250.5);
  EXPECT_EQ(reading(device, Metric::kClock).value, 1410);
  EXPECT_EQ(reading(device, Metric::kEccErrors).value, 2);
  EXPECT_THAT(reading(device, Metric::kThrottle).words, ElementsAre("thermal_limit"));
}

TEST_F(Nvml, UnsupportedMetricNamesFailedCall) {
  const auto seen = sample({library_});
  ASSERT_TRUE(seen) << seen.error().what;
  const auto& old = seen->devices.at(kOld);
  EXPECT_EQ(reading(old, Metric::kMemoryUsed).value, 7);
  EXPECT_FALSE(reading(old, Metric::kEccErrors).value);
  EXPECT_EQ(reading(old, Metric::kEccErrors).reason, "nvmlDeviceGetTotalEccErrors: NOT_SUPPORTED");
  EXPECT_EQ(reading(old, Metric::kThrottle).reason,
            "nvmlDeviceGetCurrentClocksThrottleReasons: NOT_SUPPORTED");
}

TEST_F(Nvml, SimulatedCardsSupportEveryMetric) {
  const auto seen = sample({"LD_LIBRARY_PATH=" PROCTOR_BIN_DIR "/cuda_sim", "PROCTOR_SIM_TOPOLOGY=cuda:2",
                            "PROCTOR_SIM_STATE=" + (directory_ / "state").string()});
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->missing, "");
  ASSERT_EQ(seen->devices.size(), 2u);
  for (const auto& [id, device] : seen->devices) {
    for (const auto& one : device) EXPECT_EQ(one.reason, "") << id;
    EXPECT_EQ(reading(device, Metric::kMemoryUsed).value, 0);
    EXPECT_THAT(reading(device, Metric::kThrottle).words, testing::IsEmpty());
  }
}

TEST_F(Nvml, SnapshotReportsStateAndProcesses) {
  const auto seen = snapshot({library_});
  ASSERT_TRUE(seen) << seen.error().what;
  const DeviceState& first = seen->at(0);
  EXPECT_EQ(first.state, "ok");
  EXPECT_EQ(first.used_bytes, 7u);
  ASSERT_TRUE(first.holders);
  ASSERT_EQ(first.holders->size(), 2u);
  EXPECT_EQ(first.holders->at(0).pid, 4711);
  EXPECT_EQ(first.holders->at(0).bytes, 5u);
  EXPECT_EQ(first.holders->at(1).bytes, 1u) << "somebody is there, with memory that nobody tells";
  EXPECT_FALSE(seen->at(1).holders) << "not told is not nobody";
}

TEST_F(Nvml, ReportsOnlyLostDeviceAsLost) {
  const auto seen = snapshot({library_, "PROCTOR_TEST_NVML=lost"});
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->at(0).state, "ok");
  EXPECT_EQ(seen->at(1).state, "lost");
}

TEST_F(Nvml, SnapshotFailsWithoutDriver) {
  const auto seen = snapshot({library_, "PROCTOR_TEST_NVML=no_init"});
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().what, HasSubstr("nvmlInit_v2: DRIVER_NOT_LOADED"));
}

TEST_F(Nvml, SampleWithoutDriverHasNoDevices) {
  const auto seen = sample({library_, "PROCTOR_TEST_NVML=no_init"});
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->missing, "nvmlInit_v2: DRIVER_NOT_LOADED");
  EXPECT_TRUE(seen->devices.empty());
}

TEST_F(Nvml, HangEndsAtDeadline) {
  const auto seen = sample({library_, "PROCTOR_TEST_NVML=hang"}, Milliseconds(500));
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().what, HasSubstr("did not respond within 500ms"));
}

TEST_F(Nvml, AMissingLibraryIsNamed) {
  if (void* real = ::dlopen("libnvidia-ml.so.1", RTLD_LAZY)) {
    ::dlclose(real);
    GTEST_SKIP() << "this machine has the library";
  }
  const auto seen = sample({});
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->missing, "library_missing:libnvidia-ml.so.1");
}

using testing::ElementsAre;

TEST(ParseSample, SeparatesValuesFromMissingReasons) {
  const auto sample = parse_sample(
      R"({"v":1,"source":"sysman","problem":"","devices":[{"device":1,"values":{"memory_used":7,)"
      R"("throttle":["thermal_limit"]},"missing":{"power":"zesPowerGetEnergyCounter: X"}}]})",
      {"a", "b"});
  ASSERT_TRUE(sample) << sample.error().what;
  EXPECT_EQ(sample->missing, "");
  ASSERT_EQ(sample->devices.size(), 1u);
  const DeviceSample& device = sample->devices.at("b");
  EXPECT_EQ(reading(device, Metric::kMemoryUsed).value, 7);
  EXPECT_EQ(reading(device, Metric::kMemoryUsed).source, "sysman");
  EXPECT_THAT(reading(device, Metric::kThrottle).words, ElementsAre("thermal_limit"));
  EXPECT_FALSE(reading(device, Metric::kPower).value);
  EXPECT_EQ(reading(device, Metric::kPower).reason, "zesPowerGetEnergyCounter: X");
  EXPECT_EQ(reading(device, Metric::kClock).reason, "the driver does not report it");
}

TEST(ParseSample, RejectsInvalidDocuments) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"source":"sysman","problem":"","devices":[{}]})",
        R"({"source":"sysman","problem":"","devices":[{"device":2,"values":{}}]})",
        R"({"source":"sysman","problem":"","devices":[{"device":0,"values":{"power":"hot"}}]})",
        R"({"source":"sysman","problem":"","devices":[{"device":0,"values":{"throttle":3}}]})",
        R"({"source":"sysman","problem":"","devices":[{"device":0,"values":7}]})"}) {
    EXPECT_FALSE(parse_sample(text, {"a"})) << text;
  }
}

}  // namespace
}  // namespace proctor
