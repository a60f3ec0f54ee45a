#include "harness/machine/suite_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using ::testing::HasSubstr;

PlanOptions options_of(std::vector<std::string> typed) {
  PlanOptions options;
  options.suite_arguments = {.typed = std::move(typed), .names = suite_argument_names()};
  return options;
}

TEST(SuiteArguments, EachSetsItsOption) {
  PlanOptions options =
      options_of({"size=full", "seed=7", "point=bytes=65537,type=i8", "provider=oneccl", "size=smoke"});
  ASSERT_TRUE(read_suite_arguments(options));
  EXPECT_EQ(options.extent.size, "smoke") << "the last value counts";
  EXPECT_EQ(options.extent.seed, 7U);
  EXPECT_EQ(options.extent.point, "bytes=65537,type=i8");
  EXPECT_EQ(options.provider, "oneccl");
}

TEST(SuiteArguments, AnErrorNamesTheArgumentAndTheNearest) {
  const struct {
    const char* word;
    const char* what;
    const char* hint;
  } rows[] = {
      {"sise=full", "`sise` is not an argument", "Did you mean `size`?"},
      {"level=1", "`level` is not an argument", "size, seed, point, provider"},
      {"size", "size has no value", "--suite-arg size=full"},
      {"size=smok", "`smok` is not a size", "Did you mean `smoke`?"},
      {"size=", "`` is not a size", "smoke"},
      {"seed=-1", "seed must be from 0 to 18446744073709551615 (got `-1`)", ""},
      {"seed=18446744073709551616", "18446744073709551616", ""},
      {"point=bytes", "--suite-arg point", "bytes=65537"},
      {"provider=glo", "`glo` is not a provider", "Did you mean `gloo`?"},
  };
  for (const auto& row : rows) {
    PlanOptions options = options_of({row.word});
    const auto read = read_suite_arguments(options);
    ASSERT_FALSE(read) << row.word;
    EXPECT_THAT(read.error().what, HasSubstr(row.what));
    EXPECT_THAT(read.error().hint, HasSubstr(row.hint)) << row.word;
  }
}

TEST(SuiteArguments, OfACommandAreThoseThatItNames) {
  CLI::App app;
  PlanOptions options;
  add_suite_arguments(app, options.suite_arguments, {"size", "seed"});
  std::vector<std::string> words = {"point=bytes=1", "--suite-arg"};  // as CLI11 takes them
  app.parse(words);
  const auto read = read_suite_arguments(options);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, HasSubstr("`point` is not an argument"));
}

}  // namespace
}  // namespace proctor
