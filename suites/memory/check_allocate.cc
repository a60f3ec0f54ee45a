// Checks of allocation and release of memory: addresses, sizes, refusals.
#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/memory_cap.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kFree = by_vendor("Level Zero specification, zeMemFree", "CUDA Runtime API, cudaFree");
constexpr const char* kMeasured = by_vendor("measured: Intel compute-runtime 26.27 without hardware",
                                            "CUDA Runtime API, cudaMalloc, cudaFree");
constexpr const char* kApart =
    by_vendor("Level Zero programming guide, Memory: unique physical pages for each allocation",
              "ROCm/hip-tests, hipMallocConcurrency");
constexpr const char* kLargest = by_vendor("Level Zero specification, maxMemAllocSize",
                                           "CUDA Runtime API, cudaDeviceProp::totalGlobalMem");

// Alignments for allocations. CUDA guarantees one alignment and accepts no request. Level Zero accepts a requested
// alignment: a driver must support those up to its pages, and may refuse larger ones with the code for it.
constexpr std::size_t kPromised = 65536;
std::vector<std::size_t> alignments() {
  if constexpr (kVendor == Vendor::kNvidia) return {256};
  std::vector<std::size_t> powers;
  for (std::size_t alignment = 1; alignment <= std::size_t{1} << 30; alignment *= 2)
    powers.push_back(alignment);
  return powers;
}

std::uintptr_t address(const Buffer& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.data()); }

// Reports a failure if two buffers share a byte.
void expect_disjoint(const std::vector<Buffer>& buffers, const Device& device) {
  std::map<std::uintptr_t, std::size_t> begins;
  for (const Buffer& buffer : buffers) begins.emplace(address(buffer), buffer.bytes());
  expect_true(begins.size() == buffers.size(),
              "every buffer has an address of its own on " + describe(device));
  std::uintptr_t end = 0;
  for (const auto& [begin, bytes] : begins) {
    if (begin < end) {
      suite::report({.message = "two live buffers share memory",
                     .expected = "an address from " + std::to_string(end),
                     .got = std::to_string(begin),
                     .device = describe(device)});
    }
    end = std::max(end, begin + bytes);
  }
}

}  // namespace

PROCTOR_CHECK(Allocation, AddressIsAligned, "M02",
              by_vendor("oneapi-src/level-zero-tests, test_memory.cpp",
                        "CUDA Programming Guide, device memory accesses: 256 bytes"),
              kGate, {"alloc.misaligned"}) {
  const auto context = leased();
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost, MemoryKind::kShared}) {
    if (kind == MemoryKind::kShared && !context.device().properties().shared_memory) continue;
    for (const std::size_t alignment : alignments()) {
      step(std::string("given ") + to_string(kind) + " memory with alignment " + std::to_string(alignment));
      for (const std::size_t bytes : {1U, 10U, 4095U, 4097U, 65537U, (2U << 20) + 1}) {
        Buffer buffer;
        const Status status =
            Buffer::try_allocate(context, {.kind = kind, .bytes = bytes, .alignment = alignment}, buffer);
        if (!status.ok() && alignment > kPromised) {
          if (!status.out_of_memory()) expect_status("ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT", status);
          continue;
        }
        status.or_throw();
        suite::expect_same("address modulo " + std::to_string(alignment), "0",
                           std::to_string(address(buffer) % alignment));
      }
    }
  }
}

PROCTOR_CHECK(Allocation, HugeSizeIsRejected, "M03", kMeasured, kGate, {"alloc.huge_accepted"}) {
  const auto context = leased();
  for (const std::size_t bytes : {std::size_t{1} << 50, SIZE_MAX - 4096, SIZE_MAX}) {
    step("given " + std::to_string(bytes) + " bytes");
    Buffer none;
    expect_refused("memory of " + std::to_string(bytes) + " bytes",
                   Buffer::try_allocate(context, {.bytes = bytes}, none));
  }
}

