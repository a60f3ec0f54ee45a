#include "harness/devices/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "harness/base/json.h"
#include "harness/base/temp_dir.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

constexpr const char* kTwoCards = R"({"v":1,"problem":"","detail":"","init":"ZE_RESULT_SUCCESS",
  "loader":{"path":"/lib/libze_loader.so.1","version":"1.8.0"},"missing_symbols":["zeInitDrivers"],
  "drivers":[{"library":"/lib/x.so","version":"1.3.24595","release":"22.43.24595","api":"1.3","devices":[
    {"name":"A","type":"gpu","vendor_id":32902,"device_id":3029,"uuid":"aa","pci":"0000:03:00.0",
     "integrated":false,"subdevice":false,"memory_bytes":1073741824,
     "sub_devices":[{"uuid":"aa","subdevice_id":0},{"uuid":"aa","subdevice_id":1}]},
    {"name":"B","type":"gpu","vendor_id":32902,"device_id":3029,"uuid":"bb","pci":"",
     "integrated":true,"subdevice":false,"memory_bytes":2,"sub_devices":[]}]},
   {"library":"","version":"1.2.3","release":"","api":"1.2","devices":[]}]})";

TEST(ParseXpuProbe, DevicesAreNamedByIdentity) {
  const auto inventory = parse_probe(Backend::kXpu, kTwoCards);
  ASSERT_TRUE(inventory);
  ASSERT_EQ(inventory->devices.size(), 2U);
  EXPECT_EQ(inventory->devices[0].id, "xpu:0000:03:00.0");
  EXPECT_EQ(inventory->devices[0].tiles, 2);
  EXPECT_EQ(inventory->devices[0].memory_bytes, 1073741824U);
  EXPECT_EQ(inventory->devices[1].id, "xpu:bb");
  EXPECT_EQ(inventory->devices[1].tiles, 1);
  EXPECT_TRUE(inventory->devices[1].integrated);
  EXPECT_EQ(inventory->missing_symbols, std::vector<std::string>{"zeInitDrivers"});
  EXPECT_EQ(inventory->driver_file, "/lib/x.so");
}

TEST(ParseXpuProbe, StackPrefersReleaseNameOverNumber) {
  const auto stack = parse_probe(Backend::kXpu, kTwoCards)->stack;
  EXPECT_THAT(stack, Contains(Pair("xpu.loader", "1.8.0")));
  EXPECT_THAT(stack, Contains(Pair("xpu.driver", "22.43.24595")));
  EXPECT_THAT(stack, Contains(Pair("xpu.driver.1", "1.2.3")));
}

TEST(ParseXpuProbe, ReplacementDriverMarksDevicesAsSimulated) {
  auto document = nlohmann::json::parse(kTwoCards);
  EXPECT_FALSE(parse_probe(Backend::kXpu, document.dump())->devices[0].simulated);
  document["simulated_driver"] = "/opt/libproctor_ze_sim.so";
  const auto inventory = parse_probe(Backend::kXpu, document.dump());
  EXPECT_EQ(inventory->simulated_driver, "/opt/libproctor_ze_sim.so");
  document["drivers"][0]["library"] = "";
  EXPECT_EQ(parse_probe(Backend::kXpu, document.dump())->driver_file, "/opt/libproctor_ze_sim.so");
  for (const Device& device : inventory->devices) EXPECT_TRUE(device.simulated);
}

TEST(ParseXpuProbe, RejectsInvalidDocuments) {
  for (const char* text : {"", "{", "[]", "{}", R"({"v":2})", R"({"v":1,"problem":7})",
                           R"({"v":1,"drivers":[1]})", R"({"v":1,"drivers":[{"devices":[{"name":3}]}]})"}) {
    EXPECT_FALSE(parse_probe(Backend::kXpu, text)) << text;
  }
}

// Shell scripts replace a probe whose driver misbehaves.
class Probe : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "inventory-test-" + std::to_string(getpid()));
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
  }

  Inventory run(const std::string& body, Milliseconds timeout = Milliseconds{20'000}) {
    {
      std::ofstream script(script_);
      script << "#!/bin/sh\n" << body << "\n";
    }
    chmod(script_.c_str(), 0700);
    return probe_devices(Backend::kXpu, *containment_,
                         {.probe = script_, .env = {"PATH=/usr/bin:/bin"}, .timeout = timeout});
  }

  std::unique_ptr<Containment> containment_;
  const TempDir directory_;
  const std::string script_ = directory_ / "probe.sh";
};

