#include "harness/plan/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/frameworks/all_kinds.h"

namespace proctor {
namespace {

using testing::ElementsAre;

std::vector<Case> cases_with(const std::vector<std::string>& ids) {
  std::vector<Case> cases(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) cases[i].id = ids[i];
  return cases;
}

const std::vector<std::string> kIds = {"memory.xpu/Copy.HostToDevice", "memory.xpu/Copy.Peer",
                                       "attention/Moe.Big", "attention/gpt_oss/Moe.Big"};

SelectionOptions options(std::vector<std::string> filters, std::vector<std::string> cases = {},
                         std::vector<std::string> excludes = {}) {
  SelectionOptions made;
  made.filters = std::move(filters);
  made.cases = std::move(cases);
  made.excludes = std::move(excludes);
  return made;
}

std::vector<std::string> selected(const SelectionOptions& options) {
  const Result<std::vector<Case>> cases = select_cases(cases_with(kIds), options);
  if (!cases) return {cases.error().message(), cases.error().hint};
  std::vector<std::string> ids;
  for (const Case& test : *cases) ids.push_back(test.id);
  return ids;
}

TEST(SelectCases, SelectsAllCasesByDefault) { EXPECT_EQ(selected({}), kIds); }

TEST(SelectCases, GlobsMatchIdWithOrWithoutSuite) {
  EXPECT_THAT(selected(options({"memory.xpu/*"})), ElementsAre(kIds[0], kIds[1]));
  EXPECT_THAT(selected(options({"Copy.*"})), ElementsAre(kIds[0], kIds[1]));
  EXPECT_THAT(selected(options({"Moe.Big"})), ElementsAre(kIds[2]));
  EXPECT_THAT(selected(options({"*Big"})), ElementsAre(kIds[2], kIds[3]));
  EXPECT_THAT(selected(options({"*.Pee?"})), ElementsAre(kIds[1]));
}

TEST(SelectCases, FiltersAddAndExcludesSubtract) {
  EXPECT_THAT(selected(options({"*Peer"}, {"attention/Moe.Big"})), ElementsAre(kIds[1], kIds[2]));
  EXPECT_THAT(selected(options({"Copy.*"}, {}, {"*Peer"})), ElementsAre(kIds[0]));
  EXPECT_THAT(selected(options({}, {}, {"attention/*"})), ElementsAre(kIds[0], kIds[1]));
}

TEST(SelectCases, SuggestsGlobForPlainText) {
  EXPECT_EQ(selected(options({"Copy"}))[1], "Did you mean '*Copy*'? It matches 2.");
}

TEST(SelectCases, CaseOptionsAreLiteralIds) {
  EXPECT_THAT(selected(options({}, {"memory.xpu/*"})),
              ElementsAre("--case 'memory.xpu/*' matches none of 4 cases",
                          "Did you mean `memory.xpu/Copy.HostToDevice`?"));
  EXPECT_THAT(selected(options({}, {"Copy.Peer"}))[1], "Did you mean `memory.xpu/Copy.Peer`?");
}

// Selects among three cases, of which the first represents an unlisted suite.
std::vector<std::string> selected_with_unlisted(const SelectionOptions& options) {
  auto cases = cases_with({"broken", "memory.xpu/Copy.Peer", "attention/Moe.Big"});
  cases.front().unlisted = "failed to list";
  const Result<std::vector<Case>> left = select_cases(std::move(cases), options);
  if (!left) return {left.error().message()};
  std::vector<std::string> ids;
  for (const Case& test : *left) ids.push_back(test.id);
  return ids;
}

TEST(SelectCases, KeepsUnlistedSuiteThatMayMatch) {
  EXPECT_THAT(selected_with_unlisted(options({"Moe.Big"})), ElementsAre("broken", "attention/Moe.Big"));
  EXPECT_THAT(selected_with_unlisted(options({"bro*/x"})), ElementsAre("broken"));
  EXPECT_THAT(selected_with_unlisted(options({"attention/*"})), ElementsAre("attention/Moe.Big"));
  EXPECT_THAT(selected_with_unlisted(options({}, {"broken/Any.Case"})), ElementsAre("broken"));
  EXPECT_THAT(selected_with_unlisted(options({}, {"broken"})), ElementsAre("broken"));
  EXPECT_THAT(selected_with_unlisted(options({}, {"attention/Moe.Big"})), ElementsAre("attention/Moe.Big"));
  EXPECT_THAT(selected_with_unlisted(options({}, {}, {"broken/One*", "memory*"})),
              ElementsAre("broken", "attention/Moe.Big"))
      << "some of it may be left";
  EXPECT_THAT(selected_with_unlisted(options({}, {}, {"broken/*", "memory*"})),
              ElementsAre("attention/Moe.Big"));
  SelectionOptions tagged;
  tagged.tags = {"slow"};
  EXPECT_THAT(selected_with_unlisted(tagged), ElementsAre("broken"));
}

TEST(SelectCases, SuiteNameSelectsAllCases) {
  EXPECT_THAT(selected(options({}, {"memory.xpu"})), ElementsAre(kIds[0], kIds[1]));
  EXPECT_THAT(selected(options({}, {"attention/gpt_oss"}))[0],
              testing::StartsWith("--case attention/gpt_oss matches none"));
}

TEST(SelectCases, UnmatchedPatternSuggestsNearestName) {
  EXPECT_THAT(selected(options({"attention/gpt-oss/*"})),
              ElementsAre("--filter 'attention/gpt-oss/*' matches none of 4 cases",
                          "Did you mean `attention/gpt_oss/Moe.Big`?"));
  EXPECT_EQ(selected(options({"gpt_oss/Moe*"}))[1], "Did you mean `attention/gpt_oss/Moe.Big`?");
  EXPECT_EQ(selected(options({"copy.peer"}))[1], "Did you mean `memory.xpu/Copy.Peer`?");
  EXPECT_EQ(selected(options({"Copi.Peer"}))[1], "Did you mean `Copy.Peer`?");
  EXPECT_EQ(selected(options({"Copi*"}))[1], "Did you mean `Copy.*`?");
  EXPECT_EQ(selected(options({"Cpy.*"}))[1], "Did you mean `Copy.*`?");
  EXPECT_EQ(selected(options({}, {"Cpy.*"}))[1], "`proctor list` shows the ids.") << "no id is a pattern";
  EXPECT_EQ(selected(options({"quantum"}))[1], "`proctor list` shows the ids.");
  SelectionOptions ad_hoc = options({"quantum"});
  ad_hoc.command = {"./prog", "a b"};
  EXPECT_EQ(selected(ad_hoc)[1], "`proctor list -- ./prog 'a b'` shows the ids.");
  EXPECT_EQ(selected(options({"*"}, {}, {"Copy.Per"}))[0], "--exclude Copy.Per matches none of 4 cases");
  EXPECT_EQ(selected(options({"Copy.*", "nothing.*"}))[0], "--filter 'nothing.*' matches none of 4 cases");
}

TEST(SelectCases, RejectsEmptyPattern) {
  EXPECT_THAT(selected(options({""})),
              ElementsAre("--filter must not be empty (got '')", "`proctor list` shows the ids."));
  EXPECT_EQ(selected(options({}, {""}))[0], "--case must not be empty (got '')");
  EXPECT_EQ(selected(options({}, {}, {""}))[0], "--exclude must not be empty (got '')");
}

TEST(SelectCases, RejectsEmptySelection) {
  EXPECT_EQ(selected(options({"Copy.*"}, {}, {"Copy.*"}))[0],
            "No case is selected: --exclude excludes all of them");
}

// --- suites
// ----------------------------------------------------------------------------------------------------

SuiteConfig suite_config(const std::string& name, Backend backend, bool built_in,
                         std::vector<std::string> labels) {
  SuiteConfig config;
  config.suite.name = name;
  config.suite.backend = backend;
  config.suite.devices = backend == Backend::kNone ? 0 : 1;
  config.suite.labels = std::move(labels);
  config.built_in = built_in;
  return config;
}

Config sample_config() {
  Config config;
  config.directory = "/here";
  config.suites = {suite_config("visibility", Backend::kCuda, true, {}),
                   suite_config("visibility", Backend::kXpu, true, {}),
                   suite_config("attention", Backend::kCuda, false, {"slow"}),
                   suite_config("docs", Backend::kNone, false, {"nightly"})};
  return config;
}

std::vector<std::string> chosen(const SelectionOptions& options, const Config& config = sample_config()) {
  const Result<std::vector<SuiteConfig>> suites = select_suites(config, options);
  if (!suites) {
    EXPECT_EQ(suites.error().kind, ErrorKind::kUsage);
    return {suites.error().message(), suites.error().hint};
  }
  std::vector<std::string> names;
  for (const SuiteConfig& suite : *suites) {
    names.push_back(suite.suite.name + "." + std::string(to_string(suite.suite.backend)) + ":" +
                    std::to_string(suite.suite.devices));
  }
  return names;
}

TEST(SelectSuites, PrefersConfiguredOverBuiltInSuites) {
  EXPECT_THAT(chosen({}), ElementsAre("attention.cuda:1", "docs.none:0"));
  Config config = sample_config();
  config.suites.resize(2);
  EXPECT_THAT(chosen({}, config), ElementsAre("visibility.cuda:1", "visibility.xpu:1"));
}

TEST(SelectSuites, RequiresNameForBuiltInSuites) {
  Config config = sample_config();
  config.suites.resize(2);
  SelectionOptions options;
  options.named_only = true;
  EXPECT_THAT(chosen(options, config)[0], "No suites here: no proctor.toml was found");
  EXPECT_THAT(chosen(options, config)[1], testing::AllOf(testing::HasSubstr("`proctor init`"),
                                                         testing::EndsWith("Built-in suites: visibility.")));
  options.backend = "xpu";
  EXPECT_THAT(chosen(options, config)[0], testing::StartsWith("No suites here"));
  config.files = {{.file = "proctor.toml"}};
  EXPECT_THAT(chosen(options, config)[0], "No suites here: proctor.toml has none");
  options.suites = {"visibility"};
  EXPECT_THAT(chosen(options, config), ElementsAre("visibility.xpu:1"));
  options.suites = {};
  options.cases = {"visibility.xpu/Mask.Any"};
  EXPECT_THAT(chosen(options, config), ElementsAre("visibility.xpu:1"));
  options.cases = {};
  options.filters = {"Mask.*"};
  EXPECT_THAT(chosen(options, config), ElementsAre("visibility.xpu:1"));
}

TEST(SelectSuites, SelectsByNameBackendAndLabel) {
  SelectionOptions options;
  options.suites = {"visibility"};
  EXPECT_THAT(chosen(options), ElementsAre("visibility.cuda:1", "visibility.xpu:1"));
  options.backend = "xpu";
  options.gpus = 4;
  EXPECT_THAT(chosen(options), ElementsAre("visibility.xpu:4"));
  options = {};
  options.labels = {"nightly"};
  EXPECT_THAT(chosen(options), ElementsAre("docs.none:0"));
}

TEST(SelectSuites, UnknownNameSuggestsNearestName) {
  SelectionOptions options;
  options.suites = {"attenton"};
  EXPECT_THAT(chosen(options),
              ElementsAre("There is no suite `attenton`",
                          "Did you mean `attention`? Known suites: attention, docs, visibility."));
  options = {};
  options.labels = {"nightl"};
  EXPECT_THAT(chosen(options), ElementsAre("No suite has the label `nightl`",
                                           "Did you mean `nightly`? Known labels: nightly, slow."));
  options = {};
  options.backend = "cdua";
  EXPECT_THAT(chosen(options)[0], "--backend cdua does not exist");
  options = {};
  options.suites = {"docs"};
  options.backend = "xpu";
  EXPECT_THAT(chosen(options), ElementsAre("No selected suite has backend xpu",
                                           "Known backends of the selected suites: none."));
}

TEST(SelectSuites, ExplainsBackendNamesForVendorNames) {
  SelectionOptions options;
  for (const char* word : {"gpu", "nvidia", "rocm"}) {
    options.backend = word;
    EXPECT_EQ(chosen(options)[1],
              "NVIDIA devices are `cuda`, Intel devices `xpu`, and `none` uses no device.");
  }
  options.backend = "xup";
  EXPECT_THAT(chosen(options)[1], testing::StartsWith("Did you mean `xpu`? NVIDIA devices are `cuda`"));
}

TEST(SelectSuites, RejectsConfigWithoutSuites) {
  EXPECT_EQ(chosen({}, Config())[0], "No suites here: no proctor.toml was found");
}

TEST(SelectSuites, GpusNeedABackend) {
  SelectionOptions options;
  options.suites = {"docs"};
  options.gpus = 2;
  EXPECT_EQ(chosen(options)[0], "--gpus 2 has no effect: no selected suite has a backend");
  options.gpus = -1;
  EXPECT_EQ(chosen(options)[0], "--gpus must not be negative (got -1)");
}

TEST(SelectSuites, MakesSuiteOfCommand) {
  SelectionOptions options;
  options.command = {"build/my.test", "-v"};
  Config config = sample_config();
  config.defaults_env = {{"A", "d"}, {"B", "d"}};
  config.profile_env = {{"B", "p"}};
  const Result<std::vector<SuiteConfig>> suites = select_suites(config, options);
  ASSERT_TRUE(suites);
  ASSERT_EQ(suites->size(), 1u);
  const Suite& suite = (*suites)[0].suite;
  EXPECT_EQ(suite.name, "my_test");
  EXPECT_EQ(suite.directory, "/here");
  EXPECT_EQ(suite.origin, "command line");
  EXPECT_EQ(suite.command, options.command);
  EXPECT_THAT(suite.env, ElementsAre(testing::Pair("A", "d"), testing::Pair("B", "p")));
  EXPECT_FALSE((*suites)[0].kind);
  options.backend = "cuda";
  options.gpus = 2;
  EXPECT_THAT(chosen(options), ElementsAre("my_test.cuda:2"));
}

TEST(SelectSuites, PytestNameIsIndependentOfInterpreter) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"pytest", "tests"},
        {"/venv/bin/python3.12", "-X", "dev", "-m", "pytest", "tests"},
        {"python3", "-m", "pytest"}}) {
    SelectionOptions options;
    options.command = command;
    EXPECT_THAT(chosen(options), ElementsAre("pytest.none:-1")) << command.front();
  }
}

