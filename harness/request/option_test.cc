#include "harness/request/option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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
    const auto policy = parse_flaky(row.text);
    ASSERT_TRUE(policy) << row.text;
    EXPECT_EQ(policy->passes, row.passes) << row.text;
    EXPECT_EQ(policy->budget, row.budget) << row.text;
  }
}

TEST(FlakyPolicy, ErrorNamesTheValue) {
  for (const char* text : {"", "pass", "pass:", "pass:%", "pass:2", "pass:101%", "pass:-1%", "pass:1.5%",
                           "fail:2%", "pass:2%%", "no"}) {
    const auto policy = parse_flaky(text);
    ASSERT_FALSE(policy) << text;
    EXPECT_THAT(policy.error().what, HasSubstr('`' + std::string(text) + '`'));
  }
  EXPECT_EQ(parse_flaky("fial").error().hint, "Did you mean `fail`?");
  EXPECT_EQ(parse_flaky("pass").error().hint, "For example pass:2%.");
}

TEST(Layers, ParsesExactOrMinimumLayer) {
  EXPECT_FALSE(parse_layers("auto")->wanted || parse_layers("auto")->required);
  EXPECT_FALSE(parse_layers("")->wanted);
  EXPECT_EQ(parse_layers("pidns")->wanted, Layer::kPidns);
  EXPECT_EQ(parse_layers(">=cgroup")->required, Layer::kCgroup);
  EXPECT_FALSE(parse_layers(">=cgroup")->wanted);
}

TEST(Layers, ErrorSuggestsNearestLayer) {
  EXPECT_EQ(parse_layers("cgrup").error().what, "`cgrup` is not a containment layer");
  EXPECT_EQ(parse_layers("cgrup").error().hint, "Did you mean `cgroup`?");
  EXPECT_FALSE(parse_layers(">=auto"));
}

}  // namespace
}  // namespace proctor