// The error code is not fixed: the specification requires a code for the size, but the driver can also be out of
// memory. On CUDA the driver may place the allocation in the host's memory.
PROCTOR_CHECK(Allocation, SizeAboveMaximumFailsCleanly, "S4.1",
              by_vendor("intel/compute-runtime, context.cpp allocDeviceMem", kLargest),
              by_vendor(kGate, kWarn), {"alloc.huge_accepted"}) {
  const auto context = leased();
  const std::uint64_t largest = context.device().properties().largest_allocation;
  step("given one byte more than the largest");
  Buffer none;
  const Status refusal = Buffer::try_allocate(context, {.bytes = largest + 1}, none);
  expect_true(refusal.out_of_memory(),
              std::string(refusal.call()) + " refuses the size as out of memory, got " + refusal.name());
  step("then a small one");
  Queue queue(context);
  const auto sent = noise(4096, 1);
  const auto small = device_copy(queue, context, sent);
  expect_bytes("the small one", sent, read_bytes(queue, context, small.data(), 4096), context.device());
}

PROCTOR_CHECK(Allocation, LargestBlockKeepsContents, "S4.1", kLargest, kWarn,
              {"copy.offset_ignored", "copy.skip"}) {
  const auto context = leased();
  const auto& properties = context.device().properties();
  const std::uint64_t limit = std::min(properties.largest_allocation, available_memory(context.device()));
  step("given a bisection up to " + std::to_string(limit));
  std::uint64_t works = 0;
  std::uint64_t fails = limit + 1;
  while (fails - works > (1 << 20)) {
    const std::uint64_t middle = works + (fails - works) / 2;
    Buffer block;
    (Buffer::try_allocate(context, {.bytes = middle}, block).ok() ? works : fails) = middle;
  }
  suite::measure("memory.largest_block", static_cast<double>(works), "B");
  Queue queue(context);
  const Buffer block = device_memory(context, works);
  for (const std::uint64_t offset : {std::uint64_t{0}, works / 2, works - 4096}) {
    write(queue, context, block.data() + offset, noise(4096, offset));
  }
  for (const std::uint64_t offset : {std::uint64_t{0}, works / 2, works - 4096}) {
    expect_bytes("page at " + std::to_string(offset), noise(4096, offset),
                 read_bytes(queue, context, block.data() + offset, 4096), context.device());
  }
  expect_true(works >= limit / 2,
              "one block of at least half of the free memory can be allocated, the largest is " +
                  std::to_string(works) + " of " + std::to_string(limit));
}

PROCTOR_CHECK(Allocation, LiveBuffersDoNotOverlap, "M49", kApart, kGate, {"alloc.overlap_live_allocations"}) {
  const auto context = leased();
  Queue queue(context);
  std::vector<Buffer> buffers;
  step("given sixty-four live buffers, each with its own contents");
  for (std::uint64_t i = 0; i < 64; ++i) {
    buffers.push_back(device_memory(context, 1000 + 997 * i));
    write(queue, context, buffers.back().data(), noise(256, i));
  }
  expect_disjoint(buffers, context.device());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    expect_bytes("buffer " + std::to_string(i), noise(256, i),
                 read_bytes(queue, context, buffers[i].data(), 256), context.device());
  }
}

