#include "harness/devices/masks/mask.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

TEST(SplitMask, KeepsEmptyEntriesAndCountsColumns) {
  const auto entries = split_mask(" 0 ,,\t2.1");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].text, "0");
  EXPECT_EQ(entries[0].column, 2u);
  EXPECT_TRUE(entries[0].padded);
  EXPECT_EQ(entries[1].text, "");
  EXPECT_EQ(entries[1].column, 5u);
  EXPECT_FALSE(entries[1].padded);
  EXPECT_EQ(entries[2].text, "2.1");
  EXPECT_EQ(entries[2].number, 3u);
  EXPECT_EQ(entries[2].column, 7u);
}

TEST(SplitMask, AnEmptyValueIsOneEmptyEntry) {
  ASSERT_EQ(split_mask("").size(), 1u);
  EXPECT_EQ(split_mask("0,").size(), 2u);
  EXPECT_EQ(split_mask(",").size(), 2u);
}

TEST(ParseOrdinal, IsStricterThanAnyDriver) {
  EXPECT_EQ(parse_ordinal("0"), 0u);
  EXPECT_EQ(parse_ordinal("10"), 10u);
  EXPECT_EQ(parse_ordinal("4294967295"), 4294967295u);
  for (const char* text : {"", " ", "00", "010", "+1", "-1", "0x1", "1gpu", "1 ", "4294967296", "\xC2\xB2",
                           "\xD9\xA1", "99999999999999999999999"}) {
    EXPECT_EQ(parse_ordinal(text), std::nullopt) << text;
  }
}

TEST(WhyNotOrdinal, SaysWhatIsWrong) {
  EXPECT_EQ(why_not_ordinal(""), "is empty");
  EXPECT_EQ(why_not_ordinal("*"), "is not a number");
  EXPECT_EQ(why_not_ordinal("1gpu"), "has 'gpu' after the number");
  EXPECT_EQ(why_not_ordinal("0;1"), "has ';1' after the number");
  EXPECT_EQ(why_not_ordinal("0x1"), "is hexadecimal");
  EXPECT_EQ(why_not_ordinal("010"), "has a leading zero");
  EXPECT_EQ(why_not_ordinal("-1"), "is negative");
  EXPECT_EQ(why_not_ordinal("+1"), "has a sign");
  EXPECT_EQ(why_not_ordinal("\xD9\xA1"), "is not written in ASCII digits");
  EXPECT_EQ(why_not_ordinal("4294967297"), "is larger than 4294967295");
}

TEST(RepairOrdinals, SuggestsOnlyWhatWasProbablyMeant) {
  EXPECT_EQ(repair_ordinals("0;1"), "0,1");
  EXPECT_EQ(repair_ordinals("0 1"), "0,1");
  EXPECT_EQ(repair_ordinals("0,,1"), "0,1");
  EXPECT_EQ(repair_ordinals("0,"), "0");
  EXPECT_EQ(repair_ordinals("0-2"), "0,1,2");
  EXPECT_EQ(repair_ordinals("0x10"), "16");
  EXPECT_EQ(repair_ordinals("010"), "10");
  EXPECT_EQ(repair_ordinals("1gpu,2ampere"), "1,2");
  EXPECT_EQ(repair_ordinals("+3"), "3");
  for (const char* text :
       {"", "*", "-1", "abc", "1.2.3", "0-4000000000", "0x", "0x100000000", "4294967297", "\xD9\xA1"}) {
    EXPECT_EQ(repair_ordinals(text), "") << text;
  }
}

TEST(ParseTopology, ReadsCardsAndTiles) {
  EXPECT_EQ(*parse_topology("2x4"), (Topology{2, 4}));
  EXPECT_EQ(*parse_topology("3"), (Topology{3, 1}));
  EXPECT_EQ(to_string(Topology{2, 4}), "2x4");
  for (const char* text :
       {"", "x", "0x4", "2x0", "2x", "x4", "2x4x1", "2X4", "-1x2", "1025x1", "1x65", "2x4 "}) {
    const auto topology = parse_topology(text);
    ASSERT_FALSE(topology) << text;
    EXPECT_EQ(topology.error().kind, ErrorKind::kUsage);
    EXPECT_NE(topology.error().what.find("'" + std::string(text) + "'"), std::string::npos)
        << topology.error().what;
  }
}

TEST(ParseHierarchy, IsExactAndSuggests) {
  for (const Hierarchy hierarchy : kAllHierarchies)
    EXPECT_EQ(*parse_hierarchy(to_string(hierarchy)), hierarchy);
  EXPECT_EQ(parse_hierarchy("composite").error().hint, "Did you mean 'COMPOSITE'?");
  EXPECT_EQ(parse_hierarchy("FLATT").error().hint, "Did you mean 'FLAT'?");
  EXPECT_EQ(parse_hierarchy("garbage").error().hint, "");
}

TEST(InQuotes, MakesControlCharactersVisible) {
  EXPECT_EQ(in_quotes("0\n1"), "'0\\n1'");
  EXPECT_EQ(in_quotes("a\tb"), "'a\\tb'");
}

}  // namespace
}  // namespace proctor
