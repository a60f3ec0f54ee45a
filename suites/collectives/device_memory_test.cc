// Tests tensors on a simulated card: their addresses for the library, and the transfer of all bytes in both
// directions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "harness/base/temp_dir.h"
#include "suites/collectives/rule.h"

namespace proctor::collectives {
namespace {

Bytes counted(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

class DeviceMemory : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("ZE_ENABLE_ALT_DRIVERS", PROCTOR_BIN_DIR "/libproctor_ze_sim.so", 1);
    ::setenv("PROCTOR_SIM_DRIVER", "simgpu", 1);
    ::setenv("PROCTOR_SIM_TOPOLOGY", "xpu:1x1", 1);
    // Uses a separate state directory: the default one can belong to other simulated cards.
    state_ = std::make_unique<TempDir>();
    ::setenv("PROCTOR_SIM_STATE", state_->string().c_str(), 1);
  }
  static void TearDownTestSuite() { state_.reset(); }
  MemorySpace space_;

 private:
  static inline std::unique_ptr<TempDir> state_;
};

// A library that uses host memory never receives a device address.
TEST_F(DeviceMemory, IsStagedForHostLibrary) {
  const Tensor tensor(space_, Memory::kHost, counted(100));
  EXPECT_EQ(tensor.bytes(), counted(100));
  tensor.data()[7] = std::byte{0xee};
  Bytes expected = counted(100);
  expected[7] = std::byte{0xee};
  EXPECT_EQ(tensor.bytes(), expected);
}

// A library that uses device memory receives a device address, also for zero bytes.
TEST_F(DeviceMemory, IsPassedDirectlyToDeviceLibrary) {
  EXPECT_EQ(Tensor(space_, Memory::kDevice, counted(100)).bytes(), counted(100));
  EXPECT_NE(Tensor(space_, Memory::kDevice, {}).data(), nullptr);
}

TEST_F(DeviceMemory, FrameContentsSurviveLending) {
  for (const Memory memory : {Memory::kHost, Memory::kDevice}) {
    Frame frame(100, 3);
    std::ranges::copy(counted(100), frame.data());
    frame.lend(space_, memory);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.address()) % 64, 3u);
    frame.data()[50] = std::byte{0};  // changes the image, not the lent memory
    frame.take_back();
    EXPECT_EQ(Bytes(frame.data(), frame.data() + 100), counted(100));
    EXPECT_TRUE(frame.margins_are_untouched());
  }
}

}  // namespace
}  // namespace proctor::collectives
