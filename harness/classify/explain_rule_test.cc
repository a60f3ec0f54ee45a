#include "harness/classify/explain_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/json.h"

namespace proctor {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ExplainRule, ExplainsRuleAndClass) {
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

TEST(ExplainRule, AnXidHasItsMeaning) {
  const auto lost = explain_rule("xid:79", false);
  ASSERT_TRUE(lost && *lost);
  EXPECT_THAT(**lost, HasSubstr("xid:79\n  meaning   GPU has fallen off the bus (https://docs.nvidia.com/"));
  const auto other = explain_rule("xid:46", false);
  ASSERT_TRUE(other && *other);
  EXPECT_THAT(**other, HasSubstr("xid:46\n  meaning   GPU stopped processing"));
  EXPECT_THAT(**other, HasSubstr("rule      xid:other\n"));
  const auto lacking = explain_rule("xid:173", false);
  ASSERT_TRUE(lacking && *lacking);
  EXPECT_THAT(**lacking, HasSubstr("meaning   Xid 173 is not in NVIDIA's table"));
  const auto rule = explain_rule("xid:other", false);
  ASSERT_TRUE(rule && *rule);
  EXPECT_THAT(**rule, Not(HasSubstr("meaning")));
  const auto json = explain_rule("xid:46", true);
  ASSERT_TRUE(json && *json);
  const auto entry = nlohmann::json::parse(**json)["rules"][0];
  EXPECT_EQ(entry["rule"], "xid:other");
  EXPECT_EQ(entry["meaning"], "GPU stopped processing");
}

TEST(ExplainRule, ReturnsNoRuleForCaseIds) {
  for (const char* id :
       {"memory.xpu/Copy.HostToDeviceIsByteExact", "Copy.HostToDeviceIsByteExact", "cuda:0/x", "a:b"}) {
    const auto rule = explain_rule(id, false);
    ASSERT_TRUE(rule) << id;
    EXPECT_FALSE(*rule) << id;
  }
}

TEST(ExplainRule, UnknownRuleSuggestsSimilarRule) {
  const auto xid = explain_rule("xid:780", false);
  ASSERT_FALSE(xid);
  EXPECT_THAT(xid.error().message(), HasSubstr("Xid 780 is not in the table"));
  EXPECT_THAT(xid.error().hint, HasSubstr("xid:other"));
  const auto near = explain_rule("ze:device_lst", false);
  ASSERT_FALSE(near);
  EXPECT_THAT(near.error().hint, HasSubstr("ze:device_lost"));
}

}  // namespace
}  // namespace proctor
