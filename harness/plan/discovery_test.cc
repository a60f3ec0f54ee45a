#include "harness/plan/discovery.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness/frameworks/command.h"
#include "harness/frameworks/gtest.h"
#include "harness/frameworks/proctor.h"
#include "harness/frameworks/pytest.h"
#include "harness/plan/test_support.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::refuse_to_run;
using testing_support::run_listing;
using testing_support::ScratchDirectory;

class DiscoveryTest : public testing::Test {
 protected:
  Suite suite(const Kind* kind, std::vector<std::string> command) {
    Suite made;
    made.name = "s";
    made.kind = kind;
    made.command = std::move(command);
    made.directory = scratch_.path();
    made.origin = "proctor.toml:1";
    return made;
  }
  Suite ours(std::string_view body) {
    Suite made = suite(&proctor_kind(), {scratch_.write_script("prog", body)});
    made.backend = Backend::kXpu;
    return made;
  }
  Result<std::vector<Case>> cases_of(Suite suite, std::size_t index, const ListRunner& run,
                                     const std::optional<ListOutput>& listing = std::nullopt) {
    warnings_.clear();
    return discover(suite, index, {.run = run}, listing, warnings_);
  }
  std::string refusal(const Suite& suite) {
    const Result<std::vector<Case>> cases = cases_of(suite, 0, run_listing);
    if (cases) return "accepted";
    EXPECT_EQ(cases.error().kind, ErrorKind::kUnlisted);
    return cases.error().what;
  }

  ScratchDirectory scratch_;
  std::vector<Warning> warnings_;
};

TEST_F(DiscoveryTest, ProctorReadsEventsAndNeverStdout) {
  Suite made = ours(R"([ "$1" = --proctor-list ] || exit 9
echo '{"v":1,"event":"case","case":"Fake.Case"}'
echo '{"v":1,"event":"case","case":"A.One","devices":2,"rule":"V1","source":"spec","severity":"gate","new":[],"needs":["fp64"],"sizes":{"ci":64,"unit":"bytes"},"faults":["copy.short:bytes=2"],"axes":[{"name":"bytes","values":["0","1"],"full":["4294967301"]},{"name":"type","values":["i8"]}],"points":12,"expects":"hang"}' >&3
echo '{"v":1,"event":"case","case":"A.Two"}' >&$PROCTOR_EVENTS_FD
)");
  made.devices = 1;
  const Result<std::vector<Case>> cases = cases_of(made, 4, run_listing);
  ASSERT_TRUE(cases) << cases.error().what;
  ASSERT_EQ(cases->size(), 2u);
  const Case& one = (*cases)[0];
  EXPECT_EQ(one.id, "s.xpu/A.One");
  EXPECT_EQ(one.suite, 4u);
  EXPECT_EQ(one.name, "A.One");
  EXPECT_EQ(one.classname, "proctor.s.xpu");
  EXPECT_THAT(one.argv, ElementsAre(made.command[0], "--proctor-case=A.One"));
  EXPECT_EQ(one.devices, 2);
  EXPECT_EQ(one.rule, "V1");
  EXPECT_EQ(one.source, "spec");
  EXPECT_EQ(one.severity, Severity::kGate);
  EXPECT_THAT(one.needs, ElementsAre("fp64"));
  EXPECT_THAT(one.sizes, ElementsAre(testing::Pair("ci", 64)));
  EXPECT_EQ(one.sizes_unit, "bytes");
  EXPECT_THAT(one.faults, ElementsAre("copy.short:bytes=2"));
  EXPECT_EQ(one.expects, "hang");
  EXPECT_THAT(one.axes, ElementsAre(Axis{"bytes", {"0", "1"}, {"4294967301"}}, Axis{"type", {"i8"}, {}}));
  EXPECT_EQ(one.points, 12);
  EXPECT_EQ((*cases)[1].devices, 1);
}

TEST_F(DiscoveryTest, OnlyBatchCasesShareProcess) {
  Suite made = ours(R"(echo '{"v":1,"event":"case","case":"A.Shares","batch":true}' >&3
echo '{"v":1,"event":"case","case":"A.Alone"}' >&3)");
  EXPECT_EQ((*cases_of(made, 0, run_listing))[0].group, "");
  made.process = "suite";
  const auto cases = cases_of(made, 0, run_listing);
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_NE((*cases)[0].group, "");
  EXPECT_EQ((*cases)[1].group, "");
  EXPECT_TRUE(warnings_.empty());
  Suite alone = ours(R"(echo '{"v":1,"event":"case","case":"A.Alone"}' >&3)");
  alone.process = "suite";
  ASSERT_TRUE(cases_of(alone, 0, run_listing));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0].text, HasSubstr("does not contain \"batch\" of any"));
}

