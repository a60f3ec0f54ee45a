// Getting and giving back memory: what only Level Zero says or has.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kAlloc = "Level Zero specification, zeMemAllocDevice";
constexpr const char* kFree = "Level Zero specification, zeMemFree";
constexpr const char* kUnsupportedSize = "ZE_RESULT_ERROR_UNSUPPORTED_SIZE";

}  // namespace

PROCTOR_CHECK(Allocate, ZeroBytesAreRefused, "M01", kAlloc, kGate,
              {"alloc.zero_size_accepted", "error.wrong_code:err=0x78000004"}) {
  const auto context = leased();
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost}) {
    step(std::string("given 0 bytes of ") + to_string(kind) + " memory");
    Buffer none;
    expect_status(kUnsupportedSize, Buffer::try_allocate(context, {.kind = kind, .bytes = 0}, none));
  }
}

// A size above the largest allocation needs a structure with the flag MAX_SIZE. A structure without the flag may be an invalid
// argument as well: Intel's driver refuses any flags but MAX_SIZE before it checks the size.
PROCTOR_CHECK(Allocate, LimitsHoldUntilTheyAreRelaxed, "S4.1",
              "Level Zero specification, ze_relaxed_allocation_limits_exp_desc_t", kGate,
              {"alloc.huge_accepted", "error.wrong_code:err=0x78000004"}) {
  const auto context = leased();
  const std::size_t bytes = context.device().properties().largest_allocation + 1;
  ze_relaxed_allocation_limits_exp_desc_t none{};
  none.stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC;
  auto relaxed = none;
  relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE;
  for (const void* chain : {static_cast<const void*>(nullptr), static_cast<const void*>(&none)}) {
    const ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, chain, 0, 0};
    const ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, chain, 0};
    step(std::string("given a byte more than the largest allocation and ") +
         (chain == nullptr ? "no structure" : "one without the flag"));
    void* pointer = nullptr;
    const auto expect_too_large = [chain](const Status& status) {
      const bool invalid = chain != nullptr && status.code() == ZE_RESULT_ERROR_INVALID_ARGUMENT;
      if (!invalid) expect_status(kUnsupportedSize, status);
    };
    expect_too_large(
        ZE_CALL(zeMemAllocDevice, native(context), &device, bytes, 0, native(context.device()), &pointer));
    expect_too_large(ZE_CALL(zeMemAllocHost, native(context), &host, bytes, 0, &pointer));
    if (context.device().properties().shared_memory)
      expect_too_large(ZE_CALL(zeMemAllocShared, native(context), &device, &host, bytes, 0,
                               native(context.device()), &pointer));
  }
  // A card of two tiles may take an allocation from one of them, which has half of its memory.
  need_memory(context.device(), 2 * bytes + (bytes >> 2));
  step("given the flag");
  const ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &relaxed, 0, 0};
  const ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, &relaxed, 0};
  void* pointer = nullptr;
  const auto expect_given = [&](const Status& status) {
    expect_true(status.ok() || status.name().find("OUT_OF") != std::string::npos,
                "it is there, or memory is used up: " + status.name());
    if (status.ok()) expect_status(kSuccess, ZE_CALL(zeMemFree, native(context), pointer));
  };
  expect_given(
      ZE_CALL(zeMemAllocDevice, native(context), &device, bytes, 0, native(context.device()), &pointer));
  expect_given(ZE_CALL(zeMemAllocHost, native(context), &host, bytes, 0, &pointer));
  if (context.device().properties().shared_memory)
    expect_given(ZE_CALL(zeMemAllocShared, native(context), &device, &host, bytes, 0,
                         native(context.device()), &pointer));
}

PROCTOR_CHECK(Allocate, NewMemoryHidesTheOldContext, "M15",
              "ours: what one job leaves, the next must not read", kWarn, {"alloc.stale_contents"}) {
  const Device device = leased_device();
  const auto secret = noise(65536, 7);
  {
    const Context first(device);
    Queue queue(first);
    const auto buffer = device_copy(queue, first, secret);
  }
  step("given memory in a new context");
  const Context second(device);
  Queue queue(second);
  const Buffer buffer = device_memory(second, secret.size());
  const auto seen = read_bytes(queue, second, buffer.data(), buffer.bytes());
  expect_true(!std::equal(seen.begin(), seen.begin() + 4096, secret.begin()),
              "new memory does not show what another context wrote");
}

PROCTOR_CHECK(Free, NullIsRefused, "M09", kFree, kWarn, {"error.swallowed"}) {
  const auto context = leased();
  step("given a null pointer");
  expect_refused("free of null", try_free(context, nullptr));
}

PROCTOR_CHECK(Accounting, TileMemoryIsTakenFromItsTile, "S4.5",
              "Level Zero specification, zes_mem_properties_t", kGate,
              .faults = {"alloc.wrong_device", "visibility.hidden_reachable:min=268435456",
                         "alloc.oom:min=268435456"},
              .needs = {"tiles>=2"}, .alone = true) {
  const Device card = leased_device();
  const auto tiles = card.tiles();
  need(tiles.size() >= 2, "needs:tiles>=2");
  const Context context(card);
  const Buffer counted = need_counted_memory(context);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    step("given 320 MiB on tile " + std::to_string(i));
    const std::uint64_t before = tiles[i].memory().free;
    const Buffer held = used_memory(context, kHeld, tiles[i]);
    const std::uint64_t after = tiles[i].memory().free;
    expect_true(
        after + kHeld <= before + kFreeSlack,
        "that tile has 320 MiB less, it had " + std::to_string(before) + " and has " + std::to_string(after));
  }
}

}  // namespace proctor::accel
