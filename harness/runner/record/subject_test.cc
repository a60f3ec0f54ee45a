#include "harness/runner/record/subject.h"

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
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kTestedCommit = "0123456789012345678901234567890123456789";
constexpr const char* kOtherCommit = "abcdefabcdefabcdefabcdefabcdefabcdefabcd";

class SubjectTest : public testing::Test {
 protected:
  void make_checkout() {
    fs::create_directories(directory_.path() / ".git/refs/heads");
    std::ofstream(directory_.path() / ".git/HEAD") << "ref: refs/heads/main\n";
    std::ofstream(directory_.path() / ".git/refs/heads/main") << kTestedCommit << "\n";
    std::ofstream(directory_.path() / ".git/config")
        << "[remote \"origin\"]\nurl = https://u:t0ken@git.example/a\n";
  }
  FoundSubject find(const std::map<std::string, std::string>& caller,
                    const SaidSubject& said = {{"dirty", "true"}}) {
    return find_subject(said, caller, directory_.path());
  }
  TempDir directory_;
};

void expect_fact(const SubjectFact& fact, const std::string& value, const std::string& source) {
  EXPECT_EQ(fact.value.value_or("none"), value);
  EXPECT_EQ(fact.source, source);
  EXPECT_EQ(fact.reason, "");
}

