#include "harness/runner/attempt/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(WaitsAtLimit, ReportsCpuWaitOfStarvedCase) {
  Starvation seen{.window = seconds(90), .during = {.cpu = seconds(61), .used = seconds(12)}};
  EXPECT_THAT(waits_at_limit(seen), ElementsAre("It waited for a CPU for 61 of its 90 s and got 12 s."));
  seen.throttled = true;
  EXPECT_THAT(
      waits_at_limit(seen),
      ElementsAre("It waited for a CPU for 61 of its 90 s and got 12 s; a quota (cpu.max) throttled it."));
}

TEST(WaitsAtLimit, ReportsWaitsForMemoryAndDisk) {
  const Starvation seen{.window = Milliseconds(5'000),
                        .during = {.memory = Milliseconds(2'500), .disk = Milliseconds(4'100)}};
  EXPECT_THAT(waits_at_limit(seen), ElementsAre("It waited for memory for 2.5 of its 5.0 s.",
                                                "It waited for a disk for 4.1 of its 5.0 s."));
}

TEST(WaitsAtLimit, OmitsShortWaits) {
  EXPECT_THAT(waits_at_limit({.window = seconds(90), .during = {.cpu = seconds(44), .disk = seconds(44)}}),
              IsEmpty());
  EXPECT_THAT(waits_at_limit({}), IsEmpty());
}

}  // namespace
}  // namespace proctor