TEST(SelectSuites, CommandLineSetsEverySuiteOption) {
  SelectionOptions options;
  options.command = {"x"};
  options.kind = "gtest";
  options.name = "mine";
  options.process = "suite";
  options.env = {"A=b=c", "EMPTY="};
  options.backend = "xpu";
  const Result<std::vector<SuiteConfig>> suites = select_suites(sample_config(), options);
  ASSERT_TRUE(suites) << suites.error().what;
  const SuiteConfig& config = suites->front();
  EXPECT_EQ(config.kind, find_kind("gtest"));
  EXPECT_EQ(config.suite.name, "mine");
  EXPECT_EQ(config.suite.process, "suite");
  EXPECT_EQ(config.suite.devices_by, DevicesBy::kWritten);
  EXPECT_EQ(config.suite.devices, 1);
  EXPECT_THAT(config.suite.env, ElementsAre(testing::Pair("A", "b=c"), testing::Pair("EMPTY", "")));
}

TEST(SelectSuites, ProcessAndEnvironmentApplyToConfiguredSuites) {
  SelectionOptions options;
  options.suites = {"docs"};
  options.process = "suite";
  options.env = {"A=1"};
  const Result<std::vector<SuiteConfig>> suites = select_suites(sample_config(), options);
  ASSERT_TRUE(suites) << suites.error().what;
  EXPECT_EQ(suites->front().suite.process, "suite");
  EXPECT_EQ(suites->front().suite.env.at("A"), "1");
}