TEST_F(SubjectTest, ReadsFactsFromCheckout) {
  make_checkout();
  const auto [subject, warnings] = find({});
  expect_fact(subject.commit, kTestedCommit, ".git");
  expect_fact(subject.branch, "main", ".git");
  expect_fact(subject.repository, "https://git.example/a", ".git");
  expect_fact(subject.dirty, "true", "--subject");
  EXPECT_FALSE(subject.build.value);
  EXPECT_EQ(subject.build.reason, "no CI variable contains it");
  EXPECT_EQ(subject.checkout, fs::absolute(directory_.path()).string());
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(SubjectTest, UnknownFactsHaveReason) {
  const Subject subject = find({}, {}).subject;
  for (const SubjectFact* fact :
       {&subject.commit, &subject.dirty, &subject.branch, &subject.repository, &subject.build}) {
    EXPECT_FALSE(fact->value);
    EXPECT_NE(fact->reason, "");
  }
  EXPECT_EQ(subject.checkout, "");
}

TEST_F(SubjectTest, ReadsVariablesOfEachCi) {
  const Subject github = find({{"GITHUB_SHA", kOtherCommit},
                               {"GITHUB_REF_TYPE", "branch"},
                               {"GITHUB_REF_NAME", "main"},
                               {"GITHUB_SERVER_URL", "https://github.com"},
                               {"GITHUB_REPOSITORY", "a/b"},
                               {"GITHUB_RUN_ID", "7"}})
                             .subject;
  expect_fact(github.commit, kOtherCommit, "GITHUB_SHA");
  expect_fact(github.branch, "main", "GITHUB_REF_NAME");
  expect_fact(github.repository, "https://github.com/a/b", "GITHUB_REPOSITORY");
  expect_fact(github.build, "https://github.com/a/b/actions/runs/7", "GITHUB_RUN_ID");
  const Subject pulled =
      find({{"GITHUB_REF_TYPE", "branch"}, {"GITHUB_REF_NAME", "12/merge"}, {"GITHUB_HEAD_REF", "topic"}})
          .subject;
  expect_fact(pulled.branch, "topic", "GITHUB_HEAD_REF");
  EXPECT_FALSE(find({{"GITHUB_REF_TYPE", "tag"}, {"GITHUB_REF_NAME", "v1"}}).subject.branch.value);
  const Subject gitlab = find({{"CI_COMMIT_SHA", kOtherCommit},
                               {"CI_COMMIT_BRANCH", "main"},
                               {"CI_PROJECT_URL", "https://gitlab.example/a"},
                               {"CI_JOB_URL", "https://gitlab.example/a/-/jobs/1"}})
                             .subject;
  expect_fact(gitlab.commit, kOtherCommit, "CI_COMMIT_SHA");
  expect_fact(gitlab.branch, "main", "CI_COMMIT_BRANCH");
  expect_fact(gitlab.repository, "https://gitlab.example/a", "CI_PROJECT_URL");
  expect_fact(gitlab.build, "https://gitlab.example/a/-/jobs/1", "CI_JOB_URL");
  const Subject buildkite = find({{"BUILDKITE_COMMIT", kOtherCommit},
                                  {"BUILDKITE_BRANCH", "main"},
                                  {"BUILDKITE_REPO", "git@git.example:a.git"},
                                  {"BUILDKITE_BUILD_URL", "https://buildkite.example/1"}})
                                .subject;
  expect_fact(buildkite.commit, kOtherCommit, "BUILDKITE_COMMIT");
  expect_fact(buildkite.repository, "git@git.example:a.git", "BUILDKITE_REPO");
  expect_fact(buildkite.build, "https://buildkite.example/1", "BUILDKITE_BUILD_URL");
  const Subject jenkins = find({{"GIT_COMMIT", kOtherCommit},
                                {"GIT_BRANCH", "origin/main"},
                                {"GIT_URL", "https://u:p@git.example/a"},
                                {"BUILD_URL", "https://jenkins.example/1/"}})
                              .subject;
  expect_fact(jenkins.commit, kOtherCommit, "GIT_COMMIT");
  expect_fact(jenkins.branch, "origin/main", "GIT_BRANCH");
  expect_fact(jenkins.repository, "https://git.example/a", "GIT_URL");
  expect_fact(jenkins.build, "https://jenkins.example/1/", "BUILD_URL");
}

TEST_F(SubjectTest, OptionPrecedesCiAndCheckout) {
  make_checkout();
  const std::map<std::string, std::string> ci = {{"GITHUB_SHA", kOtherCommit}, {"CI_COMMIT_BRANCH", ""}};
  const auto of_ci = find(ci);
  expect_fact(of_ci.subject.commit, kOtherCommit, "GITHUB_SHA");
  expect_fact(of_ci.subject.branch, "main", ".git");
  ASSERT_THAT(of_ci.warnings, SizeIs(1));
  EXPECT_THAT(of_ci.warnings[0].text,
              AllOf(HasSubstr(kOtherCommit), HasSubstr(kTestedCommit), HasSubstr("--subject")));
  const auto said = find(ci, {{"commit", "r4711"}, {"dirty", "false"}});
  expect_fact(said.subject.commit, "r4711", "--subject");
  expect_fact(said.subject.dirty, "false", "--subject");
  EXPECT_THAT(said.warnings, IsEmpty());
  EXPECT_THAT(find({{"GITHUB_SHA", std::string(kTestedCommit).substr(0, 12)}}).warnings, IsEmpty());
  expect_fact(find({{"BUILDKITE_COMMIT", "HEAD"}}).subject.commit, kTestedCommit, ".git");
}

TEST(ParseSubject, ParsesValuesAndRejectsMistakes) {
  const auto read = parse_subject({"commit=abc", "repository=https://a.example/?b=c"});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->at("repository"), "https://a.example/?b=c");
  const auto refused = [](const std::vector<std::string>& words) {
    const auto said = parse_subject(words);
    return said ? std::string("read") : said.error().what + " " + said.error().hint;
  };
  EXPECT_EQ(refused({"comit=abc"}), "read --subject comit=abc: there is no `comit` Did you mean `commit`?");
  EXPECT_THAT(refused({"weather=fine"}), HasSubstr("Known names: commit, dirty, branch, repository, build."));
  EXPECT_THAT(refused({"commit=a", "commit=a"}), HasSubstr("`commit` is given twice"));
  EXPECT_THAT(refused({"commit"}), HasSubstr("it has no value"));
  EXPECT_THAT(refused({"commit="}), HasSubstr("it has no value"));
  EXPECT_THAT(refused({"=a"}), HasSubstr("there is no ``"));
  EXPECT_THAT(refused({"dirty=maybe"}), HasSubstr("neither true nor false"));
}

