#include "harness/runner/schedule/start_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace proctor {
namespace {

using ::testing::ElementsAre;

Plan plan_with(const std::vector<std::size_t>& suites) {
  Plan plan;
  for (const std::size_t suite : suites) {
    Case test;
    test.id = "s/" + std::to_string(plan.cases.size());
    test.suite = suite;
    plan.cases.push_back(test);
  }
  return plan;
}

TEST(StartOrder, KeepsPlanOrderWithoutDurations) {
  EXPECT_THAT(longest_first({{1, 0}, {0, 0}, {1, 0}}), ElementsAre(0, 1, 2));
}

TEST(StartOrder, StartsMostDevicesThenLongestFirst) {
  EXPECT_THAT(longest_first({{1, 100}, {1, 9000}, {4, 100}, {2, 100}, {2, 9000}, {0, 90'000}}),
              ElementsAre(2, 4, 3, 5, 1, 0));
}

// Cases that differ by milliseconds or by noise start in the planned order in each run.
TEST(StartOrder, IgnoresSmallDurationDifferences) {
  EXPECT_THAT(longest_first({{1, 1}, {1, 60}, {1, 7}}), ElementsAre(0, 1, 2));
  EXPECT_THAT(longest_first({{1, 1100}, {1, 1300}, {1, 1200}}), ElementsAre(0, 1, 2));
}

TEST(StartOrder, AcceptsAnyNumberAsDuration) {
  const double huge = std::numeric_limits<double>::max();
  EXPECT_THAT(longest_first({{1, 5}, {1, huge}}), ElementsAre(1, 0));
  const Plan plan = plan_with({0, 0, 0});
  const ExpectedDurations expected(plan, {{"s/0", huge}, {"s/1", -5}, {"s/2", std::nan("")}});
  EXPECT_GT(expected.of(0), 1e12);
  EXPECT_EQ(expected.of(1), 0);
  EXPECT_GE(expected.of(2), 0);
}

TEST(ExpectedDurations, UnknownCaseUsesMedianOfSuite) {
  const Plan plan = plan_with({0, 0, 0, 0, 1, 1, 2});
  const ExpectedDurations expected(plan, {{"s/0", 1}, {"s/1", 2}, {"s/2", 30}, {"s/4", 400}, {"gone/1", 7}});
  EXPECT_EQ(expected.of(1), 2);
  EXPECT_EQ(expected.of(3), 2);
  EXPECT_EQ(expected.of(5), 400);
  EXPECT_EQ(expected.of(6), 30);
}

TEST(ExpectedDurations, AreEqualWithoutKnownDurations) {
  const Plan plan = plan_with({0, 1});
  const ExpectedDurations expected(plan, {{"gone/1", 7}});
  EXPECT_EQ(expected.of(0), expected.of(1));
}

}  // namespace
}  // namespace proctor
