// What moves memory between host and device, or away from the device.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

}  // namespace

PROCTOR_CHECK(Shared, PrefetchKeepsTheBytes, "M37",
              "Level Zero specification, zeCommandListAppendMemoryPrefetch", kGate,
              {"copy.prefetch_corrupts:at=17,times=1"}) {
  const auto context = leased();
  const Buffer buffer = shared_memory(context, 8192);
  const auto sent = noise(8192, 2);
  std::copy(sent.begin(), sent.end(), buffer.data());
  step("given a prefetch and advice");
  Queue queue(context, Queue::Mode::kImmediate);
  const auto list = immediate_list(queue);
  ZE_CALL(zeCommandListAppendMemoryPrefetch, list, buffer.data(), buffer.bytes()).or_throw();
  ZE_CALL(zeCommandListAppendMemAdvise, list, native(context.device()), buffer.data(), buffer.bytes(),
          ZE_MEMORY_ADVICE_SET_READ_MOSTLY)
      .or_throw();
  queue.barrier();
  queue.synchronize();
  expect_bytes("shared memory after it", sent, {buffer.data(), buffer.bytes()}, context.device());
}

PROCTOR_CHECK(Shared, EvictedMemoryComesBack, "M48", "Level Zero specification, zeContextEvictMemory", kGate,
              {"alloc.evict_loses:at=17"}) {
  const auto context = leased();
  Queue queue(context);
  const auto sent = noise(1 << 16, 3);
  const auto buffer = device_copy(queue, context, sent);
  step("given memory that is evicted and made resident three times");
  for (int i = 0; i < 3; ++i) {
    evict(context, buffer);
    make_resident(context, buffer);
  }
  expect_bytes("the memory", sent, read_bytes(queue, context, buffer.data(), buffer.bytes()),
               context.device());
}

}  // namespace proctor::accel
