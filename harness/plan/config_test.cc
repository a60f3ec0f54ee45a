#include "harness/plan/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "harness/base/named_file.h"
#include "harness/base/toml_reader.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/frameworks/command.h"
#include "harness/frameworks/gtest.h"
#include "harness/frameworks/proctor.h"
#include "harness/frameworks/pytest.h"
#include "harness/plan/config_fixture.h"
#include "harness/plan/config_tables.h"

namespace proctor {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// ----------------------------------------------------------------------------------------------

TEST_F(ConfigTest, HasDefaultsWithoutAnyFile) {
  const Result<Config> config = load();
  ASSERT_TRUE(config);
  const SuiteConfig& builtin = suite(*config, "visibility");
  EXPECT_EQ(builtin.suite.command, std::vector<std::string>{"bin/visibility_xpu"});
  EXPECT_EQ(builtin.suite.origin, "built in");
  using Limit = std::optional<Milliseconds>;
  struct Row {
    const Kind& kind;
    Limit timeout, stall;
  };
  for (const Row& row : {Row{proctor_kind(), 60s, 60s}, Row{gtest_kind(), 5min, {}},
                         Row{pytest_kind(), 5min, {}}, Row{command_kind(), {}, 30min}}) {
    const CasePolicy policy = resolve_policy(*config, builtin, &row.kind, "x");
    EXPECT_EQ(policy.timeout, row.timeout) << row.kind.name();
    EXPECT_EQ(policy.stall, row.stall) << row.kind.name();
    EXPECT_EQ(policy.grace, 10s);
    EXPECT_EQ(policy.retries, 0);
  }
}

TEST_F(ConfigTest, ReadsEveryKeyOfASuite) {
  const Result<Config> config = load(R"(
min_version = "0.1"
[suite.attention]
kind = "gtest"
command = ["build/t", "-v"]
backend = "cuda"
process = "suite"
mask = "index"
labels = ["slow"]
timeout = "2m"
grace = "1s"
stall = "30s"
retries = 2
leaks = "fail"
env.A = "1"
)");
  ASSERT_TRUE(config) << config.error().what;
  const SuiteConfig& found = suite(*config, "attention");
  EXPECT_EQ(found.kind, &gtest_kind());
  EXPECT_THAT(found.suite.command, ElementsAre("build/t", "-v"));
  EXPECT_EQ(found.suite.backend, Backend::kCuda);
  EXPECT_EQ(found.suite.devices, 1);
  EXPECT_EQ(found.suite.process, "suite");
  EXPECT_EQ(found.suite.mask, "index");
  EXPECT_THAT(found.suite.labels, ElementsAre("slow"));
  EXPECT_THAT(found.suite.env, ElementsAre(Pair("A", "1")));
  EXPECT_EQ(found.suite.origin, "proctor.toml:3");
  EXPECT_EQ(found.suite.directory, scratch_.path());
  const CasePolicy policy = resolve_policy(*config, found, &gtest_kind(), "");
  EXPECT_EQ(policy.timeout, 2min);
  EXPECT_EQ(policy.grace, 1s);
  EXPECT_EQ(policy.stall, std::optional<Milliseconds>(30s));
  EXPECT_EQ(policy.retries, 2);
  EXPECT_TRUE(policy.leaks_fail);
}

TEST_F(ConfigTest, ConfigFileSetsDirectoryOfSuites) {
  scratch_.write("sub/other.toml", "[suite.a]\ncommand = [\"./x\"]\n");
  scratch_.write("proctor.toml", "[suite.unwanted]\ncommand = [\"./x\"]\n");
  const Result<Config> config = load_config({scratch_.path(), "sub/other.toml", "", ""}, {}, {});
  ASSERT_TRUE(config) << config.error().what;
  ASSERT_EQ(config->suites.size(), 1u);
  EXPECT_EQ(config->suites[0].suite.directory, scratch_.path() + "/sub");
  EXPECT_EQ(config->suites[0].suite.origin, "sub/other.toml:1");
}

TEST_F(ConfigTest, SuiteCanSetDirectory) {
  const Result<Config> config = load(
      "[suite.a]\ncommand = [\"./x\"]\ndirectory = \"sub/../data\"\n"
      "[suite.b]\ncommand = [\"./x\"]\ndirectory = \"/srv\"\n",
      "");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(suite(*config, "a").suite.directory, scratch_.path() + "/data");
  EXPECT_EQ(suite(*config, "b").suite.directory, "/srv");
}

TEST_F(ConfigTest, FilesMergeKeyByKey) {
  const Result<Config> config =
      load("[suite.a]\nretries = 3\nenv.B = \"2\"\n",
           "[suite.a]\ncommand = [\"x\"]\nretries = 1\ngrace = \"7s\"\nenv.A = \"1\"\n");
  ASSERT_TRUE(config) << config.error().what;
  const SuiteConfig& found = suite(*config, "a");
  const CasePolicy policy = resolve_policy(*config, found, &command_kind(), "");
  EXPECT_EQ(policy.retries, 3);
  EXPECT_EQ(policy.grace, 7s);
  EXPECT_THAT(found.suite.env, ElementsAre(Pair("A", "1"), Pair("B", "2")));
}

TEST_F(ConfigTest, MergesEnvironmentLayers) {
  const std::string text =
      "[defaults.env]\nA = \"d\"\nB = \"d\"\nC = \"d\"\n"
      "[suite.a]\ncommand = [\"x\"]\nenv = {B = \"s\", C = \"s\"}\n[profile.p.env]\nC = \"p\"\n";
  const Result<Config> config = load(text, "", {}, "p");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(suite(*config, "a").suite.env, ElementsAre(Pair("A", "d"), Pair("B", "s"), Pair("C", "p")));
}

TEST_F(ConfigTest, OverridesSettingsOfBuiltInSuite) {
  const Result<Config> config = load("[suite.visibility]\ntimeout = \"5m\"\nlabels = [\"x\"]\n");
  ASSERT_TRUE(config) << config.error().what;
  const SuiteConfig& found = suite(*config, "visibility");
  EXPECT_TRUE(found.built_in);
  EXPECT_EQ(resolve_policy(*config, found, &proctor_kind(), "").timeout, 5min);
}

// The test sets every combination of the layers that can set a limit, and compares the result with the
// documented order.
TEST_F(ConfigTest, AppliesDocumentedPrecedenceOfLayers) {
  constexpr int kLayers = 8;  // the weakest layer first
  for (unsigned set = 0; set < (1u << kLayers); ++set) {
    const auto has = [&](int layer) { return (set >> layer & 1) != 0; };
    const auto key = [&](int layer) {
      return has(layer) ? fmt::format("retries = {}\n", layer + 1) : std::string();
    };
    const std::string user = "[defaults]\n" + key(0) + "[defaults.command]\n" + key(1);
    const std::string project = "[defaults]\n" + key(2) + "[defaults.command]\n" + key(3) +
                                "[suite.a]\ncommand = [\"x\"]\n" + key(4) +
                                "[[override]]\nmatch = \"a/*\"\n" + key(5) + "[profile.p]\n" + key(6);
    LimitOptions options;
    if (has(7)) options.retries = "8";
    const Result<Config> config = load(project, user, options, "p");
    ASSERT_TRUE(config) << config.error().what;
    int expected = 0;
    for (int layer = 0; layer < kLayers; ++layer) {
      if (has(layer)) expected = layer + 1;
    }
    ASSERT_EQ(resolve_policy(*config, suite(*config, "a"), &command_kind(), "a/x").retries, expected) << set;
  }
}

TEST_F(ConfigTest, LastMatchingOverrideWinsKeyByKey) {
  const Result<Config> config = load(
      "[suite.a]\ncommand = [\"x\"]\n[[override]]\nmatch = \"a/*\"\nretries = 1\ngrace = \"3s\"\n"
      "[[override]]\nmatch = \"a/b*\"\nretries = 2\n");
  ASSERT_TRUE(config) << config.error().what;
  const CasePolicy b = resolve_policy(*config, suite(*config, "a"), &command_kind(), "a/bb");
  EXPECT_EQ(b.retries, 2);
  EXPECT_EQ(b.grace, 3s);
  EXPECT_EQ(resolve_policy(*config, suite(*config, "a"), &command_kind(), "a/c").retries, 1);
}

TEST_F(ConfigTest, LimitsCanBeSwitchedOffAndOn) {
  const Result<Config> off = load("[suite.visibility]\nstall = \"off\"\ntimeout = \"off\"\n");
  ASSERT_TRUE(off);
  const CasePolicy policy = resolve_policy(*off, suite(*off, "visibility"), &proctor_kind(), "");
  EXPECT_EQ(policy.timeout, std::nullopt);
  EXPECT_EQ(policy.stall, std::nullopt);
  const Result<Config> on =
      load("[defaults]\ntimeout = \"2m\"\n", "", {.timeout = "off", .grace = {}, .stall = {}, .retries = {}});
  ASSERT_TRUE(on);
  EXPECT_EQ(resolve_policy(*on, suite(*on, "visibility"), &command_kind(), "").timeout, std::nullopt);
  const Result<Config> all = load("[defaults]\ntimeout = \"2m\"\n");
  ASSERT_TRUE(all);
  EXPECT_EQ(resolve_policy(*all, suite(*all, "visibility"), &command_kind(), "").timeout, 2min)
      << "a file's [defaults] is stronger than the built-in [defaults.command]";
}

TEST_F(ConfigTest, TelemetryIsReadAndBounded) {
  const auto embedded = load("");
  ASSERT_TRUE(embedded) << embedded.error().what;
  EXPECT_EQ(embedded->run.devices.telemetry, 10);
  const auto own = load("[run]\ntelemetry = 0\n");
  ASSERT_TRUE(own) << own.error().what;
  EXPECT_EQ(own->run.devices.telemetry, 0);
  for (const std::string bad : {"-1", "101", "\"10Hz\""})
    EXPECT_FALSE(load("[run]\ntelemetry = " + bad + "\n")) << bad;
}

TEST_F(ConfigTest, ReadsRunKeysAndDefaults) {
  const auto embedded = load("");
  ASSERT_TRUE(embedded) << embedded.error().what;
  const RunRequest& defaults = embedded->run;
  EXPECT_EQ(defaults.reports.keep, 50);
  EXPECT_EQ(defaults.reports.stack_root, "/");
  EXPECT_EQ(defaults.machine.state_dir, "");
  EXPECT_EQ(defaults.devices.memory_wait, 60s);
  EXPECT_EQ(defaults.schedule.order, "longest");
  const auto own = load(
      "[run]\nkeep = 0\nstack_root = \"host\"\nstate_dir = \"/leases\"\nmemory_wait = \"0s\"\norder = "
      "\"planned\"\n");
  ASSERT_TRUE(own) << own.error().what;
  EXPECT_EQ(own->run.reports.keep, 0);
  EXPECT_EQ(own->run.reports.stack_root, scratch_.path() + "/host");
  EXPECT_EQ(own->run.machine.state_dir, "/leases");
  EXPECT_EQ(own->run.devices.memory_wait, 0s);
  EXPECT_EQ(own->run.schedule.order, "planned");
  for (const std::string bad : {"keep = -1", "stack_root = \"\"", "state_dir = 7", "memory_wait = \"soon\"",
                                "order = \"random\"", "kept = 5"})
    EXPECT_FALSE(load("[run]\n" + bad + "\n")) << bad;
}

TEST_F(ConfigTest, ReadsRunKeysOfOptions) {
  const auto own = load(
      "[run]\njobs = 3\nexclude = [\"*slow*\"]\nknown_failures = \"known.toml\"\nhistory = \"runs.db\"\n"
      "junit = \"out/junit.xml\"\ndeadline = \"1h\"\nfail_fast = true\nstrict = true\nmin_executed = 5\n"
      "fail_on_skip = \"needs*\"\nrepeat = \"25\"\nlease_wait = \"5m\"\ncontainment = \">=cgroup\"\n"
      "show_output = \"all\"\ndurations = 3\ncolor = \"never\"\neach_device = true\n");
  ASSERT_TRUE(own) << own.error().what;
  EXPECT_EQ(own->run.schedule.jobs, 3);
  EXPECT_THAT(own->run.selection.excludes, testing::ElementsAre("*slow*"));
  EXPECT_EQ(own->run.verdicts.known_failures, scratch_.path() + "/known.toml");
  EXPECT_EQ(own->run.reports.history, scratch_.path() + "/runs.db");
  EXPECT_EQ(own->run.reports.junit, scratch_.path() + "/out/junit.xml");
  EXPECT_EQ(own->run.schedule.deadline, 1h);
  EXPECT_EQ(own->run.schedule.fail_fast, 1);
  EXPECT_EQ(own->run.rules.strict, true);
  EXPECT_EQ(own->run.rules.min_executed, 5);
  EXPECT_EQ(own->run.rules.fail_on_skip, "needs*");
  EXPECT_EQ(own->run.schedule.repeat, "25");
  EXPECT_EQ(own->run.devices.lease_wait, 5min);
  EXPECT_EQ(own->run.machine.containment, ">=cgroup");
  EXPECT_EQ(own->run.console.show_output, "all");
  EXPECT_EQ(own->run.console.durations, 3);
  EXPECT_EQ(own->run.console.colour, "never");
  EXPECT_EQ(own->run.rules.each_device, true);
  EXPECT_EQ(load("[run]\nfail_fast = 7\n")->run.schedule.fail_fast, 7);
  EXPECT_EQ(load("[run]\nfail_fast = false\n")->run.schedule.fail_fast, 0);
}

TEST_F(ConfigTest, ProfileOverridesRunKeys) {
  const std::string text = "[run]\njobs = 3\ndeadline = \"1h\"\n[profile.ci.run]\njobs = 1\nstrict = true\n";
  const auto plain = load(text);
  ASSERT_TRUE(plain) << plain.error().what;
  EXPECT_EQ(plain->run.schedule.jobs, 3);
  EXPECT_FALSE(plain->run.rules.strict);
  const auto ci = load(text, "", {}, "ci");
  ASSERT_TRUE(ci) << ci.error().what;
  EXPECT_EQ(ci->run.schedule.jobs, 1);
  EXPECT_EQ(ci->run.schedule.deadline, 1h);
  EXPECT_EQ(ci->run.rules.strict, true);
}

TEST_F(ConfigTest, BadRunKeysNameFileAndValue) {
  const struct {
    const char* key;
    const char* what;
  } rows[] = {{"jobs = 0", "`jobs` in [run] is 0, but must be a whole number from 1 to 10000"},
              {"repeat = \"often\"", "`repeat`: `often` is not a way to repeat cases"},
              {"flaky = \"pass\"", "`flaky`: `pass` must be fail, or pass with a whole percentage"},
              {"containment = \"cgrup\"", "`containment`: `cgrup` is not a containment layer"},
              {"color = \"red\"", "`color` in [run] is \"red\", but must be one of auto, always, never"},
              {"deadline = \"soon\"", "`deadline` in [run]: 'soon' is not a duration"},
              {"fail_fast = \"yes\"", "`fail_fast` in [run] is"},
              {"exclude = \"slow\"", "`exclude` in [run] is"},
              {"junit = \"\"", "`junit` must not be empty"}};
  for (const auto& row : rows) {
    const auto bad = load(std::string("[run]\n") + row.key + "\n");
    ASSERT_FALSE(bad) << row.key;
    EXPECT_THAT(bad.error().message(), testing::HasSubstr("proctor.toml:2")) << row.key;
    EXPECT_THAT(bad.error().message(), testing::HasSubstr(row.what)) << row.key;
  }
}

TEST_F(ConfigTest, KeyInWrongTableSuggestsRightTable) {
  const auto jobs = load("[defaults]\njobs = 3\n");
  ASSERT_FALSE(jobs);
  EXPECT_THAT(jobs.error().message(), testing::HasSubstr("proctor.toml:2: unknown key `jobs` in [defaults]"));
  EXPECT_EQ(jobs.error().hint, "It is a key of [run].");
  EXPECT_EQ(load("[run]\ngpus = 1\n").error().hint, "It is a key of [suite.NAME].");
  EXPECT_EQ(load("timeout = \"5m\"\n").error().hint, "It is a key of [defaults].");
}

TEST_F(ConfigTest, RejectsExclusionsInUserFile) {
  for (const std::string key : {"exclude = [\"a*\"]", "known_failures = \"known.toml\""}) {
    const auto refused = load("", "[run]\n" + key + "\n");
    ASSERT_FALSE(refused) << key;
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("cannot be in the user's own file")) << key;
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("home/proctor.toml:2")) << key;
  }
  EXPECT_TRUE(load("", "[run]\njobs = 2\n"));
}

