#include "suites/collectives/library.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "harness/journal/child_protocol.h"
#include "suites/main/skipped.h"

namespace proctor::collectives {
namespace {

// The messages are those of glibc about the file itself, about a library that it needs, and about another
// error.
TEST(Library, ReportsMissingFileOrLoadError) {
  const std::string missing = ": cannot open shared object file: No such file or directory";
  EXPECT_EQ(reason_not_loaded("/bin/libproctor_gloo.so", "/bin/libproctor_gloo.so" + missing),
            "library_missing:libproctor_gloo.so");
  EXPECT_EQ(reason_not_loaded("/bin/libproctor_gloo.so", "libgloo.so.0" + missing),
            "library_missing:libgloo.so.0");
  EXPECT_EQ(reason_not_loaded("/bin/libproctor_gloo.so", "libgloo.so.0: undefined symbol: x"),
            "library_unusable:libgloo.so.0: undefined symbol: x");
}

TEST(Library, UnknownProviderIsSkipped) {
  try {
    load_provider("nothing");
    FAIL() << "it was loaded";
  } catch (const suite::Skipped& skipped) {
    EXPECT_EQ(skipped.reason(), "library_missing:libproctor_nothing.so");
  }
}

TEST(Library, SelectsProviderFromEnvironment) {
  const char* const variable = child::kProviderVariable;
  ::unsetenv(variable);
  EXPECT_EQ(chosen_provider(), "gloo");
  EXPECT_NO_THROW(need_provider("oneccl"));
  ::setenv(variable, "", 1);
  EXPECT_EQ(chosen_provider(), "gloo");
  ::setenv(variable, "oneccl", 1);
  EXPECT_EQ(chosen_provider(), "oneccl");
  EXPECT_NO_THROW(need_provider("oneccl"));
  EXPECT_THAT([] { load_provider("gloo"); }, testing::Throws<suite::Skipped>(testing::Property(
                                                 &suite::Skipped::reason, "needs:provider=gloo")));
  ::setenv(variable, "glo", 1);
  EXPECT_THAT([] { chosen_provider(); },
              testing::ThrowsMessage<std::invalid_argument>(testing::HasSubstr("gloo, oneccl, nccl")));
  ::unsetenv(variable);
}

}  // namespace
}  // namespace proctor::collectives
