#include "harness/devices/telemetry/device_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "harness/base/temp_dir.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

using testing::HasSubstr;

constexpr const char* kAnswer =
    R"({"v":1,"devices":[{"state":"ok","memory":{"used":7,"total":9},"holders":[{"pid":4,"bytes":7}]},)"
    R"({"state":"lost","memory":null,"holders":null}]})";

TEST(ParseSnapshot, LeavesUnknownValuesUnset) {
  const auto snapshot = parse_snapshot(kAnswer, 2);
  ASSERT_TRUE(snapshot);
  EXPECT_EQ((*snapshot)[0].used_bytes, 7u);
  ASSERT_TRUE((*snapshot)[0].holders);
  EXPECT_EQ((*snapshot)[0].holders->at(0).pid, 4);
  EXPECT_EQ((*snapshot)[1].state, "lost");
  EXPECT_FALSE((*snapshot)[1].used_bytes);
  EXPECT_FALSE((*snapshot)[1].holders);
}

TEST(ParseSnapshot, RejectsInvalidDocuments) {
  for (const char* text : {"", "{", "[]", "{}", R"({"devices":[{}]})", R"({"devices":[7]})"}) {
    EXPECT_FALSE(parse_snapshot(text, 1)) << text;
  }
  EXPECT_FALSE(parse_snapshot(kAnswer, 3)) << "one device too few";
}

// Shell scripts replace a probe whose driver misbehaves. $2 is the FIFO.
class Monitor : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "monitor-test-" + std::to_string(getpid()));
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
  }

  // Takes `snapshots` snapshots, one after the other.
  std::vector<ProbeMonitor::Snapshot> snapshot(const std::string& script, int snapshots,
                                               Milliseconds deadline) {
    boost::asio::io_context io;
    ProbeMonitor monitor(io, *containment_,
                         {.argv = {"/bin/sh", "-c", "cd " + directory_ + "; " + script, "probe"},
                          .env = {"PATH=/usr/bin:/bin"},
                          .fifo = directory_ + "/fifo",
                          .ids = {"a", "b"},
                          .deadline = deadline});
    std::vector<ProbeMonitor::Snapshot> seen;
    std::function<void()> next = [&] {
      monitor.take_snapshot([&](const ProbeMonitor::Snapshot& snapshot) {
        seen.push_back(snapshot);
        if (static_cast<int>(seen.size()) < snapshots) return next();
        monitor.stop([&] { io.stop(); });
      });
    };
    next();
    io.run();
    return seen;
  }

  static constexpr Milliseconds kLong{60'000};
  const std::string answer_ = std::string("printf '%s\\n' '") + kAnswer + "' >&$PROCTOR_EVENTS_FD";
  TempDir scratch_;
  const std::string directory_ = scratch_.string();
  std::unique_ptr<Containment> containment_;
};

TEST_F(Monitor, OneChildAnswersAllSnapshots) {
  const auto seen =
      snapshot("echo x >>started; while head -c1 >/dev/null; do " + answer_ + "; done <$2", 5, kLong);
  ASSERT_EQ(seen.size(), 5u);
  for (const auto& one : seen) EXPECT_TRUE(one) << one.error().what;
  EXPECT_EQ(std::filesystem::file_size(directory_ + "/started"), 2u);
}

