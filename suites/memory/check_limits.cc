// Checks of exhausted host memory, of more shared memory than the device has, and of allocations above 4 GiB. A
// refused request must return an out-of-memory code, and earlier memory must keep its bytes.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "suites/accel/check_fixture.h"
#include "suites/accel/memory_cap.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::step;

constexpr const char* kHostMemory = by_vendor("Level Zero specification, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY",
                                              "CUDA Runtime API, cudaHostAlloc");
constexpr const char* kOvercommit =
    by_vendor("oneapi-src/level-zero-tests, test_memory_overcommit", "ROCm/hip-tests, hipHmmOvrSubscription");
constexpr std::size_t kPiece = 32 << 20;
constexpr std::size_t kPage = 4096;

std::uint64_t address_space_in_use() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t available_host_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    std::uint64_t kibibytes = 0;
    if (name == "MemAvailable:" && file >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

// Sets a limit of the process during the life of this object. "memlock": no memory may be locked. "address_space":
// there is room for three pieces and some more.
class HostLimit {
 public:
  explicit HostLimit(const std::string& which) : kind_(which == "memlock" ? RLIMIT_MEMLOCK : RLIMIT_AS) {
    getrlimit(kind_, &before_);
    set({kind_ == RLIMIT_MEMLOCK ? 0 : address_space_in_use() + 4 * kPiece, before_.rlim_max});
  }
  ~HostLimit() { setrlimit(kind_, &before_); }
  HostLimit(const HostLimit&) = delete;
  HostLimit& operator=(const HostLimit&) = delete;

 private:
  void set(const rlimit& limit) const {
    if (setrlimit(kind_, &limit) != 0) suite::fail_because("setup", "setrlimit");
  }

  decltype(RLIMIT_AS) kind_;
  rlimit before_{};
};

// Pieces of memory. The first page of each has different contents.
struct Pieces {
  void take(const Context& context, MemoryKind kind, std::size_t bytes, std::size_t most) {
    while (status.ok() && buffers.size() < most) {
      Buffer next;
      status = Buffer::try_allocate(context, {.kind = kind, .bytes = bytes}, next);
      if (!status.ok()) return;
      const auto contents = noise(kPage, buffers.size());
      std::copy(contents.begin(), contents.end(), next.data());
      buffers.push_back(std::move(next));
    }
  }
  bool kept() const {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const auto contents = noise(kPage, i);
      if (!std::equal(contents.begin(), contents.end(), buffers[i].data())) return false;
    }
    return true;
  }

  std::vector<Buffer> buffers{};
  Status status{};
};

PROCTOR_HELPER(limited_host_memory) {
  const auto context = leased();
  Queue queue(context);
  const auto there =
      // The driver creates its threads and staging buffers before the limit.
      device_copy(queue, context, noise(kPage, 7));
  Pieces pieces;
  {
    const HostLimit limit(words.at(0));
    pieces.take(context, MemoryKind::kHost, kPiece, 8);
  }
  const bool kept = pieces.kept();
  const auto had = pieces.buffers.size();
  pieces.buffers.clear();
  const Buffer small = host_memory(context, kPage);
  queue.copy(small.data(), there.data(), kPage);
  queue.synchronize();
  const auto expected = noise(kPage, 7);
  suite::answer({{"status", pieces.status.name()},
                 {"refused", !pieces.status.ok()},
                 {"out_of_memory", pieces.status.out_of_memory()},
                 {"pieces", had},
                 {"kept", kept},
                 {"works", std::equal(expected.begin(), expected.end(), small.data())}});
}

// Runs the helper under the limit and judges its result. Returns true if an allocation was refused.
bool expect_clean_end(const std::string& limit) {
  Helper helper("limited_host_memory", {limit});
  const auto answer = helper.answer();
  const auto code = answer.at("status").get<std::string>();
  const bool refused = answer.at("refused").get<bool>();
  expect_true(!refused || answer.at("out_of_memory").get<bool>(),
              "the refusal is an out-of-memory error, got " + code);
  expect_true(answer.at("kept").get<bool>(), "memory from before the refusal keeps its bytes");
  expect_true(answer.at("works").get<bool>(), "a small piece works afterwards");
  return refused;
}

}  // namespace

// Each driver chooses whether it locks memory. Intel's driver does not.
PROCTOR_CHECK(HostMemoryLimit, LockedMemoryLimitIsHandledCleanly, "M31", kHostMemory, kGate,
              {"memory.corrupt_copy:at=17,after=1,times=1", "copy.skip:after=1"}) {
  step("given a second process that may lock no memory and takes 256 MiB of the host's");
  expect_clean_end("memlock");
}

