#include "harness/base/minimal_subset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace proctor {
namespace {

using ::testing::ElementsAreArray;

std::vector<int> numbers_below(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(MinimalSubset, FindsSubsetAtAnyPosition) {
  for (const std::vector<int>& wanted :
       std::vector<std::vector<int>>{{0}, {99}, {50}, {0, 99}, {49, 50}, {3, 4}, {10, 80}, {1, 2, 97}}) {
    int asked = 0;
    const auto found =
        minimal_subset<int>(numbers_below(100), [&](const std::vector<int>& part) -> Result<bool> {
          ++asked;
          const std::set<int> there(part.begin(), part.end());
          return std::ranges::all_of(wanted, [&](int number) { return there.contains(number); });
        });
    ASSERT_TRUE(found);
    EXPECT_THAT(*found, ElementsAreArray(wanted));
    EXPECT_LT(asked, 120) << wanted.size();
  }
}

TEST(MinimalSubset, ReturnsAllIfAllAreNeeded) {
  const auto found = minimal_subset<int>(
      numbers_below(5), [](const std::vector<int>& part) -> Result<bool> { return part.size() == 5; });
  EXPECT_THAT(*found, ElementsAreArray(numbers_below(5)));
}

TEST(MinimalSubset, ReturnsErrorOfPredicate) {
  const auto found = minimal_subset<int>(
      numbers_below(5), [](const std::vector<int>&) -> Result<bool> { return Error::usage("ask"); });
  EXPECT_FALSE(found);
}

}  // namespace
}  // namespace proctor
