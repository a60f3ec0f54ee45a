#include "harness/selftest/row_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "harness/base/temp_dir.h"
#include "harness/frameworks/proctor.h"
#include "harness/journal/child_protocol.h"
#include "harness/plan/discovery.h"
#include "harness/process/contained_process.h"
#include "harness/process/containment.h"
#include "harness/runner/machine/scratch.h"

namespace proctor {
namespace {

using testing::HasSubstr;

// Creates the cases of the sample suite as `proctor selftest` plans them.
class RowRunnerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto containment = Containment::open(Layer::kSubreaper, "selftest-" + std::to_string(getpid()));
    ASSERT_TRUE(containment) << containment.error().what;
    containment_ = containment->release();
    auto scratch = ScratchRoot::create();
    ASSERT_TRUE(scratch) << scratch.error().what;
    scratch_ = scratch->release();
    out_ = testing::TempDir() + "selftest." + std::to_string(getpid());
    std::filesystem::create_directories(out_ + "/logs");
    plan_ = new Plan(sample_plan());
    auto matrix = make_matrix(*plan_, fault_catalogue("xpu"), {});
    ASSERT_TRUE(matrix) << matrix.error().what;
    matrix_ = new SelftestMatrix(*std::move(matrix));
    RowRunnerSetup setup;
    setup.plan = plan_;
    setup.containment = containment_;
    setup.scratch = scratch_;
    setup.environment = environment;
    setup.out = out_;
    setup.jobs = 2;
    results_ = new std::vector<SelftestResult>(run_rows(setup, matrix_->rows));
  }
  static void TearDownTestSuite() {
    std::filesystem::remove_all(out_);
    delete results_;
    delete matrix_;
    delete plan_;
    delete scratch_;
    delete containment_;
  }

  static Result<std::vector<std::string>> environment(const Case&, const SimSession& session, int) {
    std::vector<std::string> environment = {
        "PATH=/usr/bin:/bin", std::string(child::kSimDriverVariable) + "=" + child::kSimgpuDriver,
        std::string(kSimStateVariable) + "=" + session.state,
        std::string(kSimLogVariable) + "=" + session.log};
    if (!session.faults.empty())
      environment.push_back(std::string(kSimFaultsVariable) + "=" + session.faults);
    return environment;
  }