TEST_F(DiscoveryTest, BadEventLinesAreNamed) {
  const std::string line = "echo '{\"v\":1,\"event\":\"case\",\"case\":\"A.B\"}' >&3\n";
  const auto with = [&](const std::string& bad) { return refusal(ours(line + "echo '" + bad + "' >&3\n")); };
  EXPECT_THAT(with("{\"v\":1,"), HasSubstr("wrote event line 2, which is not a JSON object: {\"v\":1,"));
  EXPECT_THAT(with("[]"), HasSubstr("event line 2, which is not a JSON object"));
  EXPECT_THAT(with(""), HasSubstr("event line 2, which is not a JSON object"));
  EXPECT_THAT(with("{\"v\":2,\"event\":\"case\",\"case\":\"x\"}"), HasSubstr("is not of protocol version 1"));
  EXPECT_THAT(with("{\"event\":\"case\",\"case\":\"x\"}"), HasSubstr("is not of protocol version 1"));
  EXPECT_THAT(with("{\"v\":1,\"event\":\"start\"}"), HasSubstr("is not an event of type \"case\""));
  EXPECT_THAT(with("{\"v\":1,\"event\":\"case\",\"case\":\"\"}"), HasSubstr("has no readable name"));
  EXPECT_THAT(with("{\"v\":1,\"event\":\"case\",\"case\":7}"), HasSubstr("has no readable name"));
  EXPECT_THAT(with("{\"v\":1,\"event\":\"case\",\"case\":\"a\\u0001\"}"), HasSubstr("has no readable name"));
  EXPECT_THAT(with("{\"v\":1,\"event\":\"case\",\"case\":\"x\",\"devices\":-1}"),
              HasSubstr("no number of devices"));
  EXPECT_THAT(with("{\"v\":1,\"event\":\"case\",\"case\":\"x\",\"faults\":[1]}"),
              HasSubstr("no list of strings in \"faults\""));
  EXPECT_THAT(with("{\"v\":1,\"event\":\"case\",\"case\":\"x\",\"sizes\":{\"ci\":\"much\"}}"),
              HasSubstr("no number in \"sizes\".\"ci\""));
  EXPECT_THAT(with("{\"v\":1,\"event\":\"case\",\"case\":\"x\",\"axes\":[{\"name\":\"bytes\"}]}"),
              HasSubstr("without a name or without values"));
}

TEST_F(DiscoveryTest, EveryListingFailureRejectsPlan) {
  const std::string good = "echo '{\"v\":1,\"event\":\"case\",\"case\":\"A.B\"}' >&3\n";
  const Suite exits = ours(good + "echo first >&2; echo; echo 'cannot open the driver' >&2; exit 3");
  EXPECT_EQ(refusal(exits), "list the cases of suite `s` (proctor.toml:1): `" + exits.command[0] +
                                " --proctor-list` exited with 3; it wrote: first | cannot open the driver");
  EXPECT_THAT(
      refusal(ours("echo plugin loaded; echo FAIL the reason; echo a warning >&2; exit 1")),
      HasSubstr("exited with 1; it wrote: plugin loaded | FAIL the reason (stdout); a warning (stderr)"))
      << "stdout is not the list";
  EXPECT_THAT(refusal(ours("echo nothing to do; exit 0")),
              HasSubstr("listed no case; it wrote: nothing to do"));
  EXPECT_THAT(refusal(ours(good + "kill -SEGV $$")), HasSubstr("was killed by signal 11"));
  EXPECT_THAT(refusal(ours("echo no events")), HasSubstr("listed no case"));
  const auto ended = [&](ListOutput out) {
    const Result<std::vector<Case>> cases = cases_of(exits, 0, refuse_to_run, out);
    return cases ? std::string("accepted") : cases.error().what;
  };
  ListOutput out;
  out.exit_code = 0;
  out.event_lines = {R"({"v":1,"event":"case","case":"A.B"})"};
  EXPECT_EQ(ended(out), "accepted");
  out.events_too_long = 1;
  EXPECT_THAT(ended(out), HasSubstr("wrote more output than Proctor reads"));
  out.timed_out = true;
  EXPECT_THAT(ended(out), HasSubstr("did not exit in time"));
  out.spawn_error = "exec: Exec format error";
  EXPECT_THAT(ended(out), HasSubstr("could not be started: exec: Exec format error"));
}

