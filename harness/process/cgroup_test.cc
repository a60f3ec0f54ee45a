#include "harness/process/cgroup.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

constexpr const char* kOne = "20260131T120000Z-00ab12";
constexpr const char* kOther = "20260131T120000Z-00ab13";

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// The test runs in a separate parent cgroup, so it never sees the cgroups of real runs.
class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto own = own_cgroup_directory();
    if (!own) GTEST_SKIP() << own.error().what;
    parent_ = *own + "/cgroup-test-" + std::to_string(getpid());
    if (mkdir(parent_.c_str(), 0755) != 0) GTEST_SKIP() << "needs a cgroup2 that it may write";
  }
  void TearDown() override {
    if (exists(parent_)) {
      EXPECT_EQ(rmdir(parent_.c_str()), 0) << "something is left in " << parent_;
    }
  }
  std::string of(const char* run) const { return parent_ + "/proctor-" + run; }

  std::string parent_ = "/nonexistent";
};

TEST_F(CgroupTest, NextRunRemovesCgroupOfDeadRun) {
  const pid_t dead = fork();
  if (dead == 0) {
    auto run = RunCgroup::create(parent_, kOne);
    auto leaf = run ? run->make_leaf("1") : Result<Cgroup>(run.error());
    _exit(leaf ? 0 : 1);  // runs no destructor
  }
  int status = 1;
  waitpid(dead, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(exists(of(kOne) + "/1"));
  const auto run = RunCgroup::create(parent_, kOther);
  ASSERT_TRUE(run.ok()) << run.error().what;
  EXPECT_FALSE(exists(of(kOne)));
}

TEST_F(CgroupTest, ConcurrentRunsKeepCgroupsOfEachOther) {
  constexpr int kRuns = 200;
  const auto make_all = [this](const char* run) {
    for (int i = 0; i < kRuns; ++i) {
      const auto made = RunCgroup::create(parent_, run);
      if (!made) return made.error().what;
    }
    return std::string();
  };
  const pid_t other = fork();
  if (other == 0) _exit(make_all(kOther).empty() ? 0 : 1);
  EXPECT_EQ(make_all(kOne), "");
  int status = 1;
  waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(CgroupTest, KeepsCgroupOfLiveRun) {
  const auto living = RunCgroup::create(parent_, kOne);
  ASSERT_TRUE(living.ok()) << living.error().what;
  const auto next = RunCgroup::create(parent_, kOther);
  ASSERT_TRUE(next.ok()) << next.error().what;
  EXPECT_TRUE(exists(of(kOne)));
  EXPECT_TRUE(living->make_leaf("1").ok());
}

TEST_F(CgroupTest, KeepsNewCgroupBeforeLock) {
  ASSERT_EQ(mkdir(of(kOne).c_str(), 0755), 0);
  const auto next = RunCgroup::create(parent_, kOther);
  EXPECT_TRUE(exists(of(kOne)));
  EXPECT_EQ(rmdir(of(kOne).c_str()), 0);
}

TEST_F(CgroupTest, DestructorRemovesNestedCgroups) {
  {
    auto run = RunCgroup::create(parent_, kOne);
    ASSERT_TRUE(run.ok()) << run.error().what;
    const auto leaf = run->make_leaf("1");
    ASSERT_TRUE(leaf.ok());
    ASSERT_EQ(mkdir((leaf->path() + "/own").c_str(), 0755), 0);
  }
  EXPECT_FALSE(exists(of(kOne)));
}

TEST_F(CgroupTest, KillsMembersWithoutFreeDescriptors) {
  auto run = RunCgroup::create(parent_, kOne);
  ASSERT_TRUE(run.ok()) << run.error().what;
  const auto leaf = run->make_leaf("1");
  ASSERT_TRUE(leaf.ok());
  EXPECT_TRUE(leaf->empty());
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream(leaf->path() + "/cgroup.procs") << "0";
    for (;;) pause();
  }
  while (leaf->empty()) usleep(1000);
  EXPECT_EQ(leaf->members(), std::vector<pid_t>{child});
  EXPECT_FALSE(run->directory().empty()) << "what is below it counts too";
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);  // a test can lower this limit of its runner
  EXPECT_FALSE(leaf->empty());
  EXPECT_TRUE(leaf->kill());
  setrlimit(RLIMIT_NOFILE, &before);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, SIGKILL);
  while (!leaf->empty()) usleep(1000);
  ASSERT_EQ(rmdir(leaf->path().c_str()), 0);
  EXPECT_TRUE(leaf->empty()) << "it is gone";
}

// inotify reports a write to an ordinary file in the same way as a write to cgroup.kill.
class CgroupWatchTest : public testing::Test {
 protected:
  std::string make(const std::string& name) const {
    const std::string path = directory_.string() + "/" + name;
    std::filesystem::create_directories(path);
    std::ofstream(path + "/cgroup.kill") << "";
    return path;
  }
  static void kill(const std::string& cgroup) {
    std::ofstream(cgroup + "/cgroup.kill", std::ios::app) << "1";
  }

  TempDir directory_;
};

TEST_F(CgroupWatchTest, LeafKillAffectsOneCase) {
  CgroupWatch watch(make("run"));
  const std::string path = make("run/1");
  const auto one = watch.begin(path);
  const auto two = watch.begin(make("run/2"));
  EXPECT_FALSE(watch.was_killed(one));
  kill(path);
  EXPECT_TRUE(watch.was_killed(one));
  EXPECT_FALSE(watch.was_killed(two));
}

TEST_F(CgroupWatchTest, RunKillAffectsRunningCases) {
  const std::string run = make("run");
  CgroupWatch watch(run);
  const auto one = watch.begin(make("run/1"));
  kill(run);
  EXPECT_TRUE(watch.was_killed(one));
  EXPECT_FALSE(watch.was_killed(watch.begin(make("run/2")))) << "it began later";
  kill(run);
  const auto three = watch.begin(make("run/3"));
  EXPECT_FALSE(watch.was_killed(three)) << "it began later, and the event was unread";
}

TEST_F(CgroupWatchTest, AnEndedLeafIsNotWatched) {
  CgroupWatch watch(make("run"));
  const std::string path = make("run/1");
  const auto one = watch.begin(path);
  watch.end(one);
  kill(path);
  EXPECT_FALSE(watch.was_killed(one));
}

TEST_F(CgroupWatchTest, ReportsNothingWithoutWatch) {
  CgroupWatch watch("/nonexistent");
  EXPECT_FALSE(watch.was_killed(watch.begin("/nonexistent/1")));
}

}  // namespace
}  // namespace proctor
