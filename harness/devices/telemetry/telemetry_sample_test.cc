#include "harness/devices/telemetry/telemetry_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;

TEST(ParseSample, TellsValuesFromReasons) {
  const auto sample = parse_sample(
      R"({"v":1,"source":"sysman","problem":"","devices":[{"device":1,"values":{"memory_used":7,)"
      R"("throttle":["thermal_limit"]},"missing":{"power":"zesPowerGetEnergyCounter: X"}}]})",
      {"a", "b"});
  ASSERT_TRUE(sample) << sample.error().what;
  EXPECT_EQ(sample->missing, "");
  ASSERT_EQ(sample->devices.size(), 1u);
  const DeviceSample& device = sample->devices.at("b");
  EXPECT_EQ(reading(device, Metric::kMemoryUsed).value, 7);
  EXPECT_EQ(reading(device, Metric::kMemoryUsed).source, "sysman");
  EXPECT_THAT(reading(device, Metric::kThrottle).words, ElementsAre("thermal_limit"));
  EXPECT_FALSE(reading(device, Metric::kPower).value);
  EXPECT_EQ(reading(device, Metric::kPower).reason, "zesPowerGetEnergyCounter: X");
  EXPECT_EQ(reading(device, Metric::kClock).reason, "the driver does not say");
}

TEST(ParseSample, OtherTextsAreErrors) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"source":"sysman","problem":"","devices":[{}]})",
        R"({"source":"sysman","problem":"","devices":[{"device":2,"values":{}}]})",
        R"({"source":"sysman","problem":"","devices":[{"device":0,"values":{"power":"hot"}}]})",
        R"({"source":"sysman","problem":"","devices":[{"device":0,"values":{"throttle":3}}]})",
        R"({"source":"sysman","problem":"","devices":[{"device":0,"values":7}]})"}) {
    EXPECT_FALSE(parse_sample(text, {"a"})) << text;
  }
}

}  // namespace
}  // namespace proctor
