#include "harness/runner/attempt/start_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/frameworks/command.h"
#include "harness/frameworks/gtest.h"

namespace proctor {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr Milliseconds kRun{10'000};

class StartCostsTest : public testing::Test {
 protected:
  StartCostsTest() {
    suite_.name = "t";
    suite_.kind = &gtest_kind();
    suite_.origin = "proctor.toml:3";
  }

  void add(int count, Milliseconds whole, Milliseconds own) {
    for (int i = 0; i < count; ++i) costs_.add(suite_, whole, own);
  }

  Suite suite_;
  StartCosts costs_;
};

TEST_F(StartCostsTest, SuggestsSharedProcessesForCostlyStarts) {
  add(10, Milliseconds(500), Milliseconds(20));
  const auto proposals = costs_.proposals(kRun);
  ASSERT_THAT(proposals, SizeIs(1));
  EXPECT_EQ(proposals[0].code, WarningCode::kStartupOverhead);
  EXPECT_EQ(proposals[0].text,
            "suite `t` (proctor.toml:3): its 10 processes took 4.8 s to start and exit, its tests 0.2 s; to "
            "share processes, write process = \"batch:auto\" below [suite.t], which saves up to 4.3 of the "
            "10.0 s of "
            "this run");
}

TEST_F(StartCostsTest, SavingIsLimitedToRunTime) {
  add(11, Milliseconds(1000), Milliseconds(20));
  ASSERT_THAT(costs_.proposals(Milliseconds(5'800)), SizeIs(1));
  EXPECT_THAT(costs_.proposals(Milliseconds(5'800))[0].text, HasSubstr("saves up to 5.2 of the 5.8 s"));
  EXPECT_THAT(costs_.proposals(Milliseconds(2'000)), SizeIs(0)) << "which would save no seconds";
}

TEST_F(StartCostsTest, SuggestsOptionOnCommandLine) {
  suite_.origin = kCommandLineOrigin;
  add(10, Milliseconds(500), Milliseconds(20));
  ASSERT_THAT(costs_.proposals(kRun), SizeIs(1));
  EXPECT_THAT(costs_.proposals(kRun)[0].text,
              HasSubstr("; to share processes, give --process batch:auto, which saves"));
}

TEST_F(StartCostsTest, IgnoresSuitesWithLongTests) {
  add(10, Milliseconds(1500), Milliseconds(1000));
  EXPECT_THAT(costs_.proposals(kRun), SizeIs(0));
}

TEST_F(StartCostsTest, IgnoresSmallSavings) {
  add(3, Milliseconds(500), Milliseconds(20));
  EXPECT_THAT(costs_.proposals(kRun), SizeIs(0));
}

TEST_F(StartCostsTest, IgnoresSuitesWithProcessSetting) {
  suite_.process_chosen = true;
  add(10, Milliseconds(500), Milliseconds(20));
  EXPECT_THAT(costs_.proposals(kRun), SizeIs(0));
}

TEST_F(StartCostsTest, IgnoresKindsWithoutSharedProcesses) {
  suite_.kind = &command_kind();
  add(10, Milliseconds(500), Milliseconds(20));
  EXPECT_THAT(costs_.proposals(kRun), SizeIs(0));
}

TEST_F(StartCostsTest, NegativeTestTimeCountsAsZero) {
  add(10, Milliseconds(500), Milliseconds(-20));
  ASSERT_THAT(costs_.proposals(kRun), SizeIs(1));
  EXPECT_THAT(costs_.proposals(kRun)[0].text, HasSubstr("took 5.0 s"));
}

}  // namespace
}  // namespace proctor