TEST_F(DiscoveryTest, ReturnsErrorOfRunner) {
  const Result<std::vector<Case>> cases = cases_of(ours(""), 0, refuse_to_run);
  ASSERT_FALSE(cases);
  EXPECT_EQ(cases.error().kind, ErrorKind::kInternal);
}

TEST_F(DiscoveryTest, DuplicateIdsAreRefused) {
  const std::string line = "echo '{\"v\":1,\"event\":\"case\",\"case\":\"A.B\"}' >&3\n";
  EXPECT_EQ(refusal(ours(line + "echo '{\"v\":1,\"event\":\"case\",\"case\":\"A.C\"}' >&3\n" + line)),
            "plan suite `s` (proctor.toml:1): two cases have the id s.xpu/A.B, numbers 1 and 3 of its list");
}

TEST_F(DiscoveryTest, ExtraEnvironmentAndDirectoryReachTheProgram) {
  Suite made = ours(
      "[ \"$X\" = 1 ] && [ \"$(pwd -P)\" = \"$WHERE\" ] && "
      "echo '{\"v\":1,\"event\":\"case\",\"case\":\"A.B\"}' >&3");
  made.env = {{"X", "1"}, {"WHERE", scratch_.path()}};
  EXPECT_EQ(refusal(made), "accepted");
}

// End-to-end check: each listed test is run with its own filter, and only that test runs.
TEST_F(DiscoveryTest, EachGtestCaseRunsOneTest) {
  Suite made = suite(&gtest_kind(), {testing_support::sample_gtest()});
  const Result<std::vector<Case>> cases = cases_of(made, 0, run_listing);
  ASSERT_TRUE(cases) << cases.error().what;
  std::vector<std::string> ids;
  for (const Case& test : *cases) {
    ids.push_back((test.disabled ? "!" : "") + test.id);
    EXPECT_EQ(test.id, "s/" + test.classname + "." + test.name);
    std::vector<std::string> argv = test.argv;
    argv.emplace_back("--gtest_also_run_disabled_tests");
    const Result<ListOutput> out = run_listing({.argv = argv, .directory = scratch_.path()});
    ASSERT_TRUE(out);
    EXPECT_THAT(out->stdout_text, HasSubstr("[==========] Running 1 test from 1 test suite."));
    EXPECT_THAT(out->stdout_text, HasSubstr("[ RUN      ] " + test.classname + "." + test.name));
  }
  EXPECT_THAT(ids, testing::UnorderedElementsAre("s/Plain.Passes", "s/Plain.Fails",
                                                 "!s/Plain.DISABLED_Broken", "!s/DISABLED_Group.Any",
                                                 "s/Text/Values.Holds/0", "s/Text/Values.Holds/1",
                                                 "s/Typed/std::int - wide.Works", "s/Typed/short.Works"));
}

TEST_F(DiscoveryTest, GtestListsDisabledTestsOnRequest) {
  Suite made = suite(&gtest_kind(), {testing_support::sample_gtest(), "--gtest_also_run_disabled_tests"});
  const Result<std::vector<Case>> cases = cases_of(made, 0, run_listing);
  ASSERT_TRUE(cases);
  EXPECT_EQ(std::count_if(cases->begin(), cases->end(), [](const Case& test) { return test.disabled; }), 0);
}

TEST_F(DiscoveryTest, GtestHonoursTheFilterOfTheCommand) {
  Suite made = suite(&gtest_kind(), {testing_support::sample_gtest(), "--gtest_filter=Plain.P*"});
  const Result<std::vector<Case>> cases = cases_of(made, 0, run_listing);
  ASSERT_TRUE(cases);
  ASSERT_EQ(cases->size(), 1u);
  EXPECT_EQ((*cases)[0].id, "s/Plain.Passes");
  made.command[1] = "--gtest_filter=Nothing.*";
  EXPECT_THAT(refusal(made), HasSubstr("listed no case"));
}

TEST_F(DiscoveryTest, RejectsUnreadableGtestList) {
  Suite made = suite(&gtest_kind(), {scratch_.write_script("prog", "printf 'A.\\n  B C\\n'")});
  EXPECT_THAT(refusal(made), HasSubstr("wrote a list that cannot be read: line 2 is not a test name:   B C"));
}

