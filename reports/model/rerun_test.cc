#include "reports/model/rerun.h"

#include <gtest/gtest.h>

#include "reports/model/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;

std::string command_of(std::vector<std::string> command_line, const std::string& id = "memory.xpu/A.B") {
  RunPlanned plan = plan_of({planned(id)});
  plan.command_line = std::move(command_line);
  const RunModel model = model_of({plan});
  return rerun_command(model, model.cases()[0]);
}

TEST(RerunCommand, KeepsHowItRanAndReplacesWhatItRan) {
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
                        "--until-fail",
                        "--jobs=2",
                        "memory",
                        "--timeout",
                        "5s"}),
            "proctor run memory --timeout 5s --case memory.xpu/A.B");
  EXPECT_EQ(command_of({"proctor", "run", "--filter"}), "proctor run --case memory.xpu/A.B");
}

// What is tested then is what is there then.
TEST(RerunCommand, DoesNotSayWhatWasTested) {
  EXPECT_EQ(command_of({"proctor", "run", "--subject", "commit=a", "--subject=dirty=true", "memory"}),
            "proctor run memory --case memory.xpu/A.B");
}

TEST(RerunCommand, LeavesTheCommandOfAnAdHocSuiteAlone) {
  EXPECT_EQ(
      command_of({"proctor", "run", "--repeat", "2", "--", "./my test", "--filter", "x", "--"}, "my/A's [b]"),
      "proctor run --case 'my/A'\\''s [b]' -- './my test' --filter x --");
}

TEST(RerunCommand, TakesTheFaultsOfTheSimulatedDevicesAlong) {
  RunPlanned plan = plan_of({planned("memory.xpu/A.B")});
  plan.command_line = {"proctor", "run", "memory", "--sim", "xpu:2x2"};
  plan.stack.emplace_back(kSimFaultsEntry, "memory.corrupt_copy:at=17;copy.short");
  const RunModel model = model_of({plan});
  EXPECT_EQ(
      rerun_command(model, model.cases()[0]),
      "PROCTOR_SIM_FAULTS='memory.corrupt_copy:at=17;copy.short' proctor run memory --sim xpu:2x2 --case "
      "memory.xpu/A.B");
}

TEST(RerunCommand, AnotherSubcommandBecomesRun) {
  EXPECT_EQ(command_of({"proctor", "rerun", "out/latest"}), "proctor run memory --case memory.xpu/A.B");
  EXPECT_EQ(command_of({}), "proctor run memory --case memory.xpu/A.B");
}

TEST(RerunCommand, OfExecIsTheSameWithoutItsReports) {
  RunPlanned plan = plan_of({planned("pytest/pytest", "command")});
  plan.exec = true;
  plan.command_line = {"proctor",    "exec", "--gpus", "1",      "--out", "here", "--junit=x.xml",
                       "--deadline", "5m",   "--",     "pytest", "--out", "mine"};
  const RunModel model = model_of({plan});
  EXPECT_EQ(rerun_command(model, model.cases()[0]),
            "proctor exec --gpus 1 --deadline 5m -- pytest --out mine");
}

TEST(RerunCommand, LeavesOutWhatIsOnlyShown) {
  RunPlanned plan = plan_of({planned("s/a")});
  plan.command_line = {"proctor", "run", "-q", "--show-output", "all",   "--durations=3", "-j4",
                       "-j",      "2",   "-v", "--color",       "never", "--sim",         "xpu:1x1"};
  const RunModel model = model_of({plan});
  EXPECT_EQ(rerun_command(model, model.cases()[0]), "proctor run --sim xpu:1x1 --case s/a");
}

// Of many cases as of each.
TEST(RerunCommand, IsMadeOnceForASuite) {
  RunPlanned plan = plan_of({planned("m/a"), planned("m/it's [b]"), planned("s/a"), planned("s/m/a")});
  plan.cases[2].suite = plan.cases[3].suite = "s";
  for (const bool exec : {false, true}) {
    for (const char* subcommand : {"run", "rerun"}) {
      plan.exec = exec;
      plan.command_line = {"proctor", subcommand, "--config", "m/a", "--", "./m/a", "--case", "s/a"};
      const RunModel model = model_of({plan});
      RerunCommands commands(model);
      for (const CaseRecord& record : model.cases())
        EXPECT_EQ(commands.of(record), rerun_command(model, record)) << record.planned.id;
    }
  }
}

}  // namespace
}  // namespace proctor
