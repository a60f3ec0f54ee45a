// Checks of the facts that the driver reports about the allocation that contains an address.
#include <cstring>
#include <functional>
#include <set>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kRange = "Level Zero specification, zeMemGetAddressRange";
// Smaller buffers may be parts of a pool. Intel's driver makes pools of 2 MiB, whose id is then reported.
constexpr std::size_t kLargerThanPools = 3 << 20;

std::string text(const void* pointer) { return std::to_string(reinterpret_cast<std::uintptr_t>(pointer)); }

struct Range {
  void* base = nullptr;
  std::size_t bytes = 0;
};

// Calls `judge` with the reported range of bytes at the begin, inside and at the end of allocations. The sizes go
// from one byte to many pages of any size.
void each_range(const std::function<void(const Buffer&, const Range&)>& judge) {
  const auto context = leased();
  for (const std::size_t bytes :
       {1U, 100U, 4095U, 4096U, 4097U, 10'000U, 65'535U, 65'536U, 65'537U, (2U << 20) + 1, 16U << 20}) {
    const Buffer buffer = device_memory(context, bytes);
    for (const std::size_t offset : {std::size_t{0}, std::size_t{3}, std::size_t{65'535}, std::size_t{65'536},
                                     std::size_t{2} << 20, bytes / 2, bytes - 1}) {
      if (offset >= bytes) continue;
      step("given byte " + std::to_string(offset) + " of " + std::to_string(bytes));
      Range reported;
      try_address_range(context, buffer.data() + offset, &reported.base, &reported.bytes).or_throw();
      judge(buffer, reported);
    }
  }
}

std::uint64_t id_of(const Context& context, const void* pointer) {
  ze_memory_allocation_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  ZE_CALL(zeMemGetAllocProperties, native(context), pointer, &properties, nullptr).or_throw();
  return properties.id;
}

}  // namespace

PROCTOR_CHECK(Pointer, BaseAddressIsReported, "M42", kRange, kGate, {"alloc.wrong_base"}) {
  each_range([](const Buffer& buffer, const Range& reported) {
    expect_same("base address", text(buffer.data()), text(reported.base));
  });
}

PROCTOR_CHECK(Pointer, AllocationSizeIsReported, "M42", kRange, kGate, {"alloc.wrong_size"}) {
  each_range([](const Buffer& buffer, const Range& reported) {
    expect_same("size", std::to_string(buffer.bytes()), std::to_string(reported.bytes));
  });
}

PROCTOR_CHECK(
    Pointer, EveryAllocationHasUniqueId, "M42",
    "Level Zero specification, ze_memory_allocation_properties_t: id, identifier for this allocation", kGate,
    {"alloc.repeat_allocation_id"}) {
  const auto context = leased();
  std::set<std::uint64_t> ids;
  std::vector<Buffer> live;
  step("given allocations of each kind, of which every second is freed");
  for (int round = 0; round < 4; ++round) {
    for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost, MemoryKind::kShared}) {
      if (kind == MemoryKind::kShared && !context.device().properties().shared_memory) continue;
      Buffer buffer(context, {.kind = kind, .bytes = kLargerThanPools});
      const std::uint64_t id = id_of(context, buffer.data());
      expect_true(ids.insert(id).second, "no allocation before it had the id " + std::to_string(id));
      expect_same("id at its last byte", std::to_string(id),
                  std::to_string(id_of(context, buffer.data() + buffer.bytes() - 1)));
      if (round % 2 == 0) live.push_back(std::move(buffer));
    }
  }
}

// The specification does not cover a freed address, and a driver may keep its memory. The check is therefore not a
// gate. Smaller buffers may be parts of a pool, which outlives them.
PROCTOR_CHECK(Pointer, RangeQueryRejectsFreedMemory, "B.0", kRange, suite::kWarn,
              {"alloc.claim_host_pointer"}) {
  const auto context = leased();
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost}) {
    step(std::string("given ") + to_string(kind) + " memory that was freed");
    Buffer buffer(context, {.kind = kind, .bytes = kLargerThanPools});
    std::byte* const pointer = buffer.data();
    buffer.try_free().or_throw();
    Range none;
    expect_refused("its range", try_address_range(context, pointer, &none.base, &none.bytes));
    expect_refused("the range of its last byte",
                   try_address_range(context, pointer + kLargerThanPools - 1, &none.base, &none.bytes));
    ze_ipc_mem_handle_t handle{};
    expect_refused("a handle of it", ZE_CALL(zeMemGetIpcHandle, native(context), pointer, &handle));
  }
}

