#include "reports/resolve/rerun.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string command_of(std::vector<std::string> command_line, const std::string& id = "memory.xpu/A.B") {
  RunPlanned plan = plan_of({planned(id)});
  plan.command_line = std::move(command_line);
  const ResolvedRun run = resolved_of({plan});
  return run.cases[0].rerun_command();
}

TEST(RerunCommand, KeepsOptionsAndReplacesSelection) {
  EXPECT_EQ(
      command_of({"build/bin/proctor", "run", "memory", "visibility", "--backend", "xpu", "--sim",
                  "xpu:2x2,cuda:4", "--config=my file.toml"}),
      "build/bin/proctor run memory visibility --backend xpu --sim xpu:2x2,cuda:4 '--config=my file.toml' "
      "--case memory.xpu/A.B");
  EXPECT_EQ(command_of({"proctor",
                        "run",
                        "--filter",
                        "A*",
                        "--case",
                        "x",
                        "--case=y",
                        "--exclude",
                        "z",
                        "--label",
                        "l",
                        "--shard",
                        "1/2",
                        "--repeat",
                        "9",
                        "--out",
                        "d",
                        "--junit=f",
                        "--min-executed",
                        "3",
                        "--fail-fast",
                        "--jobs=2",
                        "memory",
                        "--timeout",
                        "5s",
                        "-j4",
                        "--retries",
                        "2"}),
            "proctor run --repeat 9 --fail-fast --jobs=2 memory --timeout 5s -j4 --retries 2 "
            "--case memory.xpu/A.B");
  EXPECT_EQ(command_of({"proctor", "run", "--filter"}), "proctor run --case memory.xpu/A.B");
}

RerunCommand again_of(std::vector<std::string> command_line, const std::vector<std::string>& ids) {
  RunPlanned plan = plan_of({planned("memory.xpu/A.B")});
  plan.command_line = std::move(command_line);
  return rerun_of(resolved_of({plan}), ids);
}

TEST(RerunCommand, RerunOfWholeRunKeepsSelection) {
  const RerunCommand again = again_of(
      {"proctor", "run", "--filter", "A*", "--label=l", "--min-executed", "3", "--deadline", "5m"}, {});
  EXPECT_THAT(again.words,
              ElementsAre("proctor", "run", "--filter", "A*", "--label=l", "--min-executed", "3"));
  EXPECT_THAT(again.left_out, ElementsAre("--deadline 5m"));
}

TEST(RerunCommand, ListsOmittedOptions) {
  const std::vector<std::string> ids = {"memory.xpu/A.B"};
  EXPECT_THAT(
      again_of({"proctor", "run", "--shard=1/2", "--deadline", "5m", "--min-executed=1"}, ids).left_out,
      UnorderedElementsAre("--shard=1/2", "--deadline 5m", "--min-executed=1"));
  const RerunCommand endless =
      again_of({"proctor", "run", "--repeat", "until-fail", "--deadline", "5m"}, ids);
  EXPECT_THAT(endless.left_out, IsEmpty()) << "nothing else ends it";
  EXPECT_THAT(endless.words, Contains("--deadline"));
  for (const char* bounded : {"3,until-fail", "until-fail,2h", "3", "until-fail,new:50=/a,b"})
    EXPECT_THAT(again_of({"proctor", "run", "--repeat", bounded, "--deadline", "5m"}, ids).left_out,
                ElementsAre("--deadline 5m"))
        << bounded;
}

// ---- Devices ----

ResolvedRun model_on(const std::vector<std::vector<std::string>>& devices,
                     std::vector<std::string> command_line = {"proctor", "run"}) {
  std::vector<PlannedCase> cases;
  for (std::size_t i = 0; i < devices.size(); ++i) cases.push_back(planned("s/" + std::to_string(i)));
  RunPlanned plan = plan_of(cases);
  plan.command_line = std::move(command_line);
  std::vector<Event> events = {plan};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    int attempt = 1;
    for (const std::string& device : devices[i]) {
      AttemptStarted start;
      start.case_id = "s/" + std::to_string(i);
      start.attempt = attempt++;
      start.devices = {device};
      events.emplace_back(start);
    }
  }
  return resolved_of(events);
}

std::string describe(const ResolvedRun& run, const std::vector<std::string>& ids,
                     RerunOn on = RerunOn::kSame) {
  return joined(rerun_of(run, ids, on).words);
}

TEST(RerunCommand, SelectsDevicesOfCase) {
  EXPECT_EQ(describe(model_on({{"xpu:b"}}), {"s/0"}), "proctor run --devices xpu:b --case s/0");
  EXPECT_EQ(describe(model_on({{"xpu:b", "xpu:b", "xpu:a"}}), {"s/0"}),
            "proctor run --devices xpu:b,xpu:a --case s/0")
      << "in the order in which it had them";
  EXPECT_EQ(describe(model_on({{"xpu:b"}}, {"proctor", "run", "--devices=xpu:a,xpu:b"}), {"s/0"}),
            "proctor run --devices xpu:b --case s/0");
  EXPECT_EQ(describe(model_on({{"xpu:a"}, {"xpu:b"}, {}}), {"s/0", "s/1", "s/2"}),
            "proctor run --pin s/0=xpu:a --pin s/1=xpu:b --case s/0 --case s/1 --case s/2")
      << "each the one that it had";
  EXPECT_EQ(describe(model_on({{"xpu:b"}}, {"proctor", "run", "--each-device"}), {"s/0"}),
            "proctor run --each-device --case s/0");
}

