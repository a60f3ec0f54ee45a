// Tests of the child protocol: runs the sample suite as Proctor runs it, and reads its events.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/journal/child_protocol.h"
#include "suites/main/check_info.h"

namespace proctor::suite {
namespace {

using nlohmann::json;

struct Reported {
  int exit_code = -1;
  std::vector<json> events;
  std::size_t longest_line = 0;

  std::vector<json> of(const std::string& event) const {
    std::vector<json> found;
    for (const auto& line : events) {
      if (line.at("event") == event) found.push_back(line);
    }
    return found;
  }
};

// The events go to a file, so that a child with more events than a pipe holds does not block.
Reported run_sample(const std::string& arguments, bool with_events = true,
                    const std::string& environment = "") {
  const std::string path = testing::TempDir() + "events." + std::to_string(getpid());
  const std::string redirect =
      with_events ? "PROCTOR_EVENTS_FD=9 9>" + path + " " : "env -u PROCTOR_EVENTS_FD ";
  const std::string command = environment + " " + redirect + PROCTOR_BIN_DIR + "/proctor_sample_suite " +
                              arguments + " >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  Reported reported;
  reported.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    reported.longest_line = std::max(reported.longest_line, line.size() + 1);
    reported.events.push_back(json::parse(line));
  }
  unlink(path.c_str());
  return reported;
}

Reported run_case(const std::string& name, const std::string& environment = "") {
  return run_sample("--proctor-case=" + name, true, environment);
}

constexpr const char* kOnSimgpu = "PROCTOR_SIM_DRIVER=simgpu";

// A table that is initialised later is empty. Without this abort, no check would run and none would fail.
TEST(RequireAdded, EmptyTableAbortsProgram) {
  EXPECT_TRUE(require_added(true, "Mask.Row"));
  EXPECT_DEATH(require_added(false, "Mask.Row"), "Mask.Row: its table has no rows when it is registered");
}

TEST(Protocol, ListsEveryCheckWithRule) {
  const auto reported = run_sample("--proctor-list");
  EXPECT_EQ(reported.exit_code, 0);
  ASSERT_EQ(reported.events.size(), 15U);
  EXPECT_EQ(reported.events[0], json({{"v", 1},
                                      {"event", "case"},
                                      {"case", "Sample.CheckPasses"},
                                      {"devices", 1},
                                      {"rule", "R1"},
                                      {"source", "the protocol"},
                                      {"severity", "gate"},
                                      {"needs", {"patience"}},
                                      {"batch", true}}));
  EXPECT_EQ(reported.events[1], json({{"v", 1},
                                      {"event", "case"},
                                      {"case", "Sample.ValuesDiffer"},
                                      {"devices", 2},
                                      {"rule", "R2"},
                                      {"source", "the protocol"},
                                      {"severity", "warn"},
                                      {"faults", {"memory.corrupt_copy:at=17,after=2", "memory.short_copy"}},
                                      {"needs", {"patience", "fp64"}},
                                      {"sizes", {{"smoke", 16}, {"full", 64}, {"unit", "bytes"}}},
                                      {"expects", "hang"},
                                      {"batch", true}}));
  EXPECT_EQ(reported.events[14].at("case"), "Sample.ParameterIsStepName/fp32");
  EXPECT_EQ(reported.events[14].at("needs"), json({"patience", "fp16"}));
  EXPECT_EQ(reported.events[9].at("axes"),
            json::parse(R"([{"name":"bytes","values":["0","1","65537"],"full":["4294967301"]},
                                                       {"name":"type","values":["i8","f64"]}])"));
  EXPECT_EQ(reported.events[9].at("points"), 4);
}

TEST(Protocol, PassReportsStepsMeasuresAndWarnings) {
  const auto reported = run_case("Sample.CheckPasses");
  EXPECT_EQ(reported.exit_code, 0);
  ASSERT_EQ(reported.events.size(), 5U);
  EXPECT_EQ(reported.events.front().at("event"), "start");
  EXPECT_EQ(reported.events.front().at("rule"), "R1");
  EXPECT_GT(reported.events.front().at("t_ns"), 0);
  EXPECT_EQ(reported.of("step").at(0).at("name"), "first");
  EXPECT_EQ(reported.of("measure").at(0).at("value"), 2.5);
  EXPECT_EQ(reported.of("measure").at(0).at("n"), 3);
  EXPECT_EQ(reported.of("warn").at(0).at("message"), "look at this");
  EXPECT_EQ(reported.events.back().at("result"), "pass");
}

TEST(Protocol, TrialEventNamesDevices) {
  const auto reported = run_case("Sample.DeviceTrialsAreReported");
  EXPECT_EQ(reported.exit_code, 0) << "a failed trial is no failure";
  const auto trials = reported.of("trial");
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[0].at("ok"), true);
  EXPECT_EQ(trials[0].at("devices"), json::parse(R"([{"role":"source","device":"first card"},
                                                     {"role":"target","device":"second card"}])"));
  EXPECT_EQ(trials[1].at("ok"), false);
  EXPECT_EQ(trials[1].at("devices").size(), 1U);
  EXPECT_LE(reported.longest_line, child::kMaxEventBytes);
}

