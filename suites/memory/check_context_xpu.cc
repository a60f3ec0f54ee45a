// Checks of Level Zero contexts: their devices, the resources that end with them, and their separation.
#include <algorithm>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr ze_context_desc_t kNewContext = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
constexpr ze_device_mem_alloc_desc_t kPlainMemory = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};

void* take_in(ze_context_handle_t context, ze_device_handle_t device, std::size_t bytes) {
  void* pointer = nullptr;
  ZE_CALL(zeMemAllocDevice, context, &kPlainMemory, bytes, 0, device, &pointer).or_throw();
  // A driver may take memory when the allocation becomes resident.
  ZE_CALL(zeContextMakeMemoryResident, context, device, pointer, bytes).or_throw();
  return pointer;
}

ze_memory_type_t type_of(ze_context_handle_t context, const void* pointer) {
  ze_memory_allocation_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  ZE_CALL(zeMemGetAllocProperties, context, pointer, &properties, nullptr).or_throw();
  return properties.type;
}

ze_context_handle_t create_for(const Context& like, std::vector<ze_device_handle_t> devices) {
  ze_context_handle_t made = nullptr;
  ZE_CALL(zeContextCreateEx, driver_of(like), &kNewContext, static_cast<std::uint32_t>(devices.size()),
          devices.empty() ? nullptr : devices.data(), &made)
      .or_throw();
  return made;
}

}  // namespace

// The check does not require that memory is freed: "The implementation of this function may immediately free all
// Host and Device allocations associated with this context". Context.DestroyReleasesAllMemory covers
// drivers that free it.
PROCTOR_CHECK(Context, DestroyKeepsOtherContextMemory, "M53", "Level Zero specification, zeContextDestroy",
              kWarn, {"sysman.freeze_free_memory"}) {
  const auto context = leased();
  need_memory(context.device(), 2 * kHeld);
  const Buffer counted = need_counted_memory(context);
  const auto device = native(context.device());
  Queue queue(context);
  const auto sent = noise(65536, 1);
  const auto kept = device_copy(queue, context, sent);
  const std::uint64_t before = context.device().memory().free;
  step("given two contexts, of which one ends with all its memory");
  ze_context_handle_t ends = nullptr;
  ZE_CALL(zeContextCreate, driver_of(context), &kNewContext, &ends).or_throw();
  take_in(ends, device, kHeld);
  ze_physical_mem_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
  description.size = kHeld;
  ze_physical_mem_handle_t physical = nullptr;
  static_cast<void>(ZE_CALL(zePhysicalMemCreate, ends, device, &description, &physical));
  const std::uint64_t during = context.device().memory().free;
  expect_true(during + kHeld <= before + kFreeSlack,
              "the device has less free memory while the context exists");
  ZE_CALL(zeContextDestroy, ends).or_throw();
  const std::uint64_t after = context.device().memory().free;
  expect_true(after + kFreeSlack >= during && after <= before + kFreeSlack,
              "free memory is between its values during and before the context: " + std::to_string(during) +
                  ", " + std::to_string(after) + " and " + std::to_string(before));
  expect_bytes("memory of the other context", sent, read_bytes(queue, context, kept.data(), kept.bytes()),
               context.device());
}

PROCTOR_CHECK(Context, MemoryWorksForEveryDeviceList, "M53", "Level Zero specification, zeContextCreateEx",
              kGate, {"alloc.wrong_type"}) {
  const auto context = leased();
  const auto device = native(context.device());
  std::vector<std::vector<ze_device_handle_t>> lists = {{}, {device}};
  for (const Device& tile : context.device().tiles()) lists.push_back({native(tile)});
  for (const auto& list : lists) {
    step("given a context for " + std::to_string(list.size()) + " devices (0: all)");
    const auto made = create_for(context, list);
    expect_status(kSuccess, ZE_CALL(zeContextGetStatus, made));
    void* const pointer = take_in(made, list.empty() ? device : list[0], 4096);
    expect_same("type of its memory", std::to_string(ZE_MEMORY_TYPE_DEVICE),
                std::to_string(type_of(made, pointer)));
    expect_status(kSuccess,
                  ZE_CALL(zeContextMakeMemoryResident, made, list.empty() ? device : list[0], pointer, 4096));
    expect_status(kSuccess,
                  ZE_CALL(zeContextEvictMemory, made, list.empty() ? device : list[0], pointer, 4096));
    expect_status(kSuccess, ZE_CALL(zeMemFree, made, pointer));
    expect_status(kSuccess, ZE_CALL(zeContextDestroy, made));
  }
}