TEST(SelectSuites, RejectsBadOptionValues) {
  const auto refusal = [](void (*set)(SelectionOptions&)) {
    SelectionOptions options;
    options.command = {"x"};
    set(options);
    const auto suites = select_suites(sample_config(), options);
    return suites ? "accepted" : suites.error().what + " | " + suites.error().hint;
  };
  EXPECT_THAT(refusal([](SelectionOptions& options) { options.kind = "gtst"; }),
              testing::StartsWith("--kind gtst does not exist | Did you mean `gtest`?"));
  EXPECT_EQ(refusal([](SelectionOptions& options) { options.process = "fil"; }),
            "--process fil does not exist | Did you mean `file`?");
  EXPECT_EQ(refusal([](SelectionOptions& options) { options.env = {"A"}; }),
            "--env must be NAME=VALUE (got A) | ");
  EXPECT_THAT(refusal([](SelectionOptions& options) { options.env = {"ZE_AFFINITY_MASK=0"}; }),
              testing::StartsWith("--env ZE_AFFINITY_MASK=0: `ZE_AFFINITY_MASK` cannot be set: it is"));
  EXPECT_THAT(refusal([](SelectionOptions& options) { options.env = {"PROCTOR_X=1"}; }),
              testing::StartsWith("--env PROCTOR_X=1: `PROCTOR_X` cannot be set"));
  EXPECT_EQ(refusal([](SelectionOptions& options) { options.name = "a b"; }),
            "'a b' is not a valid suite name | Use letters, digits, `-` and `_`.");
  EXPECT_EQ(
      refusal([](SelectionOptions& options) {
        options.command.clear();
        options.name = "a";
      }),
      "--name a requires a command after `--` | In proctor.toml, write [suite.NAME] and the key `kind`.");
}

TEST(SelectSuites, RejectsOptionsThatContradictCommand) {
  SelectionOptions options;
  options.command = {"x"};
  options.suites = {"docs"};
  EXPECT_EQ(chosen(options)[0], "Suite `docs` cannot be combined with a command after `--`");
  options.suites.clear();
  options.backend = "all";
  EXPECT_EQ(chosen(options)[0], "--backend all cannot be combined with a command after `--`");
  options.backend.reset();
  options.labels = {"l"};
  EXPECT_EQ(chosen(options)[0], "--label l cannot be combined with a command after `--`");
  options.labels.clear();
  options.command = {""};
  EXPECT_EQ(chosen(options)[0], "The command after `--` is empty");
}

}  // namespace
}  // namespace proctor