TEST(Protocol, OnlyNamedCaseWritesEvents) {
  const auto reported = run_case("Sample.ValuesDiffer", kOnSimgpu);
  ASSERT_FALSE(reported.events.empty());
  for (const auto& event : reported.events) EXPECT_EQ(event.at("case"), "Sample.ValuesDiffer");
}

Reported run_cases(const std::string& names) {
  const std::string file = testing::TempDir() + "cases." + std::to_string(getpid());
  std::ofstream(file) << names;
  const auto reported = run_sample("--proctor-cases=" + file);
  unlink(file.c_str());
  return reported;
}

TEST(Protocol, RunsSeveralCasesInOrder) {
  const auto reported =
      run_cases(R"(["Sample.CheckPasses", "Sample.AssertionFails", "Sample.ParameterIsStepName/fp32"])");
  EXPECT_EQ(reported.exit_code, 1);
  std::vector<std::string> ends;
  for (const auto& event : reported.of("end"))
    ends.push_back(event.at("case").get<std::string>() + " " + event.at("result").get<std::string>());
  EXPECT_EQ(ends, (std::vector<std::string>{"Sample.CheckPasses pass", "Sample.AssertionFails fail",
                                            "Sample.ParameterIsStepName/fp32 pass"}));
  EXPECT_EQ(reported.of("start").size(), 3U);
}

TEST(Protocol, RejectsUnreadableCaseFile) {
  for (const char* names : {"", "[]", "{}", R"(["Sample.CheckPasses", "Sample.Missing"])"}) {
    const auto reported = run_cases(names);
    EXPECT_EQ(reported.exit_code, 2) << names;
    EXPECT_TRUE(reported.events.empty()) << names;
  }
}

TEST(Protocol, StepsAndFailuresHaveTimestamps) {
  const auto passed = run_case("Sample.CheckPasses");
  EXPECT_GE(passed.of("step").at(0).at("t_ns"), passed.events.front().at("t_ns"));
  const auto failed = run_case("Sample.AssertionFails");
  EXPECT_GE(failed.of("fail").at(0).at("t_ns"), failed.events.front().at("t_ns"));
}

TEST(Protocol, WarnRulesFailOnlyOnSimgpu) {
  for (const char* elsewhere : {"", "PROCTOR_SIM_DRIVER=intel"}) {
    const auto reported = run_case("Sample.ValuesDiffer", elsewhere);
    EXPECT_EQ(reported.exit_code, 0) << elsewhere;
    EXPECT_TRUE(reported.of("fail").empty());
    const std::string message = reported.of("warn").at(0).at("message");
    EXPECT_NE(message.find("expected: one"), std::string::npos) << message;
    EXPECT_EQ(reported.events.back().at("result"), "pass");
  }
  EXPECT_EQ(run_case("Sample.ValuesDiffer", kOnSimgpu).exit_code, 1);
}