// The check is a warning: any function may return "generic error code for unsupported features"
// (ZE_RESULT_ERROR_UNSUPPORTED_FEATURE). Intel's driver supports this function since 25.48. If the kernel lacks
// its part, the driver returns ZE_RESULT_ERROR_UNKNOWN.
PROCTOR_CHECK(Context, SystemBarrierMakesHostWritesVisible, "M53",
              "Level Zero specification, zeContextSystemBarrier", kWarn, {"copy.skip"}) {
  const auto context = leased();
  Queue queue(context);
  const Buffer shared = shared_memory(context, 8192);
  for (const Device& part : with_tiles(context.device())) {
    step("given bytes that the host wrote, and a barrier for " + describe(part));
    const auto sent = noise(shared.bytes(), part.properties().tile.value_or(0) + 4);
    std::copy(sent.begin(), sent.end(), shared.data());
    const Status barrier = ZE_CALL(zeContextSystemBarrier, native(context), native(part));
    need(!barrier.unsupported(), "unsupported:zeContextSystemBarrier");
    expect_status(kSuccess, barrier);
    expect_bytes("bytes that the device reads", sent,
                 read_bytes(queue, context, shared.data(), shared.bytes()), context.device());
  }
}

// One call reads both clocks. The same time must pass on both.
PROCTOR_CHECK(GlobalTimestamp, DeviceAndHostClockRatesMatch, "M54",
              "Level Zero specification, zeDeviceGetGlobalTimestamps", kGate,
              {"state.timestamp_scale:api=zeDeviceGetGlobalTimestamps", "state.clock_backwards"}) {
  const auto context = leased();
  const auto device = native(context.device());
  ze_device_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  ZE_CALL(zeDeviceGetProperties, device, &properties).or_throw();
  const std::uint32_t bits = properties.timestampValidBits;
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  step("given both clocks, twice");
  std::uint64_t host[2] = {}, ticks[2] = {};
  double passed = 0, reported = 0;
  // A busy machine can delay the call between its readings of the two clocks. Each later try therefore covers more
  // time.
  for (auto rest = std::chrono::milliseconds(20); rest < std::chrono::seconds(2); rest *= 2) {
    for (int i = 0; i < 2; ++i) {
      if (i != 0) std::this_thread::sleep_for(rest);
      ZE_CALL(zeDeviceGetGlobalTimestamps, device, &host[i], &ticks[i]).or_throw();
      expect_true((ticks[i] & ~mask) == 0, "no bit is set that is not valid");
    }
    passed = static_cast<double>(host[1] - host[0]);
    reported = static_cast<double>((ticks[1] - ticks[0]) & mask) * 1e9 /
               static_cast<double>(properties.timerResolution);
    if (reported >= 0.8 * passed && reported <= 1.25 * passed) break;
  }
  expect_true(host[1] >= host[0] + 20'000'000, "20 ms have passed on the host");
  expect_true(reported >= 0.8 * passed && reported <= 1.25 * passed,
              "as much has passed on the device: " + std::to_string(reported) + " of " +
                  std::to_string(passed) + " ns");
}

// Checks of shared memory between processes that exist only for Level Zero.

// The specification makes no exception for memory on several tiles. Intel's driver may spread a buffer over the
// tiles, and then exports only the part on the first tile.
PROCTOR_CHECK(Ipc, MultiTileBufferIsByteExact, "M41", "Level Zero specification, zeMemGetIpcHandle",
              suite::kWarn, .faults = {"ipc.wrong_buffer"}, .needs = {"tiles>=2"}) {
  const auto context = leased();
  need(context.device().tiles().size() >= 2, "needs:tiles>=2");
  Queue queue(context);
  for (const std::size_t bytes : {131'072U, 131'073U, (2U << 20) + 3}) {
    suite::step("given " + std::to_string(bytes) + " bytes of the card, which a second process opens");
    const Buffer memory = device_copy(queue, context, noise(bytes, 1));
    suite::Helper importer("import_memory", {Ipc::export_memory(context, memory), std::to_string(bytes)});
    suite::expect_true(importer.answer().at("ok").get<bool>(), "the handle can be opened");
    importer.order("read 1");
    const auto answer = importer.try_answer();
    suite::expect_true(answer && answer->value("same", false), "the second process reads all of it");
  }
}

}  // namespace proctor::accel
