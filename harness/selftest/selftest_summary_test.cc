#include "harness/selftest/selftest_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "harness/base/json.h"
#include "harness/base/temp_dir.h"
#include "harness/selftest/test_plan.h"
#include "harness/testing/child.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::all_good;
using testing_support::plan_of;
using testing_support::PlannedCheck;
using testing_support::small_catalogue;

class Summary : public testing::Test {
 protected:
  void plan(const std::vector<PlannedCheck>& checks, bool full = false, const std::string& fault = {}) {
    plan_ = plan_of(checks);
    auto matrix = make_matrix(plan_, small_catalogue(), {.full = full, .fault = fault, .check = {}});
    ASSERT_TRUE(matrix) << matrix.error().what;
    matrix_ = *std::move(matrix);
    results_ = all_good(matrix_);
  }
  // Returns the results of the rows of `check` ("One") with this purpose.
  std::vector<SelftestResult*> rows(const std::string& check, RowPurpose purpose) {
    std::vector<SelftestResult*> found;
    for (auto& result : results_) {
      const auto& row = matrix_.rows[result.row];
      if (row.purpose == purpose && matrix_.checks[row.check].id == "s.xpu/A." + check)
        found.push_back(&result);
    }
    return found;
  }
  void survive(SelftestResult& result) {
    result.verdict = {Outcome::kPass, ""};
    result.kill = {.fired = true, .killed = false, .message = "survived"};
  }
  SelftestSummary summary(const std::vector<Exemption>& exemptions = {}) {
    return summarise(plan_, matrix_, results_, exemptions);
  }

  Plan plan_;
  SelftestMatrix matrix_;
  std::vector<SelftestResult> results_;
};

TEST_F(Summary, CountsKilledChecksAndCaughtFaults) {
  plan({{"A.One", {"x.a", "y.all"}}, {"A.Two", {"x.b"}}});
  const auto sum = summary();
  EXPECT_THAT(sum.problems, IsEmpty());
  EXPECT_EQ(sum.faults, 3);
  EXPECT_EQ(sum.caught, 3);
  EXPECT_EQ(sum.checks, 2);
  EXPECT_EQ(sum.killed, 2);
}

TEST_F(Summary, ReportsSurvivorForCheckAndFault) {
  plan({{"A.One", {"x.a", "y.all"}}, {"A.Two", {"x.b"}}});
  survive(*rows("Two", RowPurpose::kListed).front());
  const auto sum = summary();
  EXPECT_EQ(sum.caught, 2);
  EXPECT_EQ(sum.killed, 1);
  EXPECT_THAT(sum.problems, ElementsAre("s.xpu/A.Two is not killed by x.b: survived",
                                        "s.xpu/A.Two has no killer", "no check catches x.b"));
}

TEST_F(Summary, BlanketFaultDoesNotProveCheck) {
  plan({{"A.One", {"x.a", "x.b"}}, {"A.Two", {"y.all"}}});
  const auto sum = summary();
  EXPECT_EQ(sum.caught, 3);
  EXPECT_EQ(sum.killed, 1);
  EXPECT_THAT(sum.problems, ElementsAre("s.xpu/A.Two is killed by blanket faults only"));
}

TEST_F(Summary, BlanketFaultAloneReportsNoCheck) {
  plan({{"A.One", {"x.a", "y.all"}}, {"A.Two", {"x.b"}}}, false, "y.all");
  const auto sum = summary();
  EXPECT_EQ(sum.caught, 1);
  EXPECT_THAT(sum.problems, IsEmpty());
}

TEST_F(Summary, ReportsFaultThatNeverFired) {
  plan({{"A.One", {"x.a", "x.b", "y.all"}}});
  auto& row = *rows("One", RowPurpose::kListed).at(1);
  row.verdict = {Outcome::kPass, ""};
  row.kill = {.fired = false, .killed = false, .message = "the fault never fired"};
  EXPECT_THAT(summary().problems,
              ElementsAre("s.xpu/A.One is not killed by x.b: the fault never fired", "no check catches x.b"));
}

TEST_F(Summary, ReportsFaultWithoutCheck) {
  plan({{"A.One", {"x.a", "y.all"}}});
  EXPECT_THAT(summary().problems, ElementsAre("no check catches x.b: none lists it"));
}

TEST_F(Summary, ReportsCheckWithoutFaultsUnlessExempt) {
  plan({{"A.One", {"x.a", "x.b", "y.all"}}, {"A.Two", {}}});
  EXPECT_THAT(summary().problems, ElementsAre("s.xpu/A.Two has no killer: it lists no fault"));
  const auto sum = summary({{"s.xpu/A.Two", "because"}});
  EXPECT_THAT(sum.problems, IsEmpty());
  EXPECT_EQ(sum.checks, 1);
  ASSERT_EQ(sum.exempt.size(), 1U);
  EXPECT_EQ(sum.exempt.front().reason, "because");
}

TEST_F(Summary, ReportsUnneededExemptions) {
  plan({{"A.One", {"x.a", "x.b", "y.all"}}});
  EXPECT_THAT(summary({{"s.xpu/A.One", "x"}}).problems, ElementsAre(HasSubstr("remove the exemption")));
  EXPECT_THAT(summary({{"s.xpu/A.Gone", "x"}}).problems, ElementsAre(HasSubstr("there is no such check")));
}

