#include "harness/plan/planner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/frameworks/command.h"
#include "harness/frameworks/gtest.h"
#include "harness/frameworks/proctor.h"
#include "harness/frameworks/pytest.h"
#include "harness/plan/config.h"
#include "harness/plan/test_support.h"
#include "harness/plan/written_off.h"

namespace proctor {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::run_listing;
using testing_support::ScratchDirectory;

class PlannerTest : public testing::Test {
 protected:
  Result<PlanOutcome> plan(const std::string& toml, const SelectionOptions& options = {},
                           const LimitOptions& limits = {}, const std::string& profile = "",
                           const std::vector<BuiltinSuite>& builtins = {}) {
    scratch_.write("proctor.toml", toml);
    const Result<Config> config = load_config({scratch_.path(), "", "", profile}, limits, builtins);
    if (!config) return config.error();
    return make_plan(
        *config, options,
        {.path = "/usr/bin:/bin", .python_path = "/own", .pytest_plugin = "/plugin", .caller = caller_},
        {.run = run_listing});
  }
  std::map<std::string, std::string> caller_;
  static std::vector<std::string> ids(const PlanOutcome& outcome) {
    std::vector<std::string> result;
    for (const Case& test : outcome.plan.cases) result.push_back(test.id);
    return result;
  }
  static std::vector<std::string> warnings(const PlanOutcome& outcome) {
    std::vector<std::string> result;
    for (const Warning& warning : outcome.warnings) result.push_back(warning.text);
    return result;
  }
  std::string gtest_suite(const std::string& name) {
    return "[suite." + name + "]\ncommand = [\"" + testing_support::sample_gtest() + "\"]\n";
  }
  // Returns a built-in suite with the cases A.One and A.Two.
  BuiltinSuite builtin(const std::string& name, Backend backend) {
    BuiltinSuite made;
    made.name = name;
    made.backend = backend;
    made.command = {scratch_.write_script("builtin",
                                          "for c in A.One A.Two; do "
                                          "echo '{\"v\":1,\"event\":\"case\",\"case\":\"'$c'\"}' >&3; done")};
    return made;
  }

  ScratchDirectory scratch_;
};

TEST_F(PlannerTest, RejectsSuiteWithoutCasesByDefault) {
  const std::string toml = "[suite.a]\nkind = \"gtest\"\ncommand = [\"" + testing_support::sample_gtest() +
                           "\", \"--gtest_filter=Nothing.*\"]\n";
  const auto refused = plan(toml);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("listed no case"));
  SelectionOptions options;
  options.may_be_empty = true;
  const auto empty = plan(toml, options);
  ASSERT_TRUE(empty) << empty.error().what;
  EXPECT_TRUE(empty->plan.cases.empty());
}

TEST_F(PlannerTest, PlansSuitesOfEveryKindTogether) {
  SelectionOptions options;
  options.suites = {"visibility", "unit", "smoke"};
  options.filters = {"Plain.*", "A.*", "smoke/*"};
  const Result<PlanOutcome> outcome = plan(gtest_suite("unit") + "[suite.smoke]\ncommand = [\"true\"]\n",
                                           options, {}, "", {builtin("visibility", Backend::kXpu)});
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_THAT(ids(*outcome), ElementsAre("visibility.xpu/A.One", "visibility.xpu/A.Two", "unit/Plain.Passes",
                                         "unit/Plain.Fails", "unit/Plain.DISABLED_Broken", "smoke/true"));
  ASSERT_EQ(outcome->plan.suites.size(), 3u);
  for (const Case& test : outcome->plan.cases) {
    EXPECT_TRUE(test.id.starts_with(outcome->plan.suites[test.suite].name)) << test.id;
  }
  EXPECT_EQ(outcome->plan.suites[0].policy.stall, std::optional<Milliseconds>(60s));
  EXPECT_EQ(outcome->plan.suites[1].kind, &gtest_kind());
  EXPECT_EQ(outcome->plan.suites[1].kind_reason, "lists GoogleTest tests");
  EXPECT_EQ(outcome->plan.suites[1].policy.stall, std::nullopt);
  EXPECT_EQ(outcome->plan.suites[2].kind, &command_kind());
  EXPECT_TRUE(outcome->warnings.empty());
}