TEST_F(ConfigTest, ReadsRunTableWithoutSuites) {
  scratch_.write("proctor.toml", "[run]\nkeep = 7\n[suite.a]\ntimeout = \"no duration\"\n");
  const std::string user = scratch_.write("home/proctor.toml", "[run]\nkeep = 3\nmax_machine_failures = 1\n");
  const ConfigOptions where{scratch_.path(), "", user, ""};
  const auto files = read_config_files(where);
  ASSERT_TRUE(files) << files.error().what;
  const auto keys = load_run_keys(*files);
  ASSERT_TRUE(keys) << keys.error().what;
  EXPECT_EQ(keys->reports.keep, 7) << "the file of the project wins";
  EXPECT_EQ(keys->schedule.max_machine_failures, 1);
  EXPECT_EQ(keys->devices.telemetry, 10);
  ASSERT_EQ(files->files.size(), 2U);
  EXPECT_EQ(files->files[0].file, user);
  EXPECT_THAT(files->files[1].file, testing::EndsWith("proctor.toml"));
  scratch_.write("proctor.toml", "[rnu]\nkeep = 7\n");
  EXPECT_THAT(load_run_keys(*read_config_files(where)).error().hint, testing::HasSubstr("`run`"));
}

TEST_F(ConfigTest, AcceptsEqualMinVersion) { EXPECT_TRUE(load("min_version = \"" PROCTOR_VERSION "\"\n")); }

