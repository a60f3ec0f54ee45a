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

std::string text(const void* pointer) { return std::to_string(reinterpret_cast<std::uintptr_t>(pointer)); }

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

// Some bytes of the program, registered as long as this lives.
class RegisteredRange {
 public:
  RegisteredRange(const Context& context, void* begin, std::size_t bytes) : begin_(begin) {
    use(context.device());
    CUDA_CALL(cudaHostRegister, begin, bytes, cudaHostRegisterMapped).or_throw();
  }
  ~RegisteredRange() { static_cast<void>(cudaHostUnregister(begin_)); }
  RegisteredRange(const RegisteredRange&) = delete;
  RegisteredRange& operator=(const RegisteredRange&) = delete;

 private:
  void* begin_;
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

// A page is what the system locks; what is registered need neither begin nor end with one.
PROCTOR_CHECK(Registered, RangeIsReachableToItsEnds, "M32", kRegister, kGate,
              {"kernel.skip", "kernel.wrong_result:arg=1,at=0"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel copy(module, "copy");
  std::vector<std::byte> from(5 * 4096), to(5 * 4096);
  for (const std::size_t begin : {0U, 1U, 4095U}) {
    for (const std::size_t bytes : {1U, 4097U, 3U * 4096U - 1U}) {
      step("given " + std::to_string(bytes) + " registered bytes, " + std::to_string(begin) +
           " inside a vector");
      const auto sent = noise(from.size(), begin + bytes);
      std::copy(sent.begin(), sent.end(), from.begin());
      auto expected = to;
      std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(begin), bytes,
                  expected.begin() + static_cast<std::ptrdiff_t>(begin));
      const RegisteredRange source(context, &from[begin], bytes), target(context, &to[begin], bytes);
      queue.launch(copy, cover(bytes, 64),
                   arguments(device_pointer(&from[begin]), device_pointer(&to[begin]),
                             static_cast<std::uint32_t>(bytes)));
      queue.synchronize();
      expect_bytes("what a kernel copied", expected, to, context.device());
    }
  }
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

PROCTOR_CHECK(Pointer, EachSideHasItsAddress, "M42", kAttributes, kGate,
              {"alloc.wrong_base", "alloc.wrong_type"}) {
  const auto context = leased();
  use(context.device());
  constexpr std::size_t kBytes = (2 << 20) + 3;
  for (const Kind kind : {Kind::kHost, Kind::kDevice, Kind::kShared}) {
    if (kind == Kind::kShared && !context.device().properties().shared_memory) continue;
    const Buffer buffer(context, {.kind = kind, .bytes = kBytes});
    for (const std::size_t offset :
         {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{65'537}, kBytes - 1}) {
      step(std::string("given byte ") + std::to_string(offset) + " of " + to_string(kind) + " memory");
      std::byte* const pointer = buffer.data() + offset;
      const auto told = attributes_of(pointer);
      expect_same("kind", to_string(kind), to_string(pointer_info(context, pointer).kind));
      // One address space for all, so that the device's address is the host's.
      expect_same("address for the device", text(pointer), text(told.devicePointer));
      expect_same("address for the host", text(kind == Kind::kDevice ? nullptr : pointer),
                  text(told.hostPointer));
    }
  }
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
