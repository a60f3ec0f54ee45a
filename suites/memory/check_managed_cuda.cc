// Checks of CUDA managed memory: its reported properties, and the calls that move it.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/check.h"

#if CUDART_VERSION >= 13000
extern "C" decltype(cudaMemPrefetchAsync)
    cudaMemPrefetchAsync_ptsz;  // The variant for programs compiled with -default-stream per-thread.
#endif

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kPrefetch = "CUDA Runtime API, cudaMemPrefetchAsync";
constexpr const char* kAdvise = "CUDA Runtime API, cudaMemAdvise";
constexpr const char* kConcurrent = "CUDA Programming Guide, Unified Memory: concurrentManagedAccess";

void need_concurrent_access(const Context& context) {
  need(context.device().record()->native.concurrentManagedAccess != 0,
       "unsupported:concurrent_managed_access");
}

}  // namespace

PROCTOR_CHECK(ManagedMemory, PrefetchKeepsContents, "M37", kPrefetch, kGate,
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

PROCTOR_CHECK(ManagedMemory, AdviceKeepsContents, "M37", kAdvise, kGate,
              {"copy.prefetch_corrupts:at=17,times=1"}) {
  const auto context = leased();
  const Buffer buffer = shared_memory(context, 8192);
  need_concurrent_access(context);
  const auto sent = noise(8192, 2);
  std::copy(sent.begin(), sent.end(), buffer.data());
  step("given each advice, set and unset");
  constexpr cudaMemoryAdvise kAll[] = {cudaMemAdviseSetReadMostly,        cudaMemAdviseUnsetReadMostly,
                                       cudaMemAdviseSetPreferredLocation, cudaMemAdviseUnsetPreferredLocation,
                                       cudaMemAdviseSetAccessedBy,        cudaMemAdviseUnsetAccessedBy};
  for (const cudaMemoryAdvise advice : kAll) {
    try_advise(buffer.data(), buffer.bytes(), advice, native(context.device())).or_throw();
  }
  expect_bytes("managed memory after it", sent, {buffer.data(), buffer.bytes()}, context.device());
}

namespace {

std::string place_name(int place) {
  return place == cudaCpuDeviceId ? "the host" : "device " + std::to_string(place);
}

}  // namespace

PROCTOR_CHECK(ManagedMemory, InvalidHintRangeIsRejected, "M37",
              "CUDA Runtime API, cudaMemPrefetchAsync, cudaMemAdvise", kGate,
              {"error.swallowed:api=cudaMemPrefetchAsync", "error.swallowed:api=cudaMemAdvise"}) {
  const auto context = leased();
  constexpr std::size_t kBytes = 1 << 20;  // Allocators do not round this size up.
  const Buffer managed = shared_memory(context, kBytes), ordinary = device_memory(context, kBytes);
  need_concurrent_access(context);
  Queue queue(context);
  const int device = native(context.device());
  struct Range {
    const std::byte* begin;
    std::size_t bytes;
    bool good;
  };
  const Range ranges[] = {{managed.data(), kBytes, true},
                          {managed.data(), 1, true},
                          {managed.data() + 4096, kBytes - 4096, true},
                          {managed.data() + kBytes - 1, 1, true},
                          {managed.data(), kBytes + 1, false},
                          {managed.data() + 4096, kBytes - 4095, false},
                          {managed.data(), 0, false},
                          {ordinary.data(), kBytes, false}};
  constexpr const char* kInvalid = "cudaErrorInvalidValue";
  for (const Range& range : ranges) {
    step("given " + std::to_string(range.bytes) + " bytes, some of them managed");
    for (const int place : {device, static_cast<int>(cudaCpuDeviceId)}) {
      const char* const expected = range.good ? kSuccess : kInvalid;
      expect_status(expected, try_prefetch(range.begin, range.bytes, place, native(queue)));
      expect_status(expected, try_prefetch(range.begin, range.bytes, place, nullptr));
      expect_status(expected, try_advise(range.begin, range.bytes, cudaMemAdviseSetPreferredLocation, place));
    }
    const char* const expected = range.good ? kSuccess : kInvalid;
    for (const auto advice : {cudaMemAdviseSetReadMostly, cudaMemAdviseUnsetAccessedBy})
      expect_status(expected, try_advise(range.begin, range.bytes, advice, device));
  }
  step("given devices that do not exist, for advice with and without a device");
  for (const int place : {99, -7}) {
    suite::expect_true(!try_prefetch(managed.data(), kBytes, place, native(queue)).ok(),
                       "nothing is prefetched to " + place_name(place));
    for (const auto advice :
         {cudaMemAdviseSetPreferredLocation, cudaMemAdviseSetAccessedBy, cudaMemAdviseUnsetAccessedBy})
      suite::expect_true(!try_advise(managed.data(), kBytes, advice, place).ok(),
                         "advice " + std::to_string(advice) + " is refused for " + place_name(place));
    for (const auto advice :
         {cudaMemAdviseSetReadMostly, cudaMemAdviseUnsetReadMostly, cudaMemAdviseUnsetPreferredLocation})
      expect_status(kSuccess, try_advise(managed.data(), kBytes, advice, place));
  }
  for (const int advice : {0, cudaMemAdviseUnsetAccessedBy + 1})
    expect_status(kInvalid,
                  try_advise(managed.data(), kBytes, static_cast<cudaMemoryAdvise>(advice), device));
  queue.synchronize();
}

PROCTOR_CHECK(ManagedMemory, InvalidPrefetchLocationIsRejected, "M37",
              "CUDA Runtime API, cudaMemPrefetchAsync: cudaMemLocation", kGate,
              {"error.swallowed:api=cudaMemPrefetchAsync"}) {
#if CUDART_VERSION < 13000
  suite::skip("needs:cuda>=13");  // Earlier versions have a number for the location.
#else
  const auto context = leased();
  const Buffer managed = shared_memory(context, 4096);
  need_concurrent_access(context);
  const Queue queue(context);
  const auto prefetch = [&](cudaMemLocationType type, int id, unsigned flags) {
    cudaMemLocation place{};
    place.type = type;
    place.id = id;
    return CUDA_CALL(cudaMemPrefetchAsync, managed.data(), managed.bytes(), place, flags, native(queue));
  };
  step("given a device, the host, an invalid place, and flags that do not exist");
  const int device = native(context.device());
  expect_status(kSuccess, prefetch(cudaMemLocationTypeDevice, device, 0));
  expect_status(kSuccess, prefetch(cudaMemLocationTypeHost, 0, 0));
  expect_status("cudaErrorInvalidDevice", prefetch(cudaMemLocationTypeDevice, 99, 0));
  expect_status("cudaErrorInvalidValue", prefetch(cudaMemLocationTypeInvalid, 0, 0));
  for (const unsigned flags : {1U, 0x40000000U})
    expect_status("cudaErrorInvalidValue", prefetch(cudaMemLocationTypeDevice, device, flags));
  cudaMemLocation here{};
  here.type = cudaMemLocationTypeDevice;
  here.id = device;
  for (const std::size_t bytes : {std::size_t{1}, managed.bytes()})
    expect_status(kSuccess, CUDA_CALL(cudaMemPrefetchAsync_ptsz, managed.data(), bytes, here, 0, nullptr));
  expect_status("cudaErrorInvalidValue",
                CUDA_CALL(cudaMemPrefetchAsync_ptsz, managed.data(), managed.bytes() + 1, here, 0, nullptr));
  CUDA_CALL(cudaStreamSynchronize, cudaStreamPerThread).or_throw();
#endif
}

// If host and device may use managed memory concurrently, they may use different words of it concurrently.
PROCTOR_CHECK(ManagedMemory, HostAndKernelWriteConcurrently, "M35", kConcurrent, kGate,
              {"memory.shared_not_coherent", "kernel.skip:kernel=fill"}) {
  const auto context = leased();
  const Buffer words = shared_memory(context, 8192);
  need_concurrent_access(context);
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  std::fill_n(words.as<std::uint32_t>().begin(), 2048, 0u);
  step("given a kernel that fills the first half while the host fills the second");
  Latch latch(context);
  latch.hold(queue);
  queue.launch(fill, cover(1024, 64), arguments(words, 7u, 1024u));
  std::fill_n(words.as<std::uint32_t>().begin() + 1024, 1024, 9u);
  latch.open();
  queue.synchronize();
  std::vector<std::uint32_t> expected(2048, 7);
  std::fill_n(expected.begin() + 1024, 1024, 9u);
  expect_words("both halves", expected, words.as<std::uint32_t>(), context.device());
}

PROCTOR_CHECK(ManagedMemory, EveryAttachFlagIsUsable, "M35", "CUDA Runtime API, cudaMallocManaged: flags",
              kGate, {"kernel.skip:kernel=fill", "kernel.wrong_argument:arg=1,kernel=fill"}) {
  const auto context = leased();
  need(context.device().properties().shared_memory, "unsupported:shared_memory");
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  for (const unsigned flags : {cudaMemAttachGlobal, cudaMemAttachHost}) {
    step(flags == cudaMemAttachGlobal ? "given managed memory for all"
                                      : "given managed memory for the host at first");
    void* memory = nullptr;
    CUDA_CALL(cudaMallocManaged, &memory, 256, flags).or_throw();
    if (flags == cudaMemAttachHost) {
      CUDA_CALL(cudaStreamAttachMemAsync, native(queue), memory, 0, cudaMemAttachGlobal).or_throw();
      queue.synchronize();
    }
    queue.launch(fill, groups_of(1, 64), arguments(memory, 7u, 64u));
    queue.synchronize();
    std::vector<std::uint32_t> got(64);
    std::copy_n(static_cast<const std::uint32_t*>(memory), got.size(), got.begin());
    CUDA_CALL(cudaFree, memory).or_throw();
    expect_words("words that the host reads", std::vector<std::uint32_t>(64, 7), got, context.device());
  }
}

}  // namespace proctor::accel
