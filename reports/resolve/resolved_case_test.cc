#include "reports/resolve/resolved_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace proctor {
namespace {

using ::testing::IsEmpty;

std::string as_json(const TelemetryInfo& telemetry, const std::vector<EnvironmentVariable>& environment) {
  AttemptStarted start;
  start.environment = environment;
  AttemptEnded end;
  end.telemetry = telemetry;
  return to_json_line(start) + to_json_line(end);
}

TEST(PackedTest, TelemetryAndVariablesRoundTrip) {
  TelemetryInfo telemetry;
  telemetry.host = {{"cpu_time", "s", "cgroup", 1, {}, {}, {}, {}, -0.003, {}, ""},
                    {"all",
                     "bytes",
                     "nvml",
                     300,
                     0.0,
                     1e300,
                     -1.5,
                     4096.0,
                     1.0,
                     {"sw_power", "hw_slow", "sw_power"},
                     "why"}};
  telemetry.devices = {{"cuda:GPU-1", telemetry.host}, {"cuda:GPU-2", {}}};
  std::vector<EnvironmentVariable> environment = {{"CUDA_VISIBLE_DEVICES", "", "proctor"},
                                                  {"ZE_AFFINITY_MASK", {}, "none"},
                                                  {std::string("a\0b", 3), "\xff", ""}};
  for (int i = 0; i < 200; ++i)
    environment.push_back({"N" + std::to_string(i), "v", "caller"});  // some numbers need two bytes
  PackedWords words;
  const std::string one = pack(telemetry, words);
  const std::string two = pack(environment, words);
  EXPECT_EQ(as_json(unpack_telemetry(one, words), unpack_environment(two, words)),
            as_json(telemetry, environment));
}

TEST(PackedTest, EmptyValuesTakeNoBytes) {
  PackedWords words;
  EXPECT_THAT(pack(TelemetryInfo{}, words), IsEmpty());
  EXPECT_THAT(pack(std::vector<EnvironmentVariable>{}, words), IsEmpty());
  EXPECT_THAT(unpack_environment("", words), IsEmpty());
}

TEST(PackedTest, RepeatedStringsAreStoredOnce) {
  PackedWords words;
  const std::vector<EnvironmentVariable> environment = {{"NAME", std::string(1000, 'x'), "proctor"}};
  EXPECT_EQ(pack(environment, words), pack(environment, words));
  EXPECT_LT(pack(environment, words).size(), 10U);
}

}  // namespace

}  // namespace proctor
