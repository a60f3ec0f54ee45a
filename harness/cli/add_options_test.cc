// Tests the rows of the table as options of CLI11.
#include "harness/cli/add_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/frameworks/all_kinds.h"

namespace proctor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AddOptions : public testing::Test {
 protected:
  TypedRequest parse(std::vector<std::string> words, Command which = kForRun) {
    CLI::App app;
    TypedRequest typed;
    add_options(app, which, typed);
    std::ranges::reverse(words);  // CLI11 takes the words in reverse order
    app.parse(std::move(words));
    return typed;
  }
  std::string refusal(std::vector<std::string> words, Command which = kForRun) {
    try {
      parse(std::move(words), which);
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(AddOptions, ParsesValuesOfEachType) {
  const auto typed = parse({"memory", "kernels", "--jobs=3", "-v", "--filter", "a*", "--filter", "b*",
                            "--deadline", "2m", "--fail-on-skip", "--fail-fast", "--exclude=c*"});
  EXPECT_FALSE(typed.mistake);
  const RunRequest& request = typed.request;
  EXPECT_THAT(request.selection.suites, ElementsAre("memory", "kernels"));
  EXPECT_THAT(request.selection.filters, ElementsAre("a*", "b*"));
  EXPECT_EQ(request.schedule.jobs, 3);
  EXPECT_TRUE(request.console.verbose);
  EXPECT_EQ(request.schedule.deadline, Milliseconds(120'000));
  EXPECT_EQ(request.rules.fail_on_skip, "*");
  EXPECT_EQ(request.schedule.fail_fast, 1);
  EXPECT_EQ(parse({"--fail-fast=5"}).request.schedule.fail_fast, 5);
  EXPECT_EQ(parse({"--fail-on-skip=needs*"}).request.rules.fail_on_skip, "needs*");
}

TEST_F(AddOptions, BadValuesAreRefused) {
  EXPECT_THAT(refusal({"--jobs", "0"}), HasSubstr("must be a whole number from 1 to 10000 (got `0`)"));
  EXPECT_THAT(refusal({"--color", "red"}), HasSubstr("must be auto, always or never (got `red`)"));
  EXPECT_THAT(refusal({"--fail-fast=no"}), HasSubstr("must be a whole number"));
  const auto typed = parse({"--deadline", "soon", "--repeat", "often"});
  ASSERT_TRUE(typed.mistake);
  EXPECT_THAT(typed.mistake->what, testing::StartsWith("--deadline: "));
  EXPECT_NE(refusal({"--plan", "p.json", "--gpus", "1"}), "accepted");
  EXPECT_NE(refusal({"--quiet", "--verbose"}), "accepted");
  EXPECT_NE(refusal({"--jobs", "1"}, kForExec), "accepted") << "`exec` has one case";
}

TEST_F(AddOptions, EveryOptionHasRowInOptionTable) {
  for (const Command which : {kForRun, kForExec, kForAccept, kForPlan, kForList}) {
    CLI::App app;
    TypedRequest typed;
    add_options(app, which, typed);
    for (const CLI::Option* option : app.get_options()) {
      const bool is_help = option->get_name().starts_with("--help");
      EXPECT_TRUE(is_help || find_option(option->get_name(), which) != nullptr) << option->get_name();
    }
  }
}

TEST_F(AddOptions, HelpOfKindNamesAllFrameworks) {
  for (const std::string& kind : kind_names()) EXPECT_THAT(find_option("--kind")->help, HasSubstr(kind));
}

}  // namespace
}  // namespace proctor::cli
