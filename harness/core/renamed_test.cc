#include "harness/core/renamed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string why_refused(const std::string& text) {
  const auto read = parse_renames(text, "renamed.toml");
  return read ? "" : read.error().what;
}

std::string entry(const std::string& from, const std::string& to) {
  return "[[renamed]]\nfrom = '" + from + "'\nto = '" + to + "'\n";
}

TEST(RenamedTest, EntriesAreRead) {
  const auto read = parse_renames(entry("a/One", "a/First") + entry("b/x y[1]", "c/z"), "renamed.toml");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_THAT(*read, ElementsAre(Rename{"a/One", "a/First"}, Rename{"b/x y[1]", "c/z"}));
  EXPECT_THAT(*parse_renames("", "renamed.toml"), ElementsAre());
}

TEST(RenamedTest, ACaseIsFollowedToItsLastName) {
  const auto read =
      parse_renames(entry("a/Second", "a/Third") + entry("a/First", "a/Second"), "renamed.toml");
  ASSERT_TRUE(read) << read.error().what;
  const NamesToday today(*read);
  EXPECT_EQ(today.of("a/First"), "a/Third");
  EXPECT_EQ(today.of("a/Second"), "a/Third");
  EXPECT_EQ(today.of("a/Third"), "a/Third");
  EXPECT_EQ(today.of("a/Other"), "a/Other");
}

TEST(RenamedTest, MistakesAreNamedWithTheirPlace) {
  EXPECT_THAT(why_refused("[[renamed]]\nfrom = 'a'\n"), HasSubstr("`to`"));
  EXPECT_THAT(why_refused("[[renamed]]\nform = 'a'\nto = 'b'\n"), HasSubstr("renamed.toml:2"));
  EXPECT_THAT(why_refused("[[rename]]\n"), HasSubstr("rename"));
  EXPECT_THAT(why_refused("renamed = 1\n"), HasSubstr("renamed"));
  EXPECT_THAT(why_refused(entry("a", "")), HasSubstr("empty name"));
  EXPECT_THAT(why_refused(entry("a", "b") + entry("a", "c")), HasSubstr("renamed.toml:4"));
  EXPECT_FALSE(load_renames("/nowhere/renamed.toml"));
}

TEST(RenamedTest, NamesThatLeadBackAreRefused) {
  EXPECT_THAT(why_refused(entry("a", "a")), HasSubstr("leads back"));
  EXPECT_THAT(why_refused(entry("a", "b") + entry("b", "c") + entry("c", "a")), HasSubstr("leads back"));
  EXPECT_EQ(why_refused(entry("a", "b") + entry("c", "b")), "");  // two that became one
}

TEST(RenamedTest, WhatIsJoinedLeadsNowhereBack) {
  const auto why = [](const std::vector<Rename>& known, const std::vector<Rename>& more) {
    const auto joined = join_renames(known, more);
    return joined ? "" : joined.error().what;
  };
  EXPECT_THAT(why({{"a", "b"}, {"b", "a"}}, {}), HasSubstr("leads back"));
  EXPECT_THAT(why({{"a", "b"}, {"b", "a"}}, {{"c", "a"}}), HasSubstr("leads back"));
  EXPECT_THAT(why({{"a", "b"}}, {{"b", "a"}}), HasSubstr("leads back"));
  EXPECT_THAT(why({{"a", "b"}}, {{"a", "c"}}), HasSubstr("already"));
  EXPECT_EQ(why({{"a", "b"}}, {{"a", "b"}, {"b", "c"}}), "");
}

TEST(RenamedTest, WhoFollowsARingComesToAnEnd) {
  const NamesToday today({{"a", "b"}, {"b", "c"}, {"c", "b"}});
  EXPECT_NE(today.of("a"), "a");
}

TEST(RenamedTest, CasesOfBuiltInSuitesNeedNoEntry) {
  const NamesToday today;
  for (const BuiltinRename& row : builtin_renames()) {
    const std::string before = std::string(row.from) + "X/a";
    const std::string after = std::string(row.to) + "X/a";
    EXPECT_EQ(today.of(before), after);
    EXPECT_EQ(today.of(after), after);
    EXPECT_THAT(names_ever(before), ElementsAre(before, after));
    EXPECT_THAT(names_ever(after), ElementsAre(after, before));
    EXPECT_TRUE(glob_match_ever(before, after) && glob_match_ever(after, before));
    EXPECT_TRUE(glob_match_ever(std::string(row.from) + "*", after));
    EXPECT_FALSE(glob_match_ever("other/*", after));
  }
  EXPECT_THAT(names_ever("kernels.xpu/Launch.X"), ElementsAre("kernels.xpu/Launch.X"));
}

TEST(RenamedTest, AnEntryCountsBeforeTheTable) {
  const std::string old = "kernels.xpu/Sensors.A";
  EXPECT_EQ(NamesToday(std::vector<Rename>{{old, "mine/A"}}).of(old), "mine/A");
  EXPECT_EQ(NamesToday(std::vector<Rename>{{"old/A", old}}).of("old/A"), "management.xpu/Sensors.A");
  EXPECT_EQ(NamesToday(std::vector<Rename>{{"management.xpu/Sensors.A", "new/A"}}).of(old), "new/A");
  EXPECT_THAT(why_refused(entry("management.xpu/Sensors.A", old)), HasSubstr("leads back"));
}

}  // namespace
}  // namespace proctor
