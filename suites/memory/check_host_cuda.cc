// Checks of host memory that kernels use: memory pinned by the runtime, or registered afterwards.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kMapped = "CUDA Programming Guide, Page-Locked Host Memory, Mapped Memory";
constexpr const char* kRegister = "CUDA Runtime API, cudaHostRegister; ROCm/hip-tests, hipHostRegister";
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

// Pages of malloc that are registered during the life of this object.
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

// A range of the program's memory that is registered during the life of this object.
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

PROCTOR_CHECK(PinnedMemory, KernelWritesThroughDevicePointer, "M33", kMapped, kGate,
              {"kernel.skip", "kernel.wrong_argument:arg=1"}) {
  const auto context = leased();
  const Buffer host = host_memory(context, kWords * 4);
  std::fill_n(host.as<std::uint32_t>().begin(), kWords, 0u);
  step("given a kernel that writes pinned memory");
  fill_by_kernel(context, device_pointer(host.data()));
  expect_words("words that the host reads", std::vector<std::uint32_t>(kWords, 7), host.as<std::uint32_t>(),
               context.device());
}

PROCTOR_CHECK(PinnedMemory, FlagsAreReportedAsSet, "M30", "CUDA Runtime API, cudaHostGetFlags", kGate,
              {"error.swallowed:api=cudaHostGetFlags"}) {
  const auto context = leased();
  use(context.device());
  constexpr std::size_t kBytes = 4096;
  constexpr unsigned kAll[] = {cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped,
                               cudaHostAllocWriteCombined,
                               cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined};
  unsigned flags = 0;
  for (const unsigned given : kAll) {
    step("given pinned memory with the flags " + std::to_string(given));
    void* memory = nullptr;
    CUDA_CALL(cudaHostAlloc, &memory, kBytes, given).or_throw();
    const Status first = CUDA_CALL(cudaHostGetFlags, &flags, memory);
    const Status last = CUDA_CALL(cudaHostGetFlags, &flags, static_cast<std::byte*>(memory) + kBytes - 1);
    const bool same = device_pointer(memory) == memory;
    CUDA_CALL(cudaFreeHost, memory).or_throw();
    expect_status(kSuccess, first);
    expect_status(kSuccess, last);
    expect_same("those flags that are reported", std::to_string(given), std::to_string(flags & given));
    expect_same("the reported flag for write-combined memory",
                std::to_string(given & cudaHostAllocWriteCombined),
                std::to_string(flags & cudaHostAllocWriteCombined));
    // Write-combined memory may have different addresses (Unified Addressing, Automatic Mapping).
    if ((given & cudaHostAllocWriteCombined) == 0)
      expect_true(same, "device and host have the same address for it");
  }
  step("given pinned memory without flags, and a local variable, which has none");
  void* plain = nullptr;
  CUDA_CALL(cudaMallocHost, &plain, kBytes).or_throw();
  const Status reported = CUDA_CALL(cudaHostGetFlags, &flags, plain);
  CUDA_CALL(cudaFreeHost, plain).or_throw();
  expect_status(kSuccess, reported);
  expect_same("the reported flag for write-combined memory", "0",
              std::to_string(flags & cudaHostAllocWriteCombined));
  expect_refused("flags of a local variable", CUDA_CALL(cudaHostGetFlags, &flags, &flags));
}

PROCTOR_CHECK(RegisteredMemory, KernelWritesHeapMemory, "M32", kRegister, kGate,
              {"kernel.skip", "kernel.wrong_argument:arg=1"}) {
  const auto context = leased();
  use(context.device());
  const auto registered = std::make_unique<Registered>();
  step("given a kernel that writes registered memory");
  fill_by_kernel(context, device_pointer(registered->words));
  expect_words("words that the host reads", std::vector<std::uint32_t>(kWords, 7), registered->words,
               context.device());
}

// The memory stays registered until the kernel has written it. The release of device memory waits the same way.
PROCTOR_CHECK(RegisteredMemory, UnregisterKeepsPendingKernelWrite, "M13", kRegister, suite::kWarn,
              {"kernel.wrong_argument:arg=1,kernel=gate", "kernel.skip:kernel=gate"}) {
  const auto context = leased();
  use(context.device());
  const auto registered = std::make_unique<Registered>();
  Queue queue(context);
  const Module module = Module::load(context, "litmus");
  const Kernel kernel(module, "gate");
  Buffer open = host_memory(context, 64);
  std::memset(open.data(), 0, open.bytes());
  step("given registered memory that is unregistered while a kernel, soon over, is to write it");
  constexpr std::uint64_t kStyles = 100'000;
  queue.launch(kernel, groups_of(1, 1), arguments(open, device_pointer(registered->words), kStyles));
  registered->unregister();
  queue.synchronize();
  expect_same("the value that the kernel wrote (2: its latch was not opened)", "2",
              std::to_string(registered->words[0]));
}

