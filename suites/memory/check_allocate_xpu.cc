// Checks of allocation and release of memory that exist only for Level Zero.
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

PROCTOR_CHECK(Allocation, ZeroSizeIsRejected, "M01", kAlloc, kGate,
              {"alloc.zero_size_accepted", "error.wrong_code:err=0x78000004"}) {
  const auto context = leased();
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost}) {
    step(std::string("given 0 bytes of ") + to_string(kind) + " memory");
    Buffer none;
    expect_status(kUnsupportedSize, Buffer::try_allocate(context, {.kind = kind, .bytes = 0}, none));
  }
}

// A size above the largest allocation requires a structure with the flag MAX_SIZE. A structure without the flag
// may be an invalid argument as well: Intel's driver refuses any flags but MAX_SIZE before it checks the size.
PROCTOR_CHECK(Allocation, SizeAboveMaximumNeedsRelaxedLimits, "S4.1",
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
  // A card with two tiles may place an allocation on one tile, which has half of the card's memory.
  need_memory(context.device(), 2 * bytes + (bytes >> 2));
  step("given the flag");
  const ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &relaxed, 0, 0};
  const ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, &relaxed, 0};
  void* pointer = nullptr;
  const auto expect_given = [&](const Status& status) {
    expect_true(status.ok() || status.name().find("OUT_OF") != std::string::npos,
                "the allocation succeeds or fails as out of memory: " + status.name());
    if (status.ok()) expect_status(kSuccess, ZE_CALL(zeMemFree, native(context), pointer));
  };
  expect_given(
      ZE_CALL(zeMemAllocDevice, native(context), &device, bytes, 0, native(context.device()), &pointer));
  expect_given(ZE_CALL(zeMemAllocHost, native(context), &host, bytes, 0, &pointer));
  if (context.device().properties().shared_memory)
    expect_given(ZE_CALL(zeMemAllocShared, native(context), &device, &host, bytes, 0,
                         native(context.device()), &pointer));
}

PROCTOR_CHECK(Allocation, NewMemoryHidesOtherContextContents, "M15",
              "project rule: A job must not read data that an earlier job left in memory.", kWarn,
              {"alloc.stale_contents"}) {
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

PROCTOR_CHECK(Free, NullPointerIsRejected, "M09", kFree, kWarn, {"error.swallowed"}) {
  const auto context = leased();
  step("given a null pointer");
  expect_refused("free of null", try_free(context, nullptr));
}

PROCTOR_CHECK(MemoryInfo, TileAllocationReducesTileMemory, "S4.5",
              "Level Zero specification, zes_mem_properties_t", kGate,
              .faults = {"alloc.wrong_device", "visibility.run_on_hidden_device:min=268435456",
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
    expect_true(after + kHeld <= before + kFreeSlack, "the tile has 320 MiB less, before it had " +
                                                          std::to_string(before) + " and has " +
                                                          std::to_string(after));
  }
}

// Checks that compare the core interface with the management interface about the same memory.

namespace {

using suite::expect_true;
using suite::step;

constexpr const char* kAccounting =
    "intel/compute-runtime, DEVICE_MEMORY_ACCOUNTING.md; zes_mem_properties_t";

// The sizes of a card's own memory modules, summed. `physical` is 0 if one module does not report its physical
// size.
struct Layers {
  std::uint64_t physical = 0, size = 0, free = 0;
};

Layers layers_of(const Device& card) {
  const xpu::ManagedDevice& managed = in_sysman(card);
  std::uint32_t count = 0;
  const Status listed = ZE_CALL(zesDeviceEnumMemoryModules, managed.handle, &count, nullptr);
  need(listed.ok() && count != 0, "unsupported:sysman_memory");
  std::vector<zes_mem_handle_t> modules(count);
  ZE_CALL(zesDeviceEnumMemoryModules, managed.handle, &count, modules.data()).or_throw();
  Layers sum;
  bool all_say = true;
  for (const zes_mem_handle_t module : modules) {
    zes_mem_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    ZE_CALL(zesMemoryGetProperties, module, &properties).or_throw();
    if (properties.location != ZES_MEM_LOC_DEVICE || !managed.has(properties)) continue;
    zes_mem_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
    ZE_CALL(zesMemoryGetState, module, &state).or_throw();
    sum.physical += properties.physicalSize;
    sum.size += state.size;
    sum.free += state.free;
    all_say = all_say && properties.physicalSize != 0;
  }
  need(sum.size != 0, "needs:own_memory");
  if (!all_say) sum.physical = 0;
  return sum;
}

std::string comparison(const char* smaller, std::uint64_t a, const char* larger, std::uint64_t b) {
  return std::string(smaller) + " is at most " + larger + ": " + std::to_string(a) + " and " +
         std::to_string(b);
}

}  // namespace

PROCTOR_CHECK(MemoryInfo, CoreAndSysmanSizesAgree, "M50", kAccounting, suite::kWarn,
              {"sysman.understate_memory_size"}) {
  for (const Device& card : leased_devices(1)) {
    step("given the reported memory of " + describe(card));
    const Layers layers = layers_of(card);
    const std::uint64_t programs = card.properties().memory;
    expect_true(programs <= layers.size,
                comparison("memory that programs can use", programs, "the size", layers.size));
    expect_true(layers.free <= layers.size,
                comparison("the free memory", layers.free, "the size", layers.size));
    expect_true(layers.physical == 0 || layers.size <= layers.physical,
                comparison("the size", layers.size, "the physical size", layers.physical));
  }
}

PROCTOR_CHECK(MemoryInfo, TileCoreAndSysmanSizesAgree, "M50", kAccounting, suite::kWarn,
              .faults = {"sysman.understate_memory_size"}, .needs = {"tiles>=2"}) {
  const Device card = leased_device();
  need(card.tiles().size() >= 2, "needs:tiles>=2");
  step("given the reported memory of each tile of " + describe(card));
  for (const Device& tile : card.tiles()) {
    const MemoryInfo info = tile.memory();
    const std::uint64_t programs = tile.properties().memory;
    expect_true(programs <= info.total,
                comparison("memory that programs can use", programs, "the size", info.total));
    expect_true(info.free <= info.total, comparison("the free memory", info.free, "the size", info.total));
  }
}

// Checks of the release of memory that submitted work still uses, for each policy of the driver.

namespace {

using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kPolicies = "Level Zero specification, ze_driver_memory_free_policy_ext_flag_t";
constexpr std::uint64_t kStyles = 100'000;  // The kernel runs long enough to be observed, and ends by itself.

void need_policy(const Context& context, ze_driver_memory_free_policy_ext_flags_t policy) {
  ze_driver_memory_free_ext_properties_t free{};
  free.stype = ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES;
  ze_driver_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  properties.pNext = &free;
  ZE_CALL(zeDriverGetProperties, driver_of(context), &properties).or_throw();
  need((free.freePolicies & policy) != 0, "unsupported:free_policy");
}

void free_with(const Context& context, ze_driver_memory_free_policy_ext_flags_t policy, void* pointer) {
  ze_memory_free_ext_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
  description.freePolicy = policy;
  ZE_CALL(zeMemFreeExt, native(context), &description, pointer).or_throw();
}

// Memory with known bytes, and a queue. submit() submits a copy of this memory behind a kernel that polls a flag
// for a while.
struct Used {
  explicit Used(const Context& its_context) : context(its_context), queue(context), done(context) {
    std::memset(flags.data(), 0, flags.bytes());
    need_memory(context.device(), kHeld);
    ZE_CALL(zeMemAllocDevice, native(context), &kDescription, kHeld, 0, native(context.device()), &pointer)
        .or_throw();
    write(queue, context, pointer, sent);
  }
  void submit() {
    queue.launch(Kernel(module, "gate"), groups_of(1, 1), arguments(flags, flags.data() + 64, kStyles));
    queue.copy(copied.data(), pointer, sent.size(), {.wait = {}, .signal = &done});
  }
  void expect_copied() {
    queue.synchronize();
    expect_bytes("bytes that the copy read", sent, {copied.data(), copied.bytes()}, context.device());
  }

  static constexpr ze_device_mem_alloc_desc_t kDescription = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
                                                              nullptr, 0, 0};
  Context context;
  Queue queue;
  Event done;
  Module module = Module::load(context, "litmus");
  std::vector<std::byte> sent = noise(65536, 1);
  Buffer flags = host_memory(context, 128);
  Buffer copied = host_memory(context, sent.size());
  void* pointer = nullptr;  // The check frees it.
};

}  // namespace

