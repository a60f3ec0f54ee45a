#include "harness/selftest/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/json.h"

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
  test.source = "SPIR-V specification, OpIAdd";
  test.severity = Severity::kGate;
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

TEST(CoverageTest, EachRuleListsChecksAndFaultsOnce) {
  const Coverage coverage = coverage_of(plan());
  ASSERT_THAT(coverage.rules, SizeIs(2));
  EXPECT_EQ(coverage.rules[0].id, "S1.2");
  EXPECT_EQ(coverage.rules[1].id, "S1.18");
  ASSERT_THAT(coverage.rules[1].checks, SizeIs(1));
  EXPECT_EQ(coverage.rules[1].checks[0].id, "m.xpu/A.One");
  EXPECT_THAT(coverage.rules[1].checks[0].faults, ElementsAre("copy.short", "memory.corrupt_copy:at=17"));
  EXPECT_THAT(coverage.rules[1].sources, ElementsAre("SPIR-V specification, OpIAdd"));
}

TEST(CoverageTest, CountsChecksByKindOfSource) {
  Plan mixed = plan();
  mixed.cases[2].source = "project rule: A copy ends.";
  mixed.cases[2].severity = Severity::kWarn;
  const Coverage coverage = coverage_of(mixed);
  const std::string text = to_text(coverage);
  EXPECT_THAT(text, HasSubstr("\n  specification     1, of which 1 gate\n"));
  EXPECT_THAT(text, HasSubstr("\n  project           1, of which 0 gate\n"));
  EXPECT_THAT(text, HasSubstr("m.xpu/A.Two  project\n"));
  const auto check = nlohmann::json::parse(to_json(coverage))["rules"][0]["checks"][0];
  EXPECT_EQ(check["source_kind"], "project");
  EXPECT_EQ(check["severity"], "warn");
}

TEST(CoverageTest, ListsChecksOfEachFault) {
  const Coverage coverage = coverage_of(plan());
  EXPECT_THAT(fault(coverage, "memory.corrupt_copy").checks, ElementsAre("m.xpu/A.One"));
  EXPECT_THAT(fault(coverage, "visibility.missing_device").checks, IsEmpty());
  EXPECT_TRUE(fault(coverage, "visibility.missing_device").blanket);
}

TEST(CoverageTest, FindsFunctionNamesAsWholeStrings) {
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

TEST(CoverageTest, ListsUncoveredFunctionsAndFaults) {
  Coverage coverage = coverage_of(plan());
  coverage.functions = {{.name = "zeInit", .backend = "xpu", .suites = {"m.xpu"}, .checks = {"m.xpu/A.One"}},
                        {.name = "zeFenceReset", .backend = "xpu", .reason = "a fence is waited for"}};
  const std::string text = to_text(coverage);
  EXPECT_THAT(text, HasSubstr("functions of Level Zero: 1 of 2 are called by a check; by none:\n"
                              "  a fence is waited for\n    zeFenceReset\n"));
  EXPECT_THAT(text, HasSubstr("\n  visibility.missing_device\n"));
  EXPECT_THAT(text, Not(HasSubstr("CUDA")));
  const auto json = nlohmann::json::parse(to_json(coverage));
  EXPECT_EQ(json["functions"][0]["named_by"][0], "m.xpu");
  EXPECT_EQ(json["functions"][0]["called_by"][0], "m.xpu/A.One");
  EXPECT_EQ(json["functions"][1]["reason"], "a fence is waited for");
  EXPECT_EQ(json["rules"][1]["checks"][0]["faults"].size(), 2);
}

// A function without a check needs a reason, and each reason needs a function.
TEST(CoverageTest, AFunctionHasChecksOrAReason) {
  const std::string calls = "# recorded\nzeInit m.xpu/A.One m.xpu/A.Two\n";
  const auto reasons = [](const std::string& names) {
    return "[[uncalled]]\nfunctions = [" + names + "]\nreason = \"metrics\"\n";
  };
  std::vector<VendorFunction> functions = {
      {.name = "zeInit"}, {.name = "zetMetricGet"}, {.name = "zetTracer"}};
  EXPECT_THAT(*add_calls(functions, calls, reasons("'zet*'")), IsEmpty());
  EXPECT_THAT(functions[0].checks, ElementsAre("m.xpu/A.One", "m.xpu/A.Two"));
  EXPECT_EQ(functions[1].reason, "metrics");
  functions = {{.name = "zeInit"}, {.name = "zetMetricGet"}, {.name = "zetTracer"}};
  EXPECT_THAT(*add_calls(functions, calls, reasons("'zetMetric*', 'zeIni*'")),
              ElementsAre("zetTracer: no check calls it, and it has no reason",
                          "zeIni*: has a reason why no check calls it, but there is no such function"));
  EXPECT_FALSE(add_calls(functions, calls, "[[uncalled]]\nfunctions = ['zet*']\n")) << "no reason";
}

TEST(CoverageTest, RecordedCallsAreReadable) {
  std::vector<VendorFunction> none;
  EXPECT_TRUE(add_calls(none, recorded_calls(), uncalled_functions()));
  std::vector<VendorFunction> one = {{.name = "zeInit", .backend = "xpu"}};
  EXPECT_TRUE(add_calls(one, recorded_calls(), uncalled_functions()));
  EXPECT_THAT(one[0].checks, Not(IsEmpty()));
}

TEST(SourceKindTest, RecognisesDocumentWithSection) {
  EXPECT_EQ(kind_of_source("Level Zero specification, zeMemFree"), SourceKind::kSpecification);
  EXPECT_EQ(kind_of_source("CUDA Runtime API, cudaFree: implicit synchronization"),
            SourceKind::kSpecification);
  EXPECT_EQ(kind_of_source("CUDA Programming Guide, Lazy Loading"), SourceKind::kDocumentation);
  EXPECT_EQ(kind_of_source("measured: Intel compute-runtime 26.27"), SourceKind::kImplementation);
  EXPECT_EQ(kind_of_source("oneapi-src/level-zero-tests, test_copy.cpp"), SourceKind::kTests);
}

TEST(SourceKindTest, StrongestOfSeveralSourcesCounts) {
  EXPECT_EQ(kind_of_source("OpenCL-CTS, atomics; SPIR-V specification, atomic instructions"),
            SourceKind::kSpecification);
}

TEST(SourceKindTest, DocumentWithoutSectionIsNoEvidence) {
  EXPECT_EQ(kind_of_source("Level Zero specification"), SourceKind::kProject);
  EXPECT_EQ(kind_of_source("Level Zero specification, "), SourceKind::kProject);
  EXPECT_EQ(kind_of_source("Level Zero specifications, zeMemFree"), SourceKind::kProject);
  EXPECT_EQ(kind_of_source("isolation: two jobs on one device"), SourceKind::kProject);
  EXPECT_EQ(kind_of_source(""), SourceKind::kProject);
}

}  // namespace

}  // namespace proctor
