#include "reports/resolve/truncate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/text.h"

namespace proctor {
namespace {

TEST(OneLine, CollapsesWhiteSpaceAndSaysWhatIsMissing) {
  EXPECT_EQ(one_line("", 10), "");
  EXPECT_EQ(one_line(" \n ", 10), "");
  EXPECT_EQ(one_line("\n a\r\n\tb  c \n", 10), "a b c");
  EXPECT_EQ(both_ends("list  `./t`: it wrote", 100), "list `./t`: it wrote");
  EXPECT_EQ(both_ends("a long command: warning: warning: the reason", 24), "a lon...ning: the reason");
  EXPECT_EQ(both_ends("0123456789 0123456789\xe2\x82\xac"
                      "0123456789",
                      15),
            "01...0123456789");
  EXPECT_EQ(one_line("0123456789", 10), "0123456789");
  EXPECT_EQ(one_line("0123456789a", 10), "0123456...");
  EXPECT_EQ(one_line("012345 \xe2\x82\xac", 10), "012345 \xe2\x82\xac");
  EXPECT_EQ(one_line("012345\xe2\x82\xac xx", 10), "012345...");
  EXPECT_EQ(one_line(std::string(1 << 20, 'x'), 200).size(), 200u);
}

TEST(CutMiddle, KeepsHeadAndTailAndCountsTheRest) {
  const std::string fits(kShownHeadBytes + kShownTailBytes, 'x');
  EXPECT_EQ(elide_middle(fits), fits);
  const std::string shortened = elide_middle("HEAD" + fits + "TAIL");
  EXPECT_TRUE(shortened.starts_with("HEADx"));
  EXPECT_TRUE(shortened.ends_with("xTAIL"));
  EXPECT_THAT(shortened, ::testing::HasSubstr("\n[proctor: 8 bytes cut here]\n"));
}

TEST(CutMiddle, NeverCutsInsideACharacter) {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'a');
    while (text.size() < 100'000) text += "\xf0\x9f\x98\x80";
    const std::string shortened = elide_middle(text);
    EXPECT_EQ(clean_text(shortened), shortened) << shift;
    EXPECT_LE(shortened.size(), kShownHeadBytes + kShownTailBytes + 64);
  }
}

}  // namespace
}  // namespace proctor
