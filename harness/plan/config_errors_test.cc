// Tests of invalid configurations: each is refused with the expected message and hint.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/devices/masks/visibility_variables.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/plan/config_fixture.h"
#include "harness/plan/config_tables.h"
#include "harness/testing/mutations.h"

namespace proctor {
namespace {

using testing::HasSubstr;

// -------------------------------------------------------------------------------------------

struct BadConfig {
  const char* name;
  const char* text;
  std::string what;
  const char* hint;
};

class BadConfigTest : public ConfigTest, public testing::WithParamInterface<BadConfig> {};

TEST_P(BadConfigTest, ErrorNamesLineAndValue) {
  const Result<Config> config = load(GetParam().text);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(config.error().what, GetParam().what);
  EXPECT_EQ(config.error().hint, GetParam().hint);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadConfigTest,
    testing::Values(
        BadConfig{"UnknownTopLevel", "[suites.a]\ncommand = [\"x\"]\n",
                  "proctor.toml:1: unknown key `suites` in the top level", "Did you mean `suite`?"},
        BadConfig{"UnknownKey", "[suite.a]\ncommand = [\"x\"]\ntimeuot = \"5s\"\n",
                  "proctor.toml:3: unknown key `timeuot` in [suite.a]", "Did you mean `timeout`?"},
        BadConfig{"UnknownFar", "[profile.ci]\nwhatever = 1\n",
                  "proctor.toml:2: unknown key `whatever` in [profile.ci]",
                  "Known keys: env, grace, group, leaks, retries, run, shutdown, stall, startup, timeout."},
        BadConfig{"LeaksUnknown", "[suite.a]\ncommand = [\"x\"]\nleaks = \"fial\"\n",
                  "proctor.toml:3: `leaks` in [suite.a] is \"fial\", but must be one of warn, fail",
                  "Did you mean `fail`?"},
        BadConfig{"FirstMistakeOfTheFile", "[suite.b]\ncommand = [\"x\"]\nzz = 1\n[suite.a]\naa = 1\n",
                  "proctor.toml:3: unknown key `zz` in [suite.b]",
                  "Known keys: backend, command, directory, env, gpus, grace, group, hierarchy, host_pids, "
                  "junit_classname, "
                  "kind, labels, "
                  "leaks, mask, mem_cap, "
                  "process, ranks, "
                  "retries, shutdown, skip_code, stall, startup, "
                  "timeout."},
        BadConfig{"NulInAnArgument", "[suite.a]\ncommand = [\"sh\", \"-c\", \"true\\u0000; false\"]\n",
                  "proctor.toml:2: `command` in [suite.a] contains a NUL byte", ""},
        BadConfig{"NulInADirectory", "[suite.a]\ncommand = [\"x\"]\ndirectory = \"/\\u0000a\"\n",
                  "proctor.toml:3: `directory` in [suite.a] contains a NUL byte", ""},
        BadConfig{"DurationNumber", "[defaults]\ntimeout = 30\n",
                  "proctor.toml:2: `timeout` in [defaults] is 30, but must be a duration with a unit",
                  "Write \"30s\" for seconds."},
        BadConfig{"DurationBool", "[defaults]\ngrace = true\n",
                  "proctor.toml:2: `grace` in [defaults] is true, but must be a duration such as \"30s\"",
                  ""},
        BadConfig{"DurationZero", "[defaults]\ntimeout = \"0s\"\n",
                  "proctor.toml:2: `timeout` in [defaults] is \"0s\", but must be a duration above zero", ""},
        BadConfig{"StallFalse", "[defaults]\nstall = false\n",
                  "proctor.toml:2: `stall` in [defaults] is false, but must be a duration, or \"off\"",
                  "Write \"off\"."},
        BadConfig{"TimeoutFalse", "[suite.a]\ncommand = [\"x\"]\ntimeout = false\n",
                  "proctor.toml:3: `timeout` in [suite.a] is false, but must be a duration, or \"off\"",
                  "Write \"off\"."},
        BadConfig{"RetriesNegative", "[defaults]\nretries = -1\n",
                  "proctor.toml:2: `retries` in [defaults] is -1, but must be a whole number from 0 to 100",
                  ""},
        BadConfig{"RetriesFraction", "[defaults]\nretries = 1.5\n",
                  "proctor.toml:2: `retries` in [defaults] is 1.5, but must be a whole number from 0 to 100",
                  ""},
        BadConfig{"Kind", "[suite.a]\nkind = \"gtst\"\ncommand = [\"x\"]\n",
                  "proctor.toml:2: `kind` in [suite.a] is \"gtst\", but must be one of " +
                      fmt::format("{}", fmt::join(kind_names(), ", ")),
                  "Did you mean `gtest`?"},
        BadConfig{
            "Backend", "[suite.a]\nbackend = \"rocm\"\ncommand = [\"x\"]\n",
            "proctor.toml:2: `backend` in [suite.a] is \"rocm\", but must be one of auto, cuda, xpu, none",
            "NVIDIA devices are `cuda`, Intel devices `xpu`, and `none` uses no device."},
        BadConfig{
            "BackendOfAnyVendor", "[suite.a]\nbackend = \"gpu\"\ncommand = [\"x\"]\n",
            "proctor.toml:2: `backend` in [suite.a] is \"gpu\", but must be one of auto, cuda, xpu, none",
            "NVIDIA devices are `cuda`, Intel devices `xpu`, and `none` uses no device."},
        BadConfig{"Mask", "[suite.a]\nmask = \"uid\"\ncommand = [\"x\"]\n",
                  "proctor.toml:2: `mask` in [suite.a] is \"uid\", but must be one of uuid, index",
                  "Did you mean `uuid`?"},
        BadConfig{"DevicesText", "[suite.a]\ngpus = \"gpus\"\ncommand = [\"x\"]\n",
                  "proctor.toml:2: `gpus` is \"gpus\", but must be a number or \"marker:NAME\"", ""},
        BadConfig{"DevicesEmptyMarker", "[suite.a]\ngpus = \"marker:\"\ncommand = [\"x\"]\n",
                  "proctor.toml:2: `gpus` is \"marker:\", but must be a number or \"marker:NAME\"", ""},
        BadConfig{"MarkerWithoutBackend",
                  "[suite.a]\ncommand = [\"x\"]\nbackend = \"none\"\ngpus = \"marker:gpus\"\n",
                  "proctor.toml:1: [suite.a] needs devices (marker `gpus`), but its backend is \"none\"",
                  "Write backend = \"cuda\", \"xpu\" or \"auto\"."},
        BadConfig{"CommandString", "[suite.a]\ncommand = \"pytest -q\"\n",
                  "proctor.toml:2: `command` in [suite.a] is \"pytest -q\", but must be an array of strings",
                  "Write command = [\"first\", \"second\"]."},
        BadConfig{"CommandEmpty", "[suite.a]\ncommand = []\n",
                  "proctor.toml:2: `command` does not name a program",
                  "Write command = [\"program\", \"argument\"]."},
        BadConfig{"CommandNumber", "[suite.a]\ncommand = [\n\"x\",\n5]\n",
                  "proctor.toml:4: `command` in [suite.a] contains 5, but takes only strings in quotes", ""},
        BadConfig{"CommandMissing", "\n[suite.a]\nkind = \"gtest\"\n",
                  "proctor.toml:2: [suite.a] needs the key `command`",
                  "Write command = [\"program\", \"argument\"]."},
        BadConfig{"DevicesWithoutBackend", "[suite.a]\ncommand = [\"x\"]\nbackend = \"none\"\ngpus = 2\n",
                  "proctor.toml:1: [suite.a] needs 2 devices, but its backend is \"none\"",
                  "Write backend = \"cuda\", \"xpu\" or \"auto\"."},
        BadConfig{"SuiteName", "[suite.\"a/b\"]\ncommand = [\"x\"]\n",
                  "proctor.toml:1: `a/b` is not a valid suite name", "Use letters, digits, `-` and `_`."},
        BadConfig{"EnvValue", "[suite.a]\ncommand = [\"x\"]\nenv.N = 4\n",
                  "proctor.toml:3: `N` of `env` in [suite.a] is 4, but must be a string in quotes", ""},
        BadConfig{"EnvReserved", "[suite.a]\ncommand = [\"x\"]\nenv = {ZE_AFFINITY_MASK = \"0\"}\n",
                  "proctor.toml:3: `ZE_AFFINITY_MASK` cannot be set: it is the mask of Level Zero",
                  "Use the keys `gpus` and `mask`, or narrow the pool with your own environment."},
        BadConfig{"OverrideWithoutMatch", "[[override]]\ntimeout = \"1s\"\n",
                  "proctor.toml:1: [[override]] needs the key `match`", ""},
        BadConfig{"OverrideTable", "[override]\nmatch = \"x\"\n",
                  "proctor.toml:1: `override` in the top level is a table, but must be an array of tables, "
                  "[[override]]",
                  ""},
        BadConfig{"BuiltInCommand", "[suite.visibility]\ncommand = [\"mine\"]\n",
                  "proctor.toml:2: suite `visibility` is built in: its `command` cannot be changed",
                  "Give your own suite another name."},
        BadConfig{"MinVersionNew", "min_version = \"99.1\"\nkey_of_the_future = 1\n",
                  "proctor.toml:1: `min_version` is \"99.1\", but this is proctor " PROCTOR_VERSION,
                  "Install a newer proctor, or use the configuration that belongs to this one."},
        BadConfig{"MinVersionType", "min_version = 0.1\n",
                  "proctor.toml:1: `min_version` is 0.1, but must be a version such as \"0.1\"", ""}),
    [](const auto& row) { return row.param.name; });

TEST_F(ConfigTest, BadDurationNamesPlaceAndValue) {
  const Result<Config> config = load("[[override]]\nmatch = \"*\"\ntimeout = \"5 parsecs\"\n");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().what, HasSubstr("proctor.toml:3: `timeout` in [[override]]: "));
  EXPECT_THAT(config.error().what, HasSubstr("5 parsecs"));
}

TEST_F(ConfigTest, RejectsVariablesOfLeaseAndProtocol) {
  for (const std::string table : {"defaults", "suite.a", "profile.p"}) {
    for (const std::string name :
         {"PROCTOR_CASE", "PROCTOR_EVENTS_FD", "CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
      const Result<Config> config = load("[" + table + ".env]\n" + name + " = \"0\"\n");
      ASSERT_FALSE(config) << table << " " << name;
      EXPECT_THAT(config.error().what, HasSubstr("`" + name + "` cannot be set"));
    }
  }
}

// Refuses every variable that would make another device visible to a case. The error has the place and the
// replacement.
TEST_F(ConfigTest, RejectsVariablesThatChangeVisibleDevices) {
  for (const VisibilityVariable& variable : visibility_variables()) {
    for (const std::string& name : all_names_of(variable)) {
      const Result<Config> config =
          load("[suite.a]\ncommand = [\"x\"]\n[suite.a.env]\n" + name + " = \"0\"\n");
      ASSERT_FALSE(config) << name;
      EXPECT_EQ(config.error().kind, ErrorKind::kUsage);
      EXPECT_THAT(config.error().what, HasSubstr("proctor.toml:3: `" + name + "` cannot be set")) << name;
    }
  }
  const auto flat = load("[defaults.env]\nZE_FLAT_DEVICE_HIERARCHY = \"FLAT\"\n");
  ASSERT_FALSE(flat);
  EXPECT_THAT(flat.error().hint, HasSubstr("hierarchy = \"flat\""));
}

TEST_F(ConfigTest, AcceptsHierarchyOnlyForXpuSuites) {
  const std::string suite = "[suite.a]\ncommand = [\"x\"]\nhierarchy = \"combined\"\n";
  const Result<Config> config = load(suite + "backend = \"xpu\"\n");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->suites.back().suite.hierarchy, "combined");
  EXPECT_THAT(load(suite + "backend = \"cuda\"\n").error().what,
              HasSubstr("`hierarchy`, but its backend is \"cuda\""));
  EXPECT_THAT(load("[suite.a]\nhierarchy = \"FLAT\"\n").error().what, HasSubstr("hierarchy"));
}

TEST_F(ConfigTest, SkipCodeMustBeFailureExitCode) {
  for (const char* code : {"0", "256", "-1", "\"77\"", "7.5"}) {
    const auto config = load(std::string("[suite.a]\nskip_code = ") + code + "\n");
    ASSERT_FALSE(config) << code;
    EXPECT_THAT(config.error().what, HasSubstr("proctor.toml:2: `skip_code`")) << code;
  }
}

TEST_F(ConfigTest, MemoryCapIsSizeForDeviceSuites) {
  const std::string suite = "[suite.a]\ncommand = [\"x\"]\nmem_cap = \"512M\"\n";
  const Result<Config> config = load(suite + "backend = \"xpu\"\n");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->suites.back().suite.mem_cap, 512u << 20);
  EXPECT_TRUE(load(suite)) << "the devices are determined later";
  EXPECT_THAT(load(suite + "backend = \"none\"\n").error().what,
              HasSubstr("`mem_cap`, but its backend is \"none\""));
  const auto unit = load("[suite.a]\nmem_cap = \"512MB\"\n");
  EXPECT_THAT(unit.error().what, HasSubstr("proctor.toml:2"));
  EXPECT_THAT(unit.error().what, HasSubstr("512MB"));
  EXPECT_EQ(unit.error().hint, "Did you mean '512M'?");
  EXPECT_THAT(load("[suite.a]\nmem_cap = 512\n").error().what, HasSubstr("`mem_cap`"));
}

