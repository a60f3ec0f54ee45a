#include "reports/model/renamed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string complaint(const std::string& text) {
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
  EXPECT_THAT(complaint("[[renamed]]\nfrom = 'a'\n"), HasSubstr("`to`"));
  EXPECT_THAT(complaint("[[renamed]]\nform = 'a'\nto = 'b'\n"), HasSubstr("renamed.toml:2"));
  EXPECT_THAT(complaint("[[rename]]\n"), HasSubstr("rename"));
  EXPECT_THAT(complaint("renamed = 1\n"), HasSubstr("renamed"));
  EXPECT_THAT(complaint(entry("a", "")), HasSubstr("empty name"));
  EXPECT_THAT(complaint(entry("a", "b") + entry("a", "c")), HasSubstr("renamed.toml:4"));
  EXPECT_FALSE(load_renames("/nowhere/renamed.toml"));
}

TEST(RenamedTest, NamesThatLeadBackAreRefused) {
  EXPECT_THAT(complaint(entry("a", "a")), HasSubstr("leads back"));
  EXPECT_THAT(complaint(entry("a", "b") + entry("b", "c") + entry("c", "a")), HasSubstr("leads back"));
  EXPECT_EQ(complaint(entry("a", "b") + entry("c", "b")), "");  // two that became one
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

}  // namespace
}  // namespace proctor
