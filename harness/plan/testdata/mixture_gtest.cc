#include <gtest/gtest.h>

#include "harness/plan/testdata/mixture.h"

class Mixture : public testing::TestWithParam<int> {};

TEST_P(Mixture, Case) { EXPECT_TRUE(mixture::act(GetParam())); }

INSTANTIATE_TEST_SUITE_P(All, Mixture, testing::Range(0, mixture::kCases));