PROCTOR_CHECK(RegisteredMemory, TypeIsHostUntilUnregister, "M42", kAttributes, kGate,
              {"alloc.wrong_type", "alloc.claim_host_pointer"}) {
  const auto context = leased();
  const auto registered = std::make_unique<Registered>();
  step("given registered memory");
  expect_same("its kind", "host", to_string(pointer_info(context, registered->words).kind));
  step("given that it is unregistered");
  registered->unregister();
  expect_same("its kind", "unknown", to_string(pointer_info(context, registered->words).kind));
}

// The system locks whole pages, but a registered range need not begin or end at a page.
PROCTOR_CHECK(RegisteredMemory, KernelReachesUnalignedRange, "M32", kRegister, kGate,
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
      expect_bytes("bytes that a kernel copied", expected, to, context.device());
    }
  }
}

PROCTOR_CHECK(RegisteredMemory, CopiesAreByteExact, "M32", kRegister, kGate,
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
  expect_words("words that were copied back", sent, registered->words, context.device());
}

namespace {

// Pages of the program; the last page is unmapped.
class PagesAndAHole {
 public:
  static constexpr std::size_t kPage = 4096, kPages = 6;
  PagesAndAHole() {
    constexpr int kReadAndWrite = PROT_READ | PROT_WRITE;
    void* const mapped = mmap(nullptr, kPages * kPage, kReadAndWrite, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) suite::fail_because("setup", "mmap");
    start_ = static_cast<std::byte*>(mapped);
    munmap(start_ + (kPages - 1) * kPage, kPage);
  }
  ~PagesAndAHole() { munmap(start_, (kPages - 1) * kPage); }
  PagesAndAHole(const PagesAndAHole&) = delete;
  PagesAndAHole& operator=(const PagesAndAHole&) = delete;
  std::byte* at(std::size_t offset) const { return start_ + offset; }

 private:
  std::byte* start_ = nullptr;
};

}  // namespace

PROCTOR_CHECK(RegisteredMemory, OverlappingRangeIsRejected, "M32",
              "CUDA Runtime API, cudaHostRegister, cudaHostUnregister, cudaFreeHost", suite::kWarn,
              {"error.swallowed:api=cudaHostRegister", "error.swallowed:api=cudaHostUnregister"}) {
  const auto context = leased();
  use(context.device());
  const PagesAndAHole pages;
  constexpr std::size_t kPage = PagesAndAHole::kPage;
  const auto register_range = [&](std::size_t begin, std::size_t bytes) {
    return CUDA_CALL(cudaHostRegister, pages.at(begin), bytes, cudaHostRegisterMapped);
  };
  const auto kind_at = [&](std::size_t offset) {
    return to_string(pointer_info(context, pages.at(offset)).kind);
  };
  step("given that the second of several pages is registered");
  register_range(kPage, kPage).or_throw();
  const std::size_t overlapping[][2] = {
      {kPage, kPage}, {0, kPage + 1}, {2 * kPage - 1, kPage}, {0, 3 * kPage}, {kPage + 100, 10}};
  for (const auto& [begin, bytes] : overlapping) {
    step("given " + std::to_string(bytes) + " bytes from byte " + std::to_string(begin) +
         " on, which overlap it");
    expect_status("cudaErrorHostMemoryAlreadyRegistered", register_range(begin, bytes));
  }
  step("given memory that is not mapped, or only in part");
  expect_refused("two pages, of which one is not mapped", register_range(4 * kPage, 2 * kPage));
  expect_refused("a page, and a byte that is not mapped", register_range(4 * kPage, kPage + 1));
  expect_refused("a page that is not mapped", register_range(5 * kPage, kPage));
  expect_refused("more bytes than there are addresses", register_range(3 * kPage, SIZE_MAX));
  step("given memory that the runtime has allocated");
  const Buffer pinned = host_memory(context, kPage);
  expect_refused("registering it", CUDA_CALL(cudaHostRegister, pinned.data(), kPage, cudaHostRegisterMapped));
  expect_refused("unregistering it", CUDA_CALL(cudaHostUnregister, pinned.data()));
  step("given calls that do not apply to registered memory");
  cudaIpcMemHandle_t handle{};
  expect_refused("a handle for another process", CUDA_CALL(cudaIpcGetMemHandle, &handle, pages.at(kPage)));
  expect_refused("freeing it", CUDA_CALL(cudaFreeHost, pages.at(kPage)));
  expect_refused("unregistering its middle", CUDA_CALL(cudaHostUnregister, pages.at(kPage + 64)));
  step("given the pages before and behind it");
  expect_status(kSuccess, register_range(0, kPage));
  expect_status(kSuccess, register_range(2 * kPage, kPage));
  for (const std::size_t page : {1U, 0U, 2U}) {
    expect_same("kind at its last byte", "host", kind_at((page + 1) * kPage - 1));
    expect_status(kSuccess, CUDA_CALL(cudaHostUnregister, pages.at(page * kPage)));
    expect_same("kind at its last byte, unregistered", "unknown", kind_at((page + 1) * kPage - 1));
    expect_refused("unregistering it again", CUDA_CALL(cudaHostUnregister, pages.at(page * kPage)));
  }
}

