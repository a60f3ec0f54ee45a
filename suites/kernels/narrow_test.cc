// Tests of the 8-bit and 16-bit formats, with constants of their specifications.
#include "suites/kernels/narrow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "suites/kernels/numeric.h"

namespace proctor::kernels {
namespace {

const NarrowFormat& e4m3() { return narrow_format("e4m3"); }
const NarrowFormat& e5m2() { return narrow_format("e5m2"); }
const NarrowFormat& bf16() { return narrow_format("bf16"); }

// Constants of the OFP8 specification, table 1.
TEST(Narrow, EightBitFormatsMatchOfp8Constants) {
  EXPECT_EQ(value_of(e4m3(), 0x7e), 448);
  EXPECT_TRUE(std::isnan(value_of(e4m3(), 0x7f)));
  EXPECT_EQ(value_of(e4m3(), 0x08), 0x1p-6);
  EXPECT_EQ(value_of(e4m3(), 0x01), 0x1p-9);
  EXPECT_EQ(value_of(e5m2(), 0x7b), 57344);
  EXPECT_EQ(value_of(e5m2(), 0x7c), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(value_of(e5m2(), 0x7d)));
  EXPECT_EQ(value_of(e5m2(), 0x01), 0x1p-16);
}

TEST(Narrow, Bfloat16IsUpperHalfOfFloat) {
  EXPECT_EQ(value_of(bf16(), 0x3f80), 1);
  EXPECT_EQ(value_of(bf16(), 0xc040), -3);
  EXPECT_EQ(bits_of(bf16(), 1 + 0x1p-8), 0x3f80U);      // halfway: to the even pattern
  EXPECT_EQ(bits_of(bf16(), 1 + 3 * 0x1p-8), 0x3f82U);  // halfway: to the even pattern above
}

TEST(Narrow, EveryPatternSurvivesTheRoundTrip) {
  for (const NarrowFormat& format : narrow_formats()) {
    for (std::uint32_t bits = 0; bits < 1u << format.bits(); ++bits) {
      if (is_nan(format, bits)) {
        EXPECT_TRUE(is_nan(format, bits_of(format, value_of(format, bits))));
      } else {
        ASSERT_EQ(bits_of(format, value_of(format, bits)), bits) << format.name;
      }
    }
  }
}

TEST(Narrow, OverflowDoesNotSaturate) {
  EXPECT_EQ(bits_of(e4m3(), 464), 0x7eU);  // halfway to 480, which does not exist: the even pattern
  EXPECT_EQ(bits_of(e4m3(), 465), 0x7fU);
  EXPECT_EQ(bits_of(e5m2(), 61439), 0x7bU);
  EXPECT_EQ(bits_of(e5m2(), 61440), 0x7cU);
  EXPECT_EQ(bits_of(e5m2(), -1e9), 0xfcU);
}

TEST(Narrow, HalvesMatchReferenceConversion) {
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const float value = std::scalbn(static_cast<float>(i % 9973) - 5000, static_cast<int>(i % 40) - 30);
    ASSERT_EQ(bits_of(narrow_format("f16"), static_cast<double>(value)), half_from_float(value)) << value;
  }
}

}  // namespace
}  // namespace proctor::kernels
