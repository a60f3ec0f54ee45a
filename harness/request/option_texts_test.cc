#include "harness/plan/flaky_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using ::testing::HasSubstr;

TEST(FlakyPolicy, ParserReadsTheShare) {
  const struct {
    const char* text;
    bool passes;
    int budget;
  } rows[] = {{"fail", false, 0}, {"pass:0%", true, 0}, {"pass:2%", true, 2}, {"pass:100%", true, 100}};
  for (const auto& row : rows) {
    RunPolicy policy;
    policy.flaky_passes = !row.passes;
    policy.flaky_budget = 7;
    ASSERT_TRUE(read_flaky_policy(row.text, policy)) << row.text;
    EXPECT_EQ(policy.flaky_passes, row.passes) << row.text;
    EXPECT_EQ(policy.flaky_budget, row.budget) << row.text;
  }
}

TEST(FlakyPolicy, ErrorNamesTheValue) {
  for (const char* text : {"", "pass", "pass:", "pass:%", "pass:2", "pass:101%", "pass:-1%", "pass:1.5%",
                           "fail:2%", "pass:2%%", "no"}) {
    RunPolicy policy;
    const auto read = read_flaky_policy(text, policy);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().what, HasSubstr('`' + std::string(text) + '`'));
    EXPECT_FALSE(policy.flaky_passes) << text;
  }
  RunPolicy policy;
  EXPECT_EQ(read_flaky_policy("fial", policy).error().hint, "Did you mean `fail`?");
  EXPECT_EQ(read_flaky_policy("pass", policy).error().hint, "For example pass:2%.");
}

}  // namespace
}  // namespace proctor
