#include "harness/process/cgroup_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

// inotify reports a write to an ordinary file as it does one to cgroup.kill.
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

TEST_F(CgroupWatchTest, AWriteToALeafKillsOneCase) {
  CgroupWatch watch(make("run"));
  const std::string path = make("run/1");
  const auto one = watch.begin(path);
  const auto two = watch.begin(make("run/2"));
  EXPECT_FALSE(watch.was_killed(one));
  kill(path);
  EXPECT_TRUE(watch.was_killed(one));
  EXPECT_FALSE(watch.was_killed(two));
}

TEST_F(CgroupWatchTest, AWriteToTheRunKillsTheCasesThatRun) {
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

TEST_F(CgroupWatchTest, WithoutAWatchNothingIsReported) {
  CgroupWatch watch("/nonexistent");
  EXPECT_FALSE(watch.was_killed(watch.begin("/nonexistent/1")));
}

}  // namespace
}  // namespace proctor
