#include "harness/runner/attempt/core_budget.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

TEST(CoreBudget, ReservesHalfOfRemainder) {
  CoreBudget budget;
  EXPECT_EQ(budget.reserve(), kGib / 2);
  EXPECT_EQ(budget.reserve(), kGib / 4);
}

TEST(CoreBudget, UnusedReservationIsReturned) {
  CoreBudget budget;
  for (int core = 0; core < 100; ++core) {
    const auto room = budget.reserve();
    EXPECT_GT(room, kGib / 2 - kGib / 100);
    budget.settle(room, 1024);
  }
}

TEST(CoreBudget, OversizedCoreUsesUpBudget) {
  CoreBudget budget;
  budget.settle(budget.reserve(), 5 * kGib);
  EXPECT_EQ(budget.reserve(), 0U);
}

}  // namespace
}  // namespace proctor
