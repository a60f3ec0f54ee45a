#include "harness/run/attempt/start_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "harness/plan/kinds/command.h"
#include "harness/plan/kinds/gtest.h"
#include "harness/plan/kinds/pytest.h"

namespace proctor {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class StartCostsTest : public testing::Test {
 protected:
  StartCostsTest() {
    suite_.name = "t";
    suite_.kind = &pytest_kind();
    suite_.origin = "proctor.toml:3";
  }

  // `count` tests of one file.
  void add(int count, Milliseconds whole, Milliseconds own, const std::string& file = "test_a.py") {
    for (int i = 0; i < count; ++i) {
      Case& test = cases_.emplace_back();
      test.id = "t/" + file + "::test_" + std::to_string(i);
      costs_.add(suite_, test, whole, own);
    }
  }

  Suite suite_;
  std::deque<Case> cases_;
  StartCosts costs_;
};

TEST_F(StartCostsTest, MoreAroundTheTestsThanInThemIsSaidWithTheLineToWrite) {
  add(10, Milliseconds(500), Milliseconds(20));
  const auto proposals = costs_.proposals();
  ASSERT_THAT(proposals, SizeIs(1));
  EXPECT_EQ(proposals[0].code, WarningCode::kStartCosts);
  EXPECT_EQ(
      proposals[0].text,
      "suite `t` (proctor.toml:3): its 10 processes took 4.8 s to start and exit, its tests 0.2 s; to "
      "share a process among the tests of a file, write process = \"file\" below [suite.t], which saves up "
      "to 4.3 s");
}

TEST_F(StartCostsTest, OnACommandLineItIsAnOption) {
  suite_.origin = kCommandLineOrigin;
  add(10, Milliseconds(500), Milliseconds(20));
  ASSERT_THAT(costs_.proposals(), SizeIs(1));
  EXPECT_THAT(costs_.proposals()[0].text, HasSubstr("give --process file"));
}

TEST_F(StartCostsTest, TestsThatTakeLongerThanTheirStartAreLeftAlone) {
  add(10, Milliseconds(1500), Milliseconds(1000));
  EXPECT_THAT(costs_.proposals(), SizeIs(0));
}

TEST_F(StartCostsTest, WhatSavesNoSecondsIsNotSaid) {
  add(3, Milliseconds(500), Milliseconds(20));
  EXPECT_THAT(costs_.proposals(), SizeIs(0));
}

TEST_F(StartCostsTest, FilesOfOneTestHaveNothingToShare) {
  for (int i = 0; i < 10; ++i)
    add(1, Milliseconds(500), Milliseconds(20), "test_" + std::to_string(i) + ".py");
  EXPECT_THAT(costs_.proposals(), SizeIs(0));
}

TEST_F(StartCostsTest, WhoHasChosenIsNotAsked) {
  suite_.process_chosen = true;
  add(10, Milliseconds(500), Milliseconds(20));
  EXPECT_THAT(costs_.proposals(), SizeIs(0));
}

TEST_F(StartCostsTest, WithoutFilesABatchIsProposed) {
  suite_.kind = &gtest_kind();
  add(10, Milliseconds(500), Milliseconds(20));
  ASSERT_THAT(costs_.proposals(), SizeIs(1));
  EXPECT_THAT(costs_.proposals()[0].text,
              HasSubstr("; to share processes, write batch = \"auto\" below [suite.t]"));
  suite_.origin = kCommandLineOrigin;
  EXPECT_THAT(costs_.proposals()[0].text, HasSubstr("; to share processes, give --batch auto, which saves"));
}

TEST_F(StartCostsTest, KindsOfOneCaseAreNotAsked) {
  suite_.kind = &command_kind();
  add(10, Milliseconds(500), Milliseconds(20));
  EXPECT_THAT(costs_.proposals(), SizeIs(0));
}

TEST_F(StartCostsTest, AClockThatIsWrongCountsForNoMoreThanTheProcess) {
  add(10, Milliseconds(500), Milliseconds(-20));
  ASSERT_THAT(costs_.proposals(), SizeIs(1));
  EXPECT_THAT(costs_.proposals()[0].text, HasSubstr("took 5.0 s"));
}

}  // namespace
}  // namespace proctor
