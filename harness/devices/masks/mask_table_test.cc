// Every row of the truth tables against the models and the linter: data, rules and driver models cannot drift
// apart.
#include "harness/devices/masks/mask_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "harness/devices/masks/mask_cuda.h"
#include "harness/devices/masks/mask_xpu.h"
#include "harness/devices/masks/mask_xpu_driver.h"

namespace proctor {
namespace {

CudaHost table_host(int devices) {
  CudaHost host{devices, {}, {}};
  if (devices == static_cast<int>(table_uuids().size())) {
    for (const auto uuid : table_uuids()) host.uuids.emplace_back(uuid);
  }
  return host;
}

std::string expected_text(const DriverAnswer& answer, const Topology& topology) {
  if (answer.fate == DriverFate::kSelects) return to_string(answer.devices, topology);
  return answer.selects_nothing ? "nothing" : "-";
}

TEST(XpuMaskTable, EachRowIsWhatTheDriverModelAnswers) {
  for (const XpuMaskRow& row : xpu_mask_table()) {
    SCOPED_TRACE(row.slug);
    const auto composite = intel_answer(row.value, IntelDriver::k26_27, Hierarchy::kComposite, row.topology);
    EXPECT_EQ(expected_text(composite, row.topology), row.composite);
    EXPECT_EQ(composite.fate, row.hazards.v26_27_composite) << to_string(composite.fate);
    for (const Hierarchy hierarchy : {Hierarchy::kFlat, Hierarchy::kCombined}) {
      const auto flat = intel_answer(row.value, IntelDriver::k26_27, hierarchy, row.topology);
      EXPECT_EQ(expected_text(flat, row.topology), row.flat);
      EXPECT_EQ(flat.fate, row.hazards.v26_27_flat) << to_string(flat.fate);
    }
    for (const Hierarchy hierarchy : kAllHierarchies) {  // 22.43 does not know the variable
      const auto old = intel_answer(row.value, IntelDriver::k22_43, hierarchy, row.topology);
      EXPECT_EQ(expected_text(old, row.topology), row.composite);
      EXPECT_EQ(old.fate, row.hazards.v22_43) << to_string(old.fate);
    }
  }
}

TEST(XpuMaskTable, EachWellFormedRowIsSelectedByTheRulesToo) {
  for (const XpuMaskRow& row : xpu_mask_table()) {
    SCOPED_TRACE(row.slug);
    const auto mask = parse_xpu_mask(row.value.value_or(""));
    ASSERT_EQ(mask.ok(), row.well_formed);
    if (!mask) continue;
    EXPECT_EQ(to_string(select_xpu(*mask, Hierarchy::kComposite, row.topology), row.topology), row.composite);
    EXPECT_EQ(to_string(select_xpu(*mask, Hierarchy::kFlat, row.topology), row.topology), row.flat);
    EXPECT_EQ(to_string(select_xpu(*mask, Hierarchy::kCombined, row.topology), row.topology), row.flat);
  }
}

TEST(XpuMaskTable, TheLinterAcceptsWhatIsWellFormedAndSelectsSomething) {
  for (const XpuMaskRow& row : xpu_mask_table()) {
    if (!row.value) continue;
    SCOPED_TRACE(row.slug);
    EXPECT_EQ(lint_xpu_mask(*row.value, std::nullopt, std::nullopt).accepted(), row.well_formed);
    const MaskLint composite = lint_xpu_mask(*row.value, Hierarchy::kComposite, row.topology);
    EXPECT_EQ(composite.accepted(), row.well_formed && row.composite != "nothing");
    const MaskLint flat = lint_xpu_mask(*row.value, Hierarchy::kFlat, row.topology);
    EXPECT_EQ(flat.accepted(), row.well_formed && row.flat != "nothing");
    const MaskLint any = lint_xpu_mask(*row.value, std::nullopt, row.topology);
    EXPECT_EQ(any.accepted(), composite.accepted() && flat.accepted());
    if (!any.accepted()) {
      EXPECT_FALSE(any.driver.empty());
    }
  }
}

TEST(CudaMaskTable, EachRowIsWhatTheModelSelects) {
  for (const CudaMaskRow& row : cuda_mask_table()) {
    SCOPED_TRACE(row.slug);
    EXPECT_EQ(to_string(select_cuda(row.value, table_host(row.devices)).devices), row.expected);
    if (!row.value) continue;
    const MaskLint lint = lint_cuda_mask(*row.value, table_host(row.devices));
    EXPECT_EQ(lint.accepted(), row.well_formed);
    EXPECT_EQ(lint_cuda_mask(*row.value, std::nullopt).accepted(), row.well_formed);
    EXPECT_EQ(lint.driver.empty(), row.well_formed);
  }
}

template <typename Row>
void check_well_kept(std::span<const Row> rows) {
  std::set<std::string_view> slugs;
  int last = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.slug);
    EXPECT_TRUE(slugs.insert(row.slug).second) << "slug used twice";
    EXPECT_GE(row.number, last);
    last = row.number;
    EXPECT_FALSE(row.source.empty());
    ASSERT_FALSE(row.evidence.empty());
    EXPECT_EQ(row.evidence.find_first_not_of("SITXF,"), std::string_view::npos);
  }
}

TEST(MaskTables, HaveUniqueSlugsAndEvidence) {
  check_well_kept(xpu_mask_table());
  check_well_kept(cuda_mask_table());
}

TEST(MaskTables, AreFoundByValue) {
  ASSERT_NE(find_xpu_row(""), nullptr);
  EXPECT_EQ(find_xpu_row("")->slug, "empty");
  EXPECT_EQ(find_cuda_row("")->slug, "empty");
  EXPECT_EQ(find_xpu_row("17"), nullptr);
  EXPECT_EQ(find_cuda_row("17"), nullptr);
}

}  // namespace
}  // namespace proctor
