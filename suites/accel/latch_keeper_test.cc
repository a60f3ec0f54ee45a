#include "suites/accel/latch_keeper.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace proctor::accel {
namespace {

TEST(LatchKeeper, OpensWhatStaysClosedAndReportsIt) {
  std::uint32_t word = 0;
  LatchKeeper keeper(word, std::chrono::milliseconds(1));
  std::atomic_ref(word).wait(0);
  EXPECT_NONFATAL_FAILURE(keeper.open(), "waits for the latch");
  keeper.open();  // said once
}

TEST(LatchKeeper, ALatchThatIsOpenedInTimeIsNoFailure) {
  std::uint32_t word = 0;
  {
    LatchKeeper keeper(word);
    keeper.open();
  }
  EXPECT_EQ(word, 1U);
}

}  // namespace
}  // namespace proctor::accel
