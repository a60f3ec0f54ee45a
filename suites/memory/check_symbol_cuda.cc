// Variables of a program by their addresses on the host, with offsets. They are registered as code that nvcc or clang
// made does it before main, of a module that has them.
#include <algorithm>
#include <cstring>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/check.h"

// crt/host_runtime.h, which is for nvcc's own output only.
extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** image);
void __cudaUnregisterFatBinary(void** image);
void __cudaRegisterVar(void** image, char* host, char* address, const char* name, int is_external,
                       std::size_t bytes, int is_constant, int is_global);
// What programs compiled with -default-stream per-thread call.
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

// host_visible of constants.cl.
class Symbol {
 public:
  static constexpr std::uint32_t kInitial[4] = {11, 22, 33, 44};
  static constexpr std::size_t kBytes = sizeof kInitial;

  explicit Symbol(const Context& context) : file_(module_file("constants")) {
    if (CUDART_VERSION < 13000)
      suite::skip("fatbin_missing:constants");  // its modules are PTX, which nothing registers
    use(context.device());
    wrapper_.image = file_.data();
    image_ = __cudaRegisterFatBinary(&wrapper_);
    __cudaRegisterVar(image_, &host_, &name_[0], &name_[0], 0, kBytes, 0, 0);
    __cudaRegisterFatBinaryEnd(image_);
  }
  ~Symbol() { __cudaUnregisterFatBinary(image_); }
  Symbol(const Symbol&) = delete;
  Symbol& operator=(const Symbol&) = delete;

  const void* host() const { return &host_; }
  static std::vector<std::byte> initial() {
    std::vector<std::byte> bytes(kBytes);
    std::memcpy(bytes.data(), kInitial, kBytes);
    return bytes;
  }

 private:
  struct {
    int magic = 0x466243b1;
    int version = 1;
    const void* image = nullptr;
    void* file = nullptr;
  } wrapper_;
  std::vector<std::byte> file_;
  char name_[13] = "host_visible";
  char host_ = 0;
  void** image_ = nullptr;
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

// Every part of the variable: where it begins, and how many bytes it has.
template <typename Visit>
void each_part(const Visit& visit) {
  for (std::size_t offset = 0; offset < Symbol::kBytes; ++offset) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{3}, Symbol::kBytes - offset})
      if (offset + bytes <= Symbol::kBytes) visit(offset, bytes);
  }
}

}  // namespace

PROCTOR_CHECK(Symbol, PartsAreRead, "K08", kSymbols, kGate,
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

PROCTOR_CHECK(Symbol, PartsAreWritten, "K08", kSymbols, kGate,
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

PROCTOR_CHECK(Symbol, NothingLiesBeyondItsEnd, "K08", kSymbols, kGate,
              {"error.wrong_code:api=cudaMemcpy*Symbol", "error.swallowed:api=cudaMemcpy*Symbol"}) {
  const auto context = leased();
  const Queue queue(context);
  const Symbol symbol(context);
  std::size_t told = 0;
  step("given the size of a variable, and parts that do not lie in it");
  expect_status(kSuccess, CUDA_CALL(cudaGetSymbolSize, &told, symbol.host()));
  expect_same("its size", std::to_string(Symbol::kBytes), std::to_string(told));
  std::vector<std::byte> bytes(Symbol::kBytes + 1);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, Symbol::kBytes, SIZE_MAX - 3}) {
    const std::size_t most = offset <= Symbol::kBytes ? Symbol::kBytes - offset + 1 : 8;
    const auto part = std::span(bytes).first(most);
    expect_status("cudaErrorInvalidValue", from_symbol(part, symbol, offset, Way::kAtOnce, queue));
    expect_status("cudaErrorInvalidValue", to_symbol(symbol, part, offset, Way::kAtOnce, queue));
  }
}

}  // namespace proctor::accel
