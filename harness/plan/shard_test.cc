#include "harness/plan/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace proctor {
namespace {

using ::testing::HasSubstr;

std::string id(int number) { return "memory.xpu/Copy.Case" + std::to_string(number); }

TEST(Shard, EveryShardIsAboutAsLarge) {
  for (const int count : {2, 3, 7, 16}) {
    std::vector<int> sizes(static_cast<std::size_t>(count));
    constexpr int kCases = 16'000;
    for (int i = 0; i < kCases; ++i) ++sizes.at(static_cast<std::size_t>(shard_of(id(i), count) - 1));
    for (const int size : sizes) EXPECT_NEAR(size, kCases / count, kCases / count / 5) << count;
  }
}

TEST(Shard, WithOneMoreShardCasesMoveToItAlone) {
  for (int count = 1; count < 12; ++count) {
    int moved = 0;
    for (int i = 0; i < 1000; ++i) {
      const int before = shard_of(id(i), count);
      const int after = shard_of(id(i), count + 1);
      if (before == after) continue;
      EXPECT_EQ(after, count + 1);
      ++moved;
    }
    EXPECT_GT(moved, 0);
  }
}

// Computed from the description in the header by another program; a change would tear running series apart.
TEST(Shard, TheHashIsFixed) {
  EXPECT_EQ(shard_of("", 4), 1);
  EXPECT_EQ(shard_of("a", 4), 2);
  EXPECT_EQ(shard_of("memory.xpu/Copy.HostToDeviceIsByteExact", 4), 3);
  EXPECT_EQ(shard_of("memory.xpu/Copy.HostToDeviceIsByteExact", 256), 159);
}

TEST(Shard, ReadsOnlyWhatThereCanBe) {
  EXPECT_EQ(*parse_shard("1/1"), (Shard{1, 1}));
  EXPECT_EQ(*parse_shard("10000/10000"), (Shard{10'000, 10'000}));
  for (const char* bad : {"0/3", "4/3", "1/0", "", "1", "/", "1/", "/2", "-1/2", "+1/2", "1/2/3", "a/b",
                          "1 /2", "1/99999999999999999999", "1/10001", "1.0/2"}) {
    const auto shard = parse_shard(bad);
    ASSERT_FALSE(shard) << bad;
    EXPECT_EQ(shard.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(shard.error().what, HasSubstr(bad));
  }
}

}  // namespace
}  // namespace proctor
