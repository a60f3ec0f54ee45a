// Checks of device variables and kernels by their addresses on the host, with offsets. The check registers them
// the way code made by nvcc or clang does before main(), for a module that contains them.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/cuda/stream_latch.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

// Functions of crt/host_runtime.h, which only nvcc's own output may include.
extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** image);
void __cudaUnregisterFatBinary(void** image);
void __cudaRegisterVar(void** image, char* host, char* address, const char* name, int is_external,
                       std::size_t bytes, int is_constant, int is_global);
void __cudaRegisterManagedVar(void** image, void** host, char* address, const char* name, int is_external,
                              std::size_t bytes, int is_constant, int is_global);
void __cudaRegisterFunction(void** image, const char* host, char* device, const char* name, int most_threads,
                            uint3* thread, uint3* block, dim3* block_size, dim3* grid_size, int* warp_size);
char __cudaInitModule(void** image);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared_bytes, cudaStream_t stream);
// The variants that programs compiled with -default-stream per-thread call.
decltype(cudaMemcpyFromSymbol) cudaMemcpyFromSymbol_ptds;
decltype(cudaMemcpyFromSymbolAsync) cudaMemcpyFromSymbolAsync_ptsz;
decltype(cudaMemcpyToSymbol) cudaMemcpyToSymbol_ptds;
decltype(cudaMemcpyToSymbolAsync) cudaMemcpyToSymbolAsync_ptsz;
}

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::kGate;
using suite::step;

constexpr const char* kSymbols = "CUDA Runtime API, cudaMemcpyFromSymbol, cudaMemcpyToSymbol: offset";

// A file of device code that is registered during the life of this object.
class Image {
 public:
  Image(const Context& context, const std::string& name) : file_(module_file(name)) {
    if (CUDART_VERSION < 13000)
      suite::skip("fatbin_missing:" + name);  // The module is PTX, which cannot be registered.
    use(context.device());
    wrapper_.image = file_.data();
    handle_ = __cudaRegisterFatBinary(&wrapper_);
  }
  ~Image() { unregister(); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  void** handle() const { return handle_; }
  void end() const { __cudaRegisterFatBinaryEnd(handle_); }
  void unregister() {
    if (handle_ != nullptr) __cudaUnregisterFatBinary(std::exchange(handle_, nullptr));
  }

 private:
  struct {
    int magic = 0x466243b1;
    int version = 1;
    const void* image = nullptr;
    void* file = nullptr;
  } wrapper_;
  std::vector<std::byte> file_;
  void** handle_ = nullptr;
};

// The variable host_visible of constants.cl.
class Symbol {
 public:
  static constexpr std::uint32_t kInitial[4] = {11, 22, 33, 44};
  static constexpr std::size_t kBytes = sizeof kInitial;

  explicit Symbol(const Context& context) : image_(context, "constants") {
    __cudaRegisterVar(image_.handle(), &host_, &name_[0], &name_[0], 0, kBytes, 0, 0);
    image_.end();
  }

  const void* host() const { return &host_; }
  void unregister() { image_.unregister(); }
  static std::vector<std::byte> initial() {
    std::vector<std::byte> bytes(kBytes);
    std::memcpy(bytes.data(), kInitial, kBytes);
    return bytes;
  }

