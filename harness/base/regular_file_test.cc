#include "harness/base/regular_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RegularFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

  void make_socket(const std::string& name) const {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path(name).copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }

  const TempDir directory_;
};

TEST_F(RegularFile, ReadsWholeFile) {
  const std::string text(100'000, 'x');
  ASSERT_TRUE(write_new_file(path("file"), text));
  EXPECT_EQ(*read_regular(path("file"), text.size()), text);
  auto stream = open_regular_stream(path("file"), text.size());
  ASSERT_TRUE(stream);
  fs::remove(path("file"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(*stream), {}), text);
}

// None of these entries blocks, is followed or is read.
TEST_F(RegularFile, RejectsLinksFifosSocketsAndDevices) {
  ASSERT_TRUE(write_new_file(path("file"), "text"));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_symlink(path("file"), path("link"));
  make_socket("socket");
  fs::create_directory(path("directory"));
  const auto why = [&](const std::string& name) { return read_regular(name, 1000).error().what; };
  EXPECT_THAT(why(path("fifo")), HasSubstr("fifo: it is not a regular file"));
  EXPECT_THAT(why(path("link")), HasSubstr("link: it is a link"));
  EXPECT_THAT(why(path("socket")), HasSubstr("socket: it is not a regular file"));
  EXPECT_THAT(why("/dev/zero"), HasSubstr("/dev/zero: it is not a regular file"));
  EXPECT_EQ(read_regular(path("directory"), 1000).error().sys_errno, EISDIR);
  EXPECT_EQ(read_regular(path("nothing"), 1000).error().sys_errno, ENOENT);
  EXPECT_FALSE(open_regular_stream(path("fifo"), 1000));
}

TEST_F(RegularFile, RejectsFileAboveSizeLimit) {
  ASSERT_TRUE(write_new_file(path("holes"), ""));
  fs::resize_file(path("holes"), std::uint64_t{1} << 40);
  EXPECT_THAT(read_regular(path("holes"), 1000).error().what,
              HasSubstr("it has 1099511627776 bytes, and at most 1000 are read"));
}

TEST_F(RegularFile, NewFileReplacesLinksAndSpecialFiles) {
  ASSERT_TRUE(write_new_file(path("precious"), "precious"));
  fs::create_symlink(path("precious"), path("link"));
  fs::create_hard_link(path("precious"), path("hard"));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  make_socket("socket");
  for (const char* name : {"link", "hard", "fifo", "socket", "nothing"}) {
    EXPECT_TRUE(write_new_file(path(name), "new")) << name;
    EXPECT_EQ(*read_regular(path(name), 1000), "new") << name;
  }
  EXPECT_EQ(read_file_or_empty(path("precious")), "precious");
  fs::create_directory(path("directory"));
  EXPECT_FALSE(create_file(path("directory"), 0644));
  if (::mknod(path("device").c_str(), S_IFCHR | 0600, 1 << 8 | 3) == 0) {
    EXPECT_FALSE(create_file(path("device"), 0644));
    EXPECT_TRUE(fs::exists(path("device")));
  }
}

TEST_F(RegularFile, WritesThroughNoDirectoryLink) {
  fs::create_directories(path("elsewhere/z"));
  ASSERT_TRUE(write_new_file(path("elsewhere/z/log"), "precious"));
  fs::create_directory(path("run"));
  fs::create_directory_symlink(path("elsewhere"), path("run/logs"));
  ASSERT_TRUE(make_way(path("run"), "logs/z/log"));
  ASSERT_TRUE(write_new_file(path("run/logs/z/log"), "new"));
  fs::remove_all(path("run/logs/z"));
  fs::create_directory_symlink(path("elsewhere/z"), path("run/logs/z"));
  ASSERT_TRUE(make_way(path("run"), "logs/z/log"));
  ASSERT_TRUE(write_new_file(path("run/logs/z/log"), "new"));
  EXPECT_EQ(*read_regular(path("elsewhere/z/log"), 1000), "precious");
  EXPECT_TRUE(make_way(path("run"), "log"));
}

using testing::ElementsAre;
using testing::IsEmpty;

class FindTextsTest : public testing::Test {
 protected:
  std::set<std::string_view> found(const std::string& content, std::string_view beginning = {}) {
    const std::string path = directory_ / "file";
    std::ofstream(path, std::ios::binary) << content;
    return *find_texts(path, {"one", "twelve"}, beginning);
  }
  TempDir directory_;
};

TEST_F(FindTextsTest, FindsTextsAtAnyOffset) {
  EXPECT_THAT(found(""), IsEmpty());
  EXPECT_THAT(found("on e"), IsEmpty());
  EXPECT_THAT(found("twelve"), ElementsAre("twelve"));
  for (const std::size_t at : {65'530, 65'533, 65'535, 65'536, 131'070, 131'072, 200'000}) {
    std::string text(300'000, '\0');
    text.replace(at, 6, "twelve").replace(at + 6, 3, "one");
    EXPECT_THAT(found(text), ElementsAre("one", "twelve")) << at;
  }
}

TEST_F(FindTextsTest, SearchesOnlyFilesWithGivenPrefix) {
  EXPECT_THAT(found("#! one", "\x7f"), IsEmpty());
  EXPECT_THAT(found("\x7f one", "\x7f"), ElementsAre("one"));
  EXPECT_FALSE(find_texts(directory_ / "missing", {"one"}));
}

}  // namespace
}  // namespace proctor
