// The entry points of Level Zero that the accelerator layer calls, by their own names. Each may be null with
// a loader that is older than it; ZE_CALL then ends the check as skip(symbol_missing:NAME).
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include "suites/accel/accel.h"

// clang-format off
#define PROCTOR_ZE_ENTRY_POINTS(X)                                                                                \
  X(zeInit) X(zeDriverGet) X(zeDriverGetIpcProperties) X(zeDriverGetProperties)                                    \
  X(zeDeviceGet) X(zeDeviceGetSubDevices) X(zeDeviceGetProperties) X(zeDeviceGetComputeProperties)                 \
  X(zeDeviceGetModuleProperties) X(zeDeviceGetMemoryProperties) X(zeDeviceGetMemoryAccessProperties)               \
  X(zeDeviceGetCommandQueueGroupProperties) X(zeDeviceCanAccessPeer) X(zeDeviceGetStatus)                          \
  X(zeDeviceGetGlobalTimestamps)                                                                                   \
  X(zeContextCreate) X(zeContextDestroy) X(zeContextMakeMemoryResident) X(zeContextEvictMemory)                    \
  X(zeContextCreateEx) X(zeContextGetStatus) X(zeContextSystemBarrier)                                             \
  X(zeMemAllocDevice) X(zeMemAllocHost) X(zeMemAllocShared) X(zeMemFree) X(zeMemFreeExt)                           \
  X(zeMemGetAllocProperties) X(zeMemGetAddressRange) X(zeMemGetIpcHandle) X(zeMemOpenIpcHandle)                    \
  X(zeMemCloseIpcHandle)                                                                                           \
  X(zeVirtualMemReserve) X(zeVirtualMemFree) X(zeVirtualMemQueryPageSize) X(zeVirtualMemMap)                       \
  X(zeVirtualMemUnmap) X(zeVirtualMemSetAccessAttribute) X(zeVirtualMemGetAccessAttribute)                         \
  X(zePhysicalMemCreate) X(zePhysicalMemDestroy)                                                                   \
  X(zeCommandQueueCreate) X(zeCommandQueueDestroy) X(zeCommandQueueExecuteCommandLists)                            \
  X(zeCommandQueueSynchronize)                                                                                     \
  X(zeCommandListCreate) X(zeCommandListCreateImmediate) X(zeCommandListDestroy) X(zeCommandListClose)             \
  X(zeCommandListReset) X(zeCommandListAppendBarrier) X(zeCommandListAppendMemoryCopy)                             \
  X(zeCommandListAppendMemoryFill) X(zeCommandListAppendMemoryCopyRegion) X(zeCommandListAppendLaunchKernel)       \
  X(zeCommandListAppendLaunchCooperativeKernel) X(zeCommandListAppendMemoryPrefetch)                               \
  X(zeCommandListAppendMemAdvise) X(zeCommandListAppendMemoryRangesBarrier)                                        \
  X(zeCommandListAppendWriteGlobalTimestamp) X(zeCommandListAppendSignalEvent) X(zeCommandListAppendWaitOnEvents)  \
  X(zeCommandListAppendEventReset) X(zeCommandListAppendLaunchKernelIndirect)                                      \
  X(zeCommandListAppendLaunchMultipleKernelsIndirect)                                                              \
  X(zeFenceCreate) X(zeFenceDestroy) X(zeFenceHostSynchronize) X(zeFenceQueryStatus) X(zeFenceReset)               \
  X(zeEventPoolCreate) X(zeEventPoolDestroy) X(zeEventCreate) X(zeEventDestroy) X(zeEventHostSignal)               \
  X(zeEventHostSynchronize) X(zeEventQueryStatus) X(zeEventHostReset) X(zeEventQueryKernelTimestamp)               \
  X(zeEventPoolGetIpcHandle) X(zeEventPoolOpenIpcHandle) X(zeEventPoolCloseIpcHandle)                              \
  X(zeModuleCreate) X(zeModuleDestroy) X(zeModuleBuildLogGetString) X(zeModuleBuildLogDestroy)                     \
  X(zeModuleGetKernelNames) X(zeModuleGetNativeBinary) X(zeModuleGetGlobalPointer) X(zeModuleGetProperties)        \
  X(zeKernelCreate) X(zeKernelDestroy) X(zeKernelGetProperties) X(zeKernelSetGroupSize)                            \
  X(zeKernelSuggestGroupSize) X(zeKernelSuggestMaxCooperativeGroupCount) X(zeKernelSetArgumentValue)               \
  X(zeKernelSetIndirectAccess) X(zeKernelSetGlobalOffsetExp) X(zeKernelGetName)                                    \
  X(zeKernelGetSourceAttributes) X(zeKernelGetIndirectAccess) X(zeKernelSetCacheConfig)                            \
  X(zeKernelSchedulingHintExp) X(zeModuleDynamicLink) X(zeModuleGetFunctionPointer)                                \
  X(zeCommandListAppendQueryKernelTimestamps) X(zeCommandListAppendMemoryCopyFromContext)                          \
  X(zeEventQueryTimestampsExp) X(zeDriverGetExtensionFunctionAddress) X(zeDriverGetExtensionProperties)            \
  X(zesDeviceEnumMemoryModules) X(zesMemoryGetState) X(zesMemoryGetProperties)                                     \
  X(zesDeviceEnumTemperatureSensors) X(zesTemperatureGetProperties) X(zesTemperatureGetState)                      \
  X(zesDeviceEnumPowerDomains) X(zesPowerGetEnergyCounter) X(zesPowerGetProperties) X(zesDeviceReset)
// clang-format on

namespace proctor::accel {

struct EntryPoints {
#define PROCTOR_ZE_MEMBER(name) decltype(&::name) name = nullptr;
  PROCTOR_ZE_ENTRY_POINTS(PROCTOR_ZE_MEMBER)
#undef PROCTOR_ZE_MEMBER
};

// Loads the loader at the first call; ends the check as skip(library_missing:libze_loader.so.1) without one.
const EntryPoints& entry_points();

[[noreturn]] void symbol_missing(const char* name);

template <typename Function>
Function present(Function function, const char* name) {
  if (function == nullptr) symbol_missing(name);
  return function;
}

// ZE_CALL(zeMemFree, context, pointer) -> Status
#define ZE_CALL(name, ...)                                                                  \
  ::proctor::accel::Status(static_cast<std::uint32_t>(::proctor::accel::present(            \
                               ::proctor::accel::entry_points().name, #name)(__VA_ARGS__)), \
                           #name)

}  // namespace proctor::accel
