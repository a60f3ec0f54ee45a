// Checks with known outcomes. protocol_test.cc contains the expected events of each.
#include <stdexcept>

#include "suites/main/check.h"

namespace proctor::suite {

PROCTOR_CHECK(Sample, CheckPasses, "R1", "the protocol", kGate) {
  step("first");
  measure("speed", 2.5, "GB/s", 3, 0.1);
  warn("look at this");
}
PROCTOR_CHECK(Sample, ValuesDiffer, "R2", "the protocol", kWarn,
              .faults = {"memory.corrupt_copy:at=17,after=2", "memory.short_copy"}, .devices = 2,
              .needs = {"fp64"}, .sizes = {.smoke = 16, .full = 64, .unit = "bytes"}, .expects = kHang) {
  expect_same("the value that was read", "one", "two");
  expect_true(true, "this holds");
}
PROCTOR_CHECK(Sample, AssertionFails, "R3", "the protocol", kGate) { EXPECT_EQ(1 + 1, 3) << "arithmetic"; }
PROCTOR_CHECK(Sample, CheckIsSkipped, "R4", "the protocol", kInfo) {
  skip("needs:devices>=2");
  EXPECT_TRUE(false);  // never reached
}
PROCTOR_CHECK(Sample, FailureHasReason, "R5", "the protocol", kGate) {
  fail_because("driver_crash:11", "the driver died");
  EXPECT_TRUE(false);  // never reached
}
PROCTOR_CHECK(Sample, GateCheckThrows, "R6", "the protocol", kGate) { throw std::runtime_error("boom"); }
PROCTOR_CHECK(Sample, WarnCheckThrows, "R6", "the protocol", kWarn) { throw std::runtime_error("boom"); }
PROCTOR_CHECK(Sample, FailureTextExceedsLimit, "R7", "the protocol", kGate) {
  expect_same("long texts", std::string(200'000, 'a'), std::string(200'000, '\x01') + "\xff\"\n");
}
PROCTOR_CHECK(Sample, RunSizeIsMeasured, "R8", "the protocol", kGate,
              .sizes = {.smoke = 16, .full = 64, .unit = "bytes"}) {
  measure("size", static_cast<double>(sized()), "bytes");
}
PROCTOR_CHECK(Sample, SomePointsFail, "R10", "the protocol", kGate,
              .axes = {{"bytes", {"0", "1", "65537"}, {"4294967301"}}, {"type", {"i8", "f64"}, {}}},
              .points = 4) {
  at_each_point([](const Point& at) {
    if (at.text("type") == "f64" && at.number("bytes") == 0) skip("unsupported:fp64");
    if (at.number("bytes") == 65537 && at.text("type") == "i8") expect_same("its words", "right", "wrong");
    if (at.number("bytes") == 1 && at.text("type") == "f64") throw std::runtime_error("boom");
  });
}
PROCTOR_CHECK(Sample, EveryPointIsSkipped, "R10", "the protocol", kGate,
              .axes = {{"type", {"f16", "f64"}, {}}}) {
  at_each_point([](const Point& at) { skip("unsupported:" + at.text("type")); });
}
PROCTOR_CHECK(Sample, EveryPointFails, "R10", "the protocol", kGate,
              .axes = {{"lane", {"0", "1", "2", "3", "4"}, {}}}) {
  at_each_point([](const Point& at) { expect_true(false, "lane " + at.text("lane")); });
}
PROCTOR_CHECK(Sample, DeviceTrialsAreReported, "R11", "the protocol", kGate, .devices = 2) {
  trial({{"source", "first card"}, {"target", "second card"}}, true);
  trial({{"", std::string(200'000, 'a')}}, false);
}
PROCTOR_CHECK_EACH((std::vector<std::string>{"fp16", "fp32"}), Sample, ParameterIsStepName, "R9",
                   "the protocol", kGate, .needs = {"fp16"}) {
  step(parameter());
}

}  // namespace proctor::suite

int main(int argc, char** argv) {
  return proctor::suite::run_main(argc, argv, {.needs = {"patience"}, .batch = true});
}
