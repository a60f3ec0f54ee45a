// Atomic operations of host and device on the same word at the same time.
#include <algorithm>
#include <atomic>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kCapabilities =
    by_vendor("Level Zero specification, ze_memory_access_cap_flag_t CONCURRENT_ATOMIC",
              "CUDA Runtime API, cudaDeviceProp::hostNativeAtomicSupported");
constexpr std::uint32_t kItems = 512;
constexpr std::uint32_t kRounds = 16;

// The host adds from the launch until its end, at least once.
void expect_exact_total(MemoryKind kind) {
  const auto context = leased();
  const auto& properties = context.device().properties();
  need(kind == MemoryKind::kHost ? properties.host_atomics : properties.shared_atomics,
       "unsupported:system_atomics");
  Queue queue(context);
  const Module module = Module::load(context, "system_atomics");
  const Buffer memory(context, {.kind = kind, .bytes = 4});
  const std::atomic_ref word(memory.as<std::uint32_t>()[0]);
  word = 0;
  const Event done(context);
  step("given " + std::to_string(kItems) + " work-items and the host that add to one word");
  queue.launch(Kernel(module, "system_add"), cover(kItems, 64), arguments(memory, kRounds),
               {.wait = {}, .signal = &done});
  std::uint32_t by_host = 0;
  do {
    for (int i = 0; i < 100; ++i) word.fetch_add(1, std::memory_order_relaxed);
    by_host += 100;
  } while (done.query().not_ready());
  queue.synchronize();
  suite::measure("kernels.additions_by_host", by_host, "additions");
  expect_words("the word", std::vector<std::uint32_t>{kItems * kRounds + by_host}, memory.as<std::uint32_t>(),
               context.device());
}

}  // namespace

PROCTOR_CHECK(SystemAtomic, HostMemoryIsExact, "K35", kCapabilities, kGate,
              {"kernel.racy_atomics", "kernel.skip_group"}) {
  expect_exact_total(MemoryKind::kHost);
}

PROCTOR_CHECK(SystemAtomic, SharedMemoryIsExact, "K35", kCapabilities, kGate,
              {"kernel.racy_atomics", "kernel.skip_group"}) {
  expect_exact_total(MemoryKind::kShared);
}

}  // namespace proctor::accel