PROCTOR_CHECK(Pointer, HostAndDeviceAddressesAreReported, "M42", kAttributes, kGate,
              {"alloc.wrong_base", "alloc.wrong_type"}) {
  const auto context = leased();
  use(context.device());
  constexpr std::size_t kBytes = (2 << 20) + 3;
  for (const MemoryKind kind : {MemoryKind::kHost, MemoryKind::kDevice, MemoryKind::kShared}) {
    if (kind == MemoryKind::kShared && !context.device().properties().shared_memory) continue;
    const Buffer buffer(context, {.kind = kind, .bytes = kBytes});
    for (const std::size_t offset :
         {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{65'537}, kBytes - 1}) {
      step(std::string("given byte ") + std::to_string(offset) + " of " + to_string(kind) + " memory");
      std::byte* const pointer = buffer.data() + offset;
      const auto reported = attributes_of(pointer);
      expect_same("kind", to_string(kind), to_string(pointer_info(context, pointer).kind));
      // Host and device share one address space, so the device's address is equal to the host's.
      expect_same("address for the device", text(pointer), text(reported.devicePointer));
      expect_same("address for the host", text(kind == MemoryKind::kDevice ? nullptr : pointer),
                  text(reported.hostPointer));
    }
  }
}

PROCTOR_CHECK(Pointer, HostMemoryReportsAllocatingDevice, "M42", kAttributes, kGate,
              .faults = {"alloc.wrong_type", "alloc.claim_host_pointer"}, .devices = 2) {
  const auto devices = leased_devices(2);
  const auto registered = std::make_unique<Registered>();
  registered->unregister();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{0}}) {
    step("given pinned and registered memory that was made while device " + std::to_string(i) +
         " was current, and is queried while another one is");
    use(devices[i]);
    void* pinned = nullptr;
    CUDA_CALL(cudaMallocHost, &pinned, 4096).or_throw();
    CUDA_CALL(cudaHostRegister, registered->words, sizeof registered->words, cudaHostRegisterDefault)
        .or_throw();
    registered->registered = true;
    use(devices[1 - i]);
    const auto reported = attributes_of(pinned), of_registered = attributes_of(registered->words);
    CUDA_CALL(cudaFreeHost, pinned).or_throw();
    registered->unregister();
    expect_same("kind of the pinned memory", std::to_string(cudaMemoryTypeHost),
                std::to_string(reported.type));
    expect_same("device of the pinned memory", std::to_string(native(devices[i])),
                std::to_string(reported.device));
    expect_same("device of the registered memory", std::to_string(native(devices[i])),
                std::to_string(of_registered.device));
    expect_same("kind of the freed memory", std::to_string(cudaMemoryTypeUnregistered),
                std::to_string(attributes_of(pinned).type));
  }
}