 private:
  Image image_;
  char name_[13] = "host_visible";
  char host_ = 0;
};

// The kernel fill() of basic.cl, launched by the address of its stub on the host, as <<<...>>> does.
class Function {
 public:
  explicit Function(const Context& context) : image_(context, "basic") {
    __cudaRegisterFunction(image_.handle(), &host_, &name_[0], &name_[0], -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
    image_.end();
  }
  const void* host() const { return &host_; }
  void unregister() { image_.unregister(); }

 private:
  Image image_;
  char name_[5] = "fill";
  char host_ = 0;
};

enum class Way { kAtOnce, kInAStream, kAtOncePerThread, kInTheThreadsStream };
constexpr std::pair<Way, const char*> kWays[] = {{Way::kAtOnce, "at once"},
                                                 {Way::kInAStream, "in a stream"},
                                                 {Way::kAtOncePerThread, "at once for the thread"},
                                                 {Way::kInTheThreadsStream, "in the thread's stream"}};

Status from_symbol(std::span<std::byte> to, const Symbol& symbol, std::size_t offset, Way way,
                   const Queue& queue) {
  constexpr auto kKind = cudaMemcpyDeviceToHost;
  switch (way) {
    case Way::kAtOnce:
      return CUDA_CALL(cudaMemcpyFromSymbol, to.data(), symbol.host(), to.size(), offset, kKind);
    case Way::kInAStream:
      return CUDA_CALL(cudaMemcpyFromSymbolAsync, to.data(), symbol.host(), to.size(), offset, kKind,
                       native(queue));
    case Way::kAtOncePerThread:
      return CUDA_CALL(cudaMemcpyFromSymbol_ptds, to.data(), symbol.host(), to.size(), offset, kKind);
    case Way::kInTheThreadsStream:
      break;
  }
  return CUDA_CALL(cudaMemcpyFromSymbolAsync_ptsz, to.data(), symbol.host(), to.size(), offset, kKind,
                   nullptr);
}
Status to_symbol(const Symbol& symbol, std::span<const std::byte> from, std::size_t offset, Way way,
                 const Queue& queue) {
  constexpr auto kKind = cudaMemcpyHostToDevice;
  switch (way) {
    case Way::kAtOnce:
      return CUDA_CALL(cudaMemcpyToSymbol, symbol.host(), from.data(), from.size(), offset, kKind);
    case Way::kInAStream:
      return CUDA_CALL(cudaMemcpyToSymbolAsync, symbol.host(), from.data(), from.size(), offset, kKind,
                       native(queue));
    case Way::kAtOncePerThread:
      return CUDA_CALL(cudaMemcpyToSymbol_ptds, symbol.host(), from.data(), from.size(), offset, kKind);
    case Way::kInTheThreadsStream:
      break;
  }
  return CUDA_CALL(cudaMemcpyToSymbolAsync_ptsz, symbol.host(), from.data(), from.size(), offset, kKind,
                   nullptr);
}

// Calls `visit` with the offset and the number of bytes of parts of the variable.
template <typename Visit>
void each_part(const Visit& visit) {
  for (std::size_t offset = 0; offset < Symbol::kBytes; ++offset) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{3}, Symbol::kBytes - offset})
      if (offset + bytes <= Symbol::kBytes) visit(offset, bytes);
  }
}

}  // namespace

PROCTOR_CHECK(Symbol, EveryPartIsReadable, "K08", kSymbols, kGate,
              {"copy.offset_ignored:api=cudaMemcpyFromSymbol*", "memory.corrupt_copy:at=0,times=1"}) {
  const auto context = leased();
  Queue queue(context);
  const Symbol symbol(context);
  const auto whole = Symbol::initial();
  for (const auto& [way, name] : kWays) {
    step(std::string("given each part of a variable, read ") + name);
    each_part([&](std::size_t offset, std::size_t bytes) {
      std::vector<std::byte> got(bytes);
      from_symbol(got, symbol, offset, way, queue).or_throw();
      CUDA_CALL(cudaDeviceSynchronize).or_throw();
      expect_bytes(std::to_string(bytes) + " bytes at " + std::to_string(offset),
                   std::span(whole).subspan(offset, bytes), got, context.device());
    });
  }
}

PROCTOR_CHECK(Symbol, EveryPartIsWritable, "K08", kSymbols, kGate,
              {"copy.offset_ignored:api=cudaMemcpyToSymbol*", "copy.short:api=cudaMemcpyToSymbol*"}) {
  const auto context = leased();
  Queue queue(context);
  const Symbol symbol(context);
  auto expected = Symbol::initial();
  const auto sent = noise(4096, 1);
  std::size_t next = 0;
  for (const auto& [way, name] : kWays) {
    step(std::string("given each part of a variable, written ") + name);
    each_part([&](std::size_t offset, std::size_t bytes) {
      const auto part = std::span(sent).subspan(next, bytes);
      next += bytes;
      to_symbol(symbol, part, offset, way, queue).or_throw();
      std::copy(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
      std::vector<std::byte> got(Symbol::kBytes);
      CUDA_CALL(cudaDeviceSynchronize).or_throw();
      from_symbol(got, symbol, 0, Way::kAtOnce, queue).or_throw();
      expect_bytes("the variable after " + std::to_string(bytes) + " bytes at " + std::to_string(offset),
                   expected, got, context.device());
    });
  }
  to_symbol(symbol, Symbol::initial(), 0, Way::kAtOnce, queue).or_throw();
}

PROCTOR_CHECK(Symbol, RangeBeyondEndIsRejected, "K08", kSymbols, kGate,
              {"error.wrong_code:api=cudaMemcpy*Symbol", "error.swallowed:api=cudaMemcpy*Symbol"}) {
  const auto context = leased();
  const Queue queue(context);
  const Symbol symbol(context);
  std::size_t reported = 0;
  step("given the size of a variable, and parts outside of it");
  expect_status(kSuccess, CUDA_CALL(cudaGetSymbolSize, &reported, symbol.host()));
  expect_same("its size", std::to_string(Symbol::kBytes), std::to_string(reported));
  std::vector<std::byte> bytes(Symbol::kBytes + 1);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, Symbol::kBytes, SIZE_MAX - 3}) {
    const std::size_t most = offset <= Symbol::kBytes ? Symbol::kBytes - offset + 1 : 8;
    const auto part = std::span(bytes).first(most);
    expect_status("cudaErrorInvalidValue", from_symbol(part, symbol, offset, Way::kAtOnce, queue));
    expect_status("cudaErrorInvalidValue", to_symbol(symbol, part, offset, Way::kAtOnce, queue));
  }
}

