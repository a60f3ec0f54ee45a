#include "harness/base/narrowing_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

TEST(NarrowingVariables, FrameworkVariablesApplyToMatchingSuiteKinds) {
  EXPECT_TRUE(is_narrowing_variable("PYTEST_ADDOPTS", "--trace", "pytest"));
  EXPECT_TRUE(is_narrowing_variable("PYTEST_ADDOPTS", "--trace", "command")) << "it may start pytest";
  EXPECT_FALSE(is_narrowing_variable("PYTEST_ADDOPTS", "--trace", "gtest"));
  EXPECT_TRUE(is_narrowing_variable("GTEST_FAIL_FAST", "1", "gtest"));
  EXPECT_FALSE(is_narrowing_variable("GTEST_COLOR", "no", "gtest"));
}

TEST(NarrowingVariables, LanguageAndLoaderVariablesAlwaysApply) {
  for (const char* kind : {"pytest", "gtest", "command", "proctor", "benchmark"}) {
    for (const char* name : {"PYTHONOPTIMIZE", "PYTHONINSPECT", "BASH_ENV", "SHELLOPTS", "BASH_FUNC_test%%",
                             "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "ASAN_OPTIONS", "PERL5OPT"}) {
      EXPECT_TRUE(is_narrowing_variable(name, "x", kind)) << name << " " << kind;
      EXPECT_TRUE(is_narrowing_variable(name)) << name;
    }
    for (const char* name : {"PATH", "HOME", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "LANG"})
      EXPECT_FALSE(is_narrowing_variable(name, "x", kind)) << name << " " << kind;
  }
}

TEST(NarrowingVariables, EmptyVariableCountsIfPresenceMatters) {
  EXPECT_FALSE(is_narrowing_variable("PYTEST_ADDOPTS", "", "pytest"));
  EXPECT_FALSE(is_narrowing_variable("LD_PRELOAD", "", "gtest"));
  EXPECT_TRUE(is_narrowing_variable("LD_TRACE_LOADED_OBJECTS", "", "gtest"));
  EXPECT_TRUE(is_narrowing_variable("GTEST_FAIL_FAST", "", "gtest"));
}

}  // namespace
}  // namespace proctor