TEST_F(Probe, ParsesInventoryFromEventDescriptor) {
  const auto inventory = run(R"(echo '{"v":1,"problem":"no_device","detail":"d"}' >&$PROCTOR_EVENTS_FD)");
  EXPECT_EQ(inventory.problem, "no_device");
  EXPECT_EQ(inventory.detail, "d");
}

TEST_F(Probe, IgnoresStdout) {
  EXPECT_EQ(run(R"(echo '{"v":1,"problem":"no_device"}')").problem, "probe_unreadable");
}

TEST_F(Probe, ReportsSignalOfCrash) { EXPECT_EQ(run("kill -SEGV $$").problem, "probe_crash:11"); }

TEST_F(Probe, HangEndsAtDeadline) {
  EXPECT_EQ(run("trap '' TERM; while :; do sleep 1; done", Milliseconds{200}).problem, "probe_timeout");
}

TEST_F(Probe, ReportsExitCodeAndStderr) {
  const auto inventory = run("echo 'no such driver' >&2; exit 3");
  EXPECT_EQ(inventory.problem, "probe_failed:exit:3");
  EXPECT_EQ(inventory.detail, "no such driver");
}

TEST_F(Probe, AMissingProbeIsNamed) {
  const auto inventory =
      probe_devices(Backend::kXpu, *containment_, {.probe = "/nonexistent/probe", .env = {}});
  EXPECT_THAT(inventory.problem, StartsWith("probe_failed:"));
  EXPECT_THAT(inventory.detail, HasSubstr("/nonexistent/probe"));
}

TEST_F(Probe, RunsInTemporaryScratchDirectory) {
  const auto inventory = run(
      R"(touch left.aub; echo "{\"v\":1,\"problem\":\"here\",\"detail\":\"$PWD\"}" >&$PROCTOR_EVENTS_FD)");
  EXPECT_EQ(inventory.problem, "here");
  EXPECT_THAT(inventory.detail, HasSubstr("prp-"));
  EXPECT_NE(access(inventory.detail.c_str(), F_OK), 0);
}

// The real probe on Intel's driver without hardware, if this driver is installed.
TEST_F(Probe, ListsCardsOfSimulatedIntelDriver) {
  const auto simulation = parse_simulation("xpu:3x2,driver=intel");
  const ProbeOptions options{.probe = std::string(PROCTOR_BIN_DIR) + "/proctor-probe-xpu",
                             .env = {"PATH=/usr/bin"}};
  const auto inventory = probe_simulated(Backend::kXpu, *containment_, *simulation, options);
  if (inventory.problem.starts_with("library_missing:")) GTEST_SKIP() << inventory.problem;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers refuse the RTLD_DEEPBIND with which this driver opens its compiler";
#endif
  EXPECT_EQ(inventory.problem, "") << inventory.detail;
  ASSERT_EQ(inventory.devices.size(), 3U);
  EXPECT_EQ(inventory.devices[2].id, "xpu-sim:2");
  EXPECT_EQ(inventory.devices[2].tiles, 2);
  EXPECT_TRUE(inventory.devices[2].simulated);
  EXPECT_NE(inventory.devices[0].uuid, inventory.devices[1].uuid);
}

TEST_F(Probe, ReportsMissingDriver) {
  const ProbeOptions options{.probe = std::string(PROCTOR_BIN_DIR) + "/proctor-probe-xpu",
                             .env = {"PATH=/usr/bin", "ZE_ENABLE_ALT_DRIVERS=libze_no_such_driver.so.1"}};
  const auto inventory = probe_devices(Backend::kXpu, *containment_, options);
  if (inventory.problem.starts_with("library_missing:")) GTEST_SKIP() << inventory.problem;
  EXPECT_EQ(inventory.problem, "no_driver");
}

}  // namespace
}  // namespace proctor
