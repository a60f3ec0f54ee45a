#include "suites/kernels/core_work.h"

#include <gtest/gtest.h>

namespace proctor::kernels {
namespace {

TEST(CoreWork, AMajorityIsMoreThanHalf) {
  EXPECT_EQ(majority_of({}), std::nullopt);
  EXPECT_EQ(majority_of({{7, {1, 2}}}), (CoreRow{1, 2}));
  EXPECT_EQ(majority_of({{0, {1}}, {1, {2}}}), std::nullopt);
  EXPECT_EQ(majority_of({{0, {1}}, {1, {2}}, {2, {2}}, {9, {2}}}), CoreRow{2});
  EXPECT_EQ(majority_of({{0, {1}}, {1, {2}}, {2, {2}}, {9, {3}}}), std::nullopt);
}

TEST(CoreWork, ADigestIsOfTheDifferentRows) {
  const auto digest = digest_of({{0, {1, 2}}});
  EXPECT_EQ(digest_of({{4, {1, 2}}, {9, {1, 2}}}), digest);
  EXPECT_NE(digest_of({{4, {1, 2}}, {9, {1, 3}}}), digest);
}

TEST(CoreWork, EachWorkDependsOnItsSeedAndItsRounds) {
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

TEST(CoreWork, NoRoundForgetsWhatWasBefore) {
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
