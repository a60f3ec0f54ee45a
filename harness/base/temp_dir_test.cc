#include "harness/base/temp_dir.h"

#include <gtest/gtest.h>

#include <fstream>

namespace proctor {
namespace {

TEST(TempDir, GoesAwayWithAllThatIsInIt) {
  std::filesystem::path first;
  {
    const TempDir one;
    const TempDir other;
    EXPECT_NE(one.path(), other.path());
    first = one.path();
    std::filesystem::create_directories(one / "a/b");
    std::ofstream(one / "a/b/file") << "text";
    EXPECT_TRUE(std::filesystem::exists(first / "a/b/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_THROW(TempDir("/no/such/place"), std::runtime_error);
}

}  // namespace
}  // namespace proctor