PROCTOR_CHECK(Pointer, RangeQueryRejectsHeapAddress, "B.0", kRange, kGate, {"alloc.claim_host_pointer"}) {
  const auto context = leased();
  const std::vector<std::byte> heap(100);
  void* base = nullptr;
  std::size_t bytes = 0;
  step("given an address of malloc");
  expect_refused("its range", try_address_range(context, heap.data(), &base, &bytes));
}

namespace {

struct Reported {
  Status status;
  ze_memory_allocation_properties_t properties;
  ze_device_handle_t device;
};

// The properties of a pointer. Members that the driver does not write keep the byte `before`.
Reported properties_of(const Context& context, const void* pointer, unsigned char before) {
  Reported reported;
  std::memset(&reported.properties, before, sizeof reported.properties);
  std::memset(&reported.device, before, sizeof reported.device);
  reported.properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  reported.properties.pNext = nullptr;
  reported.status =
      ZE_CALL(zeMemGetAllocProperties, native(context), pointer, &reported.properties, &reported.device);
  return reported;
}

std::string text_of(const Reported& reported) {
  return "type " + std::to_string(reported.properties.type) + ", id " +
         std::to_string(reported.properties.id) + ", pages of " +
         std::to_string(reported.properties.pageSize) + ", device " + text(reported.device);
}

}  // namespace

PROCTOR_CHECK(Pointer, EveryPropertyIsWritten, "M42",
              "Level Zero specification, ze_memory_allocation_properties_t", kGate,
              {"alloc.wrong_type:times=1"}) {
  const auto context = leased();
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost, MemoryKind::kShared}) {
    if (kind == MemoryKind::kShared && !context.device().properties().shared_memory) continue;
    const Buffer buffer(context, {.kind = kind, .bytes = 70'000});
    step(std::string("given ") + to_string(kind) +
         " memory, with different bytes in the structures before each call");
    const auto first = properties_of(context, buffer.data(), 0x55);
    const auto second = properties_of(context, buffer.data() + 69'999, 0xaa);
    expect_same("properties of the last byte, compared with the first", text_of(first), text_of(second));
    const std::uint64_t page = first.properties.pageSize;
    expect_true(page >= 4096 && (page & (page - 1)) == 0, "the page size is a power of two of at least 4096");
    expect_same("device", kind == MemoryKind::kHost ? "none" : "the context's",
                first.device == nullptr                    ? "none"
                : first.device == native(context.device()) ? "the context's"
                                                           : "another");
    step("given a null pointer for the device");
    ze_memory_allocation_properties_t alone = first.properties;
    expect_status(kSuccess,
                  ZE_CALL(zeMemGetAllocProperties, native(context), buffer.data(), &alone, nullptr));
  }
}

PROCTOR_CHECK(Pointer, OtherContextReportsNoWrongType, "M42",
              "Level Zero specification, zeMemGetAllocProperties: memory unrelated to the context. Intel's "
              "driver knows it",
              suite::kWarn, {"alloc.wrong_type"}) {
  const auto context = leased();
  const Context other(context.device());
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost}) {
    step(std::string("given ") + to_string(kind) + " memory of one of two contexts");
    const Buffer buffer(context, {.kind = kind, .bytes = 70'000});
    const auto type = kind == MemoryKind::kHost ? ZE_MEMORY_TYPE_HOST : ZE_MEMORY_TYPE_DEVICE;
    expect_same("type in its own context", std::to_string(type),
                std::to_string(properties_of(context, buffer.data(), 0x55).properties.type));
    const auto reported = properties_of(other, buffer.data(), 0x55);
    expect_status(kSuccess, reported.status);
    if (reported.properties.type == type) continue;
    expect_same("type in the other one", std::to_string(ZE_MEMORY_TYPE_UNKNOWN),
                std::to_string(reported.properties.type));
  }
}

PROCTOR_CHECK(Pointer, HeapAddressReturnsAddressNotFound, "B.0",
              "Level Zero specification, zeMemGetAddressRange: ZE_RESULT_ERROR_ADDRESS_NOT_FOUND",
              suite::kWarn, {"error.wrong_code", "error.swallowed"}) {
  const auto context = leased();
  const std::vector<std::byte> heap(100);
  void* base = nullptr;
  std::size_t bytes = 0;
  step("given an address of malloc");
  const Status status = try_address_range(context, heap.data(), &base, &bytes);
  expect_same("code", "2013265953", std::to_string(status.code()));  // 0x78000021, newer than the headers
}

}  // namespace proctor::accel
