#include "harness/base/memory_size.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(MemorySize, IsANumberAndAUnit) {
  EXPECT_EQ(*parse_memory_size("512M"), 512 * kMiB);
  EXPECT_EQ(*parse_memory_size("4G"), 4096 * kMiB);
  EXPECT_EQ(*parse_memory_size("1.5GiB"), 1536 * kMiB);
  EXPECT_EQ(*parse_memory_size("2048K"), 2 * kMiB);
}

TEST(MemorySize, OneThatIsNotRoundIsReadBackToo) {
  const auto bytes = *parse_memory_size("1.3G");
  EXPECT_EQ(*parse_memory_size(format_memory_size(bytes)), bytes);
}

TEST(MemorySize, IsReadBackAsItIsWritten) {
  for (const char* text : {"512M", "4G", "1536M", "1T", "1025K"}) {
    EXPECT_EQ(format_memory_size(*parse_memory_size(text)), text);
  }
}

// What is wrong with it, and what was meant.
TEST(MemorySize, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* why;
    const char* hint;
  } rows[] = {
      {"512", "it has no unit", "Did you mean '512M' or '512G'?"},
      {"512MB", "it has an unknown unit", "Did you mean '512M'?"},
      {"4 gb", "it has an unknown unit", "Did you mean '4G'?"},
      {"4Gi", "it has an unknown unit", "Did you mean '4G'?"},
      {"0.5", "it has no unit", "Did you mean '0.5G'?"},
      {"0.1kb", "it has an unknown unit", "Sizes are written as 512M or 4G."},
      {"0", "it is less than 1M", "Without this limit, a process may take all of the memory."},
      {"4X", "it has an unknown unit", "Sizes are written as 512M or 4G."},
      {"", "it does not begin with a number", "Sizes are written as 512M or 4G."},
      {"much", "it does not begin with a number", "Sizes are written as 512M or 4G."},
      {"NaN", "it does not begin with a number", "Sizes are written as 512M or 4G."},
      {"inf", "it does not begin with a number", "Sizes are written as 512M or 4G."},
      {"-4G", "it is below zero", "Sizes are written as 512M or 4G."},
      {"0G", "it is less than 1M", "Sizes are written as 512M or 4G."},
      {"1K", "it is less than 1M", "Sizes are written as 512M or 4G."},
      {"1025T", "it is more than 1024T", "Sizes are written as 512M or 4G."},
  };
  for (const auto& row : rows) {
    const auto size = parse_memory_size(row.text);
    ASSERT_FALSE(size) << row.text;
    EXPECT_NE(size.error().what.find(row.why), std::string::npos) << size.error().what;
    EXPECT_EQ(size.error().hint, row.hint) << row.text;
  }
}

}  // namespace
}  // namespace proctor
