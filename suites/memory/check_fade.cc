// Memory that lies idle keeps its bits.
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {

// Read twice, at once and later: what the first reading shows wrong has not faded. The fault changes what the
// second reading brings. The longest time stays below the time limit of a case.
PROCTOR_CHECK(Contents, IdleMemoryKeepsItsBits, "M44", "NVIDIA DCGM, memtest, test 9 (bit fade)",
              suite::kGate, .faults = {"memory.corrupt_copy:at=4097,xor=4,min=8192,after=4"},
              .sizes = {.smoke = 20, .ci = 100, .full = 20'000, .stress = 45'000, .unit = "milliseconds"}) {
  const auto context = leased();
  Queue queue(context);
  const std::vector<std::byte> patterns[] = {std::vector(1 << 20, std::byte{0x00}),
                                             std::vector(1 << 20, std::byte{0xff})};
  const Buffer memories[] = {device_copy(queue, context, patterns[0]),
                             device_copy(queue, context, patterns[1])};
  suite::step("given memory full of zeros and memory full of ones");
  const auto expect_kept = [&](const std::string& when) {
    for (std::size_t i = 0; i < 2; ++i) {
      expect_bytes(when, patterns[i], read_bytes(queue, context, memories[i].data(), patterns[i].size()),
                   context.device());
    }
  };
  expect_kept("at once");
  std::this_thread::sleep_for(std::chrono::milliseconds(suite::sized()));
  expect_kept("after " + std::to_string(suite::sized()) + " ms");
}

}  // namespace proctor::accel