PROCTOR_CHECK(Ipc, OwnHandleIsRejected, "M41",
              "CUDA Runtime API, cudaIpcOpenMemHandle; ROCm/hip-tests, hipIpcMemHandle", kGate,
              {"ipc.open_own_handle"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
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

namespace {

// Opens BYTES bytes of the TOKEN of another device's memory on the device READER, and sends what a kernel of
// READER reads there.
PROCTOR_HELPER(read_a_peers_memory) {
  const auto devices = leased_devices(2);
  const auto& reader = devices[std::stoull(words.at(2))];
  const Context context(reader);
  use(reader);
  const std::size_t bytes = std::stoull(words.at(1));
  Buffer memory;
  Ipc::try_import(context, words.at(0), bytes, memory).or_throw();
  Queue queue(context);
  const Buffer to = device_memory(context, bytes);
  const Module module = Module::load(context, "basic");
  Status status = queue.try_launch(Kernel(module, "copy"), cover(bytes, 64),
                                   arguments(memory, to, static_cast<std::uint32_t>(bytes)));
  if (status.ok()) status = queue.try_synchronize(kPatience);
  suite::answer({{"status", status.name()},
                 {"same", status.ok() && read_bytes(queue, context, to.data(), bytes) == noise(bytes, 1)}});
  _exit(0);  // The resources of the driver need no cleanup.
}

// Opens BYTES bytes of the TOKEN. Closes the memory while a copy of it waits behind a kernel that ends soon.
PROCTOR_HELPER(close_while_it_is_copied) {
  const auto context = leased();
  use(context.device());
  const std::size_t bytes = std::stoull(words.at(1));
  Buffer memory;
  Ipc::try_import(context, words.at(0), bytes, memory).or_throw();
  Queue queue(context);
  const Module module = Module::load(context, "litmus");
  const Buffer flags = host_memory(context, 128), to = host_memory(context, bytes);
  std::memset(flags.data(), 0, flags.bytes());
  constexpr std::uint64_t kStyles = 100'000;
  queue.launch(Kernel(module, "gate"), groups_of(1, 1), arguments(flags, flags.data() + 64, kStyles));
  queue.copy(to.data(), memory.data(), bytes);
  const Status closed = memory.try_free();
  const Status status = queue.try_synchronize(kPatience);
  const auto sent = noise(bytes, 1);
  suite::answer({{"closed", closed.name()},
                 {"status", status.name()},
                 {"same", std::equal(sent.begin(), sent.end(), to.data())}});
  _exit(0);
}

PROCTOR_HELPER(export_and_end) {
  const auto context = leased();
  const Buffer memory = device_memory(context, 4096);
  suite::answer({{"token", Ipc::export_memory(context, memory)}});
}

}  // namespace

PROCTOR_CHECK(Ipc, OpenEnablesPeerAccess, "M41",
              "CUDA Runtime API, cudaIpcOpenMemHandle: cudaIpcMemLazyEnablePeerAccess", kGate,
              .faults = {"ipc.wrong_buffer", "kernel.wrong_result:arg=1,at=17"}, .devices = 2,
              .needs = {"p2p"}) {
  const auto devices = leased_devices(2);
  for (const auto& [owner, reader] : {std::pair{1U, 0U}, std::pair{0U, 1U}}) {
    need(devices[reader].reaches(devices[owner]), "needs:p2p");
    need(devices[owner].properties().ipc, "unsupported:ipc");
    const Context context(devices[owner]);
    Queue queue(context);
    constexpr std::size_t kBytes = 4096;
    const auto memory = device_copy(queue, context, noise(kBytes, 1));
    step("given a second process whose kernel on device " + std::to_string(reader) +
         " reads the memory of the other one, which it has opened there");
    suite::Helper other("read_a_peers_memory", {Ipc::export_memory(context, memory), std::to_string(kBytes),
                                                std::to_string(reader)});
    const auto answer = other.answer();
    expect_same("the result of the kernel", kSuccess, answer.at("status").get<std::string>());
    const bool same = answer.at("same").get<bool>();
    suite::trial({{"source", describe(devices[owner])}, {"reader", describe(devices[reader])}}, same);
    expect_true(same, "the kernel reads the bytes of the first process");
    other.finish();
  }
}

PROCTOR_CHECK(Ipc, CloseKeepsPendingCopyIntact, "M41", "CUDA Runtime API, cudaIpcCloseMemHandle",
              suite::kWarn, {"ipc.wrong_buffer", "copy.skip"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  Queue queue(context);
  constexpr std::size_t kBytes = 4096;
  const auto memory = device_copy(queue, context, noise(kBytes, 1));
  step("given a second process that closes memory with a pending copy");
  suite::Helper closer("close_while_it_is_copied",
                       {Ipc::export_memory(context, memory), std::to_string(kBytes)});
  const auto answer = closer.answer();
  expect_same("the result of the closing", kSuccess, answer.at("closed").get<std::string>());
  expect_same("the result of the copy", kSuccess, answer.at("status").get<std::string>());
  expect_true(answer.at("same").get<bool>(), "the copy has the bytes of the first process");
  closer.finish();
}

PROCTOR_CHECK(Ipc, HandleOfExitedProcessIsRejected, "M41",
              "CUDA Programming Guide, Interprocess Communication", suite::kWarn,
              {"error.swallowed:api=cudaIpcOpenMemHandle"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  step("given a handle of a process that has ended");
  suite::Helper exporter("export_and_end");
  const auto token = exporter.answer().at("token").get<std::string>();
  exporter.finish();
  Buffer memory;
  expect_refused("opening it", Ipc::try_import(context, token, 4096, memory));
}

}  // namespace proctor::accel