TEST_F(Monitor, ReplacesChildAfterHang) {
  const auto seen = snapshot(
      "exec <$2; if [ -e hung ]; then head -c1 >/dev/null; " + answer_ + "; fi; touch hung; exec sleep 1000",
      2, Milliseconds(2'000));
  ASSERT_EQ(seen.size(), 2u);
  ASSERT_FALSE(seen[0]);
  EXPECT_THAT(seen[0].error().what, HasSubstr("did not respond within 2s"));
  EXPECT_TRUE(seen[1]) << seen[1].error().what;
}

TEST_F(Monitor, ReportsExitOfChild) {
  const auto seen = snapshot("exit 3", 1, kLong);
  ASSERT_FALSE(seen[0]);
  EXPECT_THAT(seen[0].error().what, HasSubstr("ended with exit code 3"));
}

using testing::ElementsAre;
using testing::HasSubstr;

// Shell scripts replace the probes of two vendors. $2 is the FIFO.
class TwoVendors : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "vendors-test-" + std::to_string(getpid()));
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
    monitor_ = std::make_unique<DeviceMonitor>(io_, *containment_, MonitorSetup{});
  }
  void TearDown() override {
    monitor_->stop([this] { io_.stop(); });
    io_.restart();
    io_.run();
    monitor_.reset();
  }

  void watch(const std::string& xpu, const std::string& cuda) {
    monitor_ = std::make_unique<DeviceMonitor>(
        io_, *containment_,
        MonitorSetup{{probe("xpu", xpu, {"xpu:a", "xpu:b"}), probe("cuda", cuda, {"cuda:c"})}});
  }
  ProbeMonitorSetup probe(const std::string& name, const std::string& script,
                          std::vector<std::string> ids) const {
    return {.argv = {"/bin/sh", "-c", script, "probe"},
            .env = {"PATH=/usr/bin:/bin"},
            .fifo = directory_ + "/" + name,
            .ids = std::move(ids)};
  }
  static std::string answers(const std::string& request, const std::string& line) {
    return "while head -c" + request + " >/dev/null; do echo '" + line + "' >&$PROCTOR_EVENTS_FD; done <$2";
  }
  static std::string is_ok(int devices, int used) {
    std::string states;
    for (int i = 0; i < devices; ++i) {
      states += std::string(i == 0 ? "" : ",") + R"({"state":"ok","memory":{"used":)" + std::to_string(used) +
                R"(,"total":99},"holders":null})";
    }
    return answers("1", R"({"v":1,"problem":"","devices":[)" + states + "]}");
  }
  DeviceMonitor::Snapshot snapshot() {
    DeviceMonitor::Snapshot seen = Error::internal("nothing answered");
    monitor_->take_snapshot([&](const DeviceMonitor::Snapshot& one) {
      seen = one;
      io_.stop();
    });
    io_.restart();
    io_.run();
    return seen;
  }

  boost::asio::io_context io_;
  TempDir scratch_;
  const std::string directory_ = scratch_.string();
  std::unique_ptr<Containment> containment_;
  std::unique_ptr<DeviceMonitor> monitor_;
};

TEST_F(TwoVendors, SnapshotCoversDevicesOfBothVendors) {
  watch(is_ok(2, 7), is_ok(1, 8));
  EXPECT_THAT(monitor_->ids(), ElementsAre("xpu:a", "xpu:b", "cuda:c"));
  const auto seen = snapshot();
  ASSERT_TRUE(seen) << seen.error().what;
  ASSERT_EQ(seen->size(), 3u);
  EXPECT_EQ(seen->at(1).used_bytes, 7u);
  EXPECT_EQ(seen->at(2).used_bytes, 8u);
}

TEST_F(TwoVendors, DevicesOfFailedProbeAreUnknown) {
  watch(is_ok(2, 7), "exit 3");
  const auto seen = snapshot();
  ASSERT_TRUE(seen) << seen.error().what;
  ASSERT_EQ(seen->size(), 3u);
  EXPECT_EQ(seen->at(0).state, "ok");
  EXPECT_EQ(seen->at(2).state, "");
  EXPECT_THAT(seen->at(2).problem, HasSubstr("ended with exit code 3"));
}

TEST_F(TwoVendors, ReportsProblemFromProbeOutput) {
  watch(is_ok(2, 7), answers("1", R"({"v":1,"problem":"library_missing:libnvidia-ml.so.1","devices":[]})"));
  const auto seen = snapshot();
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_THAT(seen->at(2).problem, HasSubstr("library_missing:libnvidia-ml.so.1"));
}

TEST_F(TwoVendors, SnapshotFailsWhenAllProbesFail) {
  watch("exit 3", "exit 4");
  const auto seen = snapshot();
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().what, HasSubstr("ended with exit code 3"));
}

TEST_F(TwoVendors, SamplesOnlyVendorOfRequestedDevices) {
  const std::string line =
      R"({"v":1,"source":"nvml","problem":"","devices":[{"device":0,"values":{"clock":9}}]})";
  watch("exit 3", answers("17", line));
  Result<Sample> seen = Error::internal("nothing answered");
  monitor_->sample({"cuda:c"}, [&](const Result<Sample>& one) {
    seen = one;
    io_.stop();
  });
  io_.run();
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(reading(seen->devices.at("cuda:c"), Metric::kClock).value, 9);
}

TEST_F(TwoVendors, FailsToSampleUnwatchedDevice) {
  watch("exit 3", "exit 4");
  Result<Sample> seen = Sample{};
  monitor_->sample({"cuda:other"}, [&](const Result<Sample>& one) { seen = one; });
  io_.run();
  ASSERT_FALSE(seen);
}

}  // namespace
}  // namespace proctor
