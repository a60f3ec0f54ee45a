#include "harness/plan/balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "harness/plan/shard.h"

namespace proctor {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// Case i of suite i % suites is named after its number.
Plan plan_with(std::size_t cases, std::size_t suites = 1) {
  Plan plan;
  plan.suites.resize(suites);
  for (std::size_t i = 0; i < cases; ++i) {
    Case test;
    test.id = "s/" + std::to_string(i);
    test.suite = i % suites;
    plan.cases.push_back(test);
  }
  return plan;
}

std::vector<int> shards_of_cases(const Plan& plan) {
  std::vector<int> shards;
  for (const Case& test : plan.cases) shards.push_back(test.shard);
  return shards;
}

// A trace: how long each of 1,000 cases takes.
std::map<std::string, double> trace(const std::function<double(std::mt19937&)>& ms) {
  std::mt19937 random(7);
  std::map<std::string, double> durations;
  for (int i = 0; i < 1000; ++i) durations["s/" + std::to_string(i)] = ms(random);
  return durations;
}

TEST(Balance, NoShardIsMuchLongerThanTheMean) {
  const std::vector<std::map<std::string, double>> traces = {
      trace([](std::mt19937& random) { return std::uniform_real_distribution(1.0, 1000.0)(random); }),
      trace([](std::mt19937& random) { return std::lognormal_distribution(6.0, 2.0)(random); }),
      // A few that take a minute, and many that take a second.
      trace([](std::mt19937& random) { return random() % 50 == 0 ? 60'000.0 : 1000.0; })};
  for (const auto& durations : traces) {
    for (const int count : {2, 4, 7, 16}) {
      Plan plan = plan_with(1000);
      const Balance balance = balance_shards(plan, count, durations);
      std::vector<double> shards(static_cast<std::size_t>(count));
      double longest_case = 0;
      for (const Case& test : plan.cases) {
        shards.at(static_cast<std::size_t>(test.shard - 1)) += durations.at(test.id);
        longest_case = std::max(longest_case, durations.at(test.id));
      }
      const double mean = std::accumulate(shards.begin(), shards.end(), 0.0) / count;
      EXPECT_LE(*std::ranges::max_element(shards), std::max(1.1 * mean, longest_case)) << count;
      EXPECT_THAT(balance.shard_ms, Pointwise(DoubleNear(0.001), shards));
      EXPECT_EQ(balance.unknown, 0u);
    }
  }
}

TEST(Balance, WhatIsNotKnownCountsAsTheMedianOfItsSuite) {
  Plan plan = plan_with(8, 2);  // suite 0: 0 2 4 6; suite 1: 1 3 5 7
  const Balance balance = balance_shards(plan, 2, {{"s/0", 10}, {"s/2", 10}, {"s/4", 100}});
  EXPECT_EQ(balance.unknown, 5u);
  // 10 + 10 + 100 + 10, and 4 times the median of the plan: 10.
  EXPECT_EQ(balance.shard_ms[0] + balance.shard_ms[1], 170);
  EXPECT_EQ(std::max(balance.shard_ms[0], balance.shard_ms[1]), 100);
}

TEST(Balance, WithoutAnyDurationShardsHaveAsManyCases) {
  Plan plan = plan_with(10);
  balance_shards(plan, 3, {});
  std::vector<std::ptrdiff_t> sizes;
  for (const int shard : {1, 2, 3}) sizes.push_back(std::ranges::count(shards_of_cases(plan), shard));
  EXPECT_THAT(sizes, ElementsAre(4, 3, 3));
  Plan instant = plan_with(9);
  std::map<std::string, double> nothing;
  for (const Case& test : instant.cases) nothing[test.id] = 0;
  balance_shards(instant, 3, nothing);
  for (const int shard : {1, 2, 3}) EXPECT_EQ(std::ranges::count(shards_of_cases(instant), shard), 3);
}

TEST(Balance, TheSameAgain) {
  const auto durations = trace([](std::mt19937& random) { return static_cast<double>(random() % 5); });
  Plan plan = plan_with(1000);
  Plan other = plan_with(1000);
  std::ranges::reverse(other.cases);
  balance_shards(plan, 4, durations);
  balance_shards(other, 4, durations);
  std::ranges::reverse(other.cases);
  EXPECT_EQ(shards_of_cases(plan), shards_of_cases(other));
}

TEST(Balance, EachShardTakesItsOwn) {
  Plan plan = plan_with(10);
  balance_shards(plan, 3, {{"s/4", 1000}});
  std::size_t cases = 0;
  for (int index = 1; index <= 3; ++index) {
    Plan part = plan;
    ASSERT_TRUE(keep_shard({index, 3}, part));
    for (const Case& test : part.cases) EXPECT_EQ(test.shard, index);
    cases += part.cases.size();
  }
  EXPECT_EQ(cases, 10u);
  const auto refused = keep_shard({1, 4}, plan);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("--shard 1/4: the plan is balanced for 3 shards"));
  EXPECT_TRUE(keep_shard({1, 1}, plan));
  EXPECT_EQ(plan.cases.size(), 10u);
}

}  // namespace
}  // namespace proctor
