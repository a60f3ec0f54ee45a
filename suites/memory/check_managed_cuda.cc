// Managed memory: what its device says of it, and what moves it.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kPrefetch = "CUDA Runtime API, cudaMemPrefetchAsync";
constexpr const char* kAdvise = "CUDA Runtime API, cudaMemAdvise";
constexpr const char* kConcurrent = "CUDA C++ Programming Guide, Unified Memory: concurrentManagedAccess";

void need_concurrent_access(const Context& context) {
  need(context.device().record()->native.concurrentManagedAccess != 0,
       "unsupported:concurrent_managed_access");
}

}  // namespace

PROCTOR_CHECK(Managed, PrefetchKeepsTheBytes, "M37", kPrefetch, kGate,
              {"copy.prefetch_corrupts:at=17,times=1"}) {
  const auto context = leased();
  const Buffer buffer = shared_memory(context, 8192);
  need_concurrent_access(context);
  Queue queue(context);
  const auto sent = noise(8192, 1);
  std::copy(sent.begin(), sent.end(), buffer.data());
  step("given a prefetch to the device and back to the host");
  for (const int place : {native(context.device()), static_cast<int>(cudaCpuDeviceId)}) {
    try_prefetch(buffer.data(), buffer.bytes(), place, native(queue)).or_throw();
  }
  queue.synchronize();
  expect_bytes("managed memory after it", sent, {buffer.data(), buffer.bytes()}, context.device());
}

PROCTOR_CHECK(Managed, AdviceKeepsTheBytes, "M37", kAdvise, kGate, {"copy.prefetch_corrupts:at=17,times=1"}) {
  const auto context = leased();
  const Buffer buffer = shared_memory(context, 8192);
  need_concurrent_access(context);
  const auto sent = noise(8192, 2);
  std::copy(sent.begin(), sent.end(), buffer.data());
  step("given each advice, set and taken back");
  constexpr cudaMemoryAdvise kAll[] = {cudaMemAdviseSetReadMostly,        cudaMemAdviseUnsetReadMostly,
                                       cudaMemAdviseSetPreferredLocation, cudaMemAdviseUnsetPreferredLocation,
                                       cudaMemAdviseSetAccessedBy,        cudaMemAdviseUnsetAccessedBy};
  for (const cudaMemoryAdvise advice : kAll) {
    try_advise(buffer.data(), buffer.bytes(), advice, native(context.device())).or_throw();
  }
  expect_bytes("managed memory after it", sent, {buffer.data(), buffer.bytes()}, context.device());
}

// Where host and device may use managed memory at once, they may use different words of it at once.
PROCTOR_CHECK(Managed, HostWritesWhileAKernelRuns, "M35", kConcurrent, kGate,
              {"memory.shared_not_coherent", "kernel.skip:kernel=fill"}) {
  const auto context = leased();
  const Buffer words = shared_memory(context, 8192);
  need_concurrent_access(context);
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  std::fill_n(words.as<std::uint32_t>().begin(), 2048, 0u);
  step("given a kernel that fills the first half while the host fills the second");
  Gate gate(context);
  gate.hold(queue);
  queue.launch(Kernel(module, "fill"), cover(1024, 64), arguments(words, 7u, 1024u));
  std::fill_n(words.as<std::uint32_t>().begin() + 1024, 1024, 9u);
  gate.open();
  queue.synchronize();
  std::vector<std::uint32_t> expected(2048, 7);
  std::fill_n(expected.begin() + 1024, 1024, 9u);
  expect_words("both halves", expected, words.as<std::uint32_t>(), context.device());
}

}  // namespace proctor::accel
