#include "harness/process/host_usage.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/process/contained_process.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

class PressureTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(directory_ + "/" + name).parent_path());
    std::ofstream(directory_ + "/" + name) << text;
  }

  TempDir scratch_;
  const std::string directory_ = scratch_.string();
};

TEST_F(PressureTest, ReadsPressureAndCpuOfCgroup) {
  write("cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=61000000\nfull avg10=0 total=5\n");
  write("memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0 total=5\n");
  write("io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=8\nfull avg10=0 total=5\n");
  write("cpu.stat", "usage_usec 12000000\nuser_usec 1\nsystem_usec 2\n");
  const Pressure now = PressureGauge(directory_, 0).now();
  EXPECT_EQ(now.cpu, Microseconds(61'000'000));
  EXPECT_EQ(now.used, Microseconds(12'000'000));
  EXPECT_EQ(now.memory, Microseconds(7));
  EXPECT_EQ(now.disk, Microseconds(8));
  EXPECT_TRUE(report_pressure(directory_));
}

// The waits of threads overlap, so their sum is not the time in which one thread could not run.
TEST_F(PressureTest, UsesLongestThreadWaitWithoutCgroup) {
  Pressure before;
  before.threads = {{1, Microseconds(500)}, {2, Microseconds(0)}, {3, Microseconds(40)}};
  Pressure after;
  after.threads = {{1, Microseconds(510)}, {2, Microseconds(20)}, {4, Microseconds(15)}};
  EXPECT_EQ((after - before).cpu, Microseconds(20));
  after.threads.emplace(5, Microseconds(30));
  EXPECT_EQ((after - before).cpu, Microseconds(30)) << "a new one";
  EXPECT_EQ((before - before).cpu, Microseconds(0));
}

TEST_F(PressureTest, ReadsThreadsOfProcessTree) {
  if (!report_pressure("")) GTEST_SKIP() << "the kernel has no schedstat";
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  const auto threads = PressureGauge("", getpid()).now().threads;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(threads.contains(child));
}

TEST_F(PressureTest, ReportsNothingWithoutPressureFiles) {
  EXPECT_FALSE(report_pressure(directory_));
  EXPECT_EQ(PressureGauge(directory_, 0).now().cpu, Microseconds(0));
  write("cpu.pressure", "");
  EXPECT_FALSE(report_pressure(directory_)) << "what cannot be read tells nothing either";
}

TEST_F(PressureTest, StarvationNeedsLongWaitAndLittleCpu) {
  const auto starved = [](int waited, int used) {
    return Starvation{.window = Milliseconds(100),
                      .during = {.cpu = Milliseconds(waited), .used = Milliseconds(used)}}
        .is_starved();
  };
  EXPECT_TRUE(starved(50, 49));
  EXPECT_FALSE(starved(49, 10)) << "it slept";
  EXPECT_FALSE(starved(100, 50)) << "it waited for its own threads";
  EXPECT_FALSE(starved(100, 200));
  EXPECT_FALSE(Starvation{}.is_starved()) << "there was no limit";
}

// The quota of a container belongs to a parent of the run's cgroup.
TEST_F(PressureTest, UsesNearestCpuQuota) {
  write("cpu.max", "50000 100000");
  write("cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 4711\n");
  write("run/cpu.max", "max 100000");
  write("run/cpu.stat", "throttled_usec 1\n");
  EXPECT_EQ(Quota(directory_ + "/run", directory_).throttled(), Microseconds(4711));
  write("run/cpu.max", "10000 100000");
  EXPECT_EQ(Quota(directory_ + "/run", directory_).throttled(), Microseconds(1));
  EXPECT_EQ(Quota(directory_ + "/none", directory_ + "/none").throttled(), Microseconds(0));
  EXPECT_EQ(Quota().throttled(), Microseconds(0));
}

class HostUsageTest : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(directory_ + "/" + file) << text;
  }
  TempDir scratch_;
  const std::string directory_ = scratch_.string();
};

TEST_F(HostUsageTest, ReadsCgroupFiles) {
  write("cpu.stat", "usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n");
  write("memory.peak", "4096\n");
  const auto usage = with_leader(cgroup_usage(directory_), 7, 7);
  EXPECT_EQ(usage.cpu_s, 1.5);
  EXPECT_EQ(usage.cpu_source, "cgroup");
  EXPECT_EQ(usage.peak_bytes, 4096u);
  EXPECT_EQ(usage.peak_source, "cgroup");
}

TEST_F(HostUsageTest, FallsBackToLeaderUsage) {
  write("cpu.stat", "nr_periods 0\n");
  const auto usage = with_leader(cgroup_usage(directory_), 2'000'000, 3);
  EXPECT_EQ(usage.cpu_s, 2);
  EXPECT_EQ(usage.cpu_source, "rusage");
  EXPECT_EQ(usage.peak_bytes, 3072u);
  EXPECT_EQ(usage.peak_source, "rusage");
  EXPECT_FALSE(cgroup_usage("").cpu_s);
  EXPECT_FALSE(cgroup_usage(directory_ + "/gone").peak_bytes);
}

// Compares a process that computes and holds memory with one that does neither, under each layer.
TEST(HostUsageOfACase, MeasuresProcessesOfCase) {
  const auto run = [](Containment& containment, const std::string& script) {
    ProcessSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.limits.timeout = Milliseconds(60'000);
    return run_contained(containment, std::move(spec)).usage;
  };
  for (const Layer layer : kAllLayers) {
    const auto containment = Containment::open(layer, "usage-test-" + std::to_string(getpid()));
    if (!containment) continue;  // the tests of containment report a layer that does not work
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