TEST(RerunCommand, AllowsAnyDeviceOnRequest) {
  const ResolvedRun run = model_on({{"xpu:b"}}, {"proctor", "run", "--devices", "xpu:b"});
  EXPECT_EQ(describe(run, {"s/0"}, RerunOn::kAny), "proctor run --case s/0");
  EXPECT_EQ(describe(run, {"s/0"}, RerunOn::kOfRun), "proctor run --devices xpu:b --case s/0");
}

TEST(RerunCommand, OmitsSingleSimulatedDevice) {
  RunPlanned plan = plan_of({planned("s/a")});
  plan.command_line = {"proctor", "run", "--sim", "xpu:1x1"};
  plan.sim = SimInfo{"xpu:1x1", "simgpu"};
  plan.devices = {{"xpu-sim:0", "xpu", "Card", true}};
  AttemptStarted start;
  start.case_id = "s/a";
  start.devices = {"xpu-sim:0"};
  EXPECT_EQ(describe(resolved_of({plan, start}), {"s/a"}), "proctor run --sim xpu:1x1 --case s/a");
}

// ---- The caller's variables ----

TEST(RerunCommand, KeepsEnvironmentOfCaller) {
  RunPlanned plan = plan_of({planned("s/a")});
  plan.cases[0].suite = "s";
  plan.command_line = {"proctor", "run"};
  plan.stack.emplace_back("xpu.caller_mask", "1");
  plan.restrictions = Narrowed{{},
                               {{"s", "xpu", "GTEST_FILTER", "A*", "caller", ""},
                                {"s", "xpu", "OF_SUITE", "1", "suite", ""},
                                {"other", "xpu", "PYTEST_ADDOPTS", "-x", "caller", ""}}};
  const ResolvedRun run = resolved_of({plan});
  EXPECT_THAT(rerun_of(run, {"s/a"}).environment, ElementsAre("ZE_AFFINITY_MASK=1", "GTEST_FILTER=A*"));
  EXPECT_THAT(rerun_of(run, {}).environment,
              ElementsAre("ZE_AFFINITY_MASK=1", "GTEST_FILTER=A*", "PYTEST_ADDOPTS=-x"));
}

// A rerun tests the sources of its own time, so it must not repeat the subject.
TEST(RerunCommand, OmitsSubject) {
  EXPECT_EQ(command_of({"proctor", "run", "--subject", "commit=a", "--subject=dirty=true", "memory"}),
            "proctor run memory --case memory.xpu/A.B");
}

TEST(RerunCommand, KeepsCommandOfAdHocSuite) {
  EXPECT_EQ(
      command_of({"proctor", "run", "--repeat", "2", "--", "./my test", "--filter", "x", "--"}, "my/A's [b]"),
      "proctor run --repeat 2 --case 'my/A'\\''s [b]' -- './my test' --filter x --");
}

TEST(RerunCommand, KeepsSimulatedFaults) {
  RunPlanned plan = plan_of({planned("memory.xpu/A.B")});
  plan.command_line = {"proctor", "run", "memory", "--sim", "xpu:2x2"};
  plan.stack.emplace_back(kSimFaultsEntry, "memory.corrupt_copy:at=17;copy.short");
  const ResolvedRun run = resolved_of({plan});
  EXPECT_EQ(
      run.cases[0].rerun_command(),
      "PROCTOR_SIM_FAULTS='memory.corrupt_copy:at=17;copy.short' proctor run memory --sim xpu:2x2 --case "
      "memory.xpu/A.B");
}

TEST(RerunCommand, ReplacesOtherSubcommandsWithRun) {
  EXPECT_EQ(command_of({"proctor", "rerun", "out/latest"}), "proctor run memory --case memory.xpu/A.B");
  EXPECT_EQ(command_of({}), "proctor run memory --case memory.xpu/A.B");
}

TEST(RerunCommand, RerunOfExecOmitsReportOptions) {
  RunPlanned plan = plan_of({planned("pytest/pytest", "command")});
  plan.exec = true;
  plan.command_line = {"proctor",    "exec", "--gpus", "1",      "--out", "here", "--junit=x.xml",
                       "--deadline", "5m",   "--",     "pytest", "--out", "mine"};
  const ResolvedRun run = resolved_of({plan});
  EXPECT_EQ(run.cases[0].rerun_command(), "proctor exec --gpus 1 --deadline 5m -- pytest --out mine");
}

TEST(RerunCommand, OmitsConsoleOptions) {
  RunPlanned plan = plan_of({planned("s/a")});
  plan.command_line = {"proctor", "run",     "-q",    "--show-output", "all",    "--durations=3",
                       "-v",      "--color", "never", "--sim",         "xpu:1x1"};
  const ResolvedRun run = resolved_of({plan});
  EXPECT_EQ(run.cases[0].rerun_command(), "proctor run --sim xpu:1x1 --case s/a");
}

