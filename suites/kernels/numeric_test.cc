// Tests of the comparison of floating-point results, and of the table of functions.
#include "suites/kernels/numeric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "suites/kernels/core_work.h"

namespace proctor::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(UlpDistance, CountsUnitsInLastPlace) {
  EXPECT_EQ(ulp_distance(1.0, 1.0f), 0);
  EXPECT_EQ(ulp_distance(1.0, std::nextafterf(1.0f, 2.0f)), 1);
  EXPECT_EQ(ulp_distance(1.0, std::nextafterf(1.0f, 0.0f)),
            0.5);  // steps below a power of two are half as large
  EXPECT_EQ(ulp_distance(1.0L, std::nextafter(1.0, 2.0)), 1);
  EXPECT_EQ(ulp_distance(0.0, 0x1p-149f), 1);
}

TEST(UlpDistance, CountsFractionsOfStep) { EXPECT_EQ(ulp_distance(1.0 + 0x1p-24, 1.0f), 0.5); }

TEST(UlpDistance, UnexpectedNanIsInfinitelyFar) {
  EXPECT_EQ(ulp_distance(1.0, kNan), kInfinity);
  EXPECT_EQ(ulp_distance(kInfinity, kNan), kInfinity);
  EXPECT_EQ(ulp_distance(std::nan(""), 1.0f), kInfinity);
  EXPECT_EQ(ulp_distance(std::nan(""), kNan), 0);
}

TEST(UlpDistance, InfinityRequiresMatchingSign) {
  EXPECT_EQ(ulp_distance(kInfinity, std::numeric_limits<float>::infinity()), 0);
  EXPECT_EQ(ulp_distance(kInfinity, -std::numeric_limits<float>::infinity()), kInfinity);
}

TEST(UlpDistance, CountsOverflowAsNextPowerOfTwo) {
  const double largest = static_cast<double>(std::numeric_limits<float>::max());
  EXPECT_EQ(ulp_distance(largest, std::numeric_limits<float>::infinity()), 1);
}

TEST(Half, EveryFiniteValueSurvivesTheRoundTrip) {
  for (unsigned half = 0; half < 0x10000; ++half) {
    const auto bits = static_cast<std::uint16_t>(half);
    if ((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0) {
      EXPECT_TRUE(std::isnan(float_from_half(bits)));
    } else {
      EXPECT_EQ(half_from_float(float_from_half(bits)), bits);
    }
  }
}

TEST(Half, TiesGoToEven) {
  EXPECT_EQ(half_from_float(1.0f), 0x3c00);
  EXPECT_EQ(half_from_float(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(half_from_float(1.0f + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(half_from_float(65504.0f), 0x7bff);
  EXPECT_EQ(half_from_float(65519.0f), 0x7bff);
  EXPECT_EQ(half_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(half_from_float(0x1p-25f), 0);
  EXPECT_EQ(half_from_float(0x1.8p-25f), 1);
  EXPECT_EQ(half_from_float(-0.0f), 0x8000);
  EXPECT_TRUE(std::isnan(float_from_half(half_from_float(kNan))));
}

TEST(FirstOverBound, ReturnsElementAndReason) {
  const std::vector<Judged> expected = {{1.0, 1.0}, {2.0, 2.0}};
  EXPECT_EQ(first_over_bound(expected, std::vector{1.0f, 2.0f}, 4), "");
  EXPECT_EQ(first_over_bound(expected, std::vector{1.0f, std::nextafterf(2.0f, 3.0f)}, 4), "");
  EXPECT_TRUE(first_over_bound(expected, std::vector{1.0f, 2.00001f}, 4).starts_with("element 1: "));
  EXPECT_TRUE(first_over_bound(expected, std::vector{kNan, 2.0f}, 4).starts_with("element 0: nan"));
  EXPECT_EQ(first_over_bound(expected, std::vector{1.0f}, 4), "1 elements instead of 2");
}

TEST(RoundingBound, GrowsWithTheRoundings) {
  EXPECT_DOUBLE_EQ(rounding_bound(1), 0x1p-24 / (1 - 0x1p-24));
  EXPECT_GT(rounding_bound(100), 100 * 0x1p-24);
}

TEST(UlpDistance, MeasuresHalvesInHalfUnits) {
  EXPECT_EQ(half_ulp_distance(1, 0x3c00), 0);
  EXPECT_EQ(half_ulp_distance(1, 0x3c01), 1);
  EXPECT_EQ(half_ulp_distance(0, 0x0002), 2);
  EXPECT_EQ(half_ulp_distance(65504, 0x7c00), 1);
  EXPECT_TRUE(std::isinf(half_ulp_distance(1, 0x7e00)));
  EXPECT_TRUE(std::isinf(half_ulp_distance(INFINITY, 0x7bff)));
  EXPECT_EQ(half_ulp_distance(NAN, 0x7e00), 0);
}

TEST(CoreWork, AMajorityIsMoreThanHalf) {
  EXPECT_EQ(majority_of({}), std::nullopt);
  EXPECT_EQ(majority_of({{7, {1, 2}}}), (CoreRow{1, 2}));
  EXPECT_EQ(majority_of({{0, {1}}, {1, {2}}}), std::nullopt);
  EXPECT_EQ(majority_of({{0, {1}}, {1, {2}}, {2, {2}}, {9, {2}}}), CoreRow{2});
  EXPECT_EQ(majority_of({{0, {1}}, {1, {2}}, {2, {2}}, {9, {3}}}), std::nullopt);
}

TEST(CoreWork, DigestDependsOnDistinctRows) {
  const auto digest = digest_of({{0, {1, 2}}});
  EXPECT_EQ(digest_of({{4, {1, 2}}, {9, {1, 2}}}), digest);
  EXPECT_NE(digest_of({{4, {1, 2}}, {9, {1, 3}}}), digest);
}

TEST(CoreWork, WorkDependsOnSeedAndRounds) {
  for (const CoreWork& work : core_works()) {
    EXPECT_EQ(&core_work(work.name), &work);
    if (work.reference == nullptr) continue;
    const CoreRow row = work.reference({.seed = 1, .rounds = 2, .lanes = 16});
    EXPECT_EQ(row.size(), 128u) << work.name;
    EXPECT_EQ(work.reference({.seed = 1, .rounds = 2, .lanes = 16}), row) << work.name;
    EXPECT_NE(work.reference({.seed = 2, .rounds = 2, .lanes = 16}), row) << work.name;
    EXPECT_NE(work.reference({.seed = 1, .rounds = 3, .lanes = 16}), row) << work.name;
  }
}

TEST(CoreWork, SeedAffectsResultAfterManyRounds) {
  for (const CoreWork& work : core_works()) {
    if (work.reference == nullptr) continue;
    for (const std::uint32_t lanes : {8u, 16u, 32u}) {
      const CoreRow row = work.reference({.seed = 1, .rounds = 32, .lanes = lanes});
      EXPECT_NE(work.reference({.seed = 2, .rounds = 32, .lanes = lanes}), row) << work.name << lanes;
    }
  }
}

}  // namespace
}  // namespace proctor::kernels
