// The atomic flags of OpenCL C, which CUDA has not.
#include <algorithm>
#include <string>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {

using suite::kGate;
using suite::step;

PROCTOR_CHECK(
    Atomic, FlagsAreTakenOnce, "K33",
    "OpenCL C specification, atomic flag type and operations; SPIR-V specification, OpAtomicFlagTestAndSet",
    kGate, {"kernel.wrong_result:kernel=take_flags,arg=1,at=4"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "flags");
  constexpr std::uint32_t kTakers = 64;
  const auto flags = device_copy(queue, context, std::vector<std::uint32_t>(kTakers + 1));  // clear
  const Buffer out = device_memory(context, 4 * kTakers * sizeof(std::uint32_t));
  for (const bool again : {false, true}) {
    step(again ? "given flags of which every other one is set" : "given flags that are clear");
    queue.launch(Kernel(module, "take_flags"), cover(kTakers, 16), arguments(flags, out, kTakers));
    queue.synchronize();
    const auto got = read_as<std::uint32_t>(queue, context, out);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < kTakers; ++i) expected.push_back(again && i % 2 == 0 ? 1 : 0);
    expected.insert(expected.end(), kTakers, 1);
    expected.insert(expected.end(), kTakers, 0);
    expect_words("set before, when it is set, and when it was cleared", expected,
                 part_of(got, 0, 3 * kTakers), context.device());
    suite::expect_same("work-items that find the flag of all clear", again ? "0" : "1",
                       std::to_string(std::count(got.begin() + 3 * kTakers, got.end(), 0u)));
  }
}

}  // namespace proctor::accel
