// Tests oneCCL as a provider within one process. Its ranks must be processes, so check_oneccl.cc has the
// checks with several ranks.
#include "suites/collectives/provider.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "harness/base/temp_dir.h"
#include "suites/collectives/library.h"
#include "suites/main/skipped.h"

namespace proctor::collectives {
namespace {

class OneCcl : public testing::Test {
 protected:
  void SetUp() override {
    try {
      provider_ = &load_provider("oneccl");
    } catch (const suite::Skipped& skipped) {
      GTEST_SKIP() << skipped.reason();
    }
  }

  GroupSpec spec(int rank, int size, const std::string& name) const {
    return {.rank = rank,
            .size = size,
            .store = store_.string(),
            .name = name,
            .timeout = std::chrono::milliseconds(100)};
  }

  Provider* provider_ = nullptr;
  const TempDir store_;
};

TEST_F(OneCcl, ReportsIdentity) {
  const Identity identity = provider_->identity();
  EXPECT_EQ(identity.name, "oneccl");
  EXPECT_NE(identity.file.find("libccl.so"), std::string::npos) << identity.file;
  EXPECT_GE(identity.number, 20220000);
  EXPECT_EQ(identity.version.substr(0, 3), "202") << identity.version;
}

TEST_F(OneCcl, RejectsUnsupportedOperationsAndAborts) {
  std::unique_ptr<Group> group;
  const Answer made = provider_->make_group(spec(0, 1, "alone"), group);
  ASSERT_TRUE(made.ok()) << made.text;
  std::array<float, 2> in{1.5f, 2.5f};
  std::array<float, 2> out{};
  Call call{.operation = Operation::kAllReduce, .in = in.data(), .out = out.data(), .count = 2};
  EXPECT_TRUE(group->run(call).ok());
  EXPECT_EQ(out, in);
  call.reduction = Reduction::kAverage;
  EXPECT_EQ(group->run(call).ended, Ended::kRefused);
  call = {.operation = Operation::kGather, .in = in.data(), .out = out.data(), .count = 2};
  EXPECT_EQ(group->run(call).ended, Ended::kRefused);
  call = {.operation = Operation::kReceive, .out = out.data(), .count = 2, .root = kAnyRank};
  EXPECT_EQ(group->run(call).ended, Ended::kRefused);
  call = {.operation = Operation::kSend, .in = in.data(), .count = 2, .tag = 7};
  EXPECT_EQ(group->run(call).ended, Ended::kRefused);
  EXPECT_TRUE(group->abort().ok());
  EXPECT_EQ(group->run({.operation = Operation::kBarrier}).ended, Ended::kAborted);
}

// The store has a key of an earlier run under the same name.
TEST_F(OneCcl, RejectsKeyOfEarlierRun) {
  std::unique_ptr<Group> group;
  ASSERT_TRUE(provider_->make_group(spec(0, 1, "same"), group).ok());
  group.reset();
  const Answer answer = provider_->make_group(spec(0, 1, "same"), group);
  EXPECT_EQ(answer.ended, Ended::kRefused) << answer.text;
  EXPECT_NE(answer.text.find("File exists"), std::string::npos) << answer.text;
  EXPECT_EQ(group, nullptr);
}

TEST_F(OneCcl, TimesOutWhenFirstRankIsMissing) {
  std::unique_ptr<Group> group;
  const Answer answer = provider_->make_group(spec(1, 2, "without"), group);
  EXPECT_EQ(answer.ended, Ended::kTimeout) << answer.text;
}

}  // namespace
}  // namespace proctor::collectives
