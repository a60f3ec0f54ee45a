#include "harness/runner/record/git_checkout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "harness/base/outside_program.h"
#include "harness/base/temp_dir.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kCommit = "0123456789012345678901234567890123456789";
constexpr const char* kOther = "abcdefabcdefabcdefabcdefabcdefabcdefabcd";

class GitCheckoutTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root() / name).parent_path());
    std::ofstream(root() / name, std::ios::binary) << text;
  }
  fs::path root() const { return fs::canonical(directory_.path()) / "project"; }
  // A repository of one branch with a commit, by hand.
  void make_repository() {
    write(".git/HEAD", "ref: refs/heads/main\n");
    write(".git/refs/heads/main", std::string(kCommit) + "\n");
  }
  GitHead head(const std::string& below = "") {
    const auto checkout = find_git_checkout(root() / below);
    return checkout ? read_git_head(*checkout) : GitHead{.why_no_commit = "no checkout"};
  }

  TempDir directory_;
};

TEST_F(GitCheckoutTest, IsFoundFromBelowItAndNowhereElse) {
  make_repository();
  write("tests/gpu/a.py", "");
  const auto checkout = find_git_checkout(root() / "tests/gpu");
  ASSERT_TRUE(checkout);
  EXPECT_EQ(checkout->root, root());
  EXPECT_FALSE(find_git_checkout(root().parent_path()));
  write("empty/.git/nothing", "");  // no HEAD: git goes on above it, too
  EXPECT_EQ(find_git_checkout(root() / "empty")->root, root());
}

TEST_F(GitCheckoutTest, ABranchADetachedHeadAndOneWithoutACommit) {
  make_repository();
  EXPECT_EQ(head().commit, kCommit);
  EXPECT_EQ(head().branch, "main");
  write(".git/HEAD", std::string(kOther) + "\n");
  EXPECT_EQ(head().commit, kOther);
  EXPECT_EQ(head().branch, "");
  write(".git/HEAD", "ref: refs/heads/new/branch\n");
  EXPECT_EQ(head().commit, "");
  EXPECT_EQ(head().branch, "new/branch");
  EXPECT_EQ(head().why_no_commit, "refs/heads/new/branch has no commit yet");
  write(".git/HEAD", "ref: refs/heads/.invalid\n");
  EXPECT_THAT(head().why_no_commit, HasSubstr("reftable"));
}

TEST_F(GitCheckoutTest, PackedRefsAndRefsThatNameAnother) {
  write(".git/HEAD", "ref: refs/heads/main\n");
  write(".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted \n" + std::string(kOther) +
                                " refs/heads/maintenance\n" + kCommit + " refs/heads/main\n^" + kOther +
                                "\n");
  EXPECT_EQ(head().commit, kCommit);
  write(".git/refs/heads/main", std::string(kOther) + "\n");
  EXPECT_EQ(head().commit, kOther) << "a ref of its own is newer than the packed one";
  write(".git/refs/heads/main", "ref: refs/heads/maintenance\n");
  EXPECT_EQ(head().commit, kOther);
  write(".git/refs/heads/main", "ref: refs/heads/main\n");
  EXPECT_EQ(head().commit, "") << "a circle ends";
}

TEST_F(GitCheckoutTest, AWorktreeAndASubmodule) {
  make_repository();
  write(".git/refs/heads/feature", std::string(kOther) + "\n");
  write(".git/worktrees/w/HEAD", "ref: refs/heads/feature\n");
  write(".git/worktrees/w/commondir", "../..\n");
  write(".git/config", "[remote \"origin\"]\n\turl = https://git.example/a.git\n");
  write("../w/.git", "gitdir: " + (root() / ".git/worktrees/w").string() + "\n");
  EXPECT_EQ(head("../w").commit, kOther);
  EXPECT_EQ(head("../w").branch, "feature");
  EXPECT_EQ(git_remote(*find_git_checkout(root() / "../w")), "https://git.example/a.git");
  write("sub/.git", "gitdir: ../.git/modules/sub\n");
  write(".git/modules/sub/HEAD", std::string(kOther) + "\n");
  EXPECT_EQ(head("sub").commit, kOther);
}

TEST_F(GitCheckoutTest, AFileThatNamesWhatIsNotHereIsNotThatOfTheProjectAbove) {
  make_repository();
  write("module/.git", "gitdir: ../nowhere\n");
  EXPECT_EQ(head("module").commit, "");
  EXPECT_THAT(head("module").why_no_commit, HasSubstr("nowhere/HEAD cannot be read"));
}

