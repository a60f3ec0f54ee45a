// Tests that requests are merged value by value, and which values narrow a run.
#include "harness/request/merge_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace proctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns a text that is valid for the option's type.
std::string example_of(const Option& option) {
  if (const auto* text = std::get_if<TextValue>(&option.value)) {
    if (!text->choices.empty()) return text->choices.front();
    if (option.key == "flaky") return "pass:2%";
    if (option.key == "containment") return "auto";
    return "25";
  }
  if (std::holds_alternative<NumberValue>(option.value)) return "1";
  if (std::holds_alternative<DurationValue>(option.value)) return "7s";
  return std::holds_alternative<FlagValue>(option.value) ? "true" : "x";
}

TEST(Options, EachValueIsPutTakenAndShown) {
  for (const Option& option : options()) {
    const std::string name = option.name + option.key;
    RunRequest request;
    EXPECT_FALSE(is_given(option, request)) << name;
    ASSERT_TRUE(put(option, example_of(option), request)) << name;
    EXPECT_TRUE(is_given(option, request)) << name;
    RunRequest other;
    take(option, other, request);
    EXPECT_TRUE(is_given(option, other)) << name;
    const bool is_flag = std::holds_alternative<FlagValue>(option.value);
    EXPECT_EQ(text_of(option, other), is_flag ? "" : example_of(option)) << name;
  }
}

TEST(Options, EachRowIsCompleteAndUnique) {
  std::set<std::pair<std::string, unsigned>> names;
  std::set<std::string> keys;
  for (const Option& option : options()) {
    EXPECT_NE(option.name.empty(), option.in != 0) << option.name << option.key;
    EXPECT_FALSE(option.name.empty() && option.key.empty());
    EXPECT_NE(option.name.empty(), !option.help.empty()) << option.name;
    EXPECT_EQ(option.short_help & ~option.in, 0U) << option.name << ": shown where it is not";
    EXPECT_TRUE(option.key.empty() || keys.insert(option.key).second) << option.key;
    for (const unsigned command : {kForRun, kForExec, kForAccept, kForPlan, kForList}) {
      const bool is_in = (option.in & command) != 0;
      EXPECT_TRUE(!is_in || names.emplace(option.long_name(), command).second) << option.name;
    }
  }
}

TEST(Options, DefaultEffectIsUnrecorded) { EXPECT_EQ(Option{}.effect, GateEffect::kUnrecorded); }

TEST(Options, BadValueErrorsNameAllowedValues) {
  RunRequest request;
  EXPECT_EQ(put(*find_option("--jobs"), "0", request).error().what,
            "must be a whole number from 1 to 10000 (got `0`)");
  EXPECT_EQ(put(*find_option("--gpus"), "two", request).error().what, "must be a whole number (got `two`)");
  EXPECT_EQ(put(*find_option("--color"), "red", request).error().what,
            "must be auto, always or never (got `red`)");
  EXPECT_FALSE(is_given(*find_option("--jobs"), request));
}

TEST(Merge, StrongerRequestOverridesWeaker) {
  for (const Option& option : options()) {
    RunRequest stronger;
    RunRequest weaker;
    ASSERT_TRUE(put(option, example_of(option), weaker));
    EXPECT_TRUE(is_given(option, merge(stronger, weaker))) << option.name << option.key;
    EXPECT_FALSE(is_given(option, merge(stronger, RunRequest{}))) << option.name << option.key;
  }
  RunRequest typed;
  RunRequest keys;
  typed.schedule.jobs = 1;
  keys.schedule.jobs = 8;
  keys.rules.strict = true;
  EXPECT_EQ(merge(typed, keys).schedule.jobs, 1);
  EXPECT_EQ(merge(typed, keys).rules.strict, true);
  typed.rules.strict = false;
  EXPECT_EQ(merge(typed, keys).rules.strict, false) << "`--strict=false` is given";
}

TEST(Merge, KeysApplyOnlyToMatchingCommands) {
  RunRequest keys;
  keys.schedule.jobs = 2;
  keys.schedule.max_machine_failures = 3;
  EXPECT_EQ(keys_for(keys, kForRun).schedule.jobs, 2);
  EXPECT_FALSE(keys_for(keys, kForExec).schedule.jobs);
  EXPECT_EQ(keys_for(keys, kForExec).schedule.max_machine_failures, 3);
  EXPECT_FALSE(part_in_plan_file(keys).schedule.jobs);
  EXPECT_EQ(part_in_plan_file(keys).schedule.max_machine_failures, 3);
}

std::vector<std::string> shown(const std::vector<NarrowingOption>& narrowing) {
  std::vector<std::string> lines;
  for (const NarrowingOption& one : narrowing)
    lines.push_back(one.option + "=" + one.value + " " + one.covered_by);
  return lines;
}

TEST(Narrowing, NamesOptionsThatChangeCasesOrVerdicts) {
  RunRequest typed;
  RunRequest keys;
  typed.schedule.jobs = 3;
  typed.selection.filters = {"a*", "b*"};
  typed.terminal.no_capture = true;
  typed.suite_arguments = {"size=full", "point=bytes=1"};
  keys.selection.excludes = {"c*"};
  keys.reports.stack_root = "/";
  EXPECT_THAT(shown(narrowing_options(typed, kForRun)),
              ElementsAre("--filter=a* b* plan", "--suite-arg=size=full rule",
                          "--suite-arg=point=bytes=1 plan", "--no-capture= "));
  EXPECT_THAT(shown(narrowing_keys(typed, keys)), ElementsAre("exclude=c* plan"));
  typed.selection.excludes = {"d*"};
  EXPECT_THAT(narrowing_keys(typed, keys), IsEmpty()) << "the option replaces the key";
}

TEST(Narrowing, IgnoresValuesThatMakeVerdictsStricter) {
  RunRequest typed;
  typed.limits.leaks = "fail";
  EXPECT_THAT(narrowing_options(typed, kForRun), IsEmpty());
  typed.limits.leaks = "warn";
  EXPECT_THAT(shown(narrowing_options(typed, kForRun)), ElementsAre("--leaks=warn plan"));
}

}  // namespace
}  // namespace proctor