TEST_F(PlannerTest, AdHocGtestNeedsNoConfig) {
  SelectionOptions options;
  options.command = {testing_support::sample_gtest()};
  const Result<PlanOutcome> outcome = plan("", options);
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_EQ(outcome->plan.suites[0].kind, &gtest_kind());
  EXPECT_EQ(outcome->plan.cases.size(), 8u);
  EXPECT_EQ(outcome->plan.cases[0].policy.timeout, 5min);
}

// GTEST_TOTAL_SHARDS of the caller would make a process run no test and exit 0. GoogleTest refuses a process
// that has only one of the two sharding variables.
TEST_F(PlannerTest, GtestCasesDoNotInheritSharding) {
  const Result<PlanOutcome> outcome = plan(gtest_suite("unit"));
  ASSERT_TRUE(outcome);
  const std::map<std::string, std::string>& settled = outcome->plan.suites[0].env;
  for (const std::map<std::string, std::string>& caller :
       {std::map<std::string, std::string>{},
        std::map<std::string, std::string>{{"GTEST_TOTAL_SHARDS", "100"}, {"GTEST_SHARD_INDEX", "99"}}}) {
    std::map<std::string, std::string> env = settled;
    env.insert(caller.begin(), caller.end());
    const Result<ListOutput> out =
        run_listing({.argv = outcome->plan.cases[0].argv, .env = env, .directory = scratch_.path()});
    ASSERT_TRUE(out);
    EXPECT_THAT(out->stdout_text, HasSubstr("Running 1 test")) << out->stderr_tail;
  }
}

// Variables of the caller that leave tests out are not passed on, and a warning names them.
TEST_F(PlannerTest, WarnsAboutFiltersOfCaller) {
  caller_ = {{"GTEST_FILTER", "Plain.Passes"},
             {"TESTBRIDGE_TEST_ONLY", "None.*"},
             {"GTEST_COLOR", "yes"},
             {"PYTEST_ADDOPTS", "-k none"}};
  const Result<PlanOutcome> outcome = plan(gtest_suite("unit"));
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_EQ(outcome->plan.cases.size(), 8u);
  EXPECT_THAT(warnings(*outcome),
              ElementsAre(HasSubstr("`GTEST_FILTER=Plain.Passes` of the caller is not passed on"),
                          HasSubstr("`TESTBRIDGE_TEST_ONLY=None.*` of the caller")));
  const Result<PlanOutcome> own = plan(gtest_suite("unit") + "env.GTEST_FILTER = \"*\"\n");
  ASSERT_TRUE(own) << own.error().what;
  EXPECT_EQ(own->plan.cases.size(), 8u);
  EXPECT_THAT(warnings(*own), ElementsAre(HasSubstr("TESTBRIDGE_TEST_ONLY")));
}

// The suite itself sets these variables, so they cannot be dropped.
TEST_F(PlannerTest, RejectsFiltersInSuiteEnvironment) {
  const std::pair<std::string, std::string> rows[] = {
      {"GTEST_FILTER=Plain.*", "Use --filter, or --gtest_filter in its command."},
      {"TESTBRIDGE_TEST_ONLY=Plain.*", "Use --filter, or --gtest_filter in its command."},
      {"GTEST_TOTAL_SHARDS=2", "Use --shard."},
      {"GTEST_SHARD_INDEX=1", "Use --shard."},
      {"GTEST_REPEAT=2", "Use --repeat."},
      {"GTEST_LIST_TESTS=1", "Use `proctor list`."},
      {"GTEST_ALSO_RUN_DISABLED_TESTS=1", "Use --gtest_also_run_disabled_tests in its command."}};
  for (const auto& [variable, instead] : rows) {
    const std::size_t equals = variable.find('=');
    const std::string key =
        "env." + variable.substr(0, equals) + " = \"" + variable.substr(equals + 1) + "\"\n";
    SelectionOptions options;
    options.env = {variable};
    for (const auto& refused : {plan(gtest_suite("unit") + key), plan(gtest_suite("unit"), options)}) {
      ASSERT_FALSE(refused) << variable;
      EXPECT_EQ(refused.error().kind, ErrorKind::kUsage) << variable;
      EXPECT_THAT(refused.error().what, HasSubstr("`" + variable + "` in its environment"));
      EXPECT_EQ(refused.error().hint, instead);
    }
  }
  SelectionOptions whole;
  whole.env = {"GTEST_TOTAL_SHARDS=1", "GTEST_SHARD_INDEX=0", "GTEST_COLOR=yes", "PYTEST_ADDOPTS=-k x"};
  EXPECT_TRUE(plan(gtest_suite("unit"), whole));
}

