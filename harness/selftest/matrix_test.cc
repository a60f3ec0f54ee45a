#include "harness/selftest/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/selftest/test_plan.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::plan_of;
using testing_support::small_catalogue;

// Returns "check fault" of each row with this purpose.
std::vector<std::string> rows_of(const SelftestMatrix& matrix, RowPurpose purpose) {
  std::vector<std::string> rows;
  for (const auto& row : matrix.rows) {
    if (row.purpose != purpose) continue;
    const std::string& id = matrix.checks[row.check].id;
    rows.push_back(id.substr(id.rfind('.') + 1) + (row.fault.empty() ? "" : " " + row.fault));
  }
  return rows;
}

SelftestMatrix made(const Plan& plan, const MatrixOptions& options) {
  const auto matrix = make_matrix(plan, small_catalogue(), options);
  EXPECT_TRUE(matrix) << matrix.error().what;
  return matrix ? *matrix : SelftestMatrix{};
}

const Plan kPlan = plan_of({{"A.One", {"y.all", "x.a:at=1", "x.b"}},
                            {"A.Two/fp16", {"x.a", "x.b"}},
                            {"A.Two/fp32", {"x.a", "x.b"}},
                            {"A.Three", {"y.all"}},
                            {"A.Four", {}}});

TEST(Matrix, GroupsParametersIntoOneCheck) {
  const auto checks = checks_of(kPlan);
  ASSERT_EQ(checks.size(), 4U);
  EXPECT_EQ(checks[1].id, "s.xpu/A.Two");
  EXPECT_THAT(checks[1].cases, ElementsAre(1U, 2U));
  EXPECT_EQ(check_id("s.xpu/A.Two/a/b"), "s.xpu/A.Two");
}

TEST(Matrix, EveryCaseHasCleanRow) {
  EXPECT_THAT(rows_of(made(kPlan, {}), RowPurpose::kClean),
              ElementsAre("One", "Two", "Two", "Three", "Four"));
}

TEST(Matrix, QuickModeCoversEveryCheckAndFault) {
  const auto matrix = made(kPlan, {});
  EXPECT_THAT(rows_of(matrix, RowPurpose::kListed),
              ElementsAre("One x.a:at=1", "Two x.a", "Three y.all", "One x.b"));
  EXPECT_THAT(rows_of(matrix, RowPurpose::kSpread), IsEmpty());
}

TEST(Matrix, FullModeTakesPairsAndSpreadsFaults) {
  const auto matrix = made(kPlan, {.full = true, .fault = {}, .check = {}});
  EXPECT_THAT(rows_of(matrix, RowPurpose::kListed),
              ElementsAre("One y.all", "One x.a:at=1", "One x.b", "Two x.a", "Two x.b", "Three y.all"));
  EXPECT_THAT(rows_of(matrix, RowPurpose::kSpread),
              ElementsAre("Three x.a:at=1", "Four x.a:at=1", "Three x.b", "Four x.b"));
}

TEST(Matrix, ListedRowsTryAllParameters) {
  const auto matrix = made(kPlan, {});
  const auto row = std::find_if(matrix.rows.begin(), matrix.rows.end(), [](const SelftestRow& candidate) {
    return candidate.purpose == RowPurpose::kListed && candidate.check == 1;
  });
  ASSERT_NE(row, matrix.rows.end());
  EXPECT_THAT(row->cases, ElementsAre(1U, 2U));
}

TEST(Matrix, FiltersByFaultOrCheck) {
  const auto by_fault = made(kPlan, {.full = false, .fault = "x.b", .check = {}});
  EXPECT_TRUE(by_fault.partial);
  EXPECT_THAT(rows_of(by_fault, RowPurpose::kListed), ElementsAre("One x.b", "Two x.b"));
  const auto by_check = made(kPlan, {.full = false, .fault = {}, .check = "A.One"});
  EXPECT_THAT(rows_of(by_check, RowPurpose::kListed), ElementsAre("One y.all", "One x.a:at=1", "One x.b"));
  EXPECT_THAT(rows_of(by_check, RowPurpose::kClean), ElementsAre("One"));
}

TEST(Matrix, UnknownNameSuggestsNearestName) {
  const auto no_fault = make_matrix(kPlan, {{"memory.corrupt_copy", false}}, {});
  ASSERT_FALSE(no_fault);
  EXPECT_THAT(no_fault.error().what, HasSubstr("s.xpu/A.One lists the unknown fault 'y.all'"));
  const auto fault = make_matrix(kPlan, small_catalogue(), {.full = false, .fault = "y.al", .check = {}});
  ASSERT_FALSE(fault);
  EXPECT_THAT(fault.error().hint, HasSubstr("y.all"));
  const auto check = make_matrix(kPlan, small_catalogue(), {.full = false, .fault = {}, .check = "A.Thre"});
  ASSERT_FALSE(check);
  EXPECT_THAT(check.error().hint, HasSubstr("A.Three"));
}

TEST(Matrix, CatalogueListsFaultsOfBackend) {
  const auto catalogue = fault_catalogue("xpu");
  EXPECT_GE(catalogue.size(), 60U);
  EXPECT_LT(fault_catalogue("cuda").size(), catalogue.size());
}

}  // namespace
}  // namespace proctor