PROCTOR_CHECK(Symbol, ReportedAddressHoldsVariable, "K08",
              "CUDA Runtime API, cudaGetSymbolAddress, cudaGetSymbolSize", kGate,
              {"copy.skip:api=cudaMemcpyToSymbol", "error.swallowed:api=cudaGetSymbol*"}) {
  const auto context = leased();
  Queue queue(context);
  const Symbol symbol(context);
  void* address = nullptr;
  std::size_t bytes = 0;
  step("given the address of a variable");
  expect_status(kSuccess, CUDA_CALL(cudaGetSymbolAddress, &address, symbol.host()));
  expect_status(kSuccess, CUDA_CALL(cudaGetSymbolSize, &bytes, symbol.host()));
  expect_same("its size", std::to_string(Symbol::kBytes), std::to_string(bytes));
  expect_same("its kind", "device", to_string(pointer_info(context, address).kind));
  expect_bytes("bytes at the address", Symbol::initial(), read_bytes(queue, context, address, Symbol::kBytes),
               context.device());
  const auto sent = noise(Symbol::kBytes, 1);
  to_symbol(symbol, sent, 0, Way::kAtOnce, queue).or_throw();
  CUDA_CALL(cudaDeviceSynchronize).or_throw();
  expect_bytes("bytes at the address after a write by name", sent,
               read_bytes(queue, context, address, Symbol::kBytes), context.device());
  to_symbol(symbol, Symbol::initial(), 0, Way::kAtOnce, queue).or_throw();
}

PROCTOR_CHECK(Symbol, WrongMemcpyKindIsRejected, "K08",
              "CUDA Runtime API, cudaMemcpyToSymbol, cudaMemcpyFromSymbol: kind", kGate,
              {"error.swallowed:api=cudaMemcpy*Symbol*", "copy.skip:api=cudaMemcpy*Symbol*"}) {
  const auto context = leased();
  Queue queue(context);
  const Symbol symbol(context);
  const auto sent = noise(Symbol::kBytes, 2);
  const auto there = device_copy(queue, context, sent);
  const auto to = [&](const std::byte* from, cudaMemcpyKind kind, bool asynchronous) {
    return asynchronous ? CUDA_CALL(cudaMemcpyToSymbolAsync, symbol.host(), from, Symbol::kBytes, 0, kind,
                                    native(queue))
                        : CUDA_CALL(cudaMemcpyToSymbol, symbol.host(), from, Symbol::kBytes, 0, kind);
  };
  const auto from = [&](std::byte* target, cudaMemcpyKind kind, bool asynchronous) {
    return asynchronous ? CUDA_CALL(cudaMemcpyFromSymbolAsync, target, symbol.host(), Symbol::kBytes, 0, kind,
                                    native(queue))
                        : CUDA_CALL(cudaMemcpyFromSymbol, target, symbol.host(), Symbol::kBytes, 0, kind);
  };
  for (const bool asynchronous : {false, true}) {
    for (const bool stated : {false, true}) {
      step(std::string("given a variable that is written and read, ") +
           (asynchronous ? "in a stream, " : "at once, ") +
           (stated ? "in stated directions" : "in no stated direction"));
      to_symbol(symbol, Symbol::initial(), 0, Way::kAtOnce, queue).or_throw();
      const auto between = [&](cudaMemcpyKind kind) { return stated ? kind : cudaMemcpyDefault; };
      std::vector<std::byte> got(Symbol::kBytes);
      const Buffer back = device_memory(context, Symbol::kBytes);
      to(there.data(), between(cudaMemcpyDeviceToDevice), asynchronous).or_throw();
      from(back.data(), between(cudaMemcpyDeviceToDevice), asynchronous).or_throw();
      from(got.data(), between(cudaMemcpyDeviceToHost), asynchronous).or_throw();
      CUDA_CALL(cudaDeviceSynchronize).or_throw();
      expect_bytes("bytes that the host read", sent, got, context.device());
      expect_bytes("bytes that the device read", sent,
                   read_bytes(queue, context, back.data(), Symbol::kBytes), context.device());
    }
    step("given directions that lead elsewhere");
    std::vector<std::byte> here(Symbol::kBytes);
    for (const auto kind : {cudaMemcpyHostToHost, cudaMemcpyDeviceToHost})
      expect_status("cudaErrorInvalidMemcpyDirection", to(here.data(), kind, asynchronous));
    for (const auto kind : {cudaMemcpyHostToHost, cudaMemcpyHostToDevice})
      expect_status("cudaErrorInvalidMemcpyDirection", from(here.data(), kind, asynchronous));
    static_cast<void>(cudaGetLastError());
  }
  to_symbol(symbol, Symbol::initial(), 0, Way::kAtOnce, queue).or_throw();
}

