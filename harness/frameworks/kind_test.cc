#include <gtest/gtest.h>

#include <set>

#include "harness/frameworks/all_kinds.h"

namespace proctor {
namespace {

TEST(Kinds, EachKindIsFoundByName) {
  std::set<std::string_view> names;
  for (const Kind* kind : all_kinds()) {
    EXPECT_TRUE(names.insert(kind->name()).second) << kind->name();
    EXPECT_EQ(find_kind(kind->name()), kind);
  }
  EXPECT_EQ(kind_names().size(), names.size());
  EXPECT_EQ(find_kind("nonsense"), nullptr);
}

// A kind needs a translator if its processes do not use the child protocol themselves.
TEST(Kinds, StreamAndFileKindsHaveTranslators) {
  Suite suite;
  suite.command = {"program"};
  for (const Kind* kind : all_kinds()) {
    const ReportingMode reporting_mode = kind->reporting_mode(suite);
    if (reporting_mode != ReportingMode::kStream && reporting_mode != ReportingMode::kFile) continue;
    EXPECT_NE(kind->translator(suite, {}), nullptr) << kind->name();
    EXPECT_FALSE(kind->output_options("/f").empty()) << kind->name();
  }
}

// Each of 10,000 tests is compared only with those that its name may select.
TEST(Kinds, ComparesOnlyCasesWithMatchingNames) {
  std::vector<Case> cases(10'000);
  std::vector<std::string> names;
  std::vector<Choice> choices;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].id = cases[i].name = "test " + std::to_string(i);
    names.push_back(cases[i].name);
    choices.push_back({.begin = cases[i].name});
  }
  std::vector<std::pair<std::size_t, std::size_t>> compared;
  const auto compare = [&](std::size_t one, std::size_t other) {
    compared.emplace_back(one, other);
    return false;
  };
  EXPECT_TRUE(check_each_alone(cases, names, choices, compare));
  EXPECT_TRUE(compared.empty()) << "no name means another one";
  choices[7] = {.begin = "test 999", .whole = false};
  EXPECT_TRUE(check_each_alone(cases, names, choices, compare));
  EXPECT_EQ(compared.size(), 11u) << "test 999, and test 9990 to 9999";
  names[8] = names[9];
  choices[8] = choices[9];
  compared.clear();
  EXPECT_TRUE(check_each_alone(cases, names, choices, compare));
  EXPECT_EQ(compared.size(), 13u) << "and two of the same name";
}

TEST(Kinds, RejectsNamesThatMatchTooManyCases) {
  std::vector<Case> cases(5'000);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].id = cases[i].name = "*" + std::to_string(i);
    names.push_back(cases[i].name);
  }
  const std::vector<Choice> choices(cases.size(), Choice{.begin = "", .whole = false});
  const auto checked =
      check_each_alone(cases, names, choices, [](std::size_t, std::size_t) { return false; });
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().what.find("`*4000`"), std::string::npos) << checked.error().what;
}

// A foreign framework uses its own ids for cases; Proctor's suites use their names.
TEST(Kinds, NameForChildDependsOnFramework) {
  Case test;
  test.id = "s/Of/Group.Name/0";
  test.name = "Name/0";
  for (const Kind* kind : all_kinds())
    EXPECT_EQ(kind->name_for_child(test), kind->ours() ? "Name/0" : "Of/Group.Name/0") << kind->name();
}

}  // namespace
}  // namespace proctor
