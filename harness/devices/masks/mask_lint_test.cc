// Tests the linter with values on which drivers crash, with values that drivers silently read as something
// else, and with accepted values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/devices/masks/mask_cuda.h"
#include "harness/devices/masks/mask_explain.h"
#include "harness/devices/masks/mask_xpu.h"
#include "harness/devices/masks/mask_xpu_driver.h"

namespace proctor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Topology k2x4{2, 4};

MaskLint lint_xpu(std::string_view value) { return lint_xpu_mask(value, std::nullopt, std::nullopt); }
MaskLint lint_cuda(std::string_view value) { return lint_cuda_mask(value, std::nullopt); }

struct RefusedValue {
  std::string value;
  std::string why;     // of the first refused entry
  std::string driver;  // one of the driver lines
  std::string suggestion;
};

TEST(LintXpu, RefusalsIncludeBehaviourOfDriver) {
  const std::vector<RefusedValue> values = {
      {"*", "is not a number", "std::stoul throws on '*' and the driver does not catch the exception",
       "For all devices"},
      {"0,,1", "is empty", "segmentation fault in zeInit", "'0,1'"},
      {"0,", "is empty", "22.43, 26.27 COMPOSITE on 2x4: selects 0", "'0'"},
      {"0;1", "has ';1' after the number", "'0;1' is read as 0", "'0,1'"},
      {"1gpu", "has 'gpu' after the number", "'1gpu' is read as 1", "'1'"},
      {"0x1", "is hexadecimal", "'0x1' is read as 1", "'1'"},
      {"010", "has a leading zero", "'010' is read as 8", "'10'"},
      {"-1", "is negative", "22.43 on 2x4: selects nothing, zeInit fails with 0x78000001",
       "ZE_ENABLE_ALT_DRIVERS"},
      {"0,-1,1", "is negative", "22.43, 26.27 COMPOSITE on 2x4: selects 0 1", ""},
      {"\xD9\xA1", "is not written in ASCII digits", "std::stoul throws", ""},
      {"\xC2\xB2", "is not written in ASCII digits", "std::stoul throws", ""},
      {"GPU-8932f937", "is a CUDA name; Level Zero takes ordinals only", "std::stoul throws",
       "proctor devices"},
      {"8932f937-d72c-4106-c12f-20bd9faed9f6", "after the number", "is read as 8932", ""},
      {"default", "is not a number", "22.43, 26.27 COMPOSITE on 2x4: selects 0 1", "For all devices"},
      {"4294967297", "is larger than 4294967295", "is read as 1", ""},
      {" ", "is empty", "abort in zeInit", ""},
      {"0.0.0", "has more than one dot", "selects nothing", ""},
      {"0.", "has no tile after the dot", "selects 0", ""},
      {".0", "has no card before the dot", "std::stoul throws on ''", ""},
      {"0.01", "has a part '01' that has a leading zero", "'01' is read as 1", ""},
      {"0.1.", "has more than one dot", "selects 0.1", ""},
  };
  for (const RefusedValue& expected : values) {
    SCOPED_TRACE(expected.value);
    const MaskLint lint = lint_xpu(expected.value);
    ASSERT_FALSE(lint.accepted());
    EXPECT_THAT(lint.refusals.front().why, HasSubstr(expected.why));
    EXPECT_THAT(lint.driver, Contains(HasSubstr(expected.driver)));
    EXPECT_THAT(lint.suggestion, HasSubstr(expected.suggestion));
    if (expected.suggestion.empty()) {
      EXPECT_EQ(lint.suggestion, "");
    }

    const auto parsed = parse_xpu_mask(expected.value);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(parsed.error().what, HasSubstr(expected.why));
    EXPECT_THAT(parsed.error().what, HasSubstr("at column "));
  }
}

TEST(LintXpu, NamesColumnOfEachBadEntry) {
  const MaskLint lint = lint_xpu("0, x,1,+2");
  ASSERT_EQ(lint.refusals.size(), 2u);
  EXPECT_EQ(lint.refusals[0].entry.number, 2u);
  EXPECT_EQ(lint.refusals[0].entry.column, 4u);
  EXPECT_EQ(lint.refusals[1].entry.text, "+2");
  EXPECT_EQ(lint.refusals[1].entry.column, 8u);
}