TEST(Protocol, UsesNextSmallerSize) {
  const auto size = [](const std::string& environment) {
    return run_case("Sample.RunSizeIsMeasured", environment).of("measure").at(0).at("value").get<double>();
  };
  EXPECT_EQ(size(""), 16);
  EXPECT_EQ(size("PROCTOR_SIZE=smoke"), 16);
  EXPECT_EQ(size("PROCTOR_SIZE=full"), 64);
  EXPECT_EQ(size("PROCTOR_SIZE=stress"), 64);
  EXPECT_EQ(run_case("Sample.RunSizeIsMeasured", "PROCTOR_SIZE=huge").exit_code, 2);
}

std::vector<std::string> messages_of(const Reported& reported) {
  std::vector<std::string> messages;
  for (const auto& fail : reported.of("fail")) messages.push_back(fail.at("message"));
  return messages;
}

TEST(Protocol, FailureNamesPointThatRunsAlone) {
  const auto whole = run_case("Sample.SomePointsFail", "PROCTOR_SIZE=full");
  EXPECT_EQ(whole.of("step").size(), 8U) << "full tries all pairs, with the value that it alone has";
  const auto messages = messages_of(whole);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(std::count(messages.begin(), messages.end(), "--suite-arg point=bytes=65537,type=i8: its words"),
            1);
  EXPECT_EQ(
      std::count(messages.begin(), messages.end(), "--suite-arg point=bytes=1,type=f64: exception: boom"), 1);

  const auto alone = run_case("Sample.SomePointsFail", "PROCTOR_POINT=bytes=65537,type=i8");
  EXPECT_EQ(messages_of(alone),
            (std::vector<std::string>{"--suite-arg point=bytes=65537,type=i8: its words"}));
  EXPECT_EQ(alone.of("step").size(), 1U);
  EXPECT_EQ(run_case("Sample.SomePointsFail", "PROCTOR_POINT=bytes=4294967301,type=i8").exit_code, 0);
}

TEST(Protocol, SkipsPointsAfterThreeFailures) {
  const auto reported = run_case("Sample.EveryPointFails");
  EXPECT_EQ(messages_of(reported).size(), 3U);
  const std::string points = reported.of("property").at(0).at("value");
  EXPECT_NE(points.find("the other points were not run, because three had failed"), std::string::npos)
      << points;
}

TEST(Protocol, SizeLimitsNumberOfPoints) {
  const auto ci = run_case("Sample.SomePointsFail", "PROCTOR_SIZE=ci PROCTOR_SEED=3");
  EXPECT_EQ(ci.of("step").size(), 4U);
  const std::string points = ci.of("property").at(0).at("value");
  EXPECT_NE(points.find("which cover 4 of 6 pairs of values"), std::string::npos) << points;
  EXPECT_EQ(run_case("Sample.SomePointsFail", "PROCTOR_SIZE=smoke").of("step").size(), 1U);
}

TEST(Protocol, ReportsUnsupportedPoints) {
  const auto some = run_case("Sample.SomePointsFail", "PROCTOR_POINT=bytes=0");
  EXPECT_EQ(some.exit_code, 0);
  const std::string points = some.of("property").at(0).at("value");
  EXPECT_NE(points.find("not at bytes=0,type=f64: unsupported:fp64"), std::string::npos) << points;
  const auto none = run_case("Sample.EveryPointIsSkipped");
  EXPECT_EQ(none.events.back().at("result"), "skip");
  EXPECT_EQ(none.events.back().at("reason"), "unsupported:f16");
}

TEST(Protocol, RejectsInvalidPointOrSeed) {
  EXPECT_EQ(run_case("Sample.SomePointsFail", "PROCTOR_POINT=bytes=2").exit_code, 2);
  EXPECT_EQ(run_case("Sample.SomePointsFail", "PROCTOR_POINT=size=1").exit_code, 2);
  EXPECT_EQ(run_case("Sample.SomePointsFail", "PROCTOR_SEED=1x").exit_code, 2);
}

