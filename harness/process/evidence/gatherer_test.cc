#include "harness/process/evidence/gatherer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;

TEST(LastDigest, ReturnsLastCompleteDigest) {
  EXPECT_THAT(last_digest("a\n\f\nb\nc\n\f\n").lines, ElementsAre("b", "c"));
  EXPECT_THAT(last_digest("a\n\f\nb\nhalf a li").lines, ElementsAre("a"));
  EXPECT_TRUE(last_digest("").lines.empty());
  EXPECT_TRUE(last_digest("a\n").lines.empty());
}

TEST(LastDigest, RoundTripsText) {
  const EvidenceDigest first{.lines = {"a"}, .frame = StackFrame{"f", "x.cc:1"}, .core_program = "/x"};
  const EvidenceDigest last{.lines = {"b", ""}, .frame = StackFrame{"g(int) const", "/a b/y.cc:2"}};
  const EvidenceDigest read = last_digest(to_text(first) + to_text(last));
  EXPECT_EQ(read.lines, last.lines);
  ASSERT_TRUE(read.frame);
  EXPECT_EQ(read.frame->function, "g(int) const");
  EXPECT_EQ(read.frame->location, "/a b/y.cc:2");
  EXPECT_EQ(read.core_program, "");
  EXPECT_EQ(last_digest(to_text(first)).core_program, "/x");
  EXPECT_FALSE(last_digest(to_text({.lines = {"a"}})).frame);
}

using testing::Contains;

TEST(GatherArguments, EachValueIsOneArgument) {
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
