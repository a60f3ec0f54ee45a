#include "harness/base/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

TEST(ReadFile, ReturnsAllBytes) {
  const TempDir directory;
  const std::string path = (directory / "file").string();
  std::string bytes(100'000, 'x');
  bytes[70'000] = '\0';
  std::ofstream(path, std::ios::binary) << bytes;
  const auto text = read_file(path);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, bytes);
}

TEST(ReadFile, ReadsFilesOfUnknownSize) {
  const auto status = read_file("/proc/self/status");
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->starts_with("Name:"));
  EXPECT_TRUE(status->ends_with("\n"));
  const auto limit = read_file("/sys/kernel/mm/transparent_hugepage/enabled");  // stat() reports a page
  if (limit) {
    EXPECT_LT(limit->size(), 100U);
  }
}

TEST(ReadFile, ReportsOpenAndReadErrors) {
  EXPECT_EQ(read_file("/nonexistent").error().sys_errno, ENOENT);
  // Opening succeeds and the first read fails, like /proc/PID/cmdline of a process that has just ended.
  EXPECT_EQ(read_file("/").error().sys_errno, EISDIR);
}

// A checkout can contain each of these files.
TEST(ReadFile, RefusesDevicesSparseFilesAndFifos) {
  const TempDir directory;
  const auto path = [&](const char* name) { return (directory / name).string(); };
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", path("zero"));
  for (const char* name : {"fifo", "zero"})
    EXPECT_THAT(read_file(path(name)).error().what, testing::HasSubstr("it is not a regular file")) << name;
  std::ofstream(path("holes")) << "text";
  EXPECT_TRUE(read_file(path("holes"), 4));
  std::filesystem::resize_file(path("holes"), std::uint64_t{1} << 40);
  EXPECT_EQ(read_file(path("holes")).error().what,
            "read " + path("holes") + ": it has 1099511627776 bytes, and at most 2000000000 are read");
  std::filesystem::create_symlink(path("holes"), path("link"));
  EXPECT_EQ(read_file(path("link"), 10).error().sys_errno, EFBIG);
  // stat() reports the size 0.
  EXPECT_THAT(read_file("/proc/self/status", 10).error().what, testing::HasSubstr("it grew beyond 10 bytes"));
}

}  // namespace
}  // namespace proctor
