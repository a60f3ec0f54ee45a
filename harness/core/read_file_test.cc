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

TEST(ReadFile, FailuresOfOpenAndReadAreErrors) {
  EXPECT_EQ(read_file("/nonexistent").error().sys_errno, ENOENT);
  // Opens, and fails at the first read, like /proc/PID/cmdline of a process that has just ended.
  EXPECT_EQ(read_file("/").error().sys_errno, EISDIR);
}

}  // namespace
}  // namespace proctor