PROCTOR_CHECK(Allocation, ThreadsReceiveDisjointBuffers, "M49",
              by_vendor("oneapi-src/level-zero-tests, test_multithread",
                        "ROCm/hip-tests, hipMallocConcurrency"),
              kGate, {"alloc.overlap_live_allocations"}) {
  const auto context = leased();
  std::mutex mutex;
  std::vector<Buffer> kept;
  std::string problem;
  step("given four threads that allocate and free");
  const auto work = [&](std::size_t thread) {
    try {
      for (std::size_t i = 0; i < 25; ++i) {
        Buffer passing = device_memory(context, 4096 + thread * 64);
        Buffer staying = device_memory(context, 512 + i);
        const std::lock_guard lock(mutex);
        kept.push_back(std::move(staying));
      }
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      problem = error.what();
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  threads.clear();
  suite::expect_same("error in a thread", "", problem);
  suite::expect_same("buffers", "100", std::to_string(kept.size()));
  expect_disjoint(kept, context.device());
  // Different addresses can still map to the same memory.
  Queue queue(context);
  for (std::size_t i = 0; i < kept.size(); ++i) write(queue, context, kept[i].data(), noise(512, i));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    expect_bytes("buffer " + std::to_string(i), noise(512, i),
                 read_bytes(queue, context, kept[i].data(), 512), context.device());
  }
}

// ---- freeing ----

PROCTOR_CHECK(Free, DoubleFreeIsRejected, "M10", kMeasured, kWarn, {"alloc.double_free_accepted"}) {
  const auto context = leased();
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost, MemoryKind::kShared}) {
    if (kind == MemoryKind::kShared && !context.device().properties().shared_memory) continue;
    Buffer buffer(context, {.kind = kind, .bytes = 70'000});
    void* pointer = buffer.data();
    buffer.try_free().or_throw();
    step(std::string("given ") + to_string(kind) + " memory that is free already");
    expect_refused("the second free", try_free(context, pointer));
  }
}

PROCTOR_CHECK(Free, StackAddressIsRejected, "M11", kMeasured, kWarn, {"alloc.bad_free_accepted"}) {
  const auto context = leased();
  int on_the_stack = 0;
  step("given an address of the stack");
  expect_refused("free of a local variable", try_free(context, &on_the_stack));
}

PROCTOR_CHECK(Free, OtherBuffersKeepContents, "M10", by_vendor(kApart, kFree), kGate,
              {"alloc.overwrite_neighbour_on_free"}) {
  const auto context = leased();
  Queue queue(context);
  std::vector<Buffer> buffers;
  for (std::uint64_t i = 0; i < 9; ++i) buffers.push_back(device_copy(queue, context, noise(4096, i)));
  step("given that every second buffer is freed");
  for (std::size_t freed = 1; freed < 9; freed += 2) {
    buffers[freed].try_free().or_throw();
    for (std::size_t i = 0; i < 9; i += 2) {
      expect_bytes("buffer " + std::to_string(i) + " after the free of buffer " + std::to_string(freed),
                   noise(4096, i), read_bytes(queue, context, buffers[i].data(), 4096), context.device());
    }
  }
}

// No interface reports how much host memory a driver may lock. On hardware the check exceeds usual limits, but
// proves nothing about larger ones.
PROCTOR_CHECK(MemoryLeak, FreedHostMemoryIsReusable, "M18", kFree, kWarn, {"alloc.leak_on_free"}) {
  const auto context = leased();
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  const std::size_t pieces = suite::on_simgpu() ? 66 : 8;  // A simulated process may have 64 GiB.
  step("given " + std::to_string(pieces) + " GiB of the host's memory, taken and freed piece by piece");
  for (std::size_t taken = 0; taken < pieces; ++taken) {
    Buffer buffer;
    const Status status = Buffer::try_allocate(context, {.kind = MemoryKind::kHost, .bytes = kPiece}, buffer);
    if (taken == 0 && status.out_of_memory()) suite::skip("needs:host_memory");
    suite::expect_same("piece " + std::to_string(taken) + ", when those before it are free", kSuccess,
                       status.name());
    if (!status.ok()) return;
  }
  if (!suite::on_simgpu()) return;
  for (const char* round : {"first", "second"}) {
    step(std::string("given all 64 GiB of it, a ") + round + " time");
    std::vector<Buffer> held(65);
    for (Buffer& piece : held) {
      const Status status =
          Buffer::try_allocate(context, {.kind = MemoryKind::kHost, .bytes = kPiece}, piece);
      if (&piece == &held.back()) {
        expect_true(status.out_of_memory(), "one more is refused as out of memory, got " + status.name());
      } else {
        suite::expect_same("a piece", kSuccess, status.name());
      }
    }
  }
}

// A driver may free memory late, and other processes may take free memory meanwhile.
PROCTOR_CHECK(MemoryLeak, FreedDeviceMemoryIsReusable, "M18",
              "project rule: Memory that was freed can be allocated again.", kWarn, {"alloc.leak_on_free"}) {
  const auto context = leased();
  const std::uint64_t free = available_memory(context.device());
  const std::uint64_t piece = std::min(context.device().properties().largest_allocation, free / 4);
  step("given twice the free memory, taken and freed piece by piece");
  for (std::uint64_t taken = 0; taken < 2 * free; taken += piece) {
    Buffer buffer;
    const Status status = Buffer::try_allocate(context, {.bytes = piece}, buffer);
    if (status.ok()) continue;
    suite::report({.message = "after " + std::to_string(taken) + " bytes, all of them freed",
                   .expected = kSuccess,
                   .got = status.name(),
                   .device = describe(context.device())});
    return;
  }
}

// Checks of the facts that the driver reports about a pointer. They must be those of its allocation.

namespace {

using suite::expect_same;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kProperties = by_vendor("Level Zero specification, zeMemGetAllocProperties",
                                              "CUDA Runtime API, cudaPointerGetAttributes");
constexpr std::size_t kManyPages = (2 << 20) + 3;

}  // namespace

PROCTOR_CHECK(Pointer, MemoryKindIsReported, "M42", kProperties, kGate, {"alloc.wrong_type"}) {
  const auto context = leased();
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost, MemoryKind::kShared}) {
    if (kind == MemoryKind::kShared && !context.device().properties().shared_memory) continue;
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{65537}, kManyPages}) {
      step("given " + std::to_string(bytes) + " bytes of " + to_string(kind) + " memory");
      const Buffer buffer(context, {.kind = kind, .bytes = bytes});
      for (const std::size_t offset : {std::size_t{0}, bytes / 2, bytes - 1})
        expect_same("kind at byte " + std::to_string(offset), to_string(kind),
                    to_string(pointer_info(context, buffer.data() + offset).kind));
    }
  }
}

