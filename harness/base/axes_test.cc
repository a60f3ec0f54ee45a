#include "harness/base/axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace proctor {
namespace {

using testing::HasSubstr;

std::vector<Axis> some_axes() {
  return {{"bytes", {"0", "1", "4095", "4096", "65537"}, {"4294967301"}},
          {"offset", {"0", "1", "3", "8"}, {}},
          {"pattern", {"1", "2", "4", "16"}, {}}};
}

// Returns all pairs of the rows, counted by brute force.
std::set<std::string> pairs_of(const std::vector<std::vector<std::string>>& rows) {
  std::set<std::string> pairs;
  for (const auto& row : rows) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b)
        pairs.insert(std::to_string(a) + row[a] + "/" + std::to_string(b) + row[b]);
    }
  }
  return pairs;
}

TEST(Axes, PairTableCoversEveryPairOfValues) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const PairTable table = cover_pairs(some_axes(), seed);
    EXPECT_EQ(table.pairs, 5U * 4 + 5U * 4 + 4U * 4);
    EXPECT_EQ(table.covered, table.pairs);
    EXPECT_EQ(pairs_of(table.rows).size(), table.pairs);
    EXPECT_LE(table.rows.size(), 30U) << "20 is the least there can be; all combinations are 80";
  }
}

TEST(Axes, RowLimitReportsNumberOfCoveredPairs) {
  const PairTable whole = cover_pairs(some_axes(), 0);
  const PairTable table = cover_pairs(some_axes(), 0, 8);
  ASSERT_EQ(table.rows.size(), 8U);
  EXPECT_EQ(table.covered, pairs_of(table.rows).size());
  EXPECT_GE(table.covered, 22U) << "a row holds three pairs, and the first ones repeat hardly any";
  EXPECT_TRUE(std::equal(table.rows.begin(), table.rows.end(), whole.rows.begin()));
}

TEST(Axes, SameSeedGivesSameTable) {
  EXPECT_EQ(cover_pairs(some_axes(), 7).rows, cover_pairs(some_axes(), 7).rows);
  EXPECT_NE(cover_pairs(some_axes(), 7).rows, cover_pairs(some_axes(), 8).rows);
  EXPECT_EQ(point_text(some_axes(), cover_pairs(some_axes(), 0).rows.front()), "bytes=0,offset=0,pattern=16");
}

TEST(Axes, SingleAxisHasOneRowPerValue) {
  const PairTable table = cover_pairs({{"group", {"1", "2", "32", "1024"}, {}}}, 3, 2);
  EXPECT_EQ(table.rows, (std::vector<std::vector<std::string>>{{"1"}, {"1024"}}));
  EXPECT_EQ(table.covered, 2U);
  EXPECT_EQ(table.pairs, 4U);
  EXPECT_EQ(cover_pairs({}, 0).rows.size(), 1U);
}

TEST(Axes, PointFixesNamedAxes) {
  const auto axes = axes_at(some_axes(), "offset=3,bytes=4294967301", "memory/Fill.X");
  ASSERT_TRUE(axes);
  const PairTable table = cover_pairs(*axes, 0);
  EXPECT_EQ(table.rows.size(), 4U) << "the patterns remain";
  EXPECT_EQ(point_text(*axes, table.rows.front()).substr(0, 27), "bytes=4294967301,offset=3,p");
}

TEST(Axes, RejectsUnknownPointWithSuggestion) {
  const auto refused = [](const std::string& point) {
    const auto axes = axes_at(some_axes(), point, "memory/Fill.X");
    return axes ? std::string() : axes.error().what + " / " + axes.error().hint;
  };
  EXPECT_THAT(refused("offest=3"), HasSubstr("memory/Fill.X has no axis `offest` / Did you mean `offset`?"));
  EXPECT_THAT(refused("bytes=4097"), HasSubstr("has no value `4097` / Did you mean `4095`?"));
  EXPECT_THAT(refused("bytes=1,bytes=0"), HasSubstr("twice"));
  for (const char* broken : {"", "bytes", "bytes=", "=1", "bytes=1,", ",bytes=1"})
    EXPECT_THAT(refused(broken), HasSubstr("must be AXIS=VALUE")) << broken;
}

}  // namespace
}  // namespace proctor