// The source is pinned memory, because a copy from pageable memory may still be in progress when the call returns.
PROCTOR_CHECK(Symbol, SynchronousCopiesWaitForEarlierKernel, "M26",
              "CUDA Runtime API, API synchronization behavior", kGate,
              {"order.end_wait_early:api=cudaMemcpy*Symbol", "copy.skip:api=cudaMemcpy*Symbol"}) {
  const auto context = leased();
  const Queue queue(context);
  const Symbol symbol(context);
  const Buffer pinned = host_memory(context, Symbol::kBytes);
  const auto sent = noise(Symbol::kBytes, 4);
  std::copy(sent.begin(), sent.end(), pinned.data());
  std::vector<std::byte> got(Symbol::kBytes);
  const auto expect_done_after = [&](Way way, const auto& transfer) {
    const StreamLatch latch(context);
    latch.hold(way == Way::kAtOnce ? cudaStreamLegacy : cudaStreamPerThread);
    const Later later(latch);
    transfer(way).or_throw();
    expect_same("the state of the kernel when the call returned (1: done)", "1",
                std::to_string(latch.done()));
  };
  for (const Way way : {Way::kAtOnce, Way::kAtOncePerThread}) {
    step("given a variable that is written and read after kernels that the host releases later");
    expect_done_after(way, [&](Way now) {
      return to_symbol(symbol, {pinned.data(), sent.size()}, 0, now, queue);
    });
    expect_done_after(way, [&](Way now) { return from_symbol(got, symbol, 0, now, queue); });
    expect_bytes("bytes that were read", sent, got, context.device());
  }
  to_symbol(symbol, Symbol::initial(), 0, Way::kAtOnce, queue).or_throw();
}

// Pinned memory, because the reference does not specify pageable memory.
PROCTOR_CHECK(Symbol, AsyncCopiesDoNotBlock, "M28", "CUDA Runtime API, API synchronization behavior", kGate,
              {"copy.skip:api=cudaMemcpy*SymbolAsync"}) {
  const auto context = leased();
  Queue queue(context);
  const Symbol symbol(context);
  const Buffer host = host_memory(context, 2 * Symbol::kBytes);
  const auto sent = noise(Symbol::kBytes, 3);
  std::copy(sent.begin(), sent.end(), host.data());
  void* loaded = nullptr;  // With lazy loading, the first use of a variable waits for all work.
  CUDA_CALL(cudaGetSymbolAddress, &loaded, symbol.host()).or_throw();
  Latch latch(context);
  step("given a variable that is written and read behind a kernel that is not released yet");
  latch.hold(queue);
  CUDA_CALL(cudaMemcpyToSymbolAsync, symbol.host(), host.data(), Symbol::kBytes, 0, cudaMemcpyHostToDevice,
            native(queue))
      .or_throw();
  CUDA_CALL(cudaMemcpyFromSymbolAsync, host.data() + Symbol::kBytes, symbol.host(), Symbol::kBytes, 0,
            cudaMemcpyDeviceToHost, native(queue))
      .or_throw();
  expect_status(kNotReady, CUDA_CALL(cudaStreamQuery, native(queue)));
  latch.open();
  queue.synchronize();
  expect_bytes("bytes that were read", sent, {host.data() + Symbol::kBytes, Symbol::kBytes},
               context.device());
  to_symbol(symbol, Symbol::initial(), 0, Way::kAtOnce, queue).or_throw();
}