TEST_F(Summary, ReportsCleanRunsThatFail) {
  const std::vector<PlannedCheck> checks = {{"A.One", {"x.a", "x.b", "y.all"}}};
  const Verdict unclean[] = {{Outcome::kFail, ""},
                             {Outcome::kCrash, {Reason::kSignal, 11}},
                             {Outcome::kSkip, {Reason::kNeeds, "tiles>=2"}}};
  for (const auto& verdict : unclean) {
    plan(checks);
    rows("One", RowPurpose::kClean).front()->verdict = verdict;
    EXPECT_THAT(summary().problems,
                ElementsAre(HasSubstr("is " + to_string(verdict) + " without any fault")));
  }
  plan(checks);
  rows("One", RowPurpose::kClean).front()->warned = true;
  EXPECT_THAT(summary().problems, ElementsAre(HasSubstr("warns without any fault")));
}

TEST_F(Summary, ExemptCheckMaySkipButNotFail) {
  plan({{"A.One", {"x.a", "x.b", "y.all"}}, {"A.Two", {}}});
  auto& clean = *rows("Two", RowPurpose::kClean).front();
  clean.verdict = {Outcome::kSkip, {Reason::kNeeds, "drivers>=2"}};
  EXPECT_THAT(summary({{"s.xpu/A.Two", "x"}}).problems, IsEmpty());
  clean.verdict = {Outcome::kFail, ""};
  EXPECT_THAT(summary({{"s.xpu/A.Two", "x"}}).problems, ElementsAre(HasSubstr("is fail without any fault")));
}

TEST_F(Summary, SetsAsideChecksWithMissingSymbols) {
  plan({{"A.One", {"x.a", "y.all"}}, {"A.Two", {"x.b", "x.a"}}});
  rows("Two", RowPurpose::kClean).front()->verdict = {Outcome::kSkip, {Reason::kSymbolMissing, "zesInit"}};
  for (auto* row : rows("Two", RowPurpose::kListed)) {
    row->verdict = {Outcome::kSkip, {Reason::kSymbolMissing, "zesInit"}};
    row->kill = {};
  }
  const auto sum = summary();
  EXPECT_THAT(sum.problems, IsEmpty());
  EXPECT_EQ(sum.checks, 1);
  EXPECT_EQ(sum.faults, 2);
  ASSERT_EQ(sum.skipped_checks.size(), 1U);
  EXPECT_EQ(sum.skipped_checks.front().reason, "symbol_missing:zesInit");
  ASSERT_EQ(sum.skipped_faults.size(), 1U);
  EXPECT_EQ(sum.skipped_faults.front().name, "x.b");
}

TEST_F(Summary, SetsAsideChecksOfNewerRuntime) {
  plan({{"A.One", {"x.a", "x.b", "y.all"}}, {"A.Two", {"x.a"}}, {"A.Three", {"x.b"}}}, true);
  for (const auto& [name, reason] : {std::pair{"Two", "needs:cuda>=13"}, {"Three", "fatbin_missing:basic"}}) {
    rows(name, RowPurpose::kClean).front()->verdict = {Outcome::kSkip, reason_in_words(reason)};
    for (auto* row : rows(name, RowPurpose::kListed)) {
      row->verdict = {Outcome::kSkip, reason_in_words(reason)};
      row->kill = {};
    }
  }
  const auto sum = summary();
  EXPECT_THAT(sum.problems, IsEmpty());
  ASSERT_EQ(sum.skipped_checks.size(), 2U);
  EXPECT_EQ(sum.skipped_checks.back().reason, "fatbin_missing:basic");
}

TEST_F(Summary, AllowsUnsupportedCaseAmongSupportedCases) {
  plan({{"A.One/f32", {"x.a", "x.b", "y.all"}}, {"A.One/bf16", {"x.a", "x.b", "y.all"}}});
  const auto cases = rows("One", RowPurpose::kClean);
  ASSERT_EQ(cases.size(), 2U);
  cases[1]->verdict = {Outcome::kSkip, {Reason::kUnsupported, "all_reduce:bf16"}};
  const auto sum = summary();
  EXPECT_THAT(sum.problems, IsEmpty());
  EXPECT_THAT(sum.skipped_checks, IsEmpty());
  cases[0]->verdict = cases[1]->verdict;
  EXPECT_THAT(summary().problems,
              ElementsAre("s.xpu/A.One/f32 is skip(unsupported:all_reduce:bf16) without any fault",
                          "s.xpu/A.One/bf16 is skip(unsupported:all_reduce:bf16) without any fault"));
}