TEST(UserConfigFile, FollowsTheBaseDirectorySpecification) {
  EXPECT_EQ(user_config_file("/x", "/h"), "/x/proctor/proctor.toml");
  EXPECT_EQ(user_config_file("relative", "/h"), "/h/.config/proctor/proctor.toml");
  EXPECT_EQ(user_config_file("", "/h"), "/h/.config/proctor/proctor.toml");
  EXPECT_EQ(user_config_file(nullptr, "/h"), "/h/.config/proctor/proctor.toml");
  EXPECT_EQ(user_config_file(nullptr, nullptr), "");
}

// The tests below compare the reference pages with the behaviour of the program.

// ---------------------------------------------------------------------------------------

TEST_F(ConfigTest, ReferencePageExamplesAreValidAndComplete) {
  std::string page(embedded_defaults());
  page = std::regex_replace(page, std::regex("(^|\n)#: "), "$1");
  const Result<Config> config = load(page, "", {}, "ci");
  ASSERT_TRUE(config) << config.error().what;
  const Result<toml::table> root = parse_toml(page, "page");
  ASSERT_TRUE(root);
  const std::map<std::string, const toml::table*> tables = {
      {"", &*root},
      {"run", root->at_path("run").as_table()},
      {"suite", root->at_path("suite.attention").as_table()},
      {"override", root->at_path("override[0]").as_table()},
      {"group", root->at_path("group.licence").as_table()},
      {"skip", root->at_path("skip[0]").as_table()},
      {"profile", root->at_path("profile.ci").as_table()}};
  for (const auto& [name, table] : tables) {
    ASSERT_NE(table, nullptr) << name;
    for (const std::string& key : config_keys(name)) {
      EXPECT_TRUE(table->contains(key)) << "`" << key << "` of [" << name << "] is not on the page";
    }
  }
}

TEST(ConfigPage, HasARowForEachKind) {
  const Result<std::string> page =
      read_found_file(std::string(PROCTOR_SOURCE_DIR) + "/docs/reference/config.md");
  ASSERT_TRUE(page) << page.error().what;
  for (const std::string& kind : kind_names()) EXPECT_THAT(*page, HasSubstr(fmt::format("\n| {} | ", kind)));
}

}  // namespace

}  // namespace proctor