namespace {

// Allocates memory on each card and tile, while the first card is the current device. The driver must report the
// right device. On Level Zero, host memory belongs to no device and is left out.
void expect_devices_reported(const std::vector<Device>& cards) {
  const Context context(cards);
  auto devices = cards;
  for (const Device& card : cards) {
    for (const Device& tile : card.tiles()) devices.push_back(tile);
  }
  for (const Device& device : devices) {
    for (const MemoryKind kind :
         by_vendor<std::vector<MemoryKind>>({MemoryKind::kDevice, MemoryKind::kShared},
                                            {MemoryKind::kDevice, MemoryKind::kShared, MemoryKind::kHost})) {
      if (kind == MemoryKind::kShared && !device.properties().shared_memory) continue;
      step(std::string("given ") + to_string(kind) + " memory of " + describe(device));
      for (const std::size_t bytes : {std::size_t{1}, std::size_t{4095}, std::size_t{65'536}, kManyPages}) {
        const Buffer buffer(context, {.kind = kind, .bytes = bytes, .device = device});
        for (const std::size_t offset : {std::size_t{0}, bytes - 1}) {
          const Device reported = pointer_info(context, buffer.data() + offset).device;
          expect_same("UUID of the device of byte " + std::to_string(offset) + " of " + std::to_string(bytes),
                      device.properties().uuid, reported == Device() ? "none" : reported.properties().uuid);
        }
      }
    }
  }
}

}  // namespace

PROCTOR_CHECK(Pointer, DeviceIsReported, "S3.11", kProperties, kGate, {"alloc.wrong_device"}) {
  expect_devices_reported(leased_devices(1));
}

PROCTOR_CHECK(Pointer, SecondDeviceIsReported, "S3.11", kProperties, kGate,
              .faults = {"alloc.wrong_device", "alloc.wrong_device:max=4095"}, .devices = 2) {
  expect_devices_reported(leased_devices(2));
}

PROCTOR_CHECK(Pointer, HeapAddressHasUnknownMemoryType, "M42", kProperties, kGate,
              {"alloc.claim_host_pointer"}) {
  const auto context = leased();
  const std::vector<std::byte> heap(100);
  step("given an address of malloc");
  expect_same("kind", "unknown", to_string(pointer_info(context, heap.data()).kind));
}

// A driver may keep freed memory for the next allocation, and still report it.
PROCTOR_CHECK(Pointer, FreedMemoryHasUnknownType, "M42", kProperties, kWarn, {"alloc.claim_host_pointer"}) {
  const auto context = leased();
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost, MemoryKind::kShared}) {
    if (kind == MemoryKind::kShared && !context.device().properties().shared_memory) continue;
    step(std::string("given addresses of ") + to_string(kind) + " memory that was freed");
    Buffer buffer(context, {.kind = kind, .bytes = kManyPages});
    const std::byte* const pointer = buffer.data();
    buffer.try_free().or_throw();
    for (const std::size_t offset : {std::size_t{0}, kManyPages - 1})
      expect_same("kind", "unknown", to_string(pointer_info(context, pointer + offset).kind));
  }
}

}  // namespace proctor::accel
