#include "harness/base/temp_dir.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace proctor {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kMayNotMount = 77;

// Runs the function in a child with its own mount namespace. No other process sees its mounts, and they end
// with the child.
int in_own_mounts(const std::function<int()>& run) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool entered = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!entered || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(kMayNotMount);
    ::_exit(run());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool bind_mount(const fs::path& what, const fs::path& where) {
  return ::mount(what.c_str(), where.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

class RemoveTree : public testing::Test {
 protected:
  RemoveTree() {
    fs::create_directories(tree_ / "a");
    fs::create_directories(precious_);
    std::ofstream(precious_ / "data") << "x";
    std::ofstream(tree_ / "a/file") << "x";
    std::ofstream(tree_ / "z") << "x";
  }

  bool is_all_there() const { return fs::exists(precious_ / "data"); }

  const TempDir directory_{"/dev/shm"};  // in memory, because the test creates many directories
  const fs::path tree_ = directory_ / "tree";
  const fs::path precious_ = directory_ / "precious";
};

TEST_F(RemoveTree, RemovesEverythingWithoutFollowingLinks) {
  fs::create_directory_symlink(precious_, tree_ / "a/link");
  fs::create_symlink(precious_ / "data", tree_ / "to-a-file");
  ASSERT_EQ(::mkfifo((tree_ / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(remove_tree(tree_.string()).ok());
  EXPECT_FALSE(fs::exists(tree_));
  EXPECT_TRUE(is_all_there());
  EXPECT_TRUE(remove_tree(tree_.string()).ok()) << "what is not there is removed";
  EXPECT_TRUE(remove_tree((tree_ / "nor/this").string()).ok());
}

TEST_F(RemoveTree, RemovesLinkInsteadOfTarget) {
  fs::create_directory_symlink(precious_, directory_ / "link");
  EXPECT_TRUE(remove_tree((directory_ / "link").string()).ok());
  EXPECT_FALSE(fs::is_symlink(directory_ / "link"));
  EXPECT_TRUE(is_all_there());
}

TEST_F(RemoveTree, RemovesUnreadableDirectories) {
  fs::create_directories(tree_ / "b/c/d");
  for (const char* name : {"b/c/d", "b/c", "b", ""}) fs::permissions(tree_ / name, fs::perms::none);
  EXPECT_TRUE(remove_tree(tree_.string()).ok());
  EXPECT_FALSE(fs::exists(tree_));
}

TEST_F(RemoveTree, RemovesTreeDeeperThanPathLimit) {
  {
    UniqueFd at(::open(tree_.c_str(), O_PATH | O_CLOEXEC));
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0) << i;
      at = UniqueFd(::openat(at.get(), "d", O_PATH | O_CLOEXEC));
    }
  }
  const auto removed = remove_tree(tree_.string());
  EXPECT_TRUE(removed.ok()) << removed.error().what;
  EXPECT_FALSE(fs::exists(tree_));
}

// The bind mount is on the same file system, so the device numbers are equal.
TEST_F(RemoveTree, ReportsMountAndKeepsContents) {
  fs::create_directories(tree_ / "a/mount");
  std::ofstream(tree_ / "mounted-file") << "";
  const int result = in_own_mounts([&] {
    if (!bind_mount(precious_, tree_ / "a/mount") || !bind_mount(precious_ / "data", tree_ / "mounted-file"))
      return kMayNotMount;
    const auto removed = remove_tree(tree_.string());
    if (removed) return 1;
    if (removed.error().what.find("another file system is mounted there") == std::string::npos) return 2;
    if (!is_all_there()) return 3;
    return fs::exists(tree_ / "a/file") || fs::exists(tree_ / "z") ? 4 : 0;  // all other entries are removed
  });
  if (result == kMayNotMount) GTEST_SKIP() << "no mounts here";
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(is_all_there());
}

TEST_F(RemoveTree, KeepsMountOnTreeRoot) {
  const int result = in_own_mounts([&] {
    if (!bind_mount(precious_, tree_)) return kMayNotMount;
    const UniqueFd above(::open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (remove_tree(tree_.string())) return 1;
    if (empty_directory_at(above.get(), "tree", "tree")) return 2;
    return is_all_there() ? 0 : 3;
  });
  if (result == kMayNotMount) GTEST_SKIP() << "no mounts here";
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(is_all_there());
}

TEST_F(RemoveTree, EmptyDirectoryAtKeepsDirectory) {
  const UniqueFd above(::open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(empty_directory_at(above.get(), "tree", tree_.string()).ok());
  EXPECT_TRUE(fs::is_directory(tree_));
  EXPECT_TRUE(fs::is_empty(tree_));
  fs::remove(tree_);
  fs::create_directory_symlink(precious_, tree_);
  EXPECT_FALSE(empty_directory_at(above.get(), "tree", tree_.string()).ok());
  EXPECT_TRUE(is_all_there());
}

TEST(TempDir, DestructorRemovesContents) {
  std::filesystem::path first;
  {
    const TempDir one;
    const TempDir other;
    EXPECT_NE(one.path(), other.path());
    first = one.path();
    std::filesystem::create_directories(one / "a/b");
    std::ofstream(one / "a/b/file") << "text";
    EXPECT_TRUE(std::filesystem::exists(first / "a/b/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_THROW(TempDir("/no/such/place"), std::runtime_error);
}

}  // namespace
}  // namespace proctor
