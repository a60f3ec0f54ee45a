#include "harness/process/evidence/gatherer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::Contains;

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