TEST_F(Summary, ReportsFaultThatFailsMostChecks) {
  plan({{"A.One", {"x.a", "x.b", "y.all"}}, {"A.Two", {"x.b"}}, {"A.Three", {"x.b"}}, {"A.Four", {"x.b"}}},
       /*full=*/true);
  // Every check lists x.b, so it has no spread rows. x.a may fail one more check.
  rows("Two", RowPurpose::kSpread).front()->verdict = {Outcome::kFail, ""};
  EXPECT_THAT(summary().problems, IsEmpty());
  rows("Three", RowPurpose::kSpread).front()->verdict = {Outcome::kTimeout, ""};
  EXPECT_THAT(summary().problems, ElementsAre(HasSubstr("x.a fails 3 of 4 checks of its suite")));
}

TEST_F(Summary, SetsAsideChecksUnsupportedBySimulator) {
  plan({{"A.One", {"x.a", "y.all"}}, {"A.Two", {"x.b"}}});
  rows("Two", RowPurpose::kClean).front()->verdict = {Outcome::kSkip,
                                                      {Reason::kNotOnSimulator, "tensor_cores"}};
  for (auto* row : rows("Two", RowPurpose::kListed)) {
    row->verdict = {Outcome::kSkip, {Reason::kNotOnSimulator, "tensor_cores"}};
    row->kill = {};
  }
  const auto sum = summary();
  EXPECT_THAT(sum.problems, IsEmpty());
  ASSERT_EQ(sum.skipped_checks.size(), 1u);
  EXPECT_EQ(sum.skipped_checks.front().reason, "not_on_simulator:tensor_cores");
}

TEST_F(Summary, LimitsSkipsUnsupportedBySimulator) {
  std::vector<PlannedCheck> checks;
  std::vector<std::string> names;
  for (int i = 0; i < 13; ++i) names.push_back("A.C" + std::to_string(i));
  for (const auto& name : names) checks.push_back({.name = name.c_str(), .faults = {"x.a"}});
  plan(checks);
  for (auto& result : results_) {
    result.verdict = {Outcome::kSkip, {Reason::kNotOnSimulator, "graphs"}};
    result.kill = {};
  }
  EXPECT_THAT(summary().problems,
              testing::Contains(testing::HasSubstr("13 cases are skipped as not_on_simulator")));
}

class SelftestReport : public testing::Test {
 protected:
  SelftestReport() {
    plan_ = plan_of({{"A.One", {"x.a", "y.all"}}, {"A.Two", {"x.b"}}, {"A.Three", {}}});
    matrix_ = *make_matrix(plan_, small_catalogue(), {});
    results_ = all_good(matrix_);
    results_.back().kill = {.fired = false, .killed = false, .message = "the fault never fired\n\x1b[1m"};
    summary_ = summarise(plan_, matrix_, results_, {{"s.xpu/A.Three", "why"}});
    text_ = selftest_json({.id = "id",
                           .started = "2026-01-31T12:00:00Z",
                           .backend = "xpu",
                           .topology = "xpu:2x2",
                           .mode = "quick",
                           .duration_ms = 5},
                          plan_, matrix_, results_, summary_);
  }

  Plan plan_;
  SelftestMatrix matrix_;
  std::vector<SelftestResult> results_;
  SelftestSummary summary_;
  std::string text_;
};

TEST_F(SelftestReport, JsonHasRowsAndSummary) {
  const auto document = nlohmann::json::parse(text_);
  ASSERT_EQ(document.at("rows").size(), 3U);
  const auto& row = document.at("rows")[0];
  EXPECT_EQ(row.at("fault"), "x.a");
  EXPECT_EQ(row.at("check"), "s.xpu/A.One");
  EXPECT_EQ(row.at("fired"), true);
  EXPECT_EQ(row.at("outcome"), "fail");
  EXPECT_EQ(row.at("rule"), "R1");
  EXPECT_EQ(document.at("clean").size(), 3U);
  EXPECT_EQ(document.at("summary").at("faults"), 3);
  EXPECT_EQ(document.at("summary").at("exempt")[0].at("reason"), "why");
  EXPECT_EQ(document.at("simulated"), true);
}

TEST_F(SelftestReport, JsonMatchesSchema) {
  const TempDir directory;
  const std::string file = (directory / "selftest.json").string();
  std::ofstream(file) << text_;
  // The schema is closed for this test, so it must describe everything that the writer emits. Readers accept keys of
  // later versions.
  const std::string program =
      "import json, sys; sys.path.insert(0, '" PROCTOR_SOURCE_DIR
      "/reports/schema');"
      "import jsonschema, validate_report;"
      "schema = json.load(open('" PROCTOR_SOURCE_DIR
      "/reports/schema/selftest.schema.json'));"
      "validate_report.close(schema); jsonschema.validate(json.load(open(sys.argv[1])), schema)";
  const auto done = testing_support::run_child({"/usr/bin/python3", "-B", "-c", program, file});
  EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
}

TEST_F(SelftestReport, TableShowsUnkilledRowOnOneLine) {
  const auto table = selftest_table(plan_, matrix_, results_);
  EXPECT_THAT(table, HasSubstr("NOT KILLED: the fault never fired"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
}

TEST_F(SelftestReport, SummaryTextEndsWithProblems) {
  const auto words = selftest_words(summary_);
  EXPECT_THAT(words, HasSubstr("1 exempt"));
  EXPECT_THAT(words, HasSubstr("problem: "));
}

}  // namespace

}  // namespace proctor