// Options of pytest can be necessary for a suite, so they are passed on. They become part of the plan, with a
// warning.
TEST_F(PlannerTest, CallerPytestFiltersBecomePartOfPlan) {
  const auto plan_with = [&](const std::map<std::string, std::string>& caller, const std::string& env = "") {
    caller_ = caller;
    const std::string pytest = scratch_.write_script(
        "pytest", R"(echo '{"v":1,"event":"case","case":"t.py::f","file":"t.py","name":"f",)"
                  R"("classname":"t","markers":{}}' >&3)");
    auto outcome = plan("[suite.py]\ncommand = [\"" + pytest + "\"]\n" + env);
    EXPECT_TRUE(outcome) << outcome.error().what;
    return *std::move(outcome);
  };
  const PlanOutcome plain = plan_with({});
  const PlanOutcome filtered = plan_with({{"PYTEST_ADDOPTS", "-k fast"}, {"PYTEST_PLUGINS", ""}});
  EXPECT_THAT(warnings(plain), testing::IsEmpty());
  EXPECT_THAT(warnings(filtered),
              ElementsAre(HasSubstr("`PYTEST_ADDOPTS=-k fast` of the caller is passed on")));
  EXPECT_EQ(filtered.plan.suites[0].env.at("PYTEST_ADDOPTS"), "-k fast");
  EXPECT_NE(plan_digest(filtered.plan), plan_digest(plain.plan));
  // Other options do not select tests, and may differ between machines.
  for (const char* harmless : {"--color=yes", "-vrs -p no:cacheprovider", "--basetemp='/tmp/job -k 1'"}) {
    const PlanOutcome same = plan_with({{"PYTEST_ADDOPTS", harmless}, {"PYTEST_PLUGINS", "some.plugin"}});
    EXPECT_EQ(plan_digest(same.plan), plan_digest(plain.plan)) << harmless;
    EXPECT_EQ(same.plan.suites[0].env, plain.plan.suites[0].env) << harmless;
  }
  for (const char* filter :
       {"-vk fast", "'-kfast'", "-q \"--deselect=t.py::f\"", "--color=yes -x", "--maxfail 1"})
    EXPECT_EQ(plan_with({{"PYTEST_ADDOPTS", filter}}).plan.suites[0].filters.size(), 1u) << filter;
  const std::string own_options = "env.PYTEST_ADDOPTS = \"-q\"\nenv.PYTEST_PLUGINS = \"some.plugin\"\n";
  const PlanOutcome own = plan_with({{"PYTEST_ADDOPTS", "-k fast"}}, own_options);
  EXPECT_THAT(warnings(own), testing::IsEmpty());
  EXPECT_EQ(own.plan.suites[0].env.at("PYTEST_ADDOPTS"), "-q");
  SelectionOptions typed;
  typed.env = {"PYTEST_ADDOPTS=-q -k fast"};
  const auto refused = plan("[suite.py]\ncommand = [\"" + scratch_.path() + "/pytest\"]\n", typed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().hint, "Use --filter, or write the options into its command.");
}