TEST(LintXpu, EmptyMaskSelectsAll) {
  EXPECT_THAT(lint_xpu("").meaning, HasSubstr("means all"));
  EXPECT_THAT(lint_xpu("").warnings, IsEmpty());
  EXPECT_THAT(lint_xpu_mask("", Hierarchy::kComposite, k2x4).meaning, HasSubstr("COMPOSITE: 0 1"));
}

TEST(LintXpu, WithoutATopologyOnlySyntaxIsJudged) {
  for (const char* value : {"0", "7.9", "100", " 0 ,\t1", "0.0,0"}) {
    EXPECT_TRUE(lint_xpu(value).accepted()) << value;
    EXPECT_THAT(lint_xpu(value).meaning, HasSubstr("--topology")) << value;
  }
}

TEST(LintXpu, RejectsEmptySelectionOnKnownTopology) {
  const MaskLint lint = lint_xpu_mask("8", std::nullopt, k2x4);
  EXPECT_THAT(lint.refused_whole, HasSubstr("selects nothing under COMPOSITE on 2x4"));
  EXPECT_THAT(lint.driver, Contains(HasSubstr("segmentation fault")));
  EXPECT_THAT(lint_xpu_mask("0.0", std::nullopt, k2x4).refused_whole, HasSubstr("under FLAT"));
  EXPECT_TRUE(lint_xpu_mask("0.0", Hierarchy::kComposite, k2x4).accepted());
  EXPECT_TRUE(lint_xpu_mask("7", Hierarchy::kFlat, k2x4).accepted());
}

TEST(LintXpu, RejectsTilesUnderFlatHierarchy) {
  EXPECT_THAT(lint_xpu_mask("0.0,1.1", Hierarchy::kFlat, std::nullopt).refused_whole,
              HasSubstr("N.M names no device"));
  EXPECT_THAT(lint_xpu_mask("0.0,1", Hierarchy::kCombined, std::nullopt).warnings,
              ElementsAre("entry 1 '0.0' is ignored under COMBINED, where every device is a tile already"));
}

TEST(LintXpu, WarnsAboutEntriesWithoutEffect) {
  const MaskLint lint = lint_xpu_mask("1,0,0,9", Hierarchy::kComposite, k2x4);
  ASSERT_TRUE(lint.accepted());
  EXPECT_EQ(lint.meaning, "COMPOSITE: 0 1");
  EXPECT_THAT(lint.warnings,
              ElementsAre("entry 3 '0' is repeated: it counts once",
                          "entry 4 '9' names no device under COMPOSITE on 2x4: it is skipped",
                          "the order of the entries does not order the devices: a mask is a set"));
}

TEST(IntelNumber, MatchesStoulTruncatedTo32Bits) {
  EXPECT_EQ(intel_number(" \t\n+7gpu"), 7u);
  EXPECT_EQ(intel_number("0x1F"), 31u);
  EXPECT_EQ(intel_number("0x"), 0u);
  EXPECT_EQ(intel_number("0xg"), 0u);
  EXPECT_EQ(intel_number("0b1"), 0u);
  EXPECT_EQ(intel_number("017"), 15u);
  EXPECT_EQ(intel_number("08"), 0u);
  EXPECT_EQ(intel_number("-1"), 4294967295u);
  EXPECT_EQ(intel_number("-18446744073709551615"), 1u);
  EXPECT_EQ(intel_number("4294967297"), 1u);
  EXPECT_EQ(intel_number("18446744073709551615"), 4294967295u);
  for (const char* text :
       {"", " ", "x", "--1", "+-1", "- 1", "18446744073709551616", "0x10000000000000000"}) {
    EXPECT_EQ(intel_number(text), std::nullopt) << text;
  }
}