TEST(WithoutCredentials, RemovesCredentialsFromUrls) {
  EXPECT_EQ(without_credentials("https://token@git.example/a@b"), "https://git.example/a@b");
  EXPECT_EQ(without_credentials("https://u:p@s@git.example/a"), "https://git.example/a");
  EXPECT_EQ(without_credentials("https://git.example/a"), "https://git.example/a");
  EXPECT_EQ(without_credentials("git@git.example:a.git"), "git@git.example:a.git");
  EXPECT_EQ(without_credentials("https://u:p@git.example"), "https://git.example");
  EXPECT_EQ(without_credentials("u:token@git.example:a.git"), "git.example:a.git");
  EXPECT_EQ(without_credentials("https://git.example/a?private_token=s"), "https://git.example/a");
  EXPECT_EQ(without_credentials(std::string()), "");
  const std::vector<std::string> words = {"run", "--subject", "repository=https://u:p@h/x",
                                          "--subject=build=https://h/b?token=s", "build"};
  EXPECT_EQ(without_credentials(words),
            (std::vector<std::string>{"run", "--subject", "repository=https://h/x",
                                      "--subject=build=https://h/b", "build"}));
}

constexpr const char* kCommit = "0123456789012345678901234567890123456789";
constexpr const char* kOther = "abcdefabcdefabcdefabcdefabcdefabcdefabcd";

class GitCheckoutTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root() / name).parent_path());
    std::ofstream(root() / name, std::ios::binary) << text;
  }
  fs::path root() const { return fs::canonical(directory_.path()) / "project"; }
  // Creates a repository with one branch and one commit, without git.
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

TEST_F(GitCheckoutTest, FindsCheckoutFromSubdirectory) {
  make_repository();
  write("tests/gpu/a.py", "");
  const auto checkout = find_git_checkout(root() / "tests/gpu");
  ASSERT_TRUE(checkout);
  EXPECT_EQ(checkout->root, root());
  EXPECT_FALSE(find_git_checkout(root().parent_path()));
  write("empty/.git/nothing", "");  // a directory without HEAD: git searches above it, too
  EXPECT_EQ(find_git_checkout(root() / "empty")->root, root());
}

TEST_F(GitCheckoutTest, ReadsBranchDetachedHeadAndUnbornBranch) {
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

TEST_F(GitCheckoutTest, ReadsPackedAndSymbolicRefs) {
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

TEST_F(GitCheckoutTest, ReadsWorktreeAndSubmodule) {
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

TEST_F(GitCheckoutTest, BrokenGitFileIgnoresParentProject) {
  make_repository();
  write("module/.git", "gitdir: ../nowhere\n");
  EXPECT_EQ(head("module").commit, "");
  EXPECT_THAT(head("module").why_no_commit, HasSubstr("nowhere/HEAD cannot be read"));
}

TEST_F(GitCheckoutTest, PrefersRemoteOrigin) {
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

// A user who can write to the checkout must not make the runner block or read other files.
TEST_F(GitCheckoutTest, RejectsFifosAndRefsOutsideCheckout) {
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

// Compares the results with git, in checkouts that git made.
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

TEST_F(RealGitTest, MatchesGitOutput) {
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

// The configuration of a checkout names programs. git would start them as the user who runs it.
TEST_F(RealGitTest, DoesNotRunGitForForeignCheckout) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, who can give a directory away";
  const auto checkout = find_git_checkout(root());
  ASSERT_TRUE(checkout);
  ASSERT_EQ(::chown(checkout->git.c_str(), 65534, 65534), 0);
  const auto dirty = is_git_dirty(*checkout, Milliseconds(30'000));
  ASSERT_FALSE(dirty);
  EXPECT_THAT(dirty.error().what, HasSubstr("another user"));
}

TEST_F(RealGitTest, OnlyTrackedChangesAreDirty) {
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
