#include "harness/base/held_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::UnorderedElementsAre;

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0;
}

class HeldDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto made = make(kRunScratch);
    if (mode_of(made.path) != 01700) GTEST_SKIP() << "locks on this file system may be one machine's alone";
    fs::remove(made.path);
  }
  HeldDirectory make(std::string_view prefix) {
    auto made = make_held_directory(base_.string(), prefix);
    return made ? *std::move(made) : HeldDirectory{};
  }
  // Leaves a directory as its creator does when it is killed.
  std::string abandon(std::string_view prefix) { return make(prefix).path; }
  SweptDirectories sweep() { return sweep_held_directories({base_.string()}); }

  const TempDir base_;
};

TEST_F(HeldDirectoryTest, HasNamePatternAndStickyBit) {
  const HeldDirectory run = make(kRunScratch);
  const HeldDirectory probe = make(kProbeScratch);
  EXPECT_THAT(run.path, MatchesRegex(base_.string() + "/pr-[a-zA-Z0-9]{6}"));
  EXPECT_THAT(probe.path, MatchesRegex(base_.string() + "/prp-[a-zA-Z0-9]{6}"));
  EXPECT_EQ(mode_of(run.path), 01700u);
}

TEST_F(HeldDirectoryTest, SweepKeepsDirectoryOfLiveOwner) {
  const HeldDirectory run = make(kRunScratch);
  EXPECT_THAT(sweep().removed, IsEmpty());
  EXPECT_TRUE(fs::is_directory(run.path));
}

TEST_F(HeldDirectoryTest, SweepRemovesDirectoryOfDeadOwner) {
  const std::string run = abandon(kRunScratch);
  const std::string probe = abandon(kProbeScratch);
  fs::create_directories(run + "/1/a");
  std::ofstream(run + "/1/a/file") << "text";
  ASSERT_EQ(::chmod((run + "/1").c_str(), 0), 0);
  const auto swept = sweep();
  EXPECT_THAT(swept.removed, UnorderedElementsAre(run, probe));
  EXPECT_THAT(swept.failed, IsEmpty());
  EXPECT_FALSE(fs::exists(run) || fs::exists(probe));
}

TEST_F(HeldDirectoryTest, SweepFollowsNoLink) {
  const fs::path victim = base_ / "victim";
  fs::create_directory(victim);
  std::ofstream(victim / "file") << "text";
  ASSERT_EQ(::chmod(victim.c_str(), 01700), 0);
  fs::create_directory_symlink(victim, base_ / "pr-abcdef");
  const std::string run = abandon(kRunScratch);
  fs::create_directory_symlink(victim, run + "/link");
  EXPECT_THAT(sweep().removed, ElementsAre(run));
  EXPECT_TRUE(fs::is_symlink(base_ / "pr-abcdef"));
  EXPECT_TRUE(fs::exists(victim / "file"));
}

TEST_F(HeldDirectoryTest, SweepKeepsForeignNamesAndModes) {
  const std::vector<std::pair<std::string, mode_t>> others{{"pr-abcdef", 0700},  {"prp-abcdef", 01755},
                                                           {"pr-abcde", 01700},  {"pr-abcdefg", 01700},
                                                           {"pr-abcd.f", 01700}, {"xpr-abcdef", 01700}};
  for (const auto& [name, mode] : others) {
    fs::create_directory(base_ / name);
    ASSERT_EQ(::chmod((base_ / name).c_str(), mode), 0);
  }
  std::ofstream(base_ / "pr-afile0") << "text";
  ASSERT_EQ(::chmod((base_ / "pr-afile0").c_str(), 01700), 0);
  EXPECT_THAT(sweep().removed, IsEmpty());
  EXPECT_EQ(std::distance(fs::directory_iterator(base_.path()), {}), 7);
}

TEST_F(HeldDirectoryTest, SweepKeepsDirectoryOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string run = abandon(kRunScratch);
  ASSERT_EQ(::chown(run.c_str(), 65534, 65534), 0);
  EXPECT_THAT(sweep().removed, IsEmpty());
  EXPECT_TRUE(fs::is_directory(run));
}

// A sweep between mkdir() and flock() removes the directory. Its creator then uses another name.
TEST_F(HeldDirectoryTest, CreationSurvivesConcurrentSweeps) {
  const TempDir memory("/dev/shm");
  const std::string base = memory.string();
  const auto sweep_on = [&](const std::stop_token& over) {
    while (!over.stop_requested()) sweep_held_directories({base});
  };
  const std::jthread one(sweep_on);
  const std::jthread other(sweep_on);
  for (int i = 0; i < 5000; ++i) {
    const auto run = make_held_directory(base, kRunScratch);
    struct stat there {
    }, held{};
    ASSERT_TRUE(run) << run.error().what;
    ASSERT_EQ(::fstat(run->fd.get(), &held), 0);
    ASSERT_EQ(::stat(run->path.c_str(), &there), 0) << "swept after " << i;
    ASSERT_EQ(there.st_ino, held.st_ino);
    ASSERT_EQ(::rmdir(run->path.c_str()), 0);
  }
}

TEST_F(HeldDirectoryTest, ReportsPathOfFailedCreation) {
  const auto made = make_held_directory("/no/such/place", kRunScratch);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().what, HasSubstr("create scratch directory /no/such/place/pr-XXXXXX"));
}

}  // namespace
}  // namespace proctor
