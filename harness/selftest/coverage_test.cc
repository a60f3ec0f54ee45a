#include "harness/selftest/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/json.h"

namespace proctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Case check_of(const std::string& id, const std::string& rule, std::vector<std::string> faults) {
  Case test;
  test.id = id;
  test.rule = rule;
  test.source = "a specification";
  test.faults = std::move(faults);
  return test;
}

Plan plan() {
  Plan plan;
  plan.cases = {check_of("m.xpu/A.One/1", "S1.18", {"copy.short", "memory.corrupt_copy:at=17"}),
                check_of("m.xpu/A.One/2", "S1.18", {"copy.short", "memory.corrupt_copy:at=17"}),
                check_of("m.xpu/A.Two", "S1.2", {}), check_of("foreign/x", "", {})};
  return plan;
}

const CoveredFault& fault(const Coverage& coverage, const std::string& name) {
  return *std::ranges::find(coverage.faults, name, &CoveredFault::name);
}

TEST(CoverageTest, EachRuleHasItsChecksOnceAndTheirFaults) {
  const Coverage coverage = coverage_of(plan());
  ASSERT_THAT(coverage.rules, SizeIs(2));
  EXPECT_EQ(coverage.rules[0].id, "S1.2");
  EXPECT_EQ(coverage.rules[1].id, "S1.18");
  ASSERT_THAT(coverage.rules[1].checks, SizeIs(1));
  EXPECT_EQ(coverage.rules[1].checks[0].id, "m.xpu/A.One");
  EXPECT_THAT(coverage.rules[1].checks[0].faults, ElementsAre("copy.short", "memory.corrupt_copy:at=17"));
  EXPECT_THAT(coverage.rules[1].sources, ElementsAre("a specification"));
}

TEST(CoverageTest, EachFaultOfTheSimulatorHasTheChecksThatNameIt) {
  const Coverage coverage = coverage_of(plan());
  EXPECT_THAT(fault(coverage, "memory.corrupt_copy").checks, ElementsAre("m.xpu/A.One"));
  EXPECT_THAT(fault(coverage, "visibility.missing_device").checks, IsEmpty());
  EXPECT_TRUE(fault(coverage, "visibility.missing_device").blanket);
}

TEST(CoverageTest, FunctionsAreWholeTextsOfAProgram) {
  using namespace std::string_view_literals;
  const auto bytes =
      "\x7f"
      "ELF\0zeInit\0\0zesDeviceGet\0xzeInit\0zeGetGlobalProcAddrTable\0zero\0zeroCopy\0failed: "
      "zeFoo\0cudaMalloc\0cudaErrorAssert\0cudaSuccess"
      "\0cudaGetErrorName\0cudaMalloc_ptsz"sv;
  EXPECT_THAT(functions_named_in(bytes, Backend::kXpu), ElementsAre("zeInit", "zesDeviceGet"));
  EXPECT_THAT(functions_named_in(bytes, Backend::kCuda), ElementsAre("cudaGetErrorName", "cudaMalloc"));
  EXPECT_THAT(functions_named_in(bytes, Backend::kNone), IsEmpty());
}

TEST(CoverageTest, WhatIsNotCoveredIsNamed) {
  Coverage coverage = coverage_of(plan());
  coverage.functions = {{"zeInit", "xpu", {"m.xpu"}}, {"zeFenceReset", "xpu", {}}};
  const std::string text = to_text(coverage);
  EXPECT_THAT(
      text,
      HasSubstr(
          "functions of Level Zero: 1 of 2 are named by a suite's program; by none:\n  zeFenceReset\n"));
  EXPECT_THAT(text, HasSubstr("\n  visibility.missing_device\n"));
  EXPECT_THAT(text, Not(HasSubstr("CUDA")));
  const auto json = nlohmann::json::parse(to_json(coverage));
  EXPECT_EQ(json["functions"][0]["named_by"][0], "m.xpu");
  EXPECT_EQ(json["rules"][1]["checks"][0]["faults"].size(), 2);
}

}  // namespace
}  // namespace proctor
