#include "suites/collectives/library.h"

#include <gtest/gtest.h>

#include "suites/main/skipped.h"

namespace proctor::collectives {
namespace {

// As glibc says it: the file itself, a library that it needs, or something else.
TEST(Library, SaysWhatIsMissingOrWhy) {
  const std::string missing = ": cannot open shared object file: No such file or directory";
  EXPECT_EQ(reason_not_loaded("/bin/libproctor_gloo.so", "/bin/libproctor_gloo.so" + missing),
            "library_missing:libproctor_gloo.so");
  EXPECT_EQ(reason_not_loaded("/bin/libproctor_gloo.so", "libgloo.so.0" + missing),
            "library_missing:libgloo.so.0");
  EXPECT_EQ(reason_not_loaded("/bin/libproctor_gloo.so", "libgloo.so.0: undefined symbol: x"),
            "library_unusable:libgloo.so.0: undefined symbol: x");
}

TEST(Library, OfNoSuchNameIsASkip) {
  try {
    load_provider("nothing");
    FAIL() << "it was loaded";
  } catch (const suite::Skipped& skipped) {
    EXPECT_EQ(skipped.reason(), "library_missing:libproctor_nothing.so");
  }
}

}  // namespace
}  // namespace proctor::collectives
