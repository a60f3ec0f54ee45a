// Memory of the host that kernels use: pinned by the runtime, or registered afterwards.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kMapped = "CUDA C++ Programming Guide, Page-Locked Host Memory, Mapped Memory";
constexpr const char* kRegister = "CUDA Runtime API, cudaHostRegister; ROCm/hip-tests hipHostRegister";
constexpr const char* kAttributes = "CUDA Runtime API, cudaPointerAttributes";
constexpr std::uint32_t kWords = 1024;

void* device_pointer(void* host) {
  void* pointer = nullptr;
  CUDA_CALL(cudaHostGetDevicePointer, &pointer, host, 0).or_throw();
  return pointer;
}

cudaPointerAttributes attributes_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  CUDA_CALL(cudaPointerGetAttributes, &attributes, pointer).or_throw();
  return attributes;
}

// Pages of malloc that are registered as long as this lives.
struct Registered {
  Registered() {
    CUDA_CALL(cudaHostRegister, words, sizeof words, cudaHostRegisterMapped).or_throw();
    registered = true;
  }
  ~Registered() { unregister(); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  void unregister() {
    if (registered) static_cast<void>(cudaHostUnregister(words));
    registered = false;
  }
  alignas(4096) std::uint32_t words[kWords] = {};
  bool registered = false;
};

void fill_by_kernel(const Context& context, void* words) {
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  queue.launch(Kernel(module, "fill"), cover(kWords, 64), arguments(words, 7u, kWords));
  queue.synchronize();
}

}  // namespace

PROCTOR_CHECK(Pinned, KernelWritesThroughItsDevicePointer, "M33", kMapped, kGate,
              {"kernel.skip", "kernel.wrong_argument:arg=1"}) {
  const auto context = leased();
  const Buffer host = host_memory(context, kWords * 4);
  std::fill_n(host.as<std::uint32_t>().begin(), kWords, 0u);
  step("given a kernel that writes pinned memory");
  fill_by_kernel(context, device_pointer(host.data()));
  expect_words("what the host sees", std::vector<std::uint32_t>(kWords, 7), host.as<std::uint32_t>(),
               context.device());
}

PROCTOR_CHECK(Pinned, FlagsAreToldAsGiven, "M30", "CUDA Runtime API, cudaHostGetFlags", kGate,
              {"error.swallowed:api=cudaHostGetFlags"}) {
  const auto context = leased();
  use(context.device());
  step("given pinned memory with flags, and a local variable, which has none");
  const Buffer host = host_memory(context, 4096);
  unsigned flags = 0;
  CUDA_CALL(cudaHostGetFlags, &flags, host.data()).or_throw();
  constexpr unsigned kGiven = cudaHostAllocPortable | cudaHostAllocMapped;
  expect_same("portable and mapped", std::to_string(kGiven), std::to_string(flags & kGiven));
  expect_refused("flags of a local variable", CUDA_CALL(cudaHostGetFlags, &flags, &flags));
}

PROCTOR_CHECK(Registered, KernelWritesMemoryOfMalloc, "M32", kRegister, kGate,
              {"kernel.skip", "kernel.wrong_argument:arg=1"}) {
  const auto context = leased();
  use(context.device());
  const auto registered = std::make_unique<Registered>();
  step("given a kernel that writes registered memory");
  fill_by_kernel(context, device_pointer(registered->words));
  expect_words("what the host sees", std::vector<std::uint32_t>(kWords, 7), registered->words,
               context.device());
}

PROCTOR_CHECK(Registered, IsKnownUntilItIsUnregistered, "M42", kAttributes, kGate,
              {"alloc.wrong_type", "alloc.unknown_pointer_claimed"}) {
  const auto context = leased();
  const auto registered = std::make_unique<Registered>();
  step("given registered memory");
  expect_same("its kind", "host", to_string(pointer_info(context, registered->words).kind));
  step("given that it is unregistered");
  registered->unregister();
  expect_same("its kind", "unknown", to_string(pointer_info(context, registered->words).kind));
}

PROCTOR_CHECK(Registered, CopiesAreByteExact, "M32", kRegister, kGate,
              {"memory.corrupt_copy:at=17,times=1", "copy.short"}) {
  const auto context = leased();
  Queue queue(context);
  const auto registered = std::make_unique<Registered>();
  const auto sent = noise_words(kWords, 1);
  std::copy(sent.begin(), sent.end(), registered->words);
  step("given copies from registered memory and back");
  const Buffer there = device_memory(context, sizeof registered->words);
  queue.copy(there.data(), registered->words, sizeof registered->words);
  queue.synchronize();
  std::fill_n(registered->words, kWords, 0u);
  queue.copy(registered->words, there.data(), sizeof registered->words);
  queue.synchronize();
  expect_words("what came back", sent, registered->words, context.device());
}

PROCTOR_CHECK(Pointer, EachSideHasItsAddress, "M42", kAttributes, kGate, {"alloc.wrong_type"}) {
  const auto context = leased();
  use(context.device());
  step("given pinned, device and managed memory");
  const Buffer host = host_memory(context, 4096);
  const Buffer device = device_memory(context, 4096);
  expect_true(attributes_of(host.data()).hostPointer == host.data(), "pinned memory has its host address");
  expect_true(attributes_of(device.data()).devicePointer == device.data(), "device memory has its address");
  expect_true(attributes_of(device.data()).hostPointer == nullptr, "device memory has no host address");
  expect_same("kind of device memory", "device", to_string(pointer_info(context, device.data()).kind));
  if (!context.device().properties().shared_memory) return;
  const Buffer managed = shared_memory(context, 4096);
  expect_true(attributes_of(managed.data()).hostPointer == managed.data() &&
                  attributes_of(managed.data()).devicePointer == managed.data(),
              "managed memory has one address for both");
}

PROCTOR_CHECK(Ipc, OwnHandleIsRefused, "M41",
              "CUDA Runtime API, cudaIpcOpenMemHandle; ROCm/hip-tests hipIpcMemHandle", kGate,
              {"ipc.opens_own"}) {
  const auto context = leased();
  const Buffer buffer = device_memory(context, 4096);
  use(context.device());
  cudaIpcMemHandle_t handle{};
  CUDA_CALL(cudaIpcGetMemHandle, &handle, buffer.data()).or_throw();
  step("given a handle of this process itself");
  void* pointer = nullptr;
  const Status status = CUDA_CALL(cudaIpcOpenMemHandle, &pointer, handle, cudaIpcMemLazyEnablePeerAccess);
  expect_refused("the opening", status);
  if (status.ok()) static_cast<void>(cudaIpcCloseMemHandle(pointer));
}

}  // namespace proctor::accel