TEST(RerunCommand, KeepsNonUtf8Arguments) {
  RunPlanned plan = plan_of({planned("s/a")});
  plan.command_line = {"proctor", "run", "--env", "A=\xff'\\ \x01", "--", "caf\xc3\xa9", "\x1b[31mred"};
  plan.restrictions =
      Narrowed{.options = {}, .variables = {{.name = "GTEST_FILTER", .value = "\xe9*", .by = "caller"}}};
  const auto event = parse_json_line(to_json_line(plan));
  ASSERT_TRUE(event && *event);
  const ResolvedRun run = resolved_of({**event});
  const RerunCommand again = rerun_of(run, {});
  EXPECT_EQ(again.words, plan.command_line);
  EXPECT_THAT(again.environment, ElementsAre("GTEST_FILTER=\xe9*"));
  const std::string text = command_text(again, again.directory);
  EXPECT_EQ(text,
            "GTEST_FILTER=$'\\351*' proctor run --env $'A=\\377\\047\\134 \\001' -- 'caf\xc3\xa9' "
            "$'\\033[31mred'");
  const auto words = shell_words(text);
  ASSERT_TRUE(words);
  EXPECT_EQ(std::vector<std::string>(words->begin() + 1, words->end()), plan.command_line);
}

// The case passes alone.
TEST(RerunCommand, OrderDependentCaseUsesBisect) {
  RunPlanned plan = plan_of({planned("s/a"), planned("s/it's"), planned("s/c")});
  plan.run_id = "20260101T000000Z-000000";
  std::vector<Event> events = {plan};
  for (const char* id : {"s/a", "s/it's"})
    events.emplace_back(CaseEnded{.case_id = id,
                                  .verdict = {Outcome::kPass, {}},
                                  .marks = {Mark::kFlaky, Mark::kOrderDependent},
                                  .known_failure = {},
                                  .note = {}});
  const ResolvedRun run = resolved_of(events);
  const std::string begin = "proctor rerun here --bisect ";
  EXPECT_EQ(run.cases[0].rerun_command(), begin + "s/a");
  EXPECT_EQ(run.cases[1].rerun_command(), begin + "'s/it'\\''s'");
  EXPECT_EQ(run.cases[2].rerun_command(), command_text(rerun_of(run, {"s/c"}), run.plan.directory));
}

// The command must be the same whether it is computed for many cases or for one.
TEST(RerunCommand, CachedSuiteCommandMatchesCaseCommand) {
  RunPlanned plan = plan_of({planned("m/a"), planned("m/it's [b]"), planned("s/a"), planned("s/m/a"),
                             planned("m/\x1b[31mred"), planned("t/\xff"), planned("t/a")});
  plan.cases[2].suite = plan.cases[3].suite = "s";
  plan.cases[5].suite = plan.cases[6].suite = "t";
  for (const bool exec : {false, true}) {
    for (const char* subcommand : {"run", "rerun"}) {
      plan.exec = exec;
      plan.command_line = {"proctor", subcommand, "--config", "m/a", "--", "./m/a", "--case", "s/a"};
      const ResolvedRun run = resolved_of({plan});
      for (const ResolvedCase& test : run.cases) {
        EXPECT_EQ(test.rerun_command(), command_text(rerun_of(run, {test.planned.id}), plan.directory))
            << test.planned.id;
      }
    }
  }
}

TEST(SharedProcess, ListsEarlierCasesOfProcess) {
  std::vector<Event> events = {
      plan_of({planned("s/c"), planned("s/a"), planned("s/b"), planned("s/later"), planned("s/alone")})};
  const auto add = [&](const std::string& id, const std::string& log, std::int64_t at_ms, Outcome outcome) {
    AttemptStarted start = started(id);
    start.log = log;
    start.at_ms = at_ms;
    events.emplace_back(start);
    AttemptEnded end = ended(id, {outcome, {}});
    end.output.log = log;
    events.emplace_back(end);
  };
  add("s/a", "logs/1", 10, Outcome::kPass);
  add("s/b", "logs/1", 20, Outcome::kPass);
  add("s/c", "logs/1", 30, Outcome::kFail);
  add("s/later", "logs/1", 40, Outcome::kPass);
  add("s/alone", "logs/2", 5, Outcome::kPass);
  const ResolvedRun run = resolved_of(events);
  const auto shared = shared_process_of(run, "s/c");
  ASSERT_TRUE(shared);
  EXPECT_TRUE(shared->was_bad);
  EXPECT_THAT(shared->before, ElementsAre("s/a", "s/b"));
  ASSERT_TRUE(shared_process_of(run, "s/a"));
  EXPECT_THAT(shared_process_of(run, "s/a")->before, IsEmpty());
  EXPECT_FALSE(shared_process_of(run, "s/alone"));
  EXPECT_FALSE(shared_process_of(run, "s/unknown"));
}

}  // namespace
}  // namespace proctor
