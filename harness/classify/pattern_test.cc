#include "harness/classify/pattern.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

TEST(Pattern, FindsItsPiecesInOrder) {
  EXPECT_TRUE(Pattern("a*b").matches("xx a yy b"));
  EXPECT_FALSE(Pattern("a*b").matches("b a"));
  EXPECT_TRUE(Pattern("NVRM: Xid (PCI:*): 79,").matches("[1.2] NVRM: Xid (PCI:0000:01:00): 79, gone"));
  EXPECT_FALSE(Pattern("NVRM: Xid (PCI:*): 79,").matches("NVRM: Xid (PCI:0000:01:00): 179, gone"));
}

TEST(Pattern, BeginsAndEndsAtTheEdgeOfAWord) {
  EXPECT_TRUE(Pattern("cudaErrorAssert").matches("code=710(cudaErrorAssert)"));
  EXPECT_FALSE(Pattern("cudaErrorAssert").matches("cudaErrorAssertNot"));
  EXPECT_FALSE(Pattern("cudaErrorAssert").matches("my_cudaErrorAssert"));
  EXPECT_TRUE(Pattern("cudaErrorAssert").matches("cudaErrorAssertNot cudaErrorAssert"))
      << "the second one is whole";
  EXPECT_FALSE(Pattern("one*two").matches("one twofold"));
  EXPECT_TRUE(Pattern("one*two").matches("one twofold two"));
}

TEST(Pattern, IsTiedToTheEndsOfTheLineWhereItSaysSo) {
  EXPECT_TRUE(Pattern("^MemoryError$").matches("  MemoryError \r"));
  EXPECT_FALSE(Pattern("^MemoryError$").matches("a MemoryError"));
  EXPECT_FALSE(Pattern("^MemoryError$").matches("MemoryError: text"));
  EXPECT_FALSE(Pattern("ab$").matches("b"));
  EXPECT_FALSE(Pattern("^abc*bcd$").matches("abcd")) << "pieces do not overlap";
  EXPECT_FALSE(Pattern("^a").matches(""));
}

TEST(Pattern, ItsAnchorIsItsLongestPiece) {
  EXPECT_EQ(Pattern("^ab*cdef*g$").anchor(), "cdef");
  EXPECT_EQ(Pattern("*").anchor(), "");
  EXPECT_FALSE(Pattern("*").matches("anything"));
}

}  // namespace
}  // namespace proctor