TEST_F(DiscoveryTest, CommandIsOneCaseWithoutListing) {
  Suite made = suite(&command_kind(), {"/usr/bin/env", "true"});
  made.devices = 3;
  const Result<std::vector<Case>> cases = cases_of(made, 0, refuse_to_run);
  ASSERT_TRUE(cases);
  ASSERT_EQ(cases->size(), 1u);
  const Case& test = (*cases)[0];
  EXPECT_EQ(test.id, "s/env");
  EXPECT_EQ(test.classname, "s");
  EXPECT_EQ(test.name, "env");
  EXPECT_EQ(test.devices, 3);
  EXPECT_EQ(test.argv, made.command);
}

// The stdout of main() looks like a list, or makes a list unreadable. The list file contains only the tests.
TEST_F(DiscoveryTest, ReadsGtestListFromFile) {
  Suite made = suite(&gtest_kind(), {scratch_.write_script("banner", R"(
printf '  Banner of\n    a driver.\nNo.\n  such group\nReal.\n  Test\n'
for word; do case $word in --gtest_output=json:*) cat > "${word#*:}" <<'LIST'
{"tests": 3, "name": "AllTests", "testsuites": [
  {"name": "Real", "tests": 2, "testsuite": [{"name": "Test", "file": "a.cc", "line": 3}, {"name": "DISABLED_Other"}]},
  {"name": "In/Group", "tests": 1, "testsuite": [{"name": "Param/0", "value_param": "1"}]}]}
LIST
esac; done
)")});
  const Result<std::vector<Case>> cases = cases_of(made, 0, run_listing);
  ASSERT_TRUE(cases) << cases.error().what;
  ASSERT_EQ(cases->size(), 3u);
  EXPECT_EQ((*cases)[0].id, "s/Real.Test");
  EXPECT_TRUE((*cases)[1].disabled);
  EXPECT_EQ((*cases)[2].id, "s/In/Group.Param/0");
}

TEST_F(DiscoveryTest, ListsGtestOfDeviceSuiteWithDevices) {
  Suite made = suite(&gtest_kind(), {"./it"});
  made.backend = Backend::kXpu;
  made.devices = 2;
  std::vector<std::string> seen;
  const auto without = [](const ListCommand&) -> Result<ListOutput> {
    return Error::internal("asked without");
  };
  ListOutput answer;
  answer.exit_signal = 6;
  answer.stdout_text = "no card\n";
  const Listers listers{
      .run = without,
      .run_with_devices = [&](const Suite&, const ListCommand& command) -> Result<ListOutput> {
        seen = command.argv;
        EXPECT_EQ(command.file_option, "--gtest_output=json:");
        return answer;
      },
      .exec_options = " --sim xpu:2x2"};
  auto cases = discover(made, 0, listers, {}, warnings_);
  ASSERT_FALSE(cases);
  EXPECT_THAT(seen, ElementsAre("./it", "--gtest_list_tests"));
  EXPECT_THAT(cases.error().what,
              HasSubstr("`./it --gtest_list_tests` was killed by signal 6; it wrote: no card"));
  EXPECT_EQ(cases.error().hint,
            "To see all of its output: proctor exec --backend xpu --gpus 2 --sim xpu:2x2 -- ./it "
            "--gtest_list_tests");

  answer.no_device = "xpu";  // now it is one case that waits for a device
  cases = discover(made, 0, listers, {}, warnings_);
  ASSERT_TRUE(cases) << cases.error().what;
  ASSERT_EQ(cases->size(), 1u);
  EXPECT_EQ((*cases)[0].id, "s") << "of the whole suite, so that a filter may mean one of its tests";
  EXPECT_TRUE(is_unlisted((*cases)[0]) && (*cases)[0].wants_device);
  EXPECT_EQ((*cases)[0].devices, 2);
  EXPECT_EQ((*cases)[0].argv, made.command);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0].text, HasSubstr("No xpu device was found here."));
}

