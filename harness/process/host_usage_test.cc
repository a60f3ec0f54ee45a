#include "harness/process/host_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/process/contained_process.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

class HostUsageTest : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(directory_ + "/" + file) << text;
  }
  TempDir scratch_;
  const std::string directory_ = scratch_.string();
};

TEST_F(HostUsageTest, ReadsTheCgroupsFiles) {
  write("cpu.stat", "usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n");
  write("memory.peak", "4096\n");
  const auto usage = with_leader(cgroup_usage(directory_), 7, 7);
  EXPECT_EQ(usage.cpu_s, 1.5);
  EXPECT_EQ(usage.cpu_source, "cgroup");
  EXPECT_EQ(usage.peak_bytes, 4096u);
  EXPECT_EQ(usage.peak_source, "cgroup");
}

TEST_F(HostUsageTest, TheLeaderStandsInForWhatTheCgroupLacks) {
  write("cpu.stat", "nr_periods 0\n");
  const auto usage = with_leader(cgroup_usage(directory_), 2'000'000, 3);
  EXPECT_EQ(usage.cpu_s, 2);
  EXPECT_EQ(usage.cpu_source, "rusage");
  EXPECT_EQ(usage.peak_bytes, 3072u);
  EXPECT_EQ(usage.peak_source, "rusage");
  EXPECT_FALSE(cgroup_usage("").cpu_s);
  EXPECT_FALSE(cgroup_usage(directory_ + "/gone").peak_bytes);
}

// A process that computes and holds memory, and one that does neither, under each layer.
TEST(HostUsageOfACase, IsThatOfItsProcesses) {
  const auto run = [](Containment& containment, const std::string& script) {
    ProcessSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.limits.timeout = Milliseconds(60'000);
    return run_contained(containment, std::move(spec)).usage;
  };
  for (const Layer layer : kAllLayers) {
    const auto containment = Containment::open(layer, "usage-test-" + std::to_string(getpid()));
    if (!containment) continue;  // it does not work here: containment's own tests say so
    const auto busy = run(**containment, "head -c 48000000 /dev/zero | tail -c 48000000 >/dev/null; wait");
    const auto idle = run(**containment, "exit 0");
    ASSERT_TRUE(busy.cpu_s && idle.cpu_s && busy.peak_bytes && idle.peak_bytes) << to_string(layer);
    EXPECT_GT(*busy.cpu_s, *idle.cpu_s) << to_string(layer);
    EXPECT_GT(*busy.peak_bytes, 40'000'000u) << to_string(layer) << ": tail keeps all that it may print";
    EXPECT_LT(*idle.peak_bytes, 40'000'000u) << to_string(layer);
  }
}

}  // namespace
}  // namespace proctor