TEST_F(ConfigTest, SyntaxErrorNamesTheLine) {
  const Result<Config> config = load("[defaults]\ntimeout = = 3\n");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(config.error().what, HasSubstr("proctor.toml:2: "));
}

// The tests change one letter of every key in every table. The error suggests the correct key.
TEST_F(ConfigTest, SuggestsNearestKeyForEveryTypo) {
  const std::map<std::string, std::string> headers = {{"", ""},
                                                      {"defaults", "[defaults]\n"},
                                                      {"suite", "[suite.a]\n"},
                                                      {"override", "[[override]]\n"},
                                                      {"skip", "[[skip]]\n"},
                                                      {"group", "[group.g]\n"},
                                                      {"profile", "[profile.p]\n"}};
  for (const auto& [table, header] : headers) {
    for (const std::string& key : config_keys(table)) {
      for (const std::string& slip : {key + "x", key.substr(0, key.size() - 1) + "x", "x" + key}) {
        if (slip == key) continue;
        const Result<Config> config = load(header + slip + " = 1\n");
        ASSERT_FALSE(config) << slip;
        EXPECT_THAT(config.error().what, HasSubstr("unknown key `" + slip + "`"));
        EXPECT_EQ(config.error().hint, "Did you mean `" + key + "`?") << slip;
      }
    }
  }
}