// A driver that has reserved its addresses before does not meet the limit. No document specifies the behaviour of
// a process with a limit.
PROCTOR_CHECK(HostMemoryLimit, AddressSpaceLimitIsHandledCleanly, "M31", kHostMemory, suite::kWarn,
              by_vendor<Texts>({"error.wrong_code:err=0x78000004,api=zeMemAllocHost"},
                               {"error.wrong_code:err=1,api=cudaHostAlloc"})) {
  step("given a second process whose addresses end before 256 MiB of host memory");
  const bool met = expect_clean_end("address_space");
  if (suite::on_simgpu()) expect_true(met, "the limit is met");
}

// A driver may move data to the host or refuse the allocation; both are right. The check runs only if the machine
// could hold all of the memory, and takes at most that much.
PROCTOR_CHECK(SharedAllocation, OversubscriptionKeepsContents, "M36", kOvercommit, kGate,
              {"alloc.overlap_live_allocations",
               by_vendor("error.wrong_code:err=0x78000004,api=zeMemAllocShared",
                         "error.wrong_code:err=1,api=cudaMallocManaged")}) {
  const auto context = leased();
  need(!MemoryCap::of_process().is_set(), kNeedsNoCap);  // The cap is far below the device's memory.
  need(context.device().properties().shared_memory, "unsupported:shared_memory");
  const std::uint64_t wanted = available_memory(context.device()) / 4 * 5;
  const std::uint64_t piece = std::min(context.device().properties().largest_allocation, wanted / 16);
  need(suite::on_simgpu() || wanted < available_host_memory() / 2, "needs:host_memory");
  step("given shared memory of five quarters of the free memory, in pieces of " + std::to_string(piece));
  Pieces pieces;
  pieces.take(context, MemoryKind::kShared, piece, wanted / piece);
  suite::measure("memory.shared_reachable", static_cast<double>(pieces.buffers.size() * piece), "B");
  expect_true(pieces.status.ok() || pieces.status.out_of_memory(),
              "the refusal is an out-of-memory error, got " + pieces.status.name());
  expect_true(!pieces.buffers.empty(), "at least one piece is allocated");
  expect_true(pieces.kept(), "every piece keeps its bytes");
}

// Checks of allocations above 4 GiB. On Level Zero, these must be requested when the memory is allocated and when
// a module is built.

namespace {

using suite::kGate;
using suite::step;

constexpr const char* kRelaxed = by_vendor(
    "Level Zero specification, ze_relaxed_allocation_limits_exp_desc_t; intel/compute-runtime "
    "ALLOCATIONS_GREATER_THAN_4GB.md",
    "CUDA Runtime API, cudaMalloc");
constexpr std::uint64_t kWords = 80;  // One of them is at 4 GiB exactly.
constexpr std::uint64_t kStrideBytes = 64 << 20;
constexpr std::uint64_t kBytes = kWords * kStrideBytes;  // 5 GiB
static_assert(kBytes > std::uint64_t{1} << 32);

Buffer large_memory(const Context& context) {
  need_memory(context.device(), kBytes + (kBytes >> 2));
  return memory_or_skip(context, {.bytes = kBytes, .large = true});
}

std::vector<std::uint32_t> marks() {
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < kWords; ++i) words.push_back(0xabc00000u + i);
  return words;
}

// A buffer of which some windows are compared: at its begin, at 2 GiB, at 4 GiB, and around the end of `bytes`. At
// these places, truncated lengths cause differences.
class LongBuffer {
 public:
  LongBuffer(Queue& queue, const Context& context, std::uint64_t bytes, std::uint64_t seed)
      : queue_(queue), context_(context), bytes_(bytes), seed_(seed), buffer_(room(context, bytes)) {
    for (const std::uint64_t at : looked_at()) write(queue_, context_, data() + at, before(at));
  }
  std::byte* data() const { return buffer_.data(); }

  // Compares all windows. `inside(at)` is the kWindow bytes that must have arrived at `at`. Bytes past `bytes`
  // must not have changed.
  template <typename Inside>
  void expect(const std::string& what, const Inside& inside) const {
    for (const std::uint64_t at : looked_at()) {
      std::vector<std::byte> expected = before(at);
      const auto end = std::min<std::uint64_t>(kWindow, bytes_ - std::min(bytes_, at));
      std::copy_n(inside(at).begin(), end, expected.begin());
      expect_bytes(what + " at " + std::to_string(at), expected,
                   read_bytes(queue_, context_, data() + at, kWindow), context_.device());
    }
  }
  std::vector<std::byte> before(std::uint64_t at) const { return noise(kWindow, seed_ + at); }

