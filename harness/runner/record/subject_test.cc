#include "harness/runner/record/subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/temp_dir.h"

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

TEST_F(SubjectTest, TheCheckoutSaysWhatNobodyElseDoes) {
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

TEST_F(SubjectTest, WithoutACheckoutEachUnknownFactHasAReason) {
  const Subject subject = find({}, {}).subject;
  for (const SubjectFact* fact :
       {&subject.commit, &subject.dirty, &subject.branch, &subject.repository, &subject.build}) {
    EXPECT_FALSE(fact->value);
    EXPECT_NE(fact->reason, "");
  }
  EXPECT_EQ(subject.checkout, "");
}

TEST_F(SubjectTest, EachCiSaysItInItsOwnVariables) {
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

TEST_F(SubjectTest, WhatIsSaidWinsThenTheCiThenTheCheckout) {
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

TEST(SaidSubject, IsReadAndRefused) {
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

TEST(Addresses, AreWithoutCredentials) {
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

}  // namespace
}  // namespace proctor