namespace {

// Writes a variable and resets the device. Sends the contents of the variable before and after the reset.
PROCTOR_HELPER(reset_a_variable) {
  const auto context = leased();
  const Queue queue(context);
  const Symbol symbol(context);
  const auto is_initial = [&] {
    std::vector<std::byte> got(Symbol::kBytes);
    const Status status = from_symbol(got, symbol, 0, Way::kAtOnce, queue);
    return status.ok() ? std::string(got == Symbol::initial() ? "initial" : "written") : status.name();
  };
  to_symbol(symbol, noise(Symbol::kBytes, 4), 0, Way::kAtOnce, queue).or_throw();
  const auto before = is_initial();
  const Status reset = CUDA_CALL(cudaDeviceReset);
  suite::answer({{"before", before}, {"reset", reset.name()}, {"after", is_initial()}});
}

}  // namespace

PROCTOR_CHECK(Symbol, ResetRestoresInitialValue, "K48", "CUDA Runtime API, cudaDeviceReset", suite::kWarn,
              {"state.reset_ignored"}) {
  {
    const Symbol needed(leased());  // Skips the check if the module is missing.
  }
  step("given a second process that writes a variable and resets its device");
  suite::Helper helper("reset_a_variable");
  const auto answer = helper.answer();
  expect_same("the variable before it", "written", answer.at("before").get<std::string>());
  expect_same("the result of the reset", kSuccess, answer.at("reset").get<std::string>());
  expect_same("the variable after it", "initial", answer.at("after").get<std::string>());
}

PROCTOR_CHECK(Symbol, UnregisteredSymbolIsRejected, "K08", "CUDA Runtime API, cudaErrorInvalidSymbol",
              suite::kWarn,
              {"error.swallowed:api=cudaGetSymbolSize", "error.wrong_code:api=cudaGetSymbolSize"}) {
  const auto context = leased();
  Symbol symbol(context);
  Function function(context);
  std::size_t bytes = 0;
  cudaFuncAttributes attributes{};
  step("given a variable and a kernel whose images are registered, and then unregistered");
  expect_status(kSuccess, CUDA_CALL(cudaGetSymbolSize, &bytes, symbol.host()));
  expect_status(kSuccess, CUDA_CALL(cudaFuncGetAttributes, &attributes, function.host()));
  symbol.unregister();
  expect_status("cudaErrorInvalidSymbol", CUDA_CALL(cudaGetSymbolSize, &bytes, symbol.host()));
  expect_status(kSuccess, CUDA_CALL(cudaFuncGetAttributes, &attributes, function.host()));
  function.unregister();
  expect_refused("its kernel", CUDA_CALL(cudaFuncGetAttributes, &attributes, function.host()));
  static_cast<void>(cudaGetLastError());
}

// ---- kernels by their addresses on the host ----

namespace {

constexpr const char* kTriple = "CUDA Programming Guide, Execution Configuration; crt/host_runtime.h";

// Launches fill(words, value, n) and verifies the filled words.
template <typename Launch>
void expect_fills(const Context& context, std::uint32_t value, const Launch& launch) {
  constexpr std::uint32_t kWords = 100;
  Queue queue(context);
  const auto words = device_copy(queue, context, std::vector<std::uint32_t>(kWords + 1));
  const std::byte* pointer = words.data();
  std::uint32_t n = kWords;
  void* arguments[] = {&pointer, &value, &n};
  launch(arguments, native(queue));
  CUDA_CALL(cudaDeviceSynchronize).or_throw();
  auto expected = std::vector<std::uint32_t>(kWords, value);
  expected.push_back(0);
  expect_words("words that the kernel wrote", expected, read_as<std::uint32_t>(queue, context, words),
               context.device());
}

}  // namespace

