// Memory that is allocated and freed in the order of a stream, from pools.
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

constexpr const char* kOrder = "CUDA C++ Programming Guide, Stream Ordered Memory Allocator";
constexpr const char* kTrim = "CUDA Runtime API, cudaMemPoolTrimTo, cudaMemPoolAttrReleaseThreshold";
constexpr std::size_t kBytes = 4 << 20;

void need_pools(const Context& context) {
  need(context.device().record()->native.memoryPoolsSupported != 0, "unsupported:memory_pools");
  use(context.device());
}

std::byte* allocate(const Queue& queue, std::size_t bytes) {
  void* pointer = nullptr;
  CUDA_CALL(cudaMallocAsync, &pointer, bytes, native(queue)).or_throw();
  return static_cast<std::byte*>(pointer);
}
void free(const Queue& queue, void* pointer) { CUDA_CALL(cudaFreeAsync, pointer, native(queue)).or_throw(); }

void fill(const Queue& queue, void* pointer, int value, std::size_t bytes) {
  CUDA_CALL(cudaMemsetAsync, pointer, value, bytes, native(queue)).or_throw();
}

// A pool of the check's own, which nothing else has allocated from.
class Pool {
 public:
  explicit Pool(const Context& context) {
    need_pools(context);
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = native(context.device());
    CUDA_CALL(cudaMemPoolCreate, &handle_, &properties).or_throw();
  }
  ~Pool() { static_cast<void>(cudaMemPoolDestroy(handle_)); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::byte* allocate(const Queue& queue, std::size_t bytes) const {
    void* pointer = nullptr;
    CUDA_CALL(cudaMallocFromPoolAsync, &pointer, bytes, handle_, native(queue)).or_throw();
    return static_cast<std::byte*>(pointer);
  }
  std::uint64_t get(cudaMemPoolAttr attribute) const {
    std::uint64_t value = 0;
    CUDA_CALL(cudaMemPoolGetAttribute, handle_, attribute, &value).or_throw();
    return value;
  }
  void keep_everything() const {
    std::uint64_t all = UINT64_MAX;
    CUDA_CALL(cudaMemPoolSetAttribute, handle_, cudaMemPoolAttrReleaseThreshold, &all).or_throw();
  }
  void trim_to(std::size_t bytes) const { CUDA_CALL(cudaMemPoolTrimTo, handle_, bytes).or_throw(); }

 private:
  cudaMemPool_t handle_ = nullptr;
};

}  // namespace

PROCTOR_CHECK(Pool, MemoryIsUsableInItsStream, "M38", kOrder, kGate,
              {"memory.corrupt_copy:at=17,min=10000,times=1", "copy.skip:min=10000"}) {
  const auto context = leased();
  need_pools(context);
  Queue queue(context);
  const auto sent = noise(10007, 1);
  std::vector<std::byte> got(sent.size());
  step("given memory that is allocated, used and freed in one stream, without any wait between");
  std::byte* memory = allocate(queue, sent.size());
  queue.copy(memory, sent.data(), sent.size());
  queue.copy(got.data(), memory, got.size());
  free(queue, memory);
  queue.synchronize();
  expect_bytes("what was copied there and back", sent, got, context.device());
}

PROCTOR_CHECK(Pool, LiveMemoryIsNotShared, "M38", kOrder, kGate, {"alloc.double_use"}) {
  const auto context = leased();
  need_pools(context);
  Queue queue(context);
  std::vector<std::byte*> pieces;
  step("given sixteen live pieces, each with its own contents");
  for (std::uint64_t i = 0; i < 16; ++i) {
    pieces.push_back(allocate(queue, 4096));
    write(queue, context, pieces.back(), noise(4096, i));
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    expect_bytes("piece " + std::to_string(i), noise(4096, i), read_bytes(queue, context, pieces[i], 4096),
                 context.device());
  }
  for (std::byte* piece : pieces) free(queue, piece);
  queue.synchronize();
}

