// Each option of `run` and `exec` is marked where it is declared, and those that were typed are told.
#include "harness/cli/steps/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace proctor::cli {
namespace {

using ::testing::IsEmpty;

std::vector<std::string> told(const std::vector<std::string>& words) {
  CLI::App app;
  CLI::App* command = app.add_subcommand("run", "");
  RunOptions options;
  add_run_options(*command, options);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  reversed.emplace_back("run");
  app.parse(reversed);
  std::vector<std::string> all;
  for (const NarrowingOption& one : narrowing_options(*command))
    all.push_back(one.option + "=" + one.value + " " + one.told_by);
  return all;
}

TEST(RunOptions, EachOptionIsMarked) {
  CLI::App app;
  RunOptions options;
  CLI::App* run = app.add_subcommand("run", "");
  add_run_options(*run, options);
  CLI::App* exec = app.add_subcommand("exec", "");
  add_exec_options(*exec, options);
  for (const CLI::App* command : {run, exec}) {
    for (const CLI::Option* option : command->get_options())
      EXPECT_TRUE(effect_of(option->get_name())) << option->get_name() << " has no mark in run_options.cc";
  }
}

TEST(RunOptions, WhatIsTypedAndNotHarmlessIsTold) {
  EXPECT_THAT(told({"memory", "--timeout", "2m", "--jobs=3", "--verbose"}), IsEmpty());
  EXPECT_THAT(told({"--plan", "plan.json", "--debugger", "true"}),
              testing::UnorderedElementsAre("--plan=plan.json plan", "--debugger=true "));
  EXPECT_THAT(told({"--filter", "a*", "--filter=b*", "--no-capture"}),
              testing::UnorderedElementsAre("--filter=a* b* plan", "--no-capture= "));
  EXPECT_THAT(told({"--sim=xpu:1x1"}), testing::ElementsAre("--sim=xpu:1x1 rule"));
}

TEST(RunOptions, AValueThatOnlyMakesAVerdictStricterIsHarmless) {
  EXPECT_THAT(told({"--leaks", "fail"}), IsEmpty());
  EXPECT_THAT(told({"--leaks", "warn"}), testing::ElementsAre("--leaks=warn plan"));
}

TEST(RunOptions, SuiteArgumentHasAnEntryOfItsOwn) {
  EXPECT_THAT(told({"--suite-arg", "size=full", "--suite-arg=point=bytes=1", "--suite-arg", "seed=7"}),
              testing::ElementsAre("--suite-arg=size=full rule", "--suite-arg=point=bytes=1 plan",
                                   "--suite-arg=seed=7 rule"));
}

TEST(RunOptions, AnOptionWithoutAMarkNarrows) {
  CLI::App app;
  std::string value;
  app.add_option("--new", value);
  std::vector<std::string> words = {"x", "--new"};
  app.parse(words);
  ASSERT_EQ(narrowing_options(app).size(), 1u);
  EXPECT_EQ(narrowing_options(app).front().told_by, "");
  EXPECT_EQ(narrowing_options(app).front().value, "x");
}

}  // namespace
}  // namespace proctor::cli