TEST_F(PlannerTest, GtestSuiteRunsInOneProcess) {
  const std::string toml = "[suite.unit]\nprocess = \"suite\"\ncommand = [\"";
  const Result<PlanOutcome> reported = plan(toml + testing_support::listener_gtest() + "\"]\n");
  ASSERT_TRUE(reported) << reported.error().what;
  EXPECT_TRUE(reported->plan.suites[0].listener);
  EXPECT_GT(reported->plan.cases.size(), 10u);
  EXPECT_EQ(reported->plan.cases[0].group, "*");
  EXPECT_EQ(reported->plan.suites[0].env.at("GTEST_TOTAL_SHARDS"), "1");
  EXPECT_TRUE(reported->warnings.empty());

  const Result<PlanOutcome> untold = plan(toml + testing_support::sample_gtest() + "\"]\n");
  ASSERT_TRUE(untold) << untold.error().what;
  EXPECT_FALSE(untold->plan.suites[0].listener);
  EXPECT_THAT(untold->plan.cases, testing::Each(testing::Field(&Case::group, "*")))
      << "GoogleTest itself tells of them";
  EXPECT_EQ(untold->plan.suites[0].env.at("GTEST_TOTAL_SHARDS"), "1") << "a caller's shard is not the whole";
  EXPECT_TRUE(untold->warnings.empty());
}

TEST_F(PlannerTest, NamesExcludeKeyThatRemovesAllCases) {
  const std::string toml = gtest_suite("unit") + "[run]\nexclude = [\"unit/*\"]\n";
  const auto refused = plan(toml);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "No case is selected: the key `exclude` of proctor.toml excludes all of them");
  SelectionOptions typed;
  typed.excludes = {"unit/Plain.*"};
  EXPECT_TRUE(plan(toml, typed)) << "the option replaces the key";
  typed = {};
  typed.may_be_empty = true;
  EXPECT_TRUE(plan(toml, typed));
}

TEST_F(PlannerTest, WarnsAboutUnusedExcludePattern) {
  const auto outcome = plan(gtest_suite("unit") + "[run]\nexclude = [\"unit/Gone.*\"]\n");
  ASSERT_TRUE(outcome) << outcome.error().what;
  ASSERT_EQ(outcome->warnings.size(), 1u);
  EXPECT_EQ(outcome->warnings[0].code, WarningCode::kExcludeUnused);
  EXPECT_EQ(outcome->warnings[0].text, "`exclude`: the pattern `unit/Gone.*` matches no case");
}

TEST_F(PlannerTest, OverridesApplyPerCase) {
  const Result<PlanOutcome> outcome = plan(
      gtest_suite("unit") + "timeout = \"9s\"\n[[override]]\nmatch = \"unit/Plain.P*\"\ntimeout = \"20m\"\n");
  ASSERT_TRUE(outcome) << outcome.error().what;
  for (const Case& test : outcome->plan.cases) {
    const Milliseconds expected = test.id == "unit/Plain.Passes" ? Milliseconds(20min) : Milliseconds(9s);
    EXPECT_EQ(test.policy.timeout, expected) << test.id;
  }
}

TEST_F(PlannerTest, ReplacedAndUnusedOverridesAreWarnings) {
  const std::string toml =
      "[suite.a]\ncommand = [\"true\"]\n[[override]]\nmatch = \"a/*\"\nretries = 2\n"
      "[[override]]\nmatch = \"b/*\"\nretries = 2\n[profile.p]\nretries = 1\n";
  LimitOptions limits;
  limits.retries = "5";
  const Result<PlanOutcome> by_option = plan(toml, {}, limits);
  ASSERT_TRUE(by_option);
  EXPECT_THAT(warnings(*by_option),
              ElementsAre("--retries replaces `retries` of the override for `a/*` (proctor.toml:3)",
                          "proctor.toml:6: override for `b/*` matches no case"));
  const Result<PlanOutcome> by_profile = plan(toml, {}, {}, "p");
  ASSERT_TRUE(by_profile);
  EXPECT_THAT(warnings(*by_profile)[0],
              "the profile replaces `retries` of the override for `a/*` (proctor.toml:3)");
}