TEST_F(ConfigTest, MissingConfigFileSuggestsNearestFile) {
  scratch_.write("my-config.toml", "");
  const Result<Config> config = load_config({scratch_.path(), "my_confg.toml", "", ""}, {}, {});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(config.error().what,
            "read " + scratch_.path() + "/my_confg.toml: No such file or directory (ENOENT)");
  EXPECT_EQ(config.error().hint, "Did you mean `" + scratch_.path() + "/my-config.toml`?");
}

TEST_F(ConfigTest, ReportsUnreadableConfigFile) {
  scratch_.write("proctor.toml/x", "");
  const Result<Config> directory = load();
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().what, scratch_.path() + "/proctor.toml is a directory, not a file");
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string file = scratch_.write("closed.toml", "");
  chmod(file.c_str(), 0);
  const Result<Config> closed = load_config({scratch_.path(), "closed.toml", "", ""}, {}, {});
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().kind, ErrorKind::kUsage);
}

TEST_F(ConfigTest, DanglingLinkIsAnError) {
  ASSERT_EQ(symlink("nowhere", (scratch_.path() + "/proctor.toml").c_str()), 0);
  EXPECT_FALSE(load());
}

TEST_F(ConfigTest, SuggestsNearestProfile) {
  const Result<Config> near = load("[profile.nightly]\n", "", {}, "nightl");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().what, "--profile nightl does not exist");
  EXPECT_EQ(near.error().hint, "Did you mean `nightly`?");
}