TEST(Protocol, EachParameterIsOneCase) {
  const auto reported = run_case("Sample.ParameterIsStepName/fp16");
  EXPECT_EQ(reported.exit_code, 0);
  EXPECT_EQ(reported.of("step").at(0).at("name"), "fp16");
  EXPECT_EQ(reported.events.back().at("case"), "Sample.ParameterIsStepName/fp16");
}

TEST(Protocol, MismatchCarriesExpectedAndGot) {
  const auto reported = run_case("Sample.ValuesDiffer", kOnSimgpu);
  EXPECT_EQ(reported.exit_code, 1);
  const auto fails = reported.of("fail");
  ASSERT_EQ(fails.size(), 1U);
  EXPECT_EQ(fails[0].at("message"), "the value that was read");
  EXPECT_EQ(fails[0].at("expected"), "one");
  EXPECT_EQ(fails[0].at("got"), "two");
  EXPECT_EQ(fails[0].at("rule"), "R2");
  EXPECT_NE(fails[0].at("file").get<std::string>().find("sample_suite.cc"), std::string::npos);
  EXPECT_GT(fails[0].at("line"), 0);
  EXPECT_EQ(reported.events.back().at("result"), "fail");
}

TEST(Protocol, OrdinaryAssertionIsAFailure) {
  const auto reported = run_case("Sample.AssertionFails");
  EXPECT_EQ(reported.exit_code, 1);
  EXPECT_NE(reported.of("fail").at(0).at("message").get<std::string>().find("arithmetic"), std::string::npos);
}

TEST(Protocol, SkipReportsReason) {
  const auto reported = run_case("Sample.CheckIsSkipped");
  EXPECT_EQ(reported.exit_code, 0);
  EXPECT_EQ(reported.of("skip").at(0).at("reason"), "needs:devices>=2");
  EXPECT_EQ(reported.events.back().at("result"), "skip");
  EXPECT_TRUE(reported.of("fail").empty());
}

TEST(Protocol, EndEventCarriesFailureReason) {
  const auto reported = run_case("Sample.FailureHasReason");
  EXPECT_EQ(reported.exit_code, 1);
  EXPECT_EQ(reported.of("fail").size(), 1U);
  EXPECT_EQ(reported.events.back().at("reason"), "driver_crash:11");
}

TEST(Protocol, ExceptionIsAFailure) {
  const auto reported = run_case("Sample.GateCheckThrows");
  EXPECT_EQ(reported.exit_code, 1);
  EXPECT_EQ(reported.of("fail").at(0).at("message"), "exception: boom");
  EXPECT_EQ(reported.events.back().at("reason"), "exception");
}

TEST(Protocol, ExceptionOfWarnRuleIsWarning) {
  const auto reported = run_case("Sample.WarnCheckThrows");
  EXPECT_EQ(reported.exit_code, 0);
  EXPECT_TRUE(reported.of("fail").empty());
  const std::string message = reported.of("warn").at(0).at("message");
  EXPECT_NE(message.find("exception: boom"), std::string::npos) << message;
  EXPECT_EQ(reported.events.back().at("result"), "pass");
  EXPECT_EQ(run_case("Sample.WarnCheckThrows", kOnSimgpu).exit_code, 1);
}

TEST(Protocol, LinesStayWithinTheLimit) {
  const auto reported = run_case("Sample.FailureTextExceedsLimit");
  EXPECT_EQ(reported.exit_code, 1);
  EXPECT_LE(reported.longest_line, child::kMaxEventBytes);
}

TEST(Protocol, UnknownCaseAndOptionAreUsageErrors) {
  EXPECT_EQ(run_case("Sample.Nothing").exit_code, 2);
  EXPECT_EQ(run_case("Sample.*").exit_code, 2);
  EXPECT_EQ(run_sample("--proctor-cases=Sample.CheckPasses").exit_code, 2);
}

TEST(Protocol, RunsAsPlainGoogleTestProgram) {
  EXPECT_EQ(run_sample("--gtest_filter=Sample.CheckPasses", false).exit_code, 0);
  EXPECT_EQ(run_sample("--gtest_filter=Sample.AssertionFails", false).exit_code, 1);
}

}  // namespace
}  // namespace proctor::suite
