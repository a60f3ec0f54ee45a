#include "harness/core/read_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "harness/core/temp_dir.h"

namespace proctor {
namespace {

TEST(ReadFile, GivesAllBytes) {
  const TempDir directory;
  const std::string path = (directory / "file").string();
  std::string bytes(100'000, 'x');
  bytes[70'000] = '\0';
  std::ofstream(path, std::ios::binary) << bytes;
  const auto text = read_file(path);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, bytes);
}

TEST(ReadFile, ASizeThatIsNotKnownOrNotTrueDoesNotMatter) {
  const auto status = read_file("/proc/self/status");
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->starts_with("Name:"));
  EXPECT_TRUE(status->ends_with("\n"));
  const auto limit =
      read_file("/sys/kernel/mm/transparent_hugepage/enabled");  // its size is said to be a page
  if (limit) {
    EXPECT_LT(limit->size(), 100U);
  }
}

TEST(ReadFile, FailuresOfOpenAndReadAreErrors) {
  EXPECT_EQ(read_file("/nonexistent").error().sys_errno, ENOENT);
  // Opens, and fails at the first read, like /proc/PID/cmdline of a process that has just ended.
  EXPECT_EQ(read_file("/").error().sys_errno, EISDIR);
}

}  // namespace
}  // namespace proctor