  static Plan sample_plan() {
    Suite suite;
    suite.name = "sample";
    suite.kind = &proctor_kind();
    suite.backend = Backend::kXpu;
    suite.command = {std::string(PROCTOR_BIN_DIR) + "/proctor_selftest_sample"};
    const auto list = [](const ListCommand& command) -> Result<ListOutput> {
      ListOutput output;
      ProcessSpec spec;
      spec.argv = command.argv;
      spec.env = {"PATH=/usr/bin:/bin"};
      spec.events = true;
      spec.limits.timeout = Milliseconds{60'000};
      spec.on_event_line = [&](std::string_view line) { output.event_lines.emplace_back(line); };
      output.exit_code = run_contained(*containment_, std::move(spec)).exit_code;
      return output;
    };
    std::vector<Warning> warnings;
    auto cases = discover(suite, 0, {.run = list}, std::nullopt, warnings);
    EXPECT_TRUE(cases) << cases.error().what;
    for (auto& test : *cases) test.policy.timeout = Milliseconds{20'000};
    return {{suite}, *std::move(cases)};
  }

  static const SelftestResult& row(const std::string& name, RowPurpose purpose) {
    for (const auto& result : *results_) {
      const auto& row = matrix_->rows[result.row];
      if (row.purpose == purpose && matrix_->checks[row.check].id == "sample.xpu/Row." + name) return result;
    }
    static const SelftestResult none;
    ADD_FAILURE() << "no row of " << name;
    return none;
  }

  static inline Containment* containment_ = nullptr;
  static inline ScratchRoot* scratch_ = nullptr;
  static inline std::string out_;
  static inline Plan* plan_ = nullptr;
  static inline SelftestMatrix* matrix_ = nullptr;
  static inline std::vector<SelftestResult>* results_ = nullptr;
};

struct Expected {
  const char* check;
  bool fired;
  bool killed;
  Outcome outcome;
  const char* message;
};

const Expected kExpected[] = {
    {"Killed", true, true, Outcome::kFail, "byte 17; expected 0x11, got 0xee"},
    {"KilledThoughItsRuleOnlyWarns", true, true, Outcome::kFail, "byte 17"},
    {"Survives", true, false, Outcome::kPass, "survived"},
    {"NeverReached", false, false, Outcome::kPass, "never fired"},
    {"FiresInSetUp", false, false, Outcome::kFail, "only in the check's setup"},
    {"Crashes", true, false, Outcome::kCrash, "does not count as a kill"},
    {"CrashesAsExpected", true, true, Outcome::kCrash, "as the check expects"},
    {"HangsAsExpected", true, true, Outcome::kTimeout, "as the check expects"},
    {"KilledByASecondParameter", true, true, Outcome::kFail, "all digits are right"},
};

TEST_F(RowRunnerTest, EveryRowMatchesExpectedResult) {
  for (const auto& expected : kExpected) {
    SCOPED_TRACE(expected.check);
    const auto& result = row(expected.check, RowPurpose::kListed);
    EXPECT_EQ(result.kill.fired, expected.fired);
    EXPECT_EQ(result.kill.killed, expected.killed);
    EXPECT_EQ(result.verdict.outcome, expected.outcome);
    EXPECT_THAT(result.kill.message, HasSubstr(expected.message));
    EXPECT_TRUE(std::filesystem::exists(out_ + "/" + result.log));
  }
  EXPECT_EQ(plan_->cases[row("KilledByASecondParameter", RowPurpose::kListed).test].name,
            "Row.KilledByASecondParameter/fp64");
}

TEST_F(RowRunnerTest, CleanRunsHaveNoFault) {
  EXPECT_EQ(row("Killed", RowPurpose::kClean).verdict.outcome, Outcome::kPass);
  EXPECT_EQ(row("HangsAsExpected", RowPurpose::kClean).verdict.outcome, Outcome::kPass);
  EXPECT_EQ(row("NeverClean", RowPurpose::kClean).verdict.outcome, Outcome::kFail);
  EXPECT_EQ(row("NeverClean", RowPurpose::kClean).kill.message, "always wrong");
  EXPECT_EQ(row("SkipsForASymbol", RowPurpose::kClean).verdict.reason.text(), "symbol_missing:zesInit");
}

TEST_F(RowRunnerTest, LeavesScratchDirectoryEmpty) {
  std::vector<std::string> left;
  for (const auto& root : scratch_->paths()) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (!entry.is_directory()) left.push_back(entry.path().string());
    }
  }
  EXPECT_THAT(left, testing::IsEmpty());
}

TEST_F(RowRunnerTest, SummaryNamesUnprovenFaultsAndChecks) {
  auto matrix = *matrix_;
  matrix.faults = {{"memory.corrupt_copy", false},
                   {"copy.short", false},
                   {"host.crash", true},
                   {"sysman.exceed_temperature_limit", false}};
  const auto summary = summarise(*plan_, matrix, *results_, {});
  EXPECT_EQ(summary.caught, 2);
  EXPECT_EQ(summary.faults, 3);
  EXPECT_THAT(summary.problems, testing::Contains("no check catches copy.short"));
  EXPECT_THAT(summary.problems,
              testing::Contains("sample.xpu/Row.CrashesAsExpected is killed by blanket faults only"));
  EXPECT_THAT(summary.problems, testing::Contains(HasSubstr("Row.NeverClean is fail without any fault")));
  EXPECT_EQ(summary.skipped_checks.size(), 1U);
}

TEST(RowRunner, EnvironmentFailureIsErrorOfRow) {
  auto containment = Containment::open(Layer::kSubreaper, "selftest-error-" + std::to_string(getpid()));
  ASSERT_TRUE(containment);
  auto scratch = ScratchRoot::create();
  ASSERT_TRUE(scratch);
  Plan plan;
  plan.suites.emplace_back();
  plan.cases.emplace_back().argv = {"/bin/true"};
  RowRunnerSetup setup;
  setup.plan = &plan;
  setup.containment = containment->get();
  setup.scratch = scratch->get();
  setup.environment = [](const Case&, const SimSession&, int) -> Result<std::vector<std::string>> {
    return Error::usage("lease 3 devices");
  };
  const TempDir out;
  setup.out = out.string();
  const auto results = run_rows(setup, {{RowPurpose::kListed, "copy.short", 0, {0}}});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].verdict.outcome, Outcome::kError);
  EXPECT_THAT(results[0].kill.message, HasSubstr("lease 3 devices"));
}

}  // namespace
}  // namespace proctor