PROCTOR_CHECK(FreePolicy, BlockingFreeWaitsForQueuedWork, "M14", kPolicies, kGate,
              {"order.end_wait_early:api=zeMemFreeExt"}) {
  const auto context = leased();
  need_policy(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE);
  Used used(context);
  step("given a blocking free of memory with a pending copy");
  used.submit();
  free_with(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE, used.pointer);
  expect_true(used.done.query().ok(), "the copy is done when the free returns");
  used.expect_copied();
}

PROCTOR_CHECK(FreePolicy, DeferredFreeKeepsPendingCopyIntact, "M14", kPolicies, kGate,
              {"memory.corrupt_copy:at=17,after=1,times=1", "copy.skip:after=1"}) {
  const auto context = leased();
  need_policy(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE);
  Used used(context);
  step("given a deferred free of memory with a pending copy");
  used.submit();
  free_with(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE, used.pointer);
  used.expect_copied();
}

PROCTOR_CHECK(FreePolicy, DeferredFreeDoesNotWait, "M14", kPolicies, kGate, {"order.create_event_signaled"}) {
  const auto context = leased();
  need_policy(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE);
  step("given a deferred free of memory whose copy the host releases");
  Used used(context);
  Latch latch(context);
  latch.hold(used.queue);
  used.queue.copy(used.copied.data(), used.pointer, used.sent.size(), {.wait = {}, .signal = &used.done});
  free_with(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE, used.pointer);
  expect_true(used.done.query().not_ready(), "the copy has not run when the free returns");
  latch.open();
  used.expect_copied();
}

PROCTOR_CHECK(FreePolicy, DeferredFreeReleasesMemory, "M14", kPolicies, kGate,
              {"alloc.leak_on_free:min=16777216"}) {
  const auto context = leased();
  need_policy(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE);
  const Buffer counted = need_counted_memory(context);
  const auto use_and_free = [&] {
    Used used(context);
    used.submit();
    free_with(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE, used.pointer);
    used.queue.synchronize();
  };
  step("given a deferred free, after the work, and the same again");
  use_and_free();
  const std::uint64_t before = context.device().memory().free;
  use_and_free();
  expect_returned(context.device(), before);
}

}  // namespace proctor::accel