 private:
  static constexpr std::uint64_t kWindow = 256;
  static constexpr std::uint64_t kFourGiB = std::uint64_t{1} << 32;

  static Buffer room(const Context& context, std::uint64_t bytes) {
    need_memory(context.device(), bytes + kWindow);
    return memory_or_skip(context, {.bytes = bytes + kWindow, .large = bytes + kWindow > kFourGiB});
  }
  // The offsets of the windows, which do not overlap. The last window begins inside `bytes`, if these are long
  // enough, and ends past them.
  std::vector<std::uint64_t> looked_at() const {
    std::vector<std::uint64_t> places = {bytes_ - std::min(bytes_, kWindow / 2)};
    for (const std::uint64_t at : std::array{kFourGiB, kFourGiB / 2, std::uint64_t{0}}) {
      if (at + kWindow <= places.back()) places.push_back(at);
    }
    return places;
  }

  Queue& queue_;
  const Context& context_;
  std::uint64_t bytes_, seed_;
  Buffer buffer_;
};

}  // namespace

// The first fault truncates an address to 32 bits: bytes that are written at 4 GiB appear at the begin.
PROCTOR_CHECK(LargeBuffer, CopiesReachEveryPart, "M47", kRelaxed, kGate,
              {"memory.address_alias:at=0,bytes=4294967296", "copy.offset_ignored"}) {
  const auto context = leased();
  Queue queue(context);
  const Buffer large = large_memory(context);
  step("given a block of 5 GiB with a page of its own contents at its begin, at 4 GiB and at its end");
  const std::uint64_t offsets[] = {0, std::uint64_t{1} << 32, kBytes - 4096};
  for (const std::uint64_t offset : offsets)
    write(queue, context, large.data() + offset, noise(4096, offset));
  for (const std::uint64_t offset : offsets) {
    expect_bytes("page at " + std::to_string(offset), noise(4096, offset),
                 read_bytes(queue, context, large.data() + offset, 4096), context.device());
  }
}

PROCTOR_CHECK(LargeBuffer, KernelsReachEveryPart, "M47", kRelaxed, kGate,
              {"memory.address_alias:at=0,bytes=4294967296", "kernel.wrong_result:arg=2,at=16"}) {
  const auto context = leased();
  Queue queue(context);
  const Buffer large = large_memory(context);
  const Module module = Module::load(context, "large", {.flags = "-ze-opt-greater-than-4GB-buffer-required"});
  const auto n = static_cast<std::uint32_t>(kWords);
  const std::uint64_t stride = kStrideBytes / 4;
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(n));
  step("given a kernel that writes, and one that reads, a word each 64 MiB of 5 GiB");
  queue.launch(Kernel(module, "write_apart"), cover(n, 64), arguments(large, stride, n));
  queue.launch(Kernel(module, "read_apart"), cover(n, 64), arguments(large, stride, out, n));
  queue.synchronize();
  expect_words("words", marks(), read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(LargeBuffer, EveryFillLengthIsByteExact, "M47", kRelaxed, kGate,
              .faults = {"copy.omit_last_fill_pattern", "copy.skip_fill"}, .axes = {suite::axis::bytes()}) {
  const auto context = leased();
  Queue queue(context);
  suite::at_each_point([&](const suite::Point& at) {
    const std::uint64_t bytes = std::max<std::uint64_t>(at.size("bytes"), 1);
    const LongBuffer filled(queue, context, bytes, 1);
    const auto pattern = std::byte{0xa5};
    queue.fill(filled.data(), {&pattern, 1}, bytes);
    queue.synchronize();
    filled.expect("bytes that are filled",
                  [&](std::uint64_t) { return std::vector<std::byte>(1024, pattern); });
  });
}

PROCTOR_CHECK(LargeBuffer, EveryCopyLengthIsByteExact, "M47", kRelaxed, kGate,
              .faults = {"copy.short", "copy.overrun"}, .axes = {suite::axis::bytes()}) {
  const auto context = leased();
  Queue queue(context);
  suite::at_each_point([&](const suite::Point& at) {
    const std::uint64_t bytes = at.size("bytes");
    const LongBuffer from(queue, context, bytes, 1), to(queue, context, bytes, 2);
    queue.copy(to.data(), from.data(), bytes);
    queue.synchronize();
    to.expect("bytes that are copied", [&](std::uint64_t offset) { return from.before(offset); });
  });
}

}  // namespace proctor::accel