TEST_F(PlannerTest, IgnoresOverrideForUnselectedSuite) {
  SelectionOptions options;
  options.suites = {"a"};
  std::string toml = "[suite.a]\ncommand = [\"true\"]\n[suite.b]\ncommand = [\"true\"]\n";
  for (const char* match : {"b/*", "*moe*", "visibility.xpu/*", "visibility/x", "a/gone*", "c/*"}) {
    toml += std::string("[[override]]\nmatch = \"") + match + "\"\n";
  }
  const Result<PlanOutcome> outcome = plan(toml, options, {}, "", {builtin("visibility", Backend::kXpu)});
  ASSERT_TRUE(outcome);
  EXPECT_THAT(warnings(*outcome), ElementsAre("proctor.toml:13: override for `a/gone*` matches no case",
                                              "proctor.toml:15: override for `c/*` matches no case"));
}

TEST_F(PlannerTest, WarnsAboutUnusedAndExpiredSkips) {
  const std::string rest = "reason = \"why\"\nowner = \"jane\"\nexpires = ";
  std::string toml = gtest_suite("unit") + "[suite.b]\ncommand = [\"true\"]\n";
  for (const char* match : {"unit/Plain.P*", "unit/Gone*", "b/*", "c/*"})
    toml += fmt::format("[[skip]]\ncase = \"{}\"\n{}2999-01-01\n", match, rest);
  toml += "[[skip]]\ncase = \"unit/*\"\n" + rest + "2001-01-01\n";
  SelectionOptions options;
  options.suites = {"unit"};
  options.filters = {"unit/Plain.*"};
  const Result<PlanOutcome> outcome = plan(toml, options);
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_THAT(
      warnings(*outcome),
      ElementsAre("proctor.toml:25: skip of `unit/*` (why, jane) expired on 2001-01-01; its cases run",
                  "proctor.toml:10: skip of `unit/Gone*` matches no case",
                  "proctor.toml:20: skip of `c/*` matches no case"));
  for (const Case& test : outcome->plan.cases)
    EXPECT_EQ(test.config_skip != nullptr, test.id.starts_with("unit/Plain.P")) << test.id;
  options.filters = {"unit/Plain.F*"};
  const Result<PlanOutcome> fewer = plan(toml, options);
  ASSERT_TRUE(fewer);
  EXPECT_EQ(fewer->warnings.size(), outcome->warnings.size()) << "what a filter left out was there";
}

TEST_F(PlannerTest, OnlyPytestHasFilesAndMarkers) {
  const Result<PlanOutcome> file =
      plan("[suite.a]\nkind = \"gtest\"\nprocess = \"file\"\ncommand = [\"true\"]\n");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().what,
            "plan suite `a` (proctor.toml:1): process = \"file\" with kind \"gtest\" is not supported yet");
  const Result<PlanOutcome> marker = plan(
      "[suite.a]\nkind = \"command\"\nbackend = \"xpu\"\ngpus = \"marker:gpus\"\ncommand = [\"true\"]\n");
  ASSERT_FALSE(marker);
  EXPECT_EQ(
      marker.error().what,
      "plan suite `a` (proctor.toml:1): gpus = \"marker:...\" with kind \"command\" is not supported yet");
}

TEST_F(PlannerTest, PrependsPluginToPythonPath) {
  const char* list =
      "echo "
      "'{\"v\":1,\"event\":\"case\",\"case\":\"t\",\"file\":\"t.py\",\"name\":\"'$PYTHONPATH'\",\"markers\":{"
      "}}' >&3";
  SelectionOptions options;
  options.command = {scratch_.write_script("pytest", list), "-q"};
  const Result<PlanOutcome> ad_hoc = plan("", options);
  ASSERT_TRUE(ad_hoc) << ad_hoc.error().what;
  EXPECT_EQ(ad_hoc->plan.suites.at(0).kind, &pytest_kind());
  EXPECT_EQ(ad_hoc->plan.suites.at(0).process, "file");
  EXPECT_EQ(ad_hoc->plan.cases.at(0).group, "t.py");
  EXPECT_EQ(ad_hoc->plan.cases.at(0).name, "/plugin:/own");
  const Result<PlanOutcome> configured =
      plan("[suite.a]\ncommand = [\"" + scratch_.path() + "/pytest\"]\nenv.PYTHONPATH = \"/suites\"\n");
  ASSERT_TRUE(configured) << configured.error().what;
  EXPECT_EQ(configured->plan.cases.at(0).name, "/plugin:/suites");
}

