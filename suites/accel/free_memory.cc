#include "suites/accel/free_memory.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {

Buffer used_memory(const Context& context, std::size_t bytes, const Device& device) {
  Buffer buffer = memory_or_skip(context, {.bytes = bytes, .device = device});
  Queue queue(context, Queue::Mode::kLists, device);
  write(queue, context, buffer.data(), noise(std::min<std::size_t>(bytes, 4096), 1));
  return buffer;
}

Buffer need_counted_memory(const Context& context) {
  if (kVendor == Vendor::kNvidia) return {};
  Buffer some = used_memory(context, 2 << 20);
  const MemoryInfo reported = context.device().memory();
  need(reported.free < reported.total, "needs:perfmon");
  return some;
}

std::uint64_t missing_after(const Device& device, std::uint64_t free_before) {
  // Only a real driver may return memory late.
  const auto patience = std::chrono::seconds(suite::on_simgpu() ? 1 : 10);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    const std::uint64_t free = device.memory().free;
    const std::uint64_t missing = free_before > free ? free_before - free : 0;
    if (missing <= kFreeSlack) return 0;
    if (std::chrono::steady_clock::now() > deadline) return missing;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void expect_returned(const Device& device, std::uint64_t free_before) {
  const std::uint64_t missing = missing_after(device, free_before);
  suite::expect_true(missing == 0, "free memory of " + describe(device) +
                                       " is as before, the missing bytes are " + std::to_string(missing));
}

}  // namespace proctor::accel
