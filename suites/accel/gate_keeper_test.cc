#include "suites/accel/gate_keeper.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace proctor::accel {
namespace {

TEST(GateKeeper, OpensWhatStaysClosedAndReportsIt) {
  std::uint32_t word = 0;
  GateKeeper keeper(word, std::chrono::milliseconds(1));
  std::atomic_ref(word).wait(0);
  EXPECT_NONFATAL_FAILURE(keeper.open(), "waits for the gate");
  keeper.open();  // said once
}

TEST(GateKeeper, AGateThatIsOpenedInTimeIsNoFailure) {
  std::uint32_t word = 0;
  {
    GateKeeper keeper(word);
    keeper.open();
  }
  EXPECT_EQ(word, 1U);
}

}  // namespace
}  // namespace proctor::accel