TEST_F(PlannerTest, AcceptsSkipCodeOnlyForCommand) {
  const auto outcome = plan("[suite.a]\nkind = \"gtest\"\nskip_code = 77\ncommand = [\"true\"]\n");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().what,
            "plan suite `a` (proctor.toml:1): skip_code with kind \"gtest\" is not supported yet");
  const auto command = plan("[suite.a]\nkind = \"command\"\nskip_code = 77\ncommand = [\"true\"]\n");
  ASSERT_TRUE(command) << command.error().what;
  EXPECT_EQ(command->plan.suites.at(0).skip_code, 77);
}

TEST_F(PlannerTest, BenchmarksInOneProcessAreRefused) {
  const Result<PlanOutcome> outcome =
      plan("[suite.a]\nkind = \"benchmark\"\nprocess = \"suite\"\ncommand = [\"true\"]\n");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(
      outcome.error().what,
      "plan suite `a` (proctor.toml:1): process = \"suite\" with kind \"benchmark\" is not supported yet");
}

TEST_F(PlannerTest, IgnoresUnsupportedUnselectedSuite) {
  SelectionOptions options;
  options.suites = {"b"};
  EXPECT_TRUE(
      plan("[suite.a]\nkind = \"benchmark\"\nprocess = \"suite\"\ncommand = [\"nowhere\"]\n"
           "[suite.b]\ncommand = [\"true\"]\n",
           options));
}

TEST_F(PlannerTest, MissingExecutableNamesSuiteAndPlace) {
  const Result<PlanOutcome> outcome = plan("[suite.a]\nkind = \"command\"\ncommand = [\"./nowhere\"]\n");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().what,
              HasSubstr("Suite `a` (proctor.toml:1) cannot start: `./nowhere` does not exist"));
}

TEST_F(PlannerTest, SearchesPathOfSuite) {
  scratch_.write_script("own/tool", "");
  EXPECT_TRUE(plan("[suite.a]\ncommand = [\"tool\"]\nenv.PATH = \"" + scratch_.path() + "/own\"\n"));
  EXPECT_FALSE(plan("[suite.a]\ncommand = [\"tool\"]\n"));
}

// The suite becomes one failing case with its name and the output of its program. Other suites are unchanged.
TEST_F(PlannerTest, UnlistedSuiteBecomesOneCase) {
  const std::string broken = "[suite.broken]\nkind = \"gtest\"\ncommand = [\"" +
                             scratch_.write_script("broken", "echo no such library >&2; exit 3") +
                             "\"]\n[suite.fine]\nkind = \"command\"\ncommand = [\"true\"]\n";
  EXPECT_EQ(plan(broken).error().kind, ErrorKind::kUnlisted) << "who prints the plan is refused";
  SelectionOptions options;
  options.keep_unlisted = true;
  const Result<PlanOutcome> outcome = plan(broken, options);
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_THAT(ids(*outcome), ElementsAre("broken", "fine/true"));
  const Case& red = outcome->plan.cases.front();
  EXPECT_THAT(red.unlisted, HasSubstr("exited with 3"));
  EXPECT_THAT(red.unlisted, HasSubstr("no such library"));
  EXPECT_EQ(outcome->plan.suites[red.suite].name, "broken");
  const auto overridden = plan(broken + "[[override]]\nmatch = \"broken/*\"\ntimeout = \"5s\"\n", options);
  ASSERT_TRUE(overridden) << overridden.error().what;
  EXPECT_TRUE(warnings(*overridden).empty()) << "nobody knows what the override matches";
  EXPECT_FALSE(plan("[suite.a]\nkind = \"gtest\"\ncommand = [\"./nowhere\"]\n", options))
      << "what does not exist is a mistake in the configuration";
}