TEST_F(GitCheckoutTest, TheRemoteIsOriginElseTheFirst) {
  make_repository();
  const auto remote = [this](const std::string& config) {
    write(".git/config", config);
    return git_remote(*find_git_checkout(root()));
  };
  EXPECT_EQ(remote(""), "");
  EXPECT_EQ(remote("[core]\n\turl = x\n[remote \"fork\"]\n url=one\n[remote \"origin\"]\n\turl = \"two\"\n"),
            "two");
  EXPECT_EQ(remote("[remote \"fork\"]\n\turl = one\n[remote \"more\"]\n\turl = two\n"), "one");
}

// Whoever can write there must not make the runner wait or read elsewhere.
TEST_F(GitCheckoutTest, WhatIsNoFileOrLeadsOutIsNotRead) {
  make_repository();
  write("secret", std::string(kOther) + "\n");
  write(".git/HEAD", "ref: refs/heads/../../../secret\n");
  EXPECT_EQ(head().commit, "");
  fs::remove(root() / ".git/HEAD");
  ASSERT_EQ(::mkfifo((root() / ".git/HEAD").c_str(), 0600), 0);
  EXPECT_THAT(head().why_no_commit, HasSubstr("cannot be read"));
  for (const std::string& text : {std::string(), std::string("\0\xff", 2), std::string(100'000, 'x')}) {
    fs::remove(root() / ".git/HEAD");
    write(".git/HEAD", text);
    EXPECT_EQ(head().commit, "");
  }
}

// What git itself says of checkouts that it made.
class RealGitTest : public GitCheckoutTest {
 protected:
  void SetUp() override {
    if (!find_program("git")) GTEST_SKIP() << "git is not installed";
    fs::create_directories(root());
    git({"init", "-q", "-b", "main", "."});
    write("a", "1\n");
    git({"add", "a"});
    git({"commit", "-q", "-m", "first"});
  }
  std::string git(std::vector<std::string> words, const std::string& below = "") {
    words.insert(words.begin(), {"git", "-C", (root() / below).string(), "-c", "user.name=t", "-c",
                                 "user.email=t@t", "-c", "protocol.file.allow=always"});
    const auto done =
        run_outside_program({.argv = words,
                             .env = environment_with({"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
                                                      "GIT_DIR", "GIT_WORK_TREE"})});
    EXPECT_TRUE(done && done->exit_code == 0) << (done ? done->errors : done.error().what);
    return done ? std::string(trimmed(done->output)) : "";
  }
  bool dirty() { return *is_git_dirty(*find_git_checkout(root()), Milliseconds(60'000)); }
};

TEST_F(RealGitTest, ReadsWhatGitWouldSay) {
  EXPECT_EQ(head().commit, git({"rev-parse", "HEAD"}));
  EXPECT_EQ(head().branch, "main");
  git({"pack-refs", "--all"});
  EXPECT_EQ(head().commit, git({"rev-parse", "HEAD"}));
  git({"worktree", "add", "-q", "-b", "side", "../side"});
  EXPECT_EQ(head("../side").commit, git({"rev-parse", "HEAD"}, "../side"));
  EXPECT_EQ(head("../side").branch, "side");
  git({"submodule", "--quiet", "add", root().string(), "sub"});
  EXPECT_EQ(head("sub").commit, git({"rev-parse", "HEAD"}, "sub"));
  git({"checkout", "-q", "--detach"});
  EXPECT_EQ(head().commit, git({"rev-parse", "HEAD"}));
  EXPECT_EQ(head().branch, "");
}

// Its configuration names programs, which git would start as whoever asks.
TEST_F(RealGitTest, IsNotAskedAboutACheckoutOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, who can give a directory away";
  const auto checkout = find_git_checkout(root());
  ASSERT_TRUE(checkout);
  ASSERT_EQ(::chown(checkout->git.c_str(), 65534, 65534), 0);
  const auto dirty = is_git_dirty(*checkout, Milliseconds(30'000));
  ASSERT_FALSE(dirty);
  EXPECT_THAT(dirty.error().what, HasSubstr("another user"));
}

TEST_F(RealGitTest, IsDirtyByAChangeAndNotByAFileThatGitDoesNotKnow) {
  EXPECT_FALSE(dirty());
  write("proctor-out/report.json", "{}");
  EXPECT_FALSE(dirty());
  write("a", "2\n");
  EXPECT_TRUE(dirty());
  const auto late = is_git_dirty(*find_git_checkout(root()), Milliseconds(0));
  EXPECT_FALSE(late);
}

}  // namespace
}  // namespace proctor
