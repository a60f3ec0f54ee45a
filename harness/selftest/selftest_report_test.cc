#include "harness/selftest/selftest_report.h"

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

using testing::HasSubstr;
using testing_support::all_good;
using testing_support::plan_of;
using testing_support::small_catalogue;

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

TEST_F(SelftestReport, JsonIsValidUnderItsSchema) {
  const TempDir directory;
  const std::string file = (directory / "selftest.json").string();
  std::ofstream(file) << text_;
  // Closed, so that the writer is described completely; readers accept what later versions add.
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

TEST_F(SelftestReport, TableSaysWhatIsNotKilledOnOneLine) {
  const auto table = selftest_table(plan_, matrix_, results_);
  EXPECT_THAT(table, HasSubstr("NOT KILLED: the fault never fired"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
}

TEST_F(SelftestReport, WordsEndWithTheProblems) {
  const auto words = selftest_words(summary_);
  EXPECT_THAT(words, HasSubstr("1 exempt"));
  EXPECT_THAT(words, HasSubstr("problem: "));
}

}  // namespace
}  // namespace proctor
