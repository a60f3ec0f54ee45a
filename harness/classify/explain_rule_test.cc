#include "harness/classify/explain_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/json.h"

namespace proctor {
namespace {

using testing::HasSubstr;

TEST(ExplainRule, ARuleAndAClass) {
  const auto rule = explain_rule("xid:79", false);
  ASSERT_TRUE(rule && *rule);
  EXPECT_THAT(**rule, HasSubstr("class     device_lost"));
  EXPECT_THAT(**rule, HasSubstr("owner     machine"));
  EXPECT_THAT(**rule, HasSubstr("culprit   the device\n"));
  const auto of_class = explain_rule("device_lost", true);
  ASSERT_TRUE(of_class && *of_class);
  const auto document = nlohmann::json::parse(**of_class);
  EXPECT_GT(document["rules"].size(), 3U);
  for (const auto& entry : document["rules"]) EXPECT_EQ(entry["class"], "device_lost");
}

TEST(ExplainRule, AnythingElseMayBeACase) {
  for (const char* id :
       {"memory.xpu/Copy.HostToDeviceIsByteExact", "Copy.HostToDeviceIsByteExact", "cuda:0/x", "a:b"}) {
    const auto rule = explain_rule(id, false);
    ASSERT_TRUE(rule) << id;
    EXPECT_FALSE(*rule) << id;
  }
}

TEST(ExplainRule, AnUnknownRuleOfAKnownGroupIsNamed) {
  const auto xid = explain_rule("xid:780", false);
  ASSERT_FALSE(xid);
  EXPECT_THAT(xid.error().hint, HasSubstr("xid:other"));
  const auto near = explain_rule("ze:device_lst", false);
  ASSERT_FALSE(near);
  EXPECT_THAT(near.error().hint, HasSubstr("ze:device_lost"));
}

}  // namespace
}  // namespace proctor
