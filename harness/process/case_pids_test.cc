#include "harness/process/case_pids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace proctor {
namespace {

class CasePidsTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(CasePidsTest, PidsAreUniqueAndValid) {
  const CasePids pids(GetParam());
  std::vector<bool> taken(GetParam(), false);
  std::uint64_t without = 0;
  for (std::uint64_t guard = 1; guard < GetParam(); ++guard) {
    const std::uint64_t pid = pids.of(guard);
    if (pid == 0) {
      ++without;
      continue;
    }
    ASSERT_GT(pid, 1U);
    ASSERT_LT(pid, GetParam());
    ASSERT_FALSE(taken[pid]) << guard;
    taken[pid] = true;
  }
  EXPECT_LE(without, 1U) << "one would have the pid of the guard";
}

// The child processes of a case get the next pids.
TEST_P(CasePidsTest, ConsecutiveGuardsGetDistantPids) {
  constexpr std::uint64_t kGuards = 64;
  const CasePids pids(GetParam());
  std::vector<std::uint64_t> found;
  for (std::uint64_t guard = 200; guard < 200 + kGuards; ++guard) found.push_back(pids.of(guard));
  std::ranges::sort(found);
  for (std::size_t i = 1; i < found.size(); ++i)
    EXPECT_GE(found[i] - found[i - 1], GetParam() / kGuards / 3) << found[i];
}

INSTANTIATE_TEST_SUITE_P(Limits, CasePidsTest, testing::Values(32'768, 98'304, 99'999, 4'194'304));

TEST(CasePids, NeedTheLimitOfTheKernel) {
  EXPECT_EQ(CasePids().of(7), 0U);
  EXPECT_EQ(CasePids(0).of(7), 0U);
  EXPECT_NE(case_pids_here().of(7), 0U);
}

}  // namespace
}  // namespace proctor
