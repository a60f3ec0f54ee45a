#include "harness/base/rooted_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

class RootedFilesTest : public testing::Test {
 protected:
  RootedFilesTest() {
    fs::create_directories(root_ / "usr/lib");
    std::ofstream(root_ / "usr/lib/a") << " there\n";
    std::ofstream(scratch_ / "outside") << "outside";
  }
  void link(const std::string& path, const fs::path& target) const {
    fs::create_symlink(target, root_ / path);
  }

  TempDir scratch_;
  fs::path root_ = scratch_ / "root";
  RootedFiles files_ = RootedFiles(root_.string() + "/");
};

TEST_F(RootedFilesTest, ResolvesLinksWithinRoot) {
  link("lib", "/usr/lib");
  link("b", "../../lib/a");
  EXPECT_EQ(files_.read("/lib/a"), "there");
  EXPECT_EQ(*files_.contents("/lib/a"), " there\n");
  EXPECT_EQ(files_.resolve("/b"), "/usr/lib/a");
  EXPECT_EQ(files_.names("/lib"), std::vector<std::string>{"a"});
}

TEST_F(RootedFilesTest, LinksNeverLeaveRoot) {
  link("absolute", scratch_ / "outside");
  link("relative", "../outside");
  link("directory", scratch_.path());
  for (const char* path : {"/absolute", "/relative", "/directory/outside", "/../outside"}) {
    EXPECT_FALSE(files_.exists(path)) << path;
    EXPECT_FALSE(files_.read(path)) << path;
  }
  EXPECT_TRUE(files_.names("/directory").empty());
}

TEST_F(RootedFilesTest, ReportsErrnoOfFailedRead) {
  link("c", "d");
  link("d", "c");
  const auto reason = [&](const char* path) { return files_.contents(path).error().sys_errno; };
  EXPECT_EQ(reason("/usr/nothing"), ENOENT);
  EXPECT_EQ(reason("/usr/lib/a/b"), ENOTDIR);
  EXPECT_EQ(reason("/usr"), EISDIR);
  EXPECT_EQ(reason("/c"), ELOOP);
  EXPECT_TRUE(files_.contents("/usr/nothing").error().what.starts_with("open /usr/nothing: "));
}

}  // namespace
}  // namespace proctor
