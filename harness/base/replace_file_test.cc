#include "harness/base/replace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

TEST(ReplaceFile, CreatesAndReplacesFile) {
  const TempDir scratch;
  const std::string path = scratch / "report";
  for (const char* text : {"first", "", "another"}) {
    ASSERT_TRUE(replace_file(path, text));
    EXPECT_EQ(*read_file(path), text);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 1)
      << "nothing else is left";
}

TEST(ReplaceFile, ReplacesLinkInsteadOfTarget) {
  const TempDir scratch;
  const fs::path precious = scratch / "precious";
  std::ofstream(precious) << "mine";
  const fs::path path = scratch / "report";
  fs::create_symlink(precious, path);
  ASSERT_TRUE(replace_file(path, "text"));
  EXPECT_EQ(*read_file(precious), "mine");
  EXPECT_FALSE(fs::is_symlink(path));
  fs::remove(path);
  fs::create_hard_link(precious, path);
  ASSERT_TRUE(replace_file(path, "text"));
  EXPECT_EQ(*read_file(precious), "mine");
}

TEST(ReplaceFile, ReportsFailedWriteAndLeavesNoFile) {
  const TempDir scratch;
  const auto missing = replace_file(scratch / "missing/report", "text");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().what, HasSubstr("missing/report"));
  fs::create_directory(scratch / "report");
  EXPECT_FALSE(replace_file(scratch / "report", "text"));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 1);
}

TEST(ReplaceFile, WritesToDeviceInPlace) {
  struct stat before {
  }, after{};
  ASSERT_EQ(stat("/dev/null", &before), 0);
  EXPECT_TRUE(replace_file("/dev/null", "text"));
  EXPECT_FALSE(replace_file("/dev/full", "text"));
  ASSERT_EQ(stat("/dev/null", &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

class RootWriteTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs:root";
    ::unsetenv(kTrustUserVariable);
    fs::create_directories(inner_);
    ASSERT_EQ(chown(theirs_.c_str(), kNobody, kNobody), 0);
  }
  void TearDown() override { ::unsetenv(kTrustUserVariable); }

  const TempDir scratch_;
  const fs::path theirs_ = scratch_ / "theirs";
  const fs::path inner_ = theirs_ / "inner";  // belongs to root, in a directory of another user
};

TEST_F(RootWriteTest, RejectsDirectoryOfAnotherUser) {
  EXPECT_TRUE(check_owner_of(scratch_.string()));
  for (const fs::path& directory : {theirs_, inner_}) {
    const auto refused = check_owner_of(directory);
    ASSERT_FALSE(refused) << directory;
    EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(refused.error().what, HasSubstr("(uid 65534)"));
    EXPECT_THAT(refused.error().hint, HasSubstr("PROCTOR_TRUST_USER=65534"));
    EXPECT_FALSE(replace_file(directory / "report", "text"));
    EXPECT_FALSE(fs::exists(directory / "report"));
  }
}

TEST_F(RootWriteTest, RejectsLinkOfAnotherUser) {
  fs::create_directory(scratch_ / "roots");
  const fs::path link = scratch_ / "link";
  fs::create_directory_symlink(scratch_ / "roots", link);
  EXPECT_TRUE(check_owner_of(link));
  ASSERT_EQ(lchown(link.c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(check_owner_of(link));
}

TEST_F(RootWriteTest, AcceptsDirectoryOfTrustedUser) {
  ::setenv(kTrustUserVariable, "65534", 1);
  EXPECT_TRUE(replace_file(inner_ / "report", "text"));
  for (const char* other : {"65533", "", "65534x", "nobody"}) {
    ::setenv(kTrustUserVariable, other, 1);
    EXPECT_FALSE(check_owner_of(inner_)) << other;
  }
}

}  // namespace
}  // namespace proctor