// Whatever a pool keeps of what was freed, a piece has room for what was asked for, and shares it with no other.
PROCTOR_CHECK(Pool, PiecesHoldTheirSize, "M38", kOrder, kGate, {"alloc.reused_small", "alloc.double_use"}) {
  const auto context = leased();
  Queue queue(context);
  const Pool pool(context);
  pool.keep_everything();
  struct Piece {
    std::byte* data;
    std::vector<std::byte> contents;
  };
  std::vector<Piece> live;
  step(
      "given sixty pieces of mixed sizes, of which the first, the last or one between is freed again and "
      "again");
  for (std::uint64_t round = 0; round < 60; ++round) {
    constexpr std::size_t kSizes[] = {1, 4096, 65'535, 65'537, 200'001, 70'000, 511, 131'073};
    const std::size_t bytes = kSizes[round * 5 % std::size(kSizes)];
    live.push_back({pool.allocate(queue, bytes), noise(bytes, round)});
    write(queue, context, live.back().data, live.back().contents);
    if (round % 3 != 0) continue;
    const auto gone = live.begin() + static_cast<std::ptrdiff_t>(round / 3 % live.size());
    free(queue, gone->data);
    live.erase(gone);
  }
  for (const Piece& piece : live) {
    expect_bytes("a piece of " + std::to_string(piece.contents.size()) + " bytes", piece.contents,
                 read_bytes(queue, context, piece.data, piece.contents.size()), context.device());
    free(queue, piece.data);
  }
  queue.synchronize();
}

// What is freed behind work that has not run yet is not given to another stream,
// which would write it too early.
PROCTOR_CHECK(Pool, OtherStreamGetsFreedMemoryAfterTheFree, "M38", kOrder, kGate, {"alloc.reused_early"}) {
  const auto context = leased();
  need_pools(context);
  Queue first(context), second(context);
  const Buffer seen = host_memory(context, kBytes);
  std::byte* memory = allocate(first, kBytes);
  fill(first, memory, 0x11, kBytes);
  first.synchronize();
  Gate gate(context);
  step(
      "given memory that is read and freed behind a gate, while another stream allocates and writes as much");
  gate.hold(first);
  first.copy(seen.data(), memory, kBytes);
  free(first, memory);
  std::byte* other = allocate(second, kBytes);
  fill(second, other, 0x22, kBytes);
  // Where the other stream got the same memory, as it may, it waits for the gate itself.
  static_cast<void>(second.try_synchronize(std::chrono::milliseconds(20)));
  gate.open();
  first.synchronize();
  free(second, other);
  second.synchronize();
  expect_bytes("what the first stream read", std::vector(kBytes, std::byte{0x11}),
               {seen.data(), seen.bytes()}, context.device());
}

PROCTOR_CHECK(Pool, TrimGivesMemoryBack, "M39", kTrim, kGate, {"alloc.trim_ignored"}) {
  const auto context = leased();
  Queue queue(context);
  const Pool pool(context);
  pool.keep_everything();
  queue.synchronize();
  free(queue, pool.allocate(queue, kBytes));
  queue.synchronize();
  expect_true(pool.get(cudaMemPoolAttrReservedMemCurrent) >= kBytes,
              "the pool keeps what it is told to keep");
  step("given a trim to nothing");
  pool.trim_to(0);
  expect_same("bytes that the pool still holds", "0",
              std::to_string(pool.get(cudaMemPoolAttrReservedMemCurrent)));
}

PROCTOR_CHECK(Pool, UseIsCounted, "M39", "CUDA Runtime API, cudaMemPoolAttrUsedMemCurrent, UsedMemHigh",
              kGate, {"sysman.memory_lie:api=cudaMemPoolGetAttribute"}) {
  const auto context = leased();
  Queue queue(context);
  const Pool pool(context);
  step("given two pieces of which one is freed");
  std::byte* first = pool.allocate(queue, kBytes);
  std::byte* second = pool.allocate(queue, kBytes);
  queue.synchronize();
  const std::uint64_t both = pool.get(cudaMemPoolAttrUsedMemCurrent);
  free(queue, first);
  queue.synchronize();
  const std::uint64_t one = pool.get(cudaMemPoolAttrUsedMemCurrent);
  expect_true(both >= 2 * kBytes, "two pieces are in use, the pool says " + std::to_string(both));
  expect_same("bytes in use after the free", std::to_string(both / 2), std::to_string(one));
  expect_same("most bytes that ever were", std::to_string(both),
              std::to_string(pool.get(cudaMemPoolAttrUsedMemHigh)));
  free(queue, second);
  queue.synchronize();
}

PROCTOR_CHECK(Pool, ReusedMemoryHoldsNewBytes, "M38", kOrder, kGate,
              {"memory.corrupt_copy:at=17,after=3,times=1", "copy.skip:after=3,times=1"}) {
  const auto context = leased();
  need_pools(context);
  Queue queue(context);
  step("given ten rounds that allocate, write, read and free the same size");
  for (std::uint64_t round = 0; round < 10; ++round) {
    const auto sent = noise(65536, round);
    std::vector<std::byte> got(sent.size());
    std::byte* memory = allocate(queue, sent.size());
    queue.copy(memory, sent.data(), sent.size());
    queue.copy(got.data(), memory, got.size());
    free(queue, memory);
    queue.synchronize();
    expect_bytes("round " + std::to_string(round), sent, got, context.device());
  }
}

PROCTOR_CHECK(Pool, FreeMemoryReturns, "M39", kTrim, kGate, {"alloc.trim_ignored", "alloc.leak_on_free"}) {
  const auto context = leased();
  Queue queue(context);
  constexpr std::size_t kHeld = 256 << 20;
  constexpr std::uint64_t kSlack = 8 << 20;
  const Pool pool(context);
  need_memory(context.device(), kHeld);
  const std::uint64_t before = context.device().memory().free;
  step("given 256 MiB of a pool, freed and trimmed away");
  free(queue, pool.allocate(queue, kHeld));
  queue.synchronize();
  pool.trim_to(0);
  const std::uint64_t after = context.device().memory().free;
  expect_true(after + kSlack >= before,
              "free memory is back, missing are " + std::to_string(before - std::min(before, after)));
}

}  // namespace proctor::accel
