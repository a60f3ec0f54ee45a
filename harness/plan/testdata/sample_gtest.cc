// A GoogleTest program with a list that is difficult to parse: other output before and after the list, type
// and value parameters, disabled tests, and names that a filter cannot express.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <type_traits>

namespace {

struct Chatter {
  Chatter() {
    std::puts("Loading the driver.");
    std::fputs("Fake.\n  FromStderr\n", stderr);
  }
  ~Chatter() { std::puts("Unloading the driver."); }
} chatter;

TEST(Plain, Passes) {}
TEST(Plain, Fails) { FAIL(); }
TEST(Plain, DISABLED_Broken) { FAIL(); }
TEST(DISABLED_Group, Any) { FAIL(); }

class Values : public testing::TestWithParam<std::string> {};
TEST_P(Values, Holds) {}
INSTANTIATE_TEST_SUITE_P(Text, Values, testing::Values("one # two", "three\nfour"));

template <typename T>
class Typed : public testing::Test {};
struct Names {
  template <typename T>
  static std::string GetName(int) {  // NOLINT(readability-identifier-naming): GoogleTest's name for it
    return std::is_same_v<T, int> ? "std::int - wide" : "short";
  }
};
using Widths = testing::Types<int, short>;
TYPED_TEST_SUITE(Typed, Widths, Names);
TYPED_TEST(Typed, Works) {}

}  // namespace
