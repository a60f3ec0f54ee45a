// Tests each rule on a machine to which it applies and on one to which it does not apply. Also tests that invalid rules
// are refused.
#include "harness/doctor/known_bad.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/base/named_file.h"
#include "harness/base/toml_reader.h"
#include "harness/doctor/examine_host.h"
#include "harness/doctor/simulated_host.h"

namespace proctor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRule = R"(version = 1
[[rule]]
id      = "a"
effect  = "broken"
text    = "it breaks"
fix     = "use another"
sources = ["https://example.org/1"]
recheck = "2027-05-20"
devices = ["8086:e223"]
facts   = { "umd.level_zero" = ">=26.14, <26.15" }
)";

std::string refusal(const std::string& from, const std::string& to) {
  std::string text = kRule;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const auto rules = parse_known_bad(text.replace(at, from.size(), to), "mine.toml");
  return rules ? "accepted" : rules.error().what + " | " + rules.error().hint;
}

RuleAnswer answer(const KnownBad& rule, const toml::table& table) {
  const SimulatedHost machine(table);
  const auto host = read_host(machine.root(), {}, {});
  if (!host) ADD_FAILURE() << host.error().what;
  return host ? evaluate(rule, *host) : RuleAnswer();
}

TEST(KnownBad, ParsesEmbeddedRules) {
  const auto rules = parse_known_bad(embedded_known_bad(), "known_bad.toml");
  ASSERT_TRUE(rules) << rules.error().what;
  EXPECT_EQ(known_bad_rules().size(), rules->size());
  EXPECT_GE(rules->size(), 10U);
}

TEST(KnownBad, EveryRuleHasMatchAndMissExamples) {
  const std::string path = std::string(PROCTOR_SOURCE_DIR) + "/harness/doctor/testdata/known_bad_hosts.toml";
  const auto hosts = parse_toml(*read_found_file(path), path);
  ASSERT_TRUE(hosts) << hosts.error().what;
  std::set<std::string> seen;
  for (const auto& element : *(*hosts)["host"].as_array()) {
    const toml::table& host = *element.as_table();
    const std::string id = host["rule"].value_or<std::string>("");
    SCOPED_TRACE(id);
    EXPECT_TRUE(seen.insert(id).second) << "twice";
    const auto& rules = known_bad_rules();
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const KnownBad& one) { return one.id == id; });
    ASSERT_NE(rule, rules.end()) << "no such rule";
    ASSERT_TRUE(host["match"].is_table() && host["miss"].is_table());
    EXPECT_EQ(answer(*rule, *host["match"].as_table()).match, Match::kYes);
    EXPECT_EQ(answer(*rule, *host["miss"].as_table()).match, Match::kNo);
  }
  for (const auto& rule : known_bad_rules())
    EXPECT_TRUE(seen.contains(rule.id)) << rule.id << " has no machines in known_bad_hosts.toml";
}

// Rules may only use names of facts that capture_stack() returns.
TEST(KnownBad, RulesUseOnlyCapturedFacts) {
  const Fingerprint facts = capture_stack("/nowhere", std::nullopt);
  for (const auto& rule : known_bad_rules()) {
    for (const auto& [name, condition] : rule.facts) {
      EXPECT_TRUE(std::any_of(facts.begin(), facts.end(), [&](const StackFact& fact) {
        return fact.name == name;
      })) << name;
    }
  }
}

TEST(KnownBad, ReportsUnknownFact) {
  auto rule = parse_known_bad(kRule, "r")->front();
  rule.facts["firmware.guc"] = {};
  const auto table =
      parse_toml("cards = [\"0000:03:00.0 8086:e223 xe\"]\npackages = [\"libze-intel-gpu1 26.14.1\"]", "t");
  const RuleAnswer said = answer(rule, *table);
  EXPECT_EQ(said.match, Match::kUnknown);
  EXPECT_THAT(said.unknown, ElementsAre("firmware.guc"));
}

TEST(KnownBad, MatchesModelInsteadOfDeviceNumber) {
  auto rule = parse_known_bad(kRule, "r")->front();
  rule.devices.clear();
  rule.models = {"*RTX 5090*"};
  rule.facts.clear();
  const std::string cards = "cards = [\"0000:03:00.0 10de:9999 nvidia\"]\n";
  EXPECT_EQ(answer(rule, *parse_toml(cards + "model = \"NVIDIA GeForce RTX 5090\"", "t")).match, Match::kYes);
  EXPECT_EQ(answer(rule, *parse_toml(cards, "t")).match, Match::kNo);
}

TEST(KnownBad, ReportsRuleThatNeedsRecheck) {
  const SimulatedHost machine(*parse_toml("", "t"));
  const auto rules = *parse_known_bad(kRule, "r");
  const auto host = read_host(machine.root(), {}, {});
  EXPECT_THAT(to_json(examine_host(*host, {}, rules, "2027-05-20")), Not(HasSubstr("re-check")));
  EXPECT_THAT(to_json(examine_host(*host, {}, rules, "2027-05-21")),
              AllOf(HasSubstr("rule needs re-check: a (2027-05-20)"), HasSubstr("\"warn\": 1")));
}

TEST(KnownBad, RejectsInvalidRulesWithLineAndSuggestion) {
  EXPECT_THAT(refusal("effect  =", "efect ="),
              AllOf(HasSubstr("mine.toml:4: unknown key `efect`"), HasSubstr("`effect`")));
  EXPECT_THAT(refusal("\"broken\"", "\"brokn\""),
              AllOf(HasSubstr("mine.toml:4"), HasSubstr("Did you mean `broken`?")));
  EXPECT_THAT(refusal("umd.level_zero", "umd.level_zerro"),
              AllOf(HasSubstr("mine.toml:10: unknown key"), HasSubstr("`umd.level_zero`")));
  EXPECT_THAT(refusal(">=26.14, <26.15", "new"), AllOf(HasSubstr("must be a version"), HasSubstr(">=25.44")));
  EXPECT_THAT(refusal(">=26.14, <26.15", "presnt"), HasSubstr("Did you mean `present`?"));
  EXPECT_THAT(refusal("2027-05-20", "2027-13-20"), HasSubstr("must be a date"));
  EXPECT_THAT(refusal("https://example.org/1", "a friend"), HasSubstr("takes only addresses"));
  EXPECT_THAT(refusal("[\"https://example.org/1\"]", "[]"), HasSubstr("no public source"));
  EXPECT_THAT(refusal("8086:e223", "8086:E223"), HasSubstr("PCI ids"));
  EXPECT_THAT(refusal("facts   = { \"umd.level_zero\" = \">=26.14, <26.15\" }", ""),
              HasSubstr("on every machine"));
  EXPECT_THAT(refusal("version = 1", "version = 2"), HasSubstr("`version`"));
  EXPECT_THAT(refusal("fix     = \"use another\"", ""), HasSubstr("needs the key `fix`"));
  EXPECT_THAT(parse_known_bad(std::string(kRule) + std::string(kRule).substr(12), "r").error().what,
              HasSubstr("the rule `a` is defined twice"));
  EXPECT_FALSE(parse_known_bad("version = 1\n", "r"));
}

}  // namespace
}  // namespace proctor
