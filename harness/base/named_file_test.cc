#include "harness/base/named_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>

#include "harness/base/regular_file.h"
#include "harness/base/temp_dir.h"
#include "harness/base/unique_fd.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

class NamedFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

  const TempDir directory_;
};

TEST_F(NamedFile, ReadsAFileThroughALink) {
  const std::string text(100'000, 'x');
  ASSERT_TRUE(write_new_file(path("file"), text));
  fs::create_symlink("file", path("link"));
  EXPECT_EQ(*read_typed_file(path("file")), text);
  EXPECT_EQ(*read_found_file(path("link"), text.size()), text);
}

TEST_F(NamedFile, SuggestsTheMostSimilarName) {
  ASSERT_TRUE(write_new_file(path("known.toml"), ""));
  const auto near = read_typed_file(path("knwon.toml"));
  EXPECT_EQ(near.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(near.error().sys_errno, ENOENT);
  EXPECT_EQ(near.error().hint, "Did you mean `" + path("known.toml") + "`?");
  EXPECT_EQ(read_found_file(path("")).error().what, path("") + " is a directory, not a file");
}

TEST_F(NamedFile, RefusesDevicesSparseFilesAndFifos) {
  fs::create_symlink("/dev/zero", path("zero"));
  ASSERT_TRUE(write_new_file(path("holes"), ""));
  fs::resize_file(path("holes"), std::uint64_t{1} << 40);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_typed_file(path("zero")).error().what, path("zero") + " is not a regular file or a pipe");
  EXPECT_EQ(read_found_file(path("zero")).error().what, path("zero") + " is not a regular file");
  EXPECT_EQ(read_found_file(path("fifo")).error().what, path("fifo") + " is not a regular file");
  EXPECT_EQ(read_typed_file(path("holes")).error().what, path("holes") + " is longer than 16 MiB");
  EXPECT_EQ(read_typed_file("/proc/self/status", 10).error().what,
            "/proc/self/status is longer than 10 bytes");
}

// bash passes such a pipe for `<(...)`.
TEST_F(NamedFile, ReadsAPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd read(ends[0]);
  UniqueFd write(ends[1]);
  const std::string text(300'000, 'x');
  std::thread writer([&] {
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t put = ::write(write.get(), rest.data(), rest.size());
      ASSERT_GT(put, 0);
      rest.remove_prefix(static_cast<std::size_t>(put));
    }
    write.reset();
  });
  const auto got = read_typed_file("/dev/fd/" + std::to_string(read.get()));
  writer.join();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, text);
}

TEST_F(NamedFile, LimitsTimeAndSizeOfAPipe) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_typed_file(path("fifo"), kMostNamedFile, 20ms).error().what,
            path("fifo") + " is a pipe that did not end within 0.02 s")
      << "no process writes to it";
  const UniqueFd held(::open(path("fifo").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::write(held.get(), "text", 4), 4);
  EXPECT_THAT(read_typed_file(path("fifo"), kMostNamedFile, 20ms).error().what, HasSubstr("did not end"));
  ASSERT_EQ(::write(held.get(), "text", 4), 4);
  EXPECT_EQ(read_typed_file(path("fifo"), 3).error().what, path("fifo") + " is longer than 3 bytes");
}

}  // namespace
}  // namespace proctor