PROCTOR_CHECK(KernelHandle, HostAddressLaunchesKernel, "K16", kTriple, kGate,
              {"kernel.skip:kernel=fill", "kernel.wrong_argument:arg=1"}) {
  const auto context = leased();
  const Function function(context);
  constexpr dim3 kGrid(4), kBlock(32);
  step("given a kernel by the address of its stand-in on the host");
  expect_fills(context, 7, [&](void** arguments, cudaStream_t stream) {
    CUDA_CALL(cudaLaunchKernel, function.host(), kGrid, kBlock, arguments, 0, stream).or_throw();
  });
  step("given its handle, twice");
  cudaKernel_t first = nullptr, second = nullptr;
  CUDA_CALL(cudaGetKernel, &first, function.host()).or_throw();
  CUDA_CALL(cudaGetKernel, &second, function.host()).or_throw();
  suite::expect_true(first != nullptr && first == second, "the handle is the same");
  expect_fills(context, 8, [&](void** arguments, cudaStream_t stream) {
    CUDA_CALL(cudaLaunchKernel, static_cast<const void*>(first), kGrid, kBlock, arguments, 0, stream)
        .or_throw();
  });
  step("given it as compiled code launches it");
  CUDA_CALL(__cudaGetKernel, &second, function.host()).or_throw();
  suite::expect_true(first == second, "the handle is the same");
  expect_fills(context, 9, [&](void** arguments, cudaStream_t stream) {
    CUDA_CALL(__cudaLaunchKernel, second, kGrid, kBlock, arguments, 0, stream).or_throw();
  });
  expect_fills(context, 10, [&](void** arguments, cudaStream_t stream) {
    CUDA_CALL(__cudaLaunchKernel_ptsz, second, kGrid, kBlock, arguments, 0, stream).or_throw();
  });
}

PROCTOR_CHECK(KernelHandle, PtszLaunchUsesPerThreadStream, "K38",
              "CUDA Runtime API, API synchronization behavior: per-thread default stream", kGate,
              {"kernel.skip:kernel=fill", "kernel.wrong_argument:arg=1,kernel=fill"}) {
  const auto context = leased();
  const Function function(context);
  cudaKernel_t kernel = nullptr;
  CUDA_CALL(__cudaGetKernel, &kernel, function.host()).or_throw();
  step(
      "given a launch without a stream, as code launches it that is compiled for a default stream of each "
      "thread");
  expect_fills(context, 11, [&](void** arguments, cudaStream_t) {
    CUDA_CALL(cudaStreamBeginCapture, cudaStreamPerThread, cudaStreamCaptureModeThreadLocal).or_throw();
    CUDA_CALL(__cudaLaunchKernel_ptsz, kernel, dim3(4), dim3(32), arguments, 0, nullptr).or_throw();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    std::size_t nodes = 0;
    CUDA_CALL(cudaStreamEndCapture, cudaStreamPerThread, &graph).or_throw();
    CUDA_CALL(cudaGraphGetNodes, graph, nullptr, &nodes).or_throw();
    expect_same("kernels that a capture of the thread's stream has", "1", std::to_string(nodes));
    CUDA_CALL(cudaGraphInstantiate, &runnable, graph, 0).or_throw();
    CUDA_CALL(cudaGraphLaunch, runnable, cudaStreamPerThread).or_throw();
    CUDA_CALL(cudaDeviceSynchronize).or_throw();
    CUDA_CALL(cudaGraphExecDestroy, runnable).or_throw();
    CUDA_CALL(cudaGraphDestroy, graph).or_throw();
  });
}

PROCTOR_CHECK(KernelHandle, UnknownAddressIsRejected, "K12", kTriple, kGate,
              {"error.swallowed:api=cudaGetKernel", "error.wrong_code:api=cudaGetKernel"}) {
  const auto context = leased();
  const Function function(context);
  const int on_the_stack = 0;
  cudaKernel_t kernel = nullptr;
  step("given an address that is not a kernel, and a null pointer for the result");
  expect_status("cudaErrorInvalidDeviceFunction",
                CUDA_CALL(cudaGetKernel, &kernel, static_cast<const void*>(&on_the_stack)));
  expect_status("cudaErrorInvalidDeviceFunction",
                CUDA_CALL(__cudaGetKernel, &kernel, static_cast<const void*>(&on_the_stack)));
  expect_status("cudaErrorInvalidValue",
                CUDA_CALL(cudaGetKernel, static_cast<cudaKernel_t*>(nullptr), function.host()));
  static_cast<void>(cudaGetLastError());
}

