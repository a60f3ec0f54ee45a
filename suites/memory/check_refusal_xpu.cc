// Checks of the error codes of Level Zero's memory calls for bad arguments, under the loader's validation layer.
#include "suites/accel/xpu/refusal.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

constexpr ze_device_mem_alloc_desc_t kDevice = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
constexpr ze_device_mem_alloc_desc_t kBadDevice = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr,
                                                   kNoSuchFlag, 0};
constexpr ze_host_mem_alloc_desc_t kHost = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
constexpr ze_host_mem_alloc_desc_t kBadHost = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, kNoSuchFlag};
constexpr ze_context_desc_t kContext = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
constexpr ze_context_desc_t kBadContext = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, kNoSuchFlag};
constexpr std::uint32_t kPattern = 7;

ze_context_handle_t context_of(const Victim& victim) { return native(victim.context); }

// Bad calls and their codes, which the specification lists under each function. Each row is one call with one bad
// argument.
constexpr BadCall kBadCalls[] = {
    {"zeMemAllocDevice", "the context is null", kNullHandle,
     [](Victim& v) { return ZE_CALL(zeMemAllocDevice, nullptr, &kDevice, 64, 0, v.device, &v.pointer); }},
    {"zeMemAllocDevice", "the device is null", kNullHandle,
     [](Victim& v) {
       return ZE_CALL(zeMemAllocDevice, context_of(v), &kDevice, 64, 0, nullptr, &v.pointer);
     }},
    {"zeMemAllocDevice", "the description is null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeMemAllocDevice, context_of(v), nullptr, 64, 0, v.device, &v.pointer);
     }},
    {"zeMemAllocDevice", "the place for the pointer is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeMemAllocDevice, context_of(v), &kDevice, 64, 0, v.device, nullptr); }},
    {"zeMemAllocDevice", "a flag does not exist", kEnumeration,
     [](Victim& v) {
       return ZE_CALL(zeMemAllocDevice, context_of(v), &kBadDevice, 64, 0, v.device, &v.pointer);
     }},
    {"zeMemAllocDevice", "the size is 0", kUnsupportedSize,
     [](Victim& v) {
       return ZE_CALL(zeMemAllocDevice, context_of(v), &kDevice, 0, 0, v.device, &v.pointer);
     }},
    {"zeMemAllocDevice", "the alignment is 3", kUnsupportedAlignment,
     [](Victim& v) {
       return ZE_CALL(zeMemAllocDevice, context_of(v), &kDevice, 64, 3, v.device, &v.pointer);
     }},

    {"zeMemAllocHost", "the context is null", kNullHandle,
     [](Victim& v) { return ZE_CALL(zeMemAllocHost, nullptr, &kHost, 64, 0, &v.pointer); }},
    {"zeMemAllocHost", "the description is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeMemAllocHost, context_of(v), nullptr, 64, 0, &v.pointer); }},
    {"zeMemAllocHost", "the place for the pointer is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeMemAllocHost, context_of(v), &kHost, 64, 0, nullptr); }},
    {"zeMemAllocHost", "a flag does not exist", kEnumeration,
     [](Victim& v) { return ZE_CALL(zeMemAllocHost, context_of(v), &kBadHost, 64, 0, &v.pointer); }},
    {"zeMemAllocHost", "the size is 0", kUnsupportedSize,
     [](Victim& v) { return ZE_CALL(zeMemAllocHost, context_of(v), &kHost, 0, 0, &v.pointer); }},
    {"zeMemAllocHost", "the alignment is 3", kUnsupportedAlignment,
     [](Victim& v) { return ZE_CALL(zeMemAllocHost, context_of(v), &kHost, 64, 3, &v.pointer); }},

    {"zeMemAllocShared", "the context is null", kNullHandle,
     [](Victim& v) {
       return ZE_CALL(zeMemAllocShared, nullptr, &kDevice, &kHost, 64, 0, v.device, &v.pointer);
     }},
    {"zeMemAllocShared", "the device's description is null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeMemAllocShared, context_of(v), nullptr, &kHost, 64, 0, v.device, &v.pointer);
     }},
    {"zeMemAllocShared", "the host's description is null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeMemAllocShared, context_of(v), &kDevice, nullptr, 64, 0, v.device, &v.pointer);
     }},
    {"zeMemAllocShared", "a flag of the host does not exist", kEnumeration,
     [](Victim& v) {
       return ZE_CALL(zeMemAllocShared, context_of(v), &kDevice, &kBadHost, 64, 0, v.device, &v.pointer);
     }},
    {"zeMemAllocShared", "the size is 0", kUnsupportedSize,
     [](Victim& v) {
       return ZE_CALL(zeMemAllocShared, context_of(v), &kDevice, &kHost, 0, 0, v.device, &v.pointer);
     }},

    {"zeMemFree", "the context is null", kNullHandle,
     [](Victim& v) { return ZE_CALL(zeMemFree, nullptr, v.memory.data()); }},
    {"zeMemFree", "the pointer is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeMemFree, context_of(v), nullptr); }},

    {"zeMemGetAllocProperties", "the pointer is null", kNullPointer,
     [](Victim& v) {
       ze_memory_allocation_properties_t properties{};
       properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
       return ZE_CALL(zeMemGetAllocProperties, context_of(v), nullptr, &properties, nullptr);
     }},
    {"zeMemGetAllocProperties", "the place for the properties is null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeMemGetAllocProperties, context_of(v), v.memory.data(), nullptr, nullptr);
     }},
    {"zeMemGetAddressRange", "the pointer is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeMemGetAddressRange, context_of(v), nullptr, &v.pointer, &v.size); }},

    {"zeMemGetIpcHandle", "the pointer is null", kNullPointer,
     [](Victim& v) {
       ze_ipc_mem_handle_t handle{};
       return ZE_CALL(zeMemGetIpcHandle, context_of(v), nullptr, &handle);
     }},
    {"zeMemGetIpcHandle", "the place for the handle is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeMemGetIpcHandle, context_of(v), v.memory.data(), nullptr); }},
    {"zeMemOpenIpcHandle", "the device is null", kNullHandle,
     [](Victim& v) {
       return ZE_CALL(zeMemOpenIpcHandle, context_of(v), nullptr, ze_ipc_mem_handle_t{}, 0, &v.pointer);
     }},
    {"zeMemOpenIpcHandle", "a flag does not exist", kEnumeration,
     [](Victim& v) {
       return ZE_CALL(zeMemOpenIpcHandle, context_of(v), v.device, ze_ipc_mem_handle_t{}, kNoSuchFlag,
                      &v.pointer);
     }},
    {"zeMemOpenIpcHandle", "the place for the pointer is null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeMemOpenIpcHandle, context_of(v), v.device, ze_ipc_mem_handle_t{}, 0, nullptr);
     }},
    {"zeMemCloseIpcHandle", "the pointer is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeMemCloseIpcHandle, context_of(v), nullptr); }},

    {"zeCommandListAppendMemoryCopy", "the list is null", kNullHandle,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendMemoryCopy, nullptr, v.memory.data(), v.memory.data() + 64, 64,
                      nullptr, 0, nullptr);
     }},
    {"zeCommandListAppendMemoryCopy", "the destination is null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendMemoryCopy, v.list, nullptr, v.memory.data(), 64, nullptr, 0,
                      nullptr);
     }},
    {"zeCommandListAppendMemoryCopy", "the source is null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendMemoryCopy, v.list, v.memory.data(), nullptr, 64, nullptr, 0,
                      nullptr);
     }},
    {"zeCommandListAppendMemoryCopy", "the list of one event to wait for is null", kInvalidSize,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendMemoryCopy, v.list, v.memory.data(), v.memory.data() + 64, 64,
                      nullptr, 1, nullptr);
     }},

    {"zeCommandListAppendMemoryFill", "the destination is null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendMemoryFill, v.list, nullptr, &kPattern, 4, 64, nullptr, 0, nullptr);
     }},
    {"zeCommandListAppendMemoryFill", "the pattern is null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendMemoryFill, v.list, v.memory.data(), nullptr, 4, 64, nullptr, 0,
                      nullptr);
     }},
    {"zeCommandListAppendMemoryFill", "the list of one event to wait for is null", kInvalidSize,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendMemoryFill, v.list, v.memory.data(), &kPattern, 4, 64, nullptr, 1,
                      nullptr);
     }},
    {"zeCommandListAppendMemoryCopyRegion", "the destination is null", kNullPointer,
     [](Victim& v) {
       const ze_copy_region_t region{0, 0, 0, 8, 1, 1};
       return ZE_CALL(zeCommandListAppendMemoryCopyRegion, v.list, nullptr, &region, 8, 8, v.memory.data(),
                      &region, 8, 8, nullptr, 0, nullptr);
     }},
    {"zeCommandListAppendMemoryPrefetch", "the pointer is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeCommandListAppendMemoryPrefetch, v.list, nullptr, 64); }},
    {"zeCommandListAppendMemAdvise", "the advice does not exist", kEnumeration,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendMemAdvise, v.list, v.device, v.memory.data(), 64,
                      static_cast<ze_memory_advice_t>(kNoSuchFlag));
     }},

    {"zeContextCreate", "the driver is null", kNullHandle,
     [](Victim&) {
       ze_context_handle_t made = nullptr;
       return ZE_CALL(zeContextCreate, nullptr, &kContext, &made);
     }},
    {"zeContextCreate", "the description is null", kNullPointer,
     [](Victim& v) {
       ze_context_handle_t made = nullptr;
       return ZE_CALL(zeContextCreate, driver_of(v.context), nullptr, &made);
     }},
    {"zeContextCreate", "the place for the handle is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeContextCreate, driver_of(v.context), &kContext, nullptr); }},
    {"zeContextCreate", "a flag does not exist", kEnumeration,
     [](Victim& v) {
       ze_context_handle_t made = nullptr;
       return ZE_CALL(zeContextCreate, driver_of(v.context), &kBadContext, &made);
     }},
    {"zeContextMakeMemoryResident", "the pointer is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeContextMakeMemoryResident, context_of(v), v.device, nullptr, 64); }},
    {"zeContextEvictMemory", "the device is null", kNullHandle,
     [](Victim& v) { return ZE_CALL(zeContextEvictMemory, context_of(v), nullptr, v.memory.data(), 64); }},

    {"zeVirtualMemReserve", "the size is 0", kUnsupportedSize,
     [](Victim& v) { return ZE_CALL(zeVirtualMemReserve, context_of(v), v.memory.data(), 0, &v.pointer); }},
    {"zeVirtualMemQueryPageSize", "the place for the size is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeVirtualMemQueryPageSize, context_of(v), v.device, 4096, nullptr); }},
    {"zePhysicalMemCreate", "the description is null", kNullPointer,
     [](Victim& v) {
       ze_physical_mem_handle_t made = nullptr;
       return ZE_CALL(zePhysicalMemCreate, context_of(v), v.device, nullptr, &made);
     }},
};

PROCTOR_HELPER(bad_memory_call) { make_bad_calls(kBadCalls, words); }

}  // namespace

PROCTOR_CHECK_EACH(functions_of(kBadCalls), InvalidArgument, CallReturnsDocumentedError, "B.0",
                   "Level Zero specification, return values of each function; validation layer", suite::kGate,
                   {"memory.corrupt_copy:at=17,times=1", "copy.skip"}) {
  expect_refusals(kBadCalls, "bad_memory_call");
}

}  // namespace proctor::accel