TEST_F(DiscoveryTest, GtestWithoutListenerSharesOneProcess) {
  Suite made = suite(&gtest_kind(), {testing_support::sample_gtest()});
  made.process = "suite";
  const Result<std::vector<Case>> cases = cases_of(made, 0, run_listing);
  ASSERT_TRUE(cases) << cases.error().what;
  ASSERT_EQ(cases->size(), 8u);
  EXPECT_EQ((*cases)[0].id, "s/Plain.Passes");
  for (const Case& test : *cases) EXPECT_EQ(test.group, "*") << test.id;
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(DiscoveryTest, GtestWithListenerSharesOneProcess) {
  Suite made = suite(&gtest_kind(), {testing_support::listener_gtest(), "--gtest_filter=Plain.*"});
  made.process = "suite";
  const Result<std::vector<Case>> cases = cases_of(made, 0, run_listing);
  ASSERT_TRUE(cases) << cases.error().what;
  ASSERT_EQ(cases->size(), 7u);
  EXPECT_EQ((*cases)[0].id, "s/Plain.Passes");
  for (const Case& test : *cases) EXPECT_EQ(test.group, "*") << test.id;
  EXPECT_TRUE(warnings_.empty());
}

TEST(PlanDigest, DependsOnIdsAndCallerFilters) {
  const auto plan_of = [](const std::vector<std::string>& ids) {
    Plan plan;
    plan.cases.resize(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) plan.cases[i].id = ids[i];
    return plan;
  };
  const auto digest = [&](const std::vector<std::string>& ids) { return plan_digest(plan_of(ids)); };
  // The expected value is the output of: printf 'a/x\nb/y\n' | sha256sum
  EXPECT_EQ(digest({"b/y", "a/x"}), "125d506340e2a8d397a82fb87a00f3474a0cd4c422cea40472ea0c24defad1c2");
  EXPECT_EQ(digest({"a/x", "b/y"}), digest({"b/y", "a/x"}));
  EXPECT_NE(digest({"a/x"}), digest({"a/x", "b/y"}));
  EXPECT_NE(digest({"a", "bc"}), digest({"ab", "c"}));
  Plan filtered = plan_of({"a/x"});
  filtered.suites.emplace_back();
  EXPECT_EQ(plan_digest(filtered), digest({"a/x"}));
  filtered.suites[0].filters["PYTEST_ADDOPTS"] = "-k x";
  EXPECT_NE(plan_digest(filtered), digest({"a/x"}));
  filtered.suites.emplace_back().filters["PYTEST_ADDOPTS"] = "-k y";
  filtered.suites[0].filters.clear();
  EXPECT_EQ(plan_digest(filtered), digest({"a/x"})) << "of a suite that has no case";
}

// ---- pytest ----

class PytestDiscoveryTest : public DiscoveryTest {
 protected:
  Suite pytest(const std::string& lines) {
    Suite made = suite(
        &pytest_kind(),
        {scratch_.write_script("pytest", R"([ "$1 $2 $3 $4" = "t -p proctor_pytest --proctor-list" ] || exit 9
cat >&3 <<'LINES'
)" + lines + "LINES\n"),
         "t"});
    made.backend = Backend::kXpu;
    made.devices = 1;
    return made;
  }
  static std::string listed(const std::string& file, const std::string& name, const std::string& markers) {
    return R"({"v":1,"event":"case","case":")" + file + "::" + name + R"(","file":")" + file +
           R"(","classname":"t.a","name":")" + name + R"(","markers":{)" + markers + "}}\n";
  }
};

TEST_F(PytestDiscoveryTest, IdsAreNodeIdsWithJunitNames) {
  const auto cases = cases_of(pytest(listed("t/a.py", "f[fp16-128]", "")), 3, run_listing);
  ASSERT_TRUE(cases) << cases.error().what;
  const Case& test = cases->at(0);
  EXPECT_EQ(test.id, "s/t/a.py::f[fp16-128]");
  EXPECT_EQ(framework_id(test), "t/a.py::f[fp16-128]");
  EXPECT_EQ(test.classname, "t.a");
  EXPECT_EQ(test.name, "f[fp16-128]");
  EXPECT_EQ(test.group, "");
  EXPECT_EQ(test.argv.back(), "--proctor-case=t/a.py::f[fp16-128]");
}

