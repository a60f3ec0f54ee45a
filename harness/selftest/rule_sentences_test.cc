#include "harness/selftest/rule_sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/toml_reader.h"

namespace proctor {
namespace {

TEST(RuleSentences, EachRuleHasASentence) {
  const auto file = parse_toml(embedded_rule_sentences(), "rules.toml");
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_GT(file->size(), 200U);
  for (const auto& [rule, value] : *file)
    EXPECT_THAT(rule_sentence(std::string(rule.str())), testing::EndsWith(".")) << rule.str();
}

TEST(RuleSentences, AnIdIsNotAPath) {
  EXPECT_THAT(rule_sentence("B.0"), testing::HasSubstr("invalid argument"));
  EXPECT_THAT(rule_sentence("S1.4"), testing::HasSubstr("wait"));
}

TEST(RuleSentences, AnUnknownRuleHasNone) {
  for (const char* rule : {"", "M", "M999", "B", "m22"}) EXPECT_EQ(rule_sentence(rule), "") << rule;
}

}  // namespace
}  // namespace proctor