TEST(IntelAnswer, ReadsTilesOnlyOfCardsThatExist) {
  const auto fate = [](std::string_view value) {
    return intel_answer(value, IntelDriver::k22_43, Hierarchy::kComposite, k2x4).fate;
  };
  EXPECT_EQ(fate("0.x"), DriverFate::kAbort);
  EXPECT_EQ(fate("9.x"), DriverFate::kUninitialized);
  EXPECT_EQ(fate("9..1"), DriverFate::kUninitialized);
  EXPECT_EQ(fate("0..1"), DriverFate::kAbort);
  EXPECT_EQ(fate("0.9.x"), DriverFate::kUninitialized);
  EXPECT_EQ(fate("0.0.x"), DriverFate::kAbort);
  EXPECT_EQ(intel_answer("0.0.x,0", IntelDriver::k26_27, Hierarchy::kComposite, k2x4).fate,
            DriverFate::kSelects);
}

TEST(LintCuda, AcceptsTheDocumentedForms) {
  for (const char* value :
       {"", "0", "1,0", "-1", "0, 1", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "GPU-8932f937",
        "GPU-8932f937-d7,GPU-0", "MIG-5c0a7a9e-3b1f-5d52-8a0e-1f9d2c4b6e80",
        "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0"}) {
    const MaskLint lint = lint_cuda(value);
    EXPECT_TRUE(lint.accepted()) << value;
    EXPECT_THAT(lint.warnings, IsEmpty()) << value;
  }
  EXPECT_EQ(lint_cuda("").meaning, "hides every device: CUDA_VISIBLE_DEVICES is set and names none");
  EXPECT_EQ(lint_cuda("-1").meaning, "hides every device");
  EXPECT_EQ(lint_cuda("2,0").meaning, "selects 2 0, in this order");
}

