#include "harness/devices/masks/mask.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "harness/devices/masks/mask_cuda.h"
#include "harness/devices/masks/mask_table.h"
#include "harness/devices/masks/mask_xpu.h"
#include "harness/devices/masks/mask_xpu_driver.h"

namespace proctor {
namespace {

TEST(SplitMask, KeepsEmptyEntriesAndCountsColumns) {
  const auto entries = split_mask(" 0 ,,\t2.1");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].text, "0");
  EXPECT_EQ(entries[0].column, 2u);
  EXPECT_TRUE(entries[0].padded);
  EXPECT_EQ(entries[1].text, "");
  EXPECT_EQ(entries[1].column, 5u);
  EXPECT_FALSE(entries[1].padded);
  EXPECT_EQ(entries[2].text, "2.1");
  EXPECT_EQ(entries[2].number, 3u);
  EXPECT_EQ(entries[2].column, 7u);
}

TEST(SplitMask, AnEmptyValueIsOneEmptyEntry) {
  ASSERT_EQ(split_mask("").size(), 1u);
  EXPECT_EQ(split_mask("0,").size(), 2u);
  EXPECT_EQ(split_mask(",").size(), 2u);
}

TEST(ParseOrdinal, IsStricterThanAnyDriver) {
  EXPECT_EQ(parse_ordinal("0"), 0u);
  EXPECT_EQ(parse_ordinal("10"), 10u);
  EXPECT_EQ(parse_ordinal("4294967295"), 4294967295u);
  for (const char* text : {"", " ", "00", "010", "+1", "-1", "0x1", "1gpu", "1 ", "4294967296", "\xC2\xB2",
                           "\xD9\xA1", "99999999999999999999999"}) {
    EXPECT_EQ(parse_ordinal(text), std::nullopt) << text;
  }
}

TEST(WhyNotOrdinal, ReturnsReasonForEachMistake) {
  EXPECT_EQ(why_not_ordinal(""), "is empty");
  EXPECT_EQ(why_not_ordinal("*"), "is not a number");
  EXPECT_EQ(why_not_ordinal("1gpu"), "has 'gpu' after the number");
  EXPECT_EQ(why_not_ordinal("0;1"), "has ';1' after the number");
  EXPECT_EQ(why_not_ordinal("0x1"), "is hexadecimal");
  EXPECT_EQ(why_not_ordinal("010"), "has a leading zero");
  EXPECT_EQ(why_not_ordinal("-1"), "is negative");
  EXPECT_EQ(why_not_ordinal("+1"), "has a sign");
  EXPECT_EQ(why_not_ordinal("\xD9\xA1"), "is not written in ASCII digits");
  EXPECT_EQ(why_not_ordinal("4294967297"), "is larger than 4294967295");
}

TEST(RepairOrdinals, SuggestsOnlyUnambiguousRepairs) {
  EXPECT_EQ(repair_ordinals("0;1"), "0,1");
  EXPECT_EQ(repair_ordinals("0 1"), "0,1");
  EXPECT_EQ(repair_ordinals("0,,1"), "0,1");
  EXPECT_EQ(repair_ordinals("0,"), "0");
  EXPECT_EQ(repair_ordinals("0-2"), "0,1,2");
  EXPECT_EQ(repair_ordinals("0x10"), "16");
  EXPECT_EQ(repair_ordinals("010"), "10");
  EXPECT_EQ(repair_ordinals("1gpu,2ampere"), "1,2");
  EXPECT_EQ(repair_ordinals("+3"), "3");
  for (const char* text :
       {"", "*", "-1", "abc", "1.2.3", "0-4000000000", "0x", "0x100000000", "4294967297", "\xD9\xA1"}) {
    EXPECT_EQ(repair_ordinals(text), "") << text;
  }
}

TEST(ParseTopology, ReadsCardsAndTiles) {
  EXPECT_EQ(*parse_topology("2x4"), (Topology{2, 4}));
  EXPECT_EQ(*parse_topology("3"), (Topology{3, 1}));
  EXPECT_EQ(to_string(Topology{2, 4}), "2x4");
  for (const char* text :
       {"", "x", "0x4", "2x0", "2x", "x4", "2x4x1", "2X4", "-1x2", "1025x1", "1x65", "2x4 "}) {
    const auto topology = parse_topology(text);
    ASSERT_FALSE(topology) << text;
    EXPECT_EQ(topology.error().kind, ErrorKind::kUsage);
    EXPECT_NE(topology.error().what.find("'" + std::string(text) + "'"), std::string::npos)
        << topology.error().what;
  }
}

TEST(ParseHierarchy, IsExactAndSuggestsNearestName) {
  for (const Hierarchy hierarchy : kAllHierarchies)
    EXPECT_EQ(*parse_hierarchy(to_string(hierarchy)), hierarchy);
  EXPECT_EQ(parse_hierarchy("composite").error().hint, "Did you mean 'COMPOSITE'?");
  EXPECT_EQ(parse_hierarchy("FLATT").error().hint, "Did you mean 'FLAT'?");
  EXPECT_EQ(parse_hierarchy("garbage").error().hint, "");
}

TEST(InQuotes, MakesControlCharactersVisible) {
  EXPECT_EQ(in_quotes("0\n1"), "'0\\n1'");
  EXPECT_EQ(in_quotes("a\tb"), "'a\\tb'");
}

// Compares every row of the truth tables with the models and the linter, so that data, rules and driver
// models stay consistent.

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

TEST(XpuMaskTable, EachRowMatchesDriverModel) {
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
    for (const Hierarchy hierarchy : kAllHierarchies) {  // 22.43 ignores the variable
      const auto old = intel_answer(row.value, IntelDriver::k22_43, hierarchy, row.topology);
      EXPECT_EQ(expected_text(old, row.topology), row.composite);
      EXPECT_EQ(old.fate, row.hazards.v22_43) << to_string(old.fate);
    }
  }
}

TEST(XpuMaskTable, EachWellFormedRowMatchesSelectionRules) {
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

TEST(XpuMaskTable, LinterAcceptsWellFormedRowsSelectingDevices) {
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

TEST(CudaMaskTable, EachRowMatchesSelectionModel) {
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