PROCTOR_CHECK(CallConfiguration, LastPushIsPoppedFirst, "K16", kTriple, kGate,
              {"error.swallowed:api=__cudaPopCallConfiguration"}) {
  const auto context = leased();
  Queue queue(context);
  const auto taken = [] {
    dim3 grid, block;
    std::size_t shared_bytes = 0;
    cudaStream_t stream = nullptr;
    CUDA_CALL(__cudaPopCallConfiguration, &grid, &block, &shared_bytes, &stream).or_throw();
    const auto text = [](const dim3& size) {
      return std::to_string(size.x) + "," + std::to_string(size.y) + "," + std::to_string(size.z);
    };
    return text(grid) + " " + text(block) + " " + std::to_string(shared_bytes) + " " +
           (stream == nullptr ? "none" : "a stream");
  };
  step("given two configurations, one within the other");
  expect_same("the result of pushing the first", "0",
              std::to_string(__cudaPushCallConfiguration(dim3(1, 2, 3), dim3(4, 5, 6), 7, native(queue))));
  expect_same("the result of pushing the second", "0",
              std::to_string(__cudaPushCallConfiguration(dim3(8), dim3(9), 0, nullptr)));
  expect_same("the second", "8,1,1 9,1,1 0 none", taken());
  expect_same("the first", "1,2,3 4,5,6 7 a stream", taken());
  step("given none");
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  expect_status("cudaErrorMissingConfiguration",
                CUDA_CALL(__cudaPopCallConfiguration, &grid, &block, &shared_bytes, &stream));
  static_cast<void>(cudaGetLastError());
}

// ---- managed variables ----

PROCTOR_CHECK(Symbol, HostAndKernelShareManagedVariable, "M35",
              "CUDA Programming Guide, Unified Memory Programming: __managed__ variables", kGate,
              {"kernel.skip:kernel=add_to_managed", "kernel.wrong_argument:kernel=add_to_managed"}) {
  const auto context = leased();
  need(context.device().properties().shared_memory, "unsupported:shared_memory");
  const Image image(context, "managed");
  char name[] = "managed_words", name_of_factor[] = "managed_factor";
  constexpr std::size_t kBytes = 16;
  void *words = nullptr, *factor = nullptr;
  __cudaRegisterManagedVar(image.handle(), &words, name, name, 0, kBytes, 0, 0);
  __cudaRegisterManagedVar(image.handle(), &factor, name_of_factor, name_of_factor, 0, sizeof(std::uint32_t),
                           0, 0);
  char kernel_name[] = "add_to_managed", stand_in = 0;
  __cudaRegisterFunction(image.handle(), &stand_in, kernel_name, kernel_name, -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  image.end();
  suite::expect_true(__cudaInitModule(image.handle()) != 0 && words != nullptr && factor != nullptr,
                     "the variables have memory");
  if (words == nullptr || factor == nullptr) return;
  Queue queue(context);
  step("given a variable that the host reads, a kernel changes and the host reads again");
  const auto seen = [&] {
    std::vector<std::uint32_t> values(4);
    std::memcpy(values.data(), words, kBytes);
    return values;
  };
  expect_words("its initial value", std::vector<std::uint32_t>{5, 6, 7, 8}, seen(), context.device());
  static_cast<std::uint32_t*>(words)[3] = 80;
  *static_cast<std::uint32_t*>(factor) = 2;
  std::uint32_t more = 50;
  void* arguments[] = {&more};
  CUDA_CALL(cudaLaunchKernel, &stand_in, dim3(1), dim3(4), arguments, 0, native(queue)).or_throw();
  queue.synchronize();
  expect_words("after the kernel", std::vector<std::uint32_t>{105, 106, 107, 180}, seen(), context.device());
  expect_same("its kind", "shared", to_string(pointer_info(context, words).kind));
  void* address = nullptr;
  // Programs made by nvcc refer to the variable this way.
  CUDA_CALL(cudaGetSymbolAddress, &address, words).or_throw();  // so do programs of nvcc name it
  suite::expect_true(address == words, "device and host have the same address for it");
}

}  // namespace proctor::accel