TEST(LintCuda, RejectsFormsThatGuideLeavesUndefined) {
  const std::vector<RefusedValue> values = {
      {"*", "is not a number", "selects nothing", "leave CUDA_VISIBLE_DEVICES unset"},
      {"all", "is not a number", "selects nothing", "leave CUDA_VISIBLE_DEVICES unset"},
      {"none", "is not a number", "selects nothing", "set CUDA_VISIBLE_DEVICES to ''"},
      {"0,,1", "is empty", "selects 0", "'0,1'"},
      {"0;1", "has ';1' after the number", "selects 0", "'0,1'"},
      {"1gpu", "has 'gpu' after the number", "selects 1", "'1'"},
      {"0x1", "is hexadecimal", "selects 0", "'1'"},
      {"010", "has a leading zero", "selects 10", "'10'"},
      {"-2", "is negative", "selects nothing", ""},
      {"\xD9\xA1", "is not written in ASCII digits", "selects nothing", ""},
      {"8932f937-d72c-4106-c12f-20bd9faed9f6", "is a UUID without GPU- or MIG-", "selects 8932",
       "'GPU-8932f937-d72c"},
      {"gpu-8932f937", "is not a number", "selects nothing", "'GPU-8932f937'"},
      {"GPU-", "is not GPU- and the hexadecimal digits of a UUID", "selects GPU-", ""},
      {"GPU-xyz", "is not GPU- and the hexadecimal digits of a UUID", "selects GPU-xyz", ""},
      {"GPU-8932f9371", "is not GPU- and the hexadecimal digits of a UUID", "selects GPU-", ""},
      {"MIG-1", "is neither MIG-UUID nor MIG-GPU-UUID/N/M", "selects MIG-1", ""},
      {"MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1", "is neither", "selects MIG-GPU", ""},
      {"MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "is neither", "selects MIG-GPU", ""},
      {"MIG-", "is neither", "selects MIG-", ""},
      {"MIG-GPU-", "is neither", "selects MIG-GPU-", ""},
  };
  for (const RefusedValue& expected : values) {
    SCOPED_TRACE(expected.value);
    const MaskLint lint = lint_cuda(expected.value);
    ASSERT_FALSE(lint.accepted());
    EXPECT_THAT(lint.refusals.front().why, HasSubstr(expected.why));
    EXPECT_THAT(lint.driver, Contains(HasSubstr(expected.driver)));
    EXPECT_THAT(lint.suggestion, HasSubstr(expected.suggestion));
    if (expected.suggestion.empty()) {
      EXPECT_EQ(lint.suggestion, "");
    }
  }
}

TEST(LintCuda, WarnsOfTruncationDuplicatesAndMixedKinds) {
  EXPECT_THAT(lint_cuda("0,-1,1").warnings,
              ElementsAre("entry 2 '-1' is negative and ends the list: 1 entry after it hidden ('1')"));
  EXPECT_THAT(lint_cuda("0,0").warnings, ElementsAre(HasSubstr("entry 2 '0' repeats a device")));
  EXPECT_THAT(lint_cuda("GPU-12,2").warnings, ElementsAre(HasSubstr("is in a list of GPU- names")));
  EXPECT_THAT(lint_cuda("0,GPU-12").warnings, ElementsAre(HasSubstr("is in a list of ordinals")));
  EXPECT_THAT(lint_cuda("GPU-12, GPU-34").warnings, ElementsAre(HasSubstr("has a space or tab next to it")));
  const MaskLint past = lint_cuda_mask("7", CudaHost{4, {}, {}});
  EXPECT_TRUE(past.accepted());
  EXPECT_EQ(past.meaning, "hides every device on 4 devices");
  EXPECT_THAT(past.warnings,
              ElementsAre("entry 1 '7' is out of range: there are 4 devices and ends the list"));
}

TEST(ExplainXpu, DescribesEachEntryAndVisibleDevices) {
  const auto explanation = explain_xpu_mask("0,-1,1.2", std::nullopt, k2x4);
  ASSERT_EQ(explanation.entries.size(), 3u);
  EXPECT_EQ(explanation.entries[0].meaning, "COMPOSITE: card 0; FLAT, COMBINED: tile 0 of card 0");
  EXPECT_EQ(explanation.entries[1].meaning,
            "read as 4294967295; names no device: it is skipped, the other entries count");
  EXPECT_EQ(explanation.entries[2].meaning,
            "COMPOSITE: tile 2 of card 1; FLAT, COMBINED: not valid, ignored");
  ASSERT_EQ(explanation.visible.size(), 2u);
  EXPECT_EQ(explanation.visible[0].devices, "0 1.2");
  EXPECT_EQ(explanation.visible[1].devices, "0.0");
}

TEST(ExplainXpu, ExplainsValuesThatCrashTheDriver) {
  const auto explanation = explain_xpu_mask("0,,1", Hierarchy::kFlat, k2x4);
  EXPECT_THAT(explanation.entries[1].meaning, HasSubstr("crashes"));
  EXPECT_THAT(explanation.visible, IsEmpty());
  EXPECT_THAT(explanation.driver, Contains(HasSubstr("segmentation fault")));
  EXPECT_THAT(explain_xpu_mask("*", std::nullopt, k2x4).entries[0].meaning, HasSubstr("aborts"));
  EXPECT_EQ(explain_xpu_mask("8", Hierarchy::kComposite, k2x4).visible[0].devices, "nothing");
  EXPECT_EQ(explain_xpu_mask("default", Hierarchy::kComposite, k2x4).visible[0].devices, "0 1");
}

TEST(ExplainCuda, ExplainsHiddenAndRepeatedEntries) {
  const auto explanation = explain_cuda_mask("2,9,1", CudaHost{4, {}, {}});
  EXPECT_EQ(explanation.entries[0].meaning, "device 2");
  EXPECT_THAT(explanation.entries[1].meaning, HasSubstr("out of range"));
  EXPECT_EQ(explanation.entries[2].meaning, "hidden: entry 2 ended the list");
  EXPECT_EQ(explanation.visible[0].devices, "2");
  const auto twice = explain_cuda_mask("1,1,0", CudaHost{4, {}, {}});
  EXPECT_EQ(twice.entries[1].meaning, "names a device a second time");
  EXPECT_EQ(twice.entries[2].meaning, "not reached");
  EXPECT_EQ(twice.visible[0].devices, "nothing");
}

}  // namespace
}  // namespace proctor
