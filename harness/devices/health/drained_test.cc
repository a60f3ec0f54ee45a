#include "harness/devices/health/drained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

using testing::HasSubstr;

constexpr const char* kDrainedCard = "xpu:0000:03:00.0";

class DrainListTest : public testing::Test {
 protected:
  DrainList list() const { return DrainList(path_); }

  TempDir scratch_;
  const std::string path_ = scratch_.string();
};

TEST_F(DrainListTest, DeviceStaysDrainedUntilUndrain) {
  EXPECT_FALSE(list().find(kDrainedCard));
  ASSERT_TRUE(list().drain(
      {.device = kDrainedCard, .reason = "lost", .evidence = "the driver says so", .run = "r1"}));
  const auto found = list().find(kDrainedCard);
  ASSERT_TRUE(found);
  EXPECT_THAT(describe(*found), HasSubstr("(lost, by run r1 of "));
  EXPECT_FALSE(list().find("xpu:0000:06:00.0"));
  ASSERT_EQ(list().list().size(), 1u);
  EXPECT_TRUE(*list().undrain(kDrainedCard));
  EXPECT_FALSE(list().find(kDrainedCard));
  EXPECT_FALSE(*list().undrain(kDrainedCard));
}

TEST_F(DrainListTest, KeepsFirstReasonOfDrain) {
  ASSERT_TRUE(list().drain({.device = kDrainedCard, .reason = "lost", .evidence = "first"}));
  ASSERT_TRUE(list().drain({.device = kDrainedCard, .reason = "memory_missing", .evidence = "second"}));
  EXPECT_EQ(list().find(kDrainedCard)->evidence, "first");
  EXPECT_EQ(list().list().size(), 1u);
}

TEST_F(DrainListTest, UnreadableRecordCountsAsDrained) {
  for (const char* text : {"", "{", "[]", R"({"device":"xpu:other"})"}) {
    std::ofstream(path_ + "/" + kDrainedCard + ".drained", std::ios::trunc) << text;
    ASSERT_TRUE(list().find(kDrainedCard)) << text;
    EXPECT_EQ(list().find(kDrainedCard)->reason, "unreadable") << text;
    EXPECT_EQ(list().list().at(0).device, kDrainedCard);
  }
}

TEST_F(DrainListTest, ReportsDirectoryThatIsNotWritable) {
  const DrainList stopped(path_ + "/gone");
  const auto drained = stopped.drain({.device = kDrainedCard, .reason = "lost", .evidence = ""});
  ASSERT_FALSE(drained);
  EXPECT_THAT(drained.error().what, HasSubstr(path_ + "/gone/" + kDrainedCard));
}

// A reader must not follow a link or wait at a FIFO, because any user can create them.
TEST_F(DrainListTest, SpecialFilesCountAsDrainedWithoutBlocking) {
  const std::string file = path_ + "/" + kDrainedCard + ".drained";
  ASSERT_EQ(mkfifo(file.c_str(), 0666), 0);
  EXPECT_EQ(list().find(kDrainedCard)->reason, "unreadable");
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/nowhere", file);
  EXPECT_EQ(list().find(kDrainedCard)->reason, "unreadable");
}

TEST_F(DrainListTest, OnlyOwnerOrRootCanUndrain) {
  if (geteuid() != 0) GTEST_SKIP() << "needs:root";
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chmod(path_.c_str(), 01777), 0);
  const auto as_nobody = [&](const std::function<bool()>& what) {
    const pid_t child = fork();
    if (child == 0) _exit(setuid(kNobody) == 0 && what() ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    return status == 0;
  };
  ASSERT_TRUE(as_nobody([&] {
    return list().drain({.device = kDrainedCard, .reason = "by hand", .evidence = "smells"}).ok();
  }));
  const auto found = list().find(kDrainedCard);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->uid, kNobody);
  EXPECT_THAT(describe(*found),
              testing::MatchesRegex(".* is drained since 20.* .by hand, by .*uid 65534.*smells"));
  EXPECT_TRUE(*list().undrain(kDrainedCard)) << "root may";
  ASSERT_TRUE(list().drain({.device = kDrainedCard, .reason = "by hand", .evidence = "root's"}));
  EXPECT_TRUE(as_nobody([&] {
    const auto undrained = list().undrain(kDrainedCard);
    return !undrained && undrained.error().what.find("by root (uid 0)") != std::string::npos &&
           undrained.error().hint.find("root (uid 0)") != std::string::npos;
  }));
  EXPECT_TRUE(list().find(kDrainedCard));
}

TEST(NodeReason, NamesProctorAndDrainedDevices) {
  EXPECT_EQ(node_reason({{.device = "cuda:GPU-1", .reason = "lost", .evidence = ""},
                         {.device = "xpu:0", .reason = "memory_missing", .evidence = ""}}),
            "proctor: cuda:GPU-1 lost, xpu:0 memory_missing");
  const std::vector<DrainedDevice> many(100, {.device = "cuda:GPU-1", .reason = "lost", .evidence = ""});
  EXPECT_EQ(node_reason(many).size(), 200u);
}

}  // namespace
}  // namespace proctor