TEST_F(ConfigTest, RejectsBadLimitOptions) {
  const auto refused = [&](const LimitOptions& limits) {
    const Result<Config> config = load("", "", limits);
    return config ? std::string("accepted") : config.error().what;
  };
  EXPECT_THAT(refused({.timeout = "30", .grace = {}, .stall = {}, .retries = {}}), HasSubstr("--timeout: "));
  EXPECT_THAT(refused({.timeout = {}, .grace = "x", .stall = {}, .retries = {}}), HasSubstr("--grace: "));
  EXPECT_EQ(refused({.timeout = {}, .grace = {}, .stall = "0s", .retries = {}}),
            "`--stall` must be greater than zero (got 0s)");
  for (const char* retries : {"-1", "101", "two", "1.5", "2x", "99999999999"}) {
    EXPECT_EQ(refused({.timeout = {}, .grace = {}, .stall = {}, .retries = retries}),
              "--retries must be a whole number from 0 to 100 (got " + std::string(retries) + ")");
  }
  EXPECT_EQ(refused({.timeout = "5s", .grace = "0s", .stall = "off", .retries = "3"}), "accepted");
  EXPECT_EQ(refused({.timeout = "off", .grace = {}, .stall = "5s", .retries = {}}), "accepted");
  EXPECT_EQ(load("", "", {.timeout = "0s", .grace = {}, .stall = {}, .retries = {}}).error().hint,
            "For no limit, use `--timeout off`.");
}

TEST_F(ConfigTest, EveryMutationParsesOrNamesFile) {
  const std::string text =
      "min_version = \"0.1\"\n[run]\nmax_machine_failures = 3\n[suite.a]\nkind = \"command\"\ncommand = "
      "[\"true\"]\n"
      "timeout = \"2m\"\nenv = {A = \"b\"}\n[[override]]\nmatch = \"a/*\"\nretries = 1\n[profile.p]\ngrace = "
      "\"1s\"\n";
  ASSERT_TRUE(load(text)) << load(text).error().what;
  testing_support::for_each_mutation(text, ".[=\"\n", [this](const std::string& mutant) {
    const auto config = load(mutant);
    if (config) return;
    ASSERT_EQ(config.error().kind, ErrorKind::kUsage) << mutant;
    ASSERT_THAT(config.error().what, HasSubstr("proctor.toml")) << mutant;
  });
}

}  // namespace
}  // namespace proctor