TEST_F(PytestDiscoveryTest, DevicesComeFromTheMarker) {
  Suite made = pytest(listed("t/a.py", "two", R"("gpus":[2])") + listed("t/a.py", "none", R"("gpus":[0])") +
                      listed("t/a.py", "unmarked", R"("slow":[7])"));
  made.devices_marker = "gpus";
  const auto cases = cases_of(made, 0, run_listing);
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_EQ(cases->at(0).devices, 2);
  EXPECT_EQ(cases->at(1).devices, 0);
  EXPECT_EQ(cases->at(2).devices, 1) << "an unmarked test needs what the suite says";
  for (const char* wrong : {R"("gpus":[])", R"("gpus":[null])", R"("gpus":[-1])", R"("gpus":[1025])"}) {
    Suite bad = pytest(listed("t/a.py", "odd", wrong));
    bad.devices_marker = "gpus";
    EXPECT_THAT(refusal(bad), HasSubstr("wrote event line 1, which has the marker `gpus` without a number of "
                                        "devices: t/a.py::odd"))
        << wrong;
  }
}

// A filter in the project's own files needs a warning, like a filter of the caller.
TEST_F(PytestDiscoveryTest, WarnsAboutFiltersInPytestOptions) {
  const auto said = [&](const std::string& options, std::vector<std::string> more = {}) {
    Suite made = pytest(R"({"v":1,"event":"options",)" + options + "}\n" + listed("t/a.py", "one", ""));
    made.command.insert(made.command.end(), more.begin(), more.end());
    warnings_.clear();
    const auto cases = cases_of(made, 0, run_listing);
    EXPECT_TRUE(cases) << cases.error().what;
    std::string text;
    for (const auto& warning : warnings_) text += warning.text;
    return text;
  };
  EXPECT_EQ(said(R"("addopts":["-qvs","--color=yes","--maxfailures"],"file":"pytest.ini","deselected":0)"),
            "");
  EXPECT_THAT(said(R"("addopts":["-m","not slow"],"file":"pytest.ini","deselected":3)"),
              HasSubstr("3 tests are excluded: `-m not slow` in its addopts of pytest.ini"));
  for (const char* word :
       {"-kfast", "--deselect=t/a.py::f", "--ignore-glob=*", "--ignore", "-x", "-vx", "--maxfail=1"})
    EXPECT_THAT(said(R"("addopts":[")" + std::string(word) + R"("],"file":"tox.ini","deselected":0)"),
                HasSubstr("may exclude tests"))
        << word;
  const std::string one = R"("addopts":[],"file":"","deselected":1)";
  EXPECT_THAT(said(one), HasSubstr("1 test is excluded, by a conftest.py or a plugin"));
  Suite by_interpreter = suite(&pytest_kind(), {"python3", "-m", "pytest", "t"});
  ListOutput output;
  output.event_lines = {R"({"v":1,"event":"options",)" + one + "}", listed("t/a.py", "one", "")};
  std::vector<Warning> warnings;
  const auto cases = pytest_kind().read_list(by_interpreter, output, {}, warnings);
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_EQ(warnings.size(), 1u) << "-m is the interpreter's";
}

TEST_F(PytestDiscoveryTest, ProcessSettingGroupsCases) {
  Suite made = pytest(listed("t/a.py", "one", "") + listed("t/b.py", "two", ""));
  made.process = "file";
  const auto by_file = cases_of(made, 0, run_listing);
  ASSERT_TRUE(by_file) << by_file.error().what;
  EXPECT_EQ(by_file->at(0).group, "t/a.py");
  EXPECT_EQ(by_file->at(1).group, "t/b.py");
  made.process = "suite";
  const auto all = cases_of(made, 0, run_listing);
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_NE(all->at(0).group, "");
  EXPECT_EQ(all->at(0).group, all->at(1).group);
}

TEST_F(PytestDiscoveryTest, RejectsPlanWhenCollectionFails) {
  EXPECT_THAT(refusal(pytest(listed("t/a.py", "one", "") +
                             "{\"v\":1,\"event\":\"fail\",\"message\":\"t/b.py: no module named x\"}\n")),
              HasSubstr("could not collect 1 test files; it wrote: t/b.py: no module named x"));
  EXPECT_THAT(refusal(pytest("")), HasSubstr("listed no case"));
}

// A log would show the line break as a new line, which a CI service can execute as a command.
TEST_F(DiscoveryTest, RejectsNameWithLineBreak) {
  for (const char* name : {"A.One\\n::error::forged", "A.One\\r"}) {
    EXPECT_THAT(
        refusal(ours(fmt::format(R"(printf '%s\n' '{{"v":1,"event":"case","case":"{}"}}' >&3)", name))),
        HasSubstr("listed a case with a line break in its name, `A.One\\"));
  }
}

}  // namespace
}  // namespace proctor
