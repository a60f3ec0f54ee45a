#include "harness/request/suite_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using ::testing::HasSubstr;

struct Read {
  Extent extent{};
  std::string provider{};
  Result<void> result;
};

Read read(const std::vector<std::string>& typed,
          const std::vector<std::string>& names = suite_argument_names()) {
  Read values{.result = {}};
  values.result = read_suite_arguments(typed, names, values.extent, values.provider);
  return values;
}

TEST(SuiteArguments, ParserSetsEachValue) {
  const Read values =
      read({"size=full", "seed=7", "point=bytes=65537,type=i8", "provider=oneccl", "size=smoke"});
  ASSERT_TRUE(values.result);
  EXPECT_EQ(values.extent.size, "smoke") << "the last value counts";
  EXPECT_EQ(values.extent.seed, 7U);
  EXPECT_EQ(values.extent.point, "bytes=65537,type=i8");
  EXPECT_EQ(values.provider, "oneccl");
}

TEST(SuiteArguments, ErrorNamesTheArgument) {
  const struct {
    const char* word;
    const char* what;
    const char* hint;
  } rows[] = {
      {"sise=full", "`sise` is not an argument", "Did you mean `size`?"},
      {"level=1", "`level` is not an argument", "size, seed, point, provider"},
      {"size", "size has no value", "--suite-arg size=VALUE"},
      {"size=smok", "`smok` is not a size", "Did you mean `smoke`?"},
      {"size=", "`` is not a size", "smoke"},
      {"seed=-1", "seed must be from 0 to 18446744073709551615 (got `-1`)", ""},
      {"seed=18446744073709551616", "18446744073709551616", ""},
      {"point=bytes", "--suite-arg point", "bytes=65537"},
      {"provider=glo", "`glo` is not a provider", "Did you mean `gloo`?"},
  };
  for (const auto& row : rows) {
    const auto result = read({row.word}).result;
    ASSERT_FALSE(result) << row.word;
    EXPECT_THAT(result.error().what, HasSubstr(row.what));
    EXPECT_THAT(result.error().hint, HasSubstr(row.hint)) << row.word;
  }
}

TEST(SuiteArguments, CommandAcceptsOnlySupportedArguments) {
  const auto result = read({"point=bytes=1"}, {"size", "seed"}).result;
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("`point` is not an argument"));
}

}  // namespace
}  // namespace proctor
