#include "harness/runner/machine/narrowed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/frameworks/gtest.h"
#include "harness/frameworks/pytest.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Suite pytest_suite() {
  Suite suite;
  suite.name = "t";
  suite.kind = &pytest_kind();
  return suite;
}

// "NAME=VALUE by told_by"
std::vector<std::string> told(const Suite& suite, const Environment& caller, const Environment& child) {
  std::vector<std::string> all;
  for (const auto& one : narrowing_variables(suite, caller, to_list(child), "/share/pytest"))
    all.push_back(one.name + "=" + one.value + " " + one.by + " " + one.told_by);
  return all;
}

TEST(Narrowed, WhatTheProcessesHaveCounts) {
  const Environment caller = {{"PATH", "/bin"}, {"PYTEST_ADDOPTS", "--trace"}, {"PYTHONOPTIMIZE", "1"}};
  EXPECT_THAT(told(pytest_suite(), caller, caller),
              ElementsAre("PYTEST_ADDOPTS=--trace caller ", "PYTHONOPTIMIZE=1 caller "));
  EXPECT_THAT(told(pytest_suite(), caller, {{"PATH", "/bin"}}), IsEmpty()) << "it was taken away";
}

TEST(Narrowed, WhatASuiteSaysIsPartOfThePlan) {
  Suite suite = pytest_suite();
  suite.env = {{"PYTHONOPTIMIZE", "2"}, {"MODE", "fast"}};
  EXPECT_THAT(told(suite, {{"PYTHONOPTIMIZE", "1"}}, suite.env), ElementsAre("PYTHONOPTIMIZE=2 suite plan"));
}

TEST(Narrowed, WhatWeOrASimulationSetIsNobodysChoice) {
  Suite suite = pytest_suite();
  suite.env = {{"PYTHONPATH", "/share/pytest"}};
  EXPECT_THAT(told(suite, {}, {{"PYTHONPATH", "/share/pytest"}, {"LD_LIBRARY_PATH", "/sim"}}), IsEmpty());
  suite.env = {{"PYTHONPATH", "/share/pytest:/own"}};
  EXPECT_THAT(told(suite, {{"PYTHONPATH", "/own"}, {"LD_LIBRARY_PATH", "/lib"}},
                   {{"PYTHONPATH", "/share/pytest:/own"}, {"LD_LIBRARY_PATH", "/sim:/lib"}}),
              ElementsAre("LD_LIBRARY_PATH=/lib caller ", "PYTHONPATH=/own caller plan"));
}

TEST(Narrowed, AValueThatChangesNothingIsNotTold) {
  Suite suite = pytest_suite();
  suite.kind = &gtest_kind();
  suite.env = {{"GTEST_FAIL_FAST", "0"}, {"GTEST_SHUFFLE", "1"}};
  EXPECT_THAT(told(suite, {}, suite.env), ElementsAre("GTEST_SHUFFLE=1 suite plan"));
}

TEST(Narrowed, AVariableHasALineWithItsSuites) {
  EXPECT_THAT(
      describe_narrowing({{"a", "none", "LD_PRELOAD", "/x y.so", "caller", ""},
                          {"b", "none", "LD_PRELOAD", "/x y.so", "caller", ""}}),
      ElementsAre(
          "  variable     LD_PRELOAD='/x y.so' (caller) may change what a, b runs, or how it judges"));
}

}  // namespace
}  // namespace proctor
