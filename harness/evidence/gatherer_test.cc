#include "harness/evidence/gatherer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(LastDigest, IsTheLastCompleteOne) {
  EXPECT_THAT(last_digest("a\n\f\nb\nc\n\f\n"), ElementsAre("b", "c"));
  EXPECT_THAT(last_digest("a\n\f\nb\nhalf a li"), ElementsAre("a"));
  EXPECT_TRUE(last_digest("").empty());
  EXPECT_TRUE(last_digest("a\n").empty());
}

TEST(GatherArguments, EachValueIsItsOwnWord) {
  const auto arguments = gather_arguments({.program = "p",
                                           .guard = 12,
                                           .devices = {"xpu:0000:03:00.0"},
                                           .file = "/r/evidence/a b.txt",
                                           .environment = {}});
  EXPECT_EQ(arguments.front(), "gather-evidence");
  EXPECT_THAT(arguments, Contains("--guard=12"));
  EXPECT_THAT(arguments, Contains("--device=xpu:0000:03:00.0"));
  EXPECT_THAT(arguments, Contains("--file=/r/evidence/a b.txt"));
}

}  // namespace
}  // namespace proctor