// A dashboard identifies a test by this name, independent of the suites of a run.
TEST_F(PlannerTest, JunitNameIsIndependentOfOtherSuites) {
  const auto names = [&](const std::string& toml, const SelectionOptions& options) {
    std::map<std::string, std::pair<std::string, std::string>> found;
    const Result<PlanOutcome> outcome = plan(toml, options);
    EXPECT_TRUE(outcome) << outcome.error().what;
    if (!outcome) return found;
    for (const Case& test : outcome->plan.cases) found[test.id] = {test.classname, test.name};
    return found;
  };
  const auto expect_the_same = [&](const std::string& toml, const std::string& classname) {
    const auto together = names(toml, {});
    EXPECT_EQ(together.at("a/Plain.Passes"), std::pair(classname, std::string("Passes")));
    std::set<std::pair<std::string, std::string>> distinct;
    for (const auto& [id, name] : together) distinct.insert(name);
    EXPECT_EQ(distinct.size(), together.size());
    for (const std::string suite : {"a", "b"}) {
      SelectionOptions alone;
      alone.suites = {suite};
      for (const auto& [id, name] : names(toml, alone)) EXPECT_EQ(name, together.at(id)) << id;
      if (suite == "a") alone.filters = {"Plain.Passes"};
      for (const auto& [id, name] : names(toml, alone)) EXPECT_EQ(name, together.at(id)) << id;
    }
  };
  const std::string unsaid = gtest_suite("a") + gtest_suite("b");
  const std::string said = gtest_suite("a") + "kind = \"gtest\"\n" + gtest_suite("b") + "kind = \"gtest\"\n";
  expect_the_same(unsaid, "a.Plain");
  expect_the_same(said, "a.Plain");
  expect_the_same(gtest_suite("a") + "[suite.b]\ncommand = [\"true\"]\n", "a.Plain");
  expect_the_same(gtest_suite("a") + "[suite.b]\nkind = \"command\"\ncommand = [\"true\"]\n", "Plain");
  expect_the_same(gtest_suite("a") + "junit_classname = \"framework\"\n[suite.b]\ncommand = [\"true\"]\n",
                  "Plain");
  EXPECT_EQ(names(gtest_suite("a"), {}).at("a/Plain.Passes").first, "Plain");
  EXPECT_EQ(names(gtest_suite("a") + "junit_classname = \"suite\"\n", {}).at("a/Plain.Passes").first,
            "a.Plain");
  SelectionOptions ad_hoc;
  ad_hoc.command = {testing_support::sample_gtest()};
  ad_hoc.name = "c";
  EXPECT_EQ(names(unsaid, ad_hoc).at("c/Plain.Passes").first, "Plain");
  ad_hoc.joined = true;  // the other suites of that report are unknown
  EXPECT_EQ(names(unsaid, ad_hoc).at("c/Plain.Passes").first, "c.Plain");
  const auto wrong = plan(gtest_suite("a") + "junit_classname = \"group\"\n");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().what, HasSubstr("junit_classname"));
}

TEST(JunitNames, DuplicateNamesIncludeCaseId) {
  SuiteConfig suite;
  suite.suite.name = "a";
  suite.suite.kind = &gtest_kind();
  std::vector<Case> cases(3);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].id = "a/" + std::to_string(i);
    cases[i].classname = "C";
    cases[i].name = i == 2 ? "other" : "same";
  }
  name_for_junit(Config{}, suite, cases);
  EXPECT_EQ(cases[0].name, "same [a/0]");
  EXPECT_EQ(cases[1].name, "same [a/1]");
  EXPECT_EQ(cases[2].name, "other");
}

TEST_F(PlannerTest, IdsAreUniqueOverTheWholePlan) {
  const BuiltinSuite twice = builtin("visibility", Backend::kXpu);
  const Result<PlanOutcome> outcome = plan("", {}, {}, "", {twice, twice});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(outcome.error().what,
            "Suites `visibility` (built in) and `visibility` (built in) both have the case "
            "visibility.xpu/A.One");
}

}  // namespace
}  // namespace proctor
