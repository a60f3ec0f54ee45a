#include "harness/plan/concurrency_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/frameworks/command.h"
#include "harness/plan/config_fixture.h"
#include "harness/plan/plan_file.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::string group_of(const Config& config, const SuiteConfig& suite, const std::string& id) {
  return resolve_policy(config, suite, &command_kind(), id).concurrency_group;
}

const std::string kLicence = "[group.licence]\nmax = 2\n";
const std::string kSuiteA = "[suite.a]\ncommand = [\"x\"]\n";

TEST_F(ConfigTest, GroupComesFromStrongestLayer) {
  const auto config = load(kLicence + "[group.port]\nmax = 1\n[defaults]\ngroup = \"port\"\n" + kSuiteA +
                           "group = \"licence\"\n[suite.b]\ncommand = [\"x\"]\n" +
                           "[[override]]\nmatch = \"a/free*\"\ngroup = \"off\"\n" +
                           "[[override]]\nmatch = \"b/*\"\ntimeout = \"1s\"\n");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(config->groups.limits(), ElementsAre(Pair("licence", 2), Pair("port", 1)));
  EXPECT_EQ(group_of(*config, suite(*config, "a"), "a/case"), "licence");
  EXPECT_EQ(group_of(*config, suite(*config, "a"), "a/free1"), "");
  EXPECT_EQ(group_of(*config, suite(*config, "b"), "b/case"), "port");
}

TEST_F(ConfigTest, GroupOfProjectFileReplacesOther) {
  const auto config = load(kLicence + kSuiteA + "group = \"licence\"\n", "[group.licence]\nmax = 9\n");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(config->groups.limits(), ElementsAre(Pair("licence", 2)));
}

struct BadGroup {
  std::string text;
  const char* what;
  const char* hint;
};

TEST_F(ConfigTest, RejectsBadGroups) {
  for (const BadGroup& row : {
           BadGroup{kLicence + kSuiteA + "group = \"license\"\n",
                    "proctor.toml:5: `group` is \"license\", but there is no [group.license]",
                    "Did you mean `licence`?"},
           BadGroup{kSuiteA + "group = \"licence\"\n",
                    "proctor.toml:3: `group` is \"licence\", but there is no [group.licence]",
                    "Write [group.licence] with max = 1."},
           BadGroup{kSuiteA + kLicence, "proctor.toml:3: no suite and no case is in [group.licence]",
                    "Write group = \"licence\" in a suite or an [[override]]."},
           BadGroup{"[group.licence]\n", "proctor.toml:1: [group.licence] needs the key `max`",
                    "Write how many of its cases may run at once: max = 1."},
           BadGroup{
               "[group.licence]\nmax = 0\n",
               "proctor.toml:2: `max` in [group.licence] is 0, but must be a whole number from 1 to 100000",
               ""},
           BadGroup{"[group.licence]\nmaxx = 2\n", "proctor.toml:2: unknown key `maxx` in [group.licence]",
                    "Did you mean `max`?"},
           BadGroup{"[group.off]\nmax = 2\n", "proctor.toml:1: `off` is not a valid name of a group",
                    "Use letters, digits, `-` and `_`. `off` means no group."},
           BadGroup{"[group]\nlicence = 2\n", "proctor.toml:2: [group.licence] must be a table", ""},
           BadGroup{kSuiteA + "group = 2\n",
                    "proctor.toml:3: `group` in [suite.a] is 2, but must be a string in quotes", ""},
       }) {
    const auto config = load(row.text);
    ASSERT_FALSE(config) << row.text;
    EXPECT_EQ(config.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(config.error().what, row.what);
    EXPECT_EQ(config.error().hint, row.hint);
  }
}

TEST(ConcurrencyGroups, PlanFileKeepsGroups) {
  PlanFile file{.extent = {}};
  file.plan.suites = {Suite{}};
  file.plan.cases.resize(2);
  file.plan.cases[0].id = "a/One";
  file.plan.cases[1].id = "a/Two";
  file.plan.cases[1].policy.concurrency_group = "licence";
  file.plan.concurrency_groups = {{"licence", 2}};
  const PlanDirectories here{"/home/u", "/opt/bin", ""};
  const auto text = plan_file_text(file, here);
  ASSERT_TRUE(text) << text.error().what;
  const auto back = parse_plan_file(*text, "plan.json", here);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_THAT(back->plan.concurrency_groups, ElementsAre(Pair("licence", 2)));
  EXPECT_EQ(back->plan.cases[0].policy.concurrency_group, "");
  EXPECT_EQ(back->plan.cases[1].policy.concurrency_group, "licence");
  file.plan.concurrency_groups["licence"] = 3;
  EXPECT_NE(*plan_file_text(file, here), *text);
  file.plan.concurrency_groups.clear();
  const auto without = plan_file_text(file, here);
  ASSERT_TRUE(without);
  EXPECT_FALSE(parse_plan_file(*without, "plan.json", here)) << "a group without a limit limits nothing";
}

}  // namespace
}  // namespace proctor
