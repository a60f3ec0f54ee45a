#include "harness/base/number_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace proctor {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(MemorySize, ParsesNumberWithUnit) {
  EXPECT_EQ(*parse_memory_size("512M"), 512 * kMiB);
  EXPECT_EQ(*parse_memory_size("4G"), 4096 * kMiB);
  EXPECT_EQ(*parse_memory_size("1.5GiB"), 1536 * kMiB);
  EXPECT_EQ(*parse_memory_size("2048K"), 2 * kMiB);
}

TEST(MemorySize, RoundTripsFractionalSize) {
  const auto bytes = *parse_memory_size("1.3G");
  EXPECT_EQ(*parse_memory_size(format_memory_size(bytes)), bytes);
}

TEST(MemorySize, RoundTripsText) {
  for (const char* text : {"512M", "4G", "1536M", "1T", "1025K"}) {
    EXPECT_EQ(format_memory_size(*parse_memory_size(text)), text);
  }
}

// Each row has an invalid text, the reason and the hint of the error.
TEST(MemorySize, RejectsInvalidSizeWithHint) {
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

TEST(WrittenNumber, ParsesThousandsSeparators) {
  for (const char* text : {"1204", "1.204", "1,204", "1'204", "1 204", "1_204",
                           "1\xC2\xA0"
                           "204",
                           "1\xE2\x80\xAF"
                           "204",
                           "+1204"})
    EXPECT_EQ(written_count(text), 1204) << text;
  EXPECT_EQ(written_count("12.345.678"), 12'345'678);
  EXPECT_EQ(written_count("1,23,45,678"), 12'345'678) << "as in India";
  EXPECT_EQ(written_count("-5"), -5);
  EXPECT_EQ(written_count("0"), 0);
}

TEST(WrittenNumber, RejectsIncompleteIntegers) {
  for (const char* text : {"", "x", "12x", "17.6", "1.2345", "1.204,5", "1.204.5", "1,204.678", ".204",
                           "1204.", "12345.678", "1e3", "9223372036854775808", "1..204"})
    EXPECT_EQ(written_count(text), std::nullopt) << text;
}

std::optional<double> figure_among(const std::string& text, const std::vector<std::string>& others = {}) {
  NumberForm form;
  form.see(text);
  for (const auto& other : others) form.see(other);
  return form.figure(text);
}

TEST(WrittenNumber, DetectsTheDecimalPoint) {
  EXPECT_EQ(figure_among("17.6"), 17.6);
  EXPECT_EQ(figure_among("17,6"), 17.6);
  EXPECT_EQ(figure_among("1.234,5"), 1234.5);
  EXPECT_EQ(figure_among("1,234.5"), 1234.5);
  EXPECT_EQ(figure_among("1.234.567"), 1'234'567);
  EXPECT_EQ(figure_among("-1,5e-03"), -0.0015);
  EXPECT_EQ(figure_among("1,234e+01"), 12.34);
  EXPECT_EQ(figure_among("0,123"), 0.123);
  EXPECT_EQ(figure_among("1234"), 1234);
  EXPECT_EQ(figure_among(".5"), 0.5);
  EXPECT_EQ(figure_among("1.234"), 1.234) << "as without a locale";
  EXPECT_EQ(figure_among("1.234", {"17,6"}), 1234);
  EXPECT_EQ(figure_among("1,234", {"17,6"}), 1.234);
  EXPECT_EQ(figure_among("1,234", {"17.6"}), 1234);
}

TEST(WrittenNumber, RejectsAmbiguousNumbers) {
  EXPECT_EQ(figure_among("1,234"), std::nullopt);
  EXPECT_EQ(figure_among("17.6", {"17,6"}), std::nullopt);
  for (const char* text : {"", "nan", "inf", "1.2.3", "1,2,3", "12 ns", "x", "-", "e5", "1e999"})
    EXPECT_EQ(figure_among(text), std::nullopt) << text;
}

}  // namespace
}  // namespace proctor
