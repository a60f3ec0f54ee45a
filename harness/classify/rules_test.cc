#include "harness/classify/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/read_file.h"

namespace proctor {
namespace {

using testing::HasSubstr;

const std::string kGood = R"([[rule]]
id = "a:1"
where = "code"
pattern = ["some text"]
vendor = "any"
class = "c"
severity = "note"
owner = "setup"
next = "Do it."
source = "docs"
)";

std::string complaint(const std::string& from, const std::string& to) {
  std::string text = kGood;
  text.replace(text.find(from), from.size(), to);
  const auto parsed = parse_rules(text);
  return parsed ? "" : parsed.error().what;
}

TEST(Rules, RejectsInvalidEntries) {
  const auto good = parse_rules(kGood);
  ASSERT_TRUE(good) << good.error().what;
  EXPECT_EQ(good->front().problem, FailureOwner::kSetup);
  EXPECT_THAT(complaint("\"code\"", "\"somewhere\""), HasSubstr("where cannot be somewhere"));
  EXPECT_THAT(complaint("\"setup\"", "\"none\""), HasSubstr("owner cannot be none"));
  EXPECT_THAT(complaint("[\"some text\"]", "[]"), HasSubstr("pattern is missing"));
  EXPECT_THAT(complaint("[\"some text\"]", "[\"a*b\"]"), HasSubstr("without a long piece"));
  EXPECT_THAT(complaint("next = \"Do it.\"", ""), HasSubstr("next is missing"));
  EXPECT_THAT(complaint("next", "nxt"), HasSubstr("unknown key nxt"));
  EXPECT_THAT(complaint("vendor = \"any\"", "vendor = \"any\"\nbecomes = \"pass\""),
              HasSubstr("becomes cannot be"));
  EXPECT_THAT(complaint("[[rule]]", "[[rule"), HasSubstr("rules.toml:"));
  const auto twice = parse_rules(kGood + kGood);
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().what, HasSubstr("twice"));
}

TEST(Rules, EmbeddedRulesParse) {
  const auto parsed = parse_rules(embedded_rules());
  ASSERT_TRUE(parsed) << parsed.error().what;
  EXPECT_EQ(parsed->size(), rules().size());
}

TEST(Rules, NextIsOneSentence) {
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(rule.next.ends_with('.') || rule.next.ends_with(')')) << rule.id;
    EXPECT_LE(rule.next.size(), 160U) << rule.id;
  }
}

// The Xids that an application causes, from the list of k8s-device-plugin. All other Xids are machine problems.
TEST(Rules, OnlySixXidsAreCodeProblems) {
  std::set<std::string> tests;
  for (const Rule& rule : rules()) {
    if (rule.id.starts_with("xid:") && rule.problem == FailureOwner::kCode) tests.insert(rule.id);
  }
  EXPECT_EQ(tests, (std::set<std::string>{"xid:13", "xid:31", "xid:43", "xid:45", "xid:68", "xid:109"}));
}

// Compares with the table of classes in docs/reference/diagnosis.md: one row per cause with its sorted classes.
TEST(Rules, EveryClassIsDocumented) {
  const std::string page = read_file_or_empty(PROCTOR_SOURCE_DIR "/docs/reference/diagnosis.md");
  std::map<FailureOwner, std::set<std::string>> classes;
  for (const Rule& rule : rules()) classes[rule.problem].insert("`" + rule.error_class + "`");
  const std::map<FailureOwner, std::string> rows = {
      {FailureOwner::kMachine, "machine"}, {FailureOwner::kCode, "code"}, {FailureOwner::kSetup, "setup"}};
  for (const auto& [cause, row] : rows)
    EXPECT_THAT(page, HasSubstr(fmt::format("\n| {} | {} |\n", row, fmt::join(classes[cause], ", "))));
}

TEST(Rules, OnlyKernelLogRulesSetDeviceLost) {
  for (const Rule& rule : rules()) {
    if (!rule.becomes) continue;
    const bool lost = rule.becomes->outcome == Outcome::kDeviceLost;
    EXPECT_TRUE(lost ? rule.where == Where::kKernelLog : !rule.kernel.empty()) << rule.id;
    EXPECT_EQ(rule.problem, FailureOwner::kMachine) << rule.id;
  }
}

TEST(Rules, AreSortedByStage) {
  const auto stage = [](const Rule& rule) {
    if (rule.where == Where::kSignal) return 0;
    if (rule.where == Where::kKernelLog) return 1;
    return rule.where == Where::kOutcome ? 3 : 2;
  };
  EXPECT_TRUE(std::is_sorted(rules().begin(), rules().end(),
                             [&](const Rule& a, const Rule& b) { return stage(a) < stage(b); }));
}

TEST(Pattern, MatchesPiecesInOrder) {
  EXPECT_TRUE(Pattern("a*b").matches("xx a yy b"));
  EXPECT_FALSE(Pattern("a*b").matches("b a"));
  EXPECT_TRUE(Pattern("NVRM: Xid (PCI:*): 79,").matches("[1.2] NVRM: Xid (PCI:0000:01:00): 79, gone"));
  EXPECT_FALSE(Pattern("NVRM: Xid (PCI:*): 79,").matches("NVRM: Xid (PCI:0000:01:00): 179, gone"));
}

TEST(Pattern, MatchesWholeWordsOnly) {
  EXPECT_TRUE(Pattern("cudaErrorAssert").matches("code=710(cudaErrorAssert)"));
  EXPECT_FALSE(Pattern("cudaErrorAssert").matches("cudaErrorAssertNot"));
  EXPECT_FALSE(Pattern("cudaErrorAssert").matches("my_cudaErrorAssert"));
  EXPECT_TRUE(Pattern("cudaErrorAssert").matches("cudaErrorAssertNot cudaErrorAssert"))
      << "the second one is whole";
  EXPECT_FALSE(Pattern("one*two").matches("one twofold"));
  EXPECT_TRUE(Pattern("one*two").matches("one twofold two"));
}

TEST(Pattern, CaretAndDollarMatchLineEnds) {
  EXPECT_TRUE(Pattern("^MemoryError$").matches("  MemoryError \r"));
  EXPECT_FALSE(Pattern("^MemoryError$").matches("a MemoryError"));
  EXPECT_FALSE(Pattern("^MemoryError$").matches("MemoryError: text"));
  EXPECT_FALSE(Pattern("ab$").matches("b"));
  EXPECT_FALSE(Pattern("^abc*bcd$").matches("abcd")) << "pieces do not overlap";
  EXPECT_FALSE(Pattern("^a").matches(""));
}

TEST(Pattern, AnchorIsLongestPiece) {
  EXPECT_EQ(Pattern("^ab*cdef*g$").anchor(), "cdef");
  EXPECT_EQ(Pattern("*").anchor(), "");
  EXPECT_FALSE(Pattern("*").matches("anything"));
}

}  // namespace

}  // namespace proctor
